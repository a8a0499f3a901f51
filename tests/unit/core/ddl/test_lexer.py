"""SQL text -> tokens."""

from __future__ import annotations

import pytest

from mirrorlake.core.ddl.parse.lexer import ANSI_QUOTES, NO_BACKSLASH_ESCAPES, Kind, LexError, tokenize


def cut(text: str, sql_mode: int = 0, flavor: str = "mysql", version: int = 90704) -> list[str]:
    """Tokens as text; a quoted identifier in backticks, a string in quotes."""
    marks = {Kind.QUOTED: "`{}`", Kind.STRING: "'{}'"}
    tokens = list(tokenize(text, sql_mode=sql_mode, flavor=flavor, server_version=version))
    assert tokens.pop().kind is Kind.END
    return [marks.get(token.kind, "{}").format(token.text) for token in tokens]


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("create table t(id int)", ["create", "table", "t", "(", "id", "int", ")"]),
        ("`a``b` `c'd`", ["`a`b`", "`c'd`"]),
        ("'it''s' 'a\\'b' 'n\\n\\%' \"q\"\"r\"", ["'it's'", "'a'b'", "'n\n\\%'", "'q\"r'"]),
        ("a.b . c", ["a", ".", "b", ".", "c"]),
        ("d.1e5 d.5", ["d", ".", "1e5", "d", ".", "5"]),
        ("1 1.5 .5 1e3 1.e-2 1a 1e5x", ["1", "1.5", ".5", "1e3", "1.e-2", "1a", "1e5x"]),
        ("0x1F x'1f' b'01' 0b1 0xg", ["0x1F", "x'1f'", "b'01'", "0b1", "0xg"]),
        ("a$b ключ _utf8'x' N'y'", ["a$b", "ключ", "_utf8", "'x'", "N", "'y'"]),
        ("a -- b\nc # d\ne--f", ["a", "c", "e", "-", "-", "f"]),
        ("a--", ["a"]),
        ("a /* b ' */ c /**/ d", ["a", "c", "d"]),
        ("a /*+ hint */ b", ["a", "b"]),
        ("/*!50606 a */ b /*!90705 c */ /*! d */", ["a", "b", "d"]),
        ("/*!080013 a*/ /*!99999 b /* c */ d */ e", ["a", "e"]),
        ("/*!50606 a /* b */ c */ d", ["a", "c", "d"]),
        ("/*!080013a*/ /*!080013\nb*/ /*!90704 c*/ /*!90799 d*/ /*!099999 e*/ /*!500001 f*/", ["3a", "b", "c"]),
        ("/*M! a */ b", ["b"]),
        ("a */ b", ["a", "*/", "b"]),
        ("", []),
    ],
)
def test_tokens(text, tokens):
    assert cut(text) == tokens


def test_double_quotes_by_sql_mode():
    assert cut('"a""b"') == ["'a\"b'"]
    assert cut('"a""b\\"', ANSI_QUOTES) == ['`a"b\\`']


def test_backslash_by_sql_mode():
    assert cut("'a\\'' b") == ["'a''", "b"]
    assert cut("'a\\' b", NO_BACKSLASH_ESCAPES) == ["'a\\'", "b"]


def test_mariadb_steps_over_versions_that_are_mysql_only():
    text = "/*!50606 a */ /*!50700 b */ /*!99999 c */ /*!100100 d */ /*!110000 g */"
    text += "/*M!100100 e */ /*M!110000 f */ /*M! h */ /*M!50701 i */ /*!080013 j */ /*!101199 k */ /*!999999 l */"
    assert cut(text, flavor="mariadb", version=101119) == ["a", "d", "e", "h", "i"]


@pytest.mark.parametrize("text", ["'a", "`a", '"a', "'a\\'", "/* a", "/*!50000 a", "/*!999999 a /* b */"])
def test_what_is_not_closed(text):
    with pytest.raises(LexError):
        cut(text)


def test_a_long_statement_is_cut_only_as_far_as_it_is_read():
    tokens = tokenize("create procedure p() begin 'never closed", sql_mode=0, flavor="mysql", server_version=90704)
    assert [next(tokens).text for _ in range(3)] == ["create", "procedure", "p"]


@pytest.mark.parametrize(
    ("flavor", "charset", "text", "name"),
    [
        ("mariadb", "cp932", "`チーム`", "チ[ム"),
        ("mariadb", "sjis", "`チa`", "チ"),
        ("mariadb", "sjis", "`チ`", "チ"),
        ("mariadb", "sjis", "`チ``x`", "チ`"),
        ("mariadb", "gbk", "`乣x`", "乣"),
        ("mariadb", "sjis", "チーム", "チーム"),
        ("mariadb", "sjis", "`表``x`", "表`x"),
        ("mariadb", "utf8mb4", "`チーム`", "チーム"),
        ("mysql", "cp932", "`チーム`", "チーム"),
        ("mariadb", "sjis", "`ｱチｱb`", "ｱチb"),
        ("mariadb", "gbk", "`\ufffd`", "\ufffd"),
        ("mariadb", "cp932", "`㈱`", "㈱"),
        ("mariadb", "cp932", "`チ≒`", "チ\ufffd"),
    ],
)
def test_a_character_that_ends_with_the_byte_of_a_back_tick(flavor, charset, text, name):
    """Measured: MariaDB 10.11 and 11.8, MySQL 9.7."""
    found = tokenize(text, sql_mode=0, flavor=flavor, server_version=99999, client_charset=charset)
    assert next(found).text == name


@pytest.mark.parametrize(
    ("charset", "character"), [("sjis", "チ"), ("cp932", "チ"), ("gbk", "乣"), ("big5", "亡"), ("gb18030", "乣")]
)
def test_mysql_reads_bytes_behind_a_name_with_a_doubled_back_tick(charset, character):
    """Measured: MySQL 5.6 and 9.7."""

    def name(text):
        found = tokenize(text, sql_mode=0, flavor="mysql", server_version=99999, client_charset=charset)
        return next(found).text

    for inside in (f"x{character}y``z", f"``{character}"):
        with pytest.raises(LexError):
            name(f"`{inside}`")
    assert (name(f"`x{character}y`"), name("`表``x`")) == (f"x{character}y", "表`x")
