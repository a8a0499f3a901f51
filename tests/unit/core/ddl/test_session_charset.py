"""Texts of a statement in a session whose character_set_connection changes them."""

from __future__ import annotations

import pytest

from mirrorlake.core.changes.definition_reader import DefinitionReader
from mirrorlake.core.ddl.effect.override import Answer
from mirrorlake.core.ddl.parse.expressions import SESSION
from mirrorlake.core.schema.charsets import charset_of_collation_id, decode_statement
from mirrorlake.core.schema.history import DefinitionChange, Definitions
from mirrorlake.core.schema.lower_case_names import NameCase
from mirrorlake.core.schema.tables import Column, Default, TableSchema
from tests.support.binlog_spec import Ddl, Log
from tests.support.interpreting import definitions_after, interpret
from tests.support.pure_hops import bronze

LACKS = "character_set_connection of its session lacks a character of a text"


def run(definition: str, connection: str | None, flavor: str = "mysql", sql_mode: int = 0) -> DefinitionChange:
    [change] = interpret(
        f"create table d.t (id int, {definition}", database="d", sql_mode=sql_mode, flavor=flavor,
        definitions=Definitions(), connection_charset=connection,
    )  # fmt: skip
    return change


def column(*arguments, **more) -> Column:
    change = run(*arguments, **more)
    assert change.schema, change.reason
    return change.schema.columns[1]


@pytest.mark.parametrize(
    ("definition", "connection"),
    [
        ("c varchar(9) default 'x☃y')", "latin1"),
        ("c varchar(9) default ('☃'))", "latin1"),
        ("c varchar(9) default '\U0001f600')", "utf8mb3"),
        ("c varchar(9) default 'x[y')", "swe7"),
        ("c enum('☃','b'))", "latin1"),
        ("c set('[','b'))", "swe7"),
        ("c varchar(9)) partition by list columns (c) (partition p values in ('☃'))", "latin1"),
    ],
)
def test_a_text_that_the_sessions_character_set_lacks_refuses_the_table(definition, connection):
    assert (run(definition, connection).action, run(definition, connection).reason) == ("refuse", LACKS)
    for held in (None, "utf8mb4", "utf16", "gb18030"):
        assert run(definition, held).action == "create"


@pytest.mark.parametrize("connection", [None, "utf8mb4", "utf8mb3", "latin1", "binary", "utf16", "sjis"])
def test_a_text_that_the_sessions_character_set_holds_is_as_written(connection):
    assert column("c varchar(9) default 'a' \"b\")", connection).default.text == "ab"
    assert column("c enum('a','b'))", connection).type.labels == ("a", "b")
    assert column("c int as (id + 1))", None if connection in ("binary", "utf16") else connection).generated == "id + 1"


@pytest.mark.parametrize(
    ("expression", "flavor", "connection", "is_of_session"),
    [
        ("concat('☃', id)", "mysql", "latin1", True),
        ("concat('☃', id)", "mariadb", "latin1", True),
        ("concat('é', id)", "mysql", "latin1", False),
        ("concat('é', id)", "mariadb", "latin1", False),
        ("length('é')", "mysql", "latin1", True),
        ("length('é')", "mariadb", "latin1", False),
        ("length('é')", "mysql", "utf8mb3", False),
        ("length('a')", "mysql", "latin1", False),
        ("concat('é', _utf8mb4'é')", "mariadb", "latin1", True),
        ("length(cast(id as char))", "mysql", "utf16", True),
        ("length(cast(id as char))", "mariadb", "utf16", True),
        ("concat('[', id)", "mysql", "swe7", True),
        ("upper('a')", "mysql", "binary", True),
        ("concat('☃', id)", "mysql", "utf8mb4", False),
        ("concat('☃', id)", "mysql", None, False),
    ],
)
def test_an_expression_is_marked_if_the_session_changes_its_value(expression, flavor, connection, is_of_session):
    marked = f"{SESSION}.({expression})" if is_of_session else expression
    assert column(f"c varchar(9) as ({expression}))", connection, flavor).generated == marked
    assert column(f"c varchar(9) default ({expression}))", connection, flavor).default.text == marked


def test_a_backslash_without_escapes_is_marked_for_mysql():
    definition, mode = "c varchar(9) as (concat('\\', id)))", 1 << 20
    assert column(definition, "utf8mb4", sql_mode=mode).generated == f"{SESSION}.(concat('\\\\', id))"
    assert column(definition, "utf8mb4", "mariadb", mode).generated == "concat('\\\\', id)"


@pytest.mark.parametrize(
    ("text", "connection", "kind"),
    [
        ("_utf8mb4'é'", "utf8mb4", "string"),
        ("_utf8mb4'é'", "latin1", "expression"),
        ("N'é'", "utf8mb4", "string"),
        ("_latin1'a' 'b'", "utf16", "expression"),
        ("_latin1'a' 'b'", "latin1", "string"),
        ("_utf32'a'", "utf8mb4", "expression"),
    ],
)
def test_a_text_with_a_character_set_of_its_own(text, connection, kind):
    assert column(f"c varchar(9) default {text})", connection).default.kind == kind


def test_a_column_takes_the_bytes_of_a_binary_session_for_its_own():
    labels, default = "c enum('é','x') charset {})", "c varchar(9) charset latin1 default 'é')"
    assert column(labels.format("latin1"), "binary").type.labels == ("Ã©", "x")
    assert column(labels.format("utf8mb4"), "binary").type.labels == ("é", "x")
    assert column(default, "binary").default == Default("bits", "x'c3a9'")
    assert column(default, "utf8mb4").default == Default("string", "é")
    assert run(labels.format("ascii"), "binary").action == "refuse"


@pytest.mark.parametrize("charset", ["ucs2", "utf16", "utf16le", "utf32", "swe7"])
def test_ascii_of_a_binary_session_is_other_text_in_some_character_sets(charset):
    label, default = f"c enum('ab','x') charset {charset})", f"c char(9) charset {charset} default 'ab')"
    assert (run(label, "binary").action, run(default, "binary").action) == ("refuse", "refuse")
    assert run(label, "binary").reason == f"a label of a column of {charset}, in binary"
    for text in ("c enum('ab') charset gbk)", "c enum('ab') charset binary)", "d date default '2000-01-01')"):
        assert run(f"e char(9) charset {charset} default '', {text}", "binary").action == "create"
    assert run(label, "utf8mb4").action == run(default, None).action == "create"


@pytest.mark.parametrize("connection", ["latin1", "utf16"])
def test_a_label_of_a_column_of_bytes_is_refused_if_its_bytes_are_not_those_of_utf8(connection):
    changed = run("c enum('é','x') charset binary)", connection, "mariadb")
    assert (changed.action, changed.reason) == ("refuse", f"a label of a column of bytes, in {connection}")
    assert run("c set('é')) charset binary", connection, "mariadb").action == "refuse"
    assert column("c enum('e','x') charset binary)", connection, "mariadb").type.labels == ("e", "x")
    for known in (None, "utf8mb3", "utf8mb4"):
        assert column("c enum('é','x') charset binary)", known, "mariadb").type.labels == ("é", "x")


UTF8MB4, LATIN1, SWE7, ASCII, UTF8MB3, CP932, GB18030, BINARY = 45, 8, 10, 11, 33, 95, 248, 63
"""Numbers of collations."""


WITH_BLANKS = (
    "CREATE TABLE\u00a0t\u00a0(a\u00a0INT DEFAULT\u00a05)", "TRUNCATE TABLE\u00a0t\u00a0",
    "ALTER TABLE t\u00a0ADD b\u00a0INT, COMMENT 'x\u00a0y'",
)  # fmt: skip


@pytest.mark.parametrize("flavor", ["mysql", "mariadb"])
def test_a_no_break_space_is_a_blank_where_the_client_says_so(tmp_path, flavor):
    """In latin1 and in others the servers take it as a blank. In UTF-8 it is a letter of a name."""
    statements = [Ddl(text.encode("latin-1"), "d", charsets=(LATIN1, LATIN1, UTF8MB4)) for text in WITH_BLANKS]
    log = Log(flavor, [*statements, Ddl("CREATE TABLE t\u00a0u (a INT)", "d", charsets=(UTF8MB4, LATIN1, UTF8MB4))])
    created, emptied, altered, other = (change for _, change in DefinitionReader(flavor).read(bronze(tmp_path, log)))
    assert [change.action for change in (created, emptied, altered)] == ["create", "truncate", "alter"]
    assert {change.table for change in (created, emptied, altered)} == {"t"}
    assert [column.name for column in altered.schema.columns] == ["a", "b"]
    assert altered.schema.comment == "x\u00a0y"
    assert other.table == "t\u00a0u"


@pytest.mark.parametrize("flavor", ["mysql", "mariadb"])
def test_bytes_of_swe7_are_signs_of_ascii_for_quotes_and_escapes(tmp_path, flavor):
    """As on MySQL 9.7 and MariaDB 11.8. In quotes they are letters of Swedish."""
    texts = ("CREATE TABLE `t` (a INT, `b[` INT)", "ALTER TABLE t ADD `c` ENUM('x\\'|', 'y\\\\') CHARSET utf8mb4")
    log = Log(flavor, [Ddl(text, "d", charsets=(SWE7, UTF8MB4, UTF8MB4)) for text in texts])
    _, altered = (change for _, change in DefinitionReader(flavor).read(bronze(tmp_path, log)))
    assert (altered.table, [column.name for column in altered.schema.columns]) == ("t", ["a", "bÄ", "c"])
    assert altered.schema.columns[2].type.labels == ("x'ö", "yÖ")


@pytest.mark.parametrize(
    ("text", "client", "is_kept"),
    [
        (b"'\xe9'", ASCII, False), (b"'\xf0\x9f\x98\x80'", UTF8MB3, False), (b"'\xb1\x81'", CP932, False),
        (b"'\xff'", UTF8MB3, False), (b"'\x810'", GB18030, False),
        (b"'\xe9'", BINARY, False), (b"'\xe9'", LATIN1, True), (b"'\xf0\x9f\x98\x80'", UTF8MB4, True),
        (b"'\xef\xbf\xbd'", UTF8MB4, True), (b"'\xef\xbf\xbd'", UTF8MB3, True),
    ],
)  # fmt: skip
def test_a_text_that_is_invalid_in_the_clients_character_set_refuses_the_table(tmp_path, text, client, is_kept):
    """The servers make question marks of it, each in its own way (9.7, 11.8)."""
    for definition in (b"a ENUM(%s)", b"a VARCHAR(9) DEFAULT %s"):
        created = b"CREATE TABLE t (" + definition % text + b") CHARSET utf8mb4"
        log = Log("mysql", [Ddl(created, "d", charsets=(client, UTF8MB4, UTF8MB4))])
        [(_, change)] = DefinitionReader("mysql").read(bronze(tmp_path, log))
        assert (change.action == "create") is is_kept


@pytest.mark.parametrize("connection", [UTF8MB4, UTF8MB3, BINARY])
def test_a_text_of_utf8mb4_with_an_invalid_code_is_no_text_of_the_mirror(tmp_path, connection):
    """A binary column has the code's bytes as its DEFAULT, and a label too. Else they are lost (9.7, 10.11, 11.8)."""

    def run(definition: bytes) -> DefinitionChange:
        created = b"CREATE TABLE t (id INT, " + definition + b") CHARSET utf8mb4"
        log = Log("mysql", [Ddl(created, "d", charsets=(UTF8MB4, connection, UTF8MB4))])
        [(_, change)] = DefinitionReader("mysql").read(bronze(tmp_path, log))
        return change

    assert run(b"a ENUM('x\xce')").code == "ddl-unsupported"
    assert run(b"a VARCHAR(9) DEFAULT ('x\xce')").code == "ddl-unsupported"
    assert run(b"a VARBINARY(9) DEFAULT 'x\xce'").action == ("create" if connection == UTF8MB4 else "refuse")
    assert run(b"a INT COMMENT 'x\xce'").action == "create"
    computed = run(b"a VARCHAR(9) AS (CONCAT('x\xce', id))")
    assert computed.schema.columns[1].generated.startswith(SESSION)


@pytest.mark.parametrize(("name", "client"), [(b"d\xe9", ASCII), (b"d\xff", UTF8MB4), (b"d\xb1\x81", CP932)])
def test_a_name_that_is_invalid_in_the_clients_character_set_refuses_the_table(tmp_path, name, client):
    """MySQL 9.7 makes question marks of it, or cuts the name there."""
    statements = ("CREATE TABLE t (a INT)", b"ALTER TABLE t ADD `" + name + b"` INT")
    log = Log("mysql", [Ddl(text, "d", charsets=(client, UTF8MB4, UTF8MB4)) for text in statements])
    _, (_, change) = DefinitionReader("mysql").read(bronze(tmp_path, log))
    assert (change.action, change.table, change.code) == ("refuse", "t", "ddl-unsupported")


UNREAD = [
    (b"TRUNCATE TABLE `t\xff`", {"d.t", "d.t?", "d.t?u"}),
    (b"ALTER TABLE `t\xffu` ADD a INT", {"d.t", "d.t?", "d.t?u"}),
    (b"DROP TABLE v, `t\xff`, `t?\xff`", {"d.t", "d.t?", "d.t?u", "d.v"}),
    (b"RENAME TABLE v TO `t\xff`, x.y TO x.c", {"d.t", "d.t?", "d.t?u", "d.v"}),
    (b"TRUNCATE TABLE `d\xff`.`t`", {"d.t"}),
    (b"TRUNCATE TABLE `t\xff` frobnicate", {"d.t", "d.t?", "d.t?u"}),
    (b"DROP DATABASE `d\xff`", {"d.t", "d.t?", "d.t?u", "d.v"}),
    (b"CREATE TABLE `\xef\xbf\xbd` (t INT, v INT)", {"d.\ufffd"}),
    (b"CREATE INDEX `\xff` ON e.w (t, d, v)", {"e.w"}),
    (b"TRUNCATE TABLE e.`\xff`", set()),
    (b"DROP DATABASE `\xff`", set()),
]


@pytest.mark.parametrize(("statement", "tables"), UNREAD)
def test_a_name_that_is_invalid_refuses_each_table_that_it_may_mean(tmp_path, statement, tables):
    """MySQL 9.7 empties ``t`` by the first of them, and no other word of a statement counts."""
    created = [f"CREATE TABLE {name} (a INT)" for name in ("t", "`t?`", "`t?u`", "v", "e.t", "e.w")]
    databases = ["CREATE DATABASE d", "CREATE DATABASE e"]
    log = Log("mysql", [Ddl(text, "d", charsets=(UTF8MB4,) * 3) for text in (*databases, *created, statement)])
    changes = [change for _, change in DefinitionReader("mysql").read(bronze(tmp_path, log))][8:]
    assert {str(change.name) for change in changes} == tables
    assert {change.action for change in changes} <= {"refuse"}


OF_FAILED = ["`d`.`表é`/* Generated to handle failed CREATE OR REPLACE */", "`x`,`表é`"]


@pytest.mark.parametrize("client", [LATIN1, CP932, UTF8MB4])
@pytest.mark.parametrize("names", OF_FAILED)
def test_the_drop_of_a_statement_that_failed_is_in_utf8(tmp_path, client, names):
    """Of a CREATE OR REPLACE TABLE .. SELECT, and of a DROP DATABASE: MariaDB 10.11 and 11.8 write it so in any
    session."""
    created = Ddl("CREATE TABLE `表é` (a INT)", "d", charsets=(UTF8MB4,) * 3)
    dropped = f"DROP TABLE IF EXISTS {names}"
    log = Log("mariadb", [created, Ddl(dropped, "d", charsets=(client, client, UTF8MB4))])
    changes = [change for _, change in DefinitionReader("mariadb").read(bronze(tmp_path, log))]
    assert (changes[-1].action, changes[-1].table) == ("drop", "表é")


@pytest.mark.parametrize("text", ["DROP TABLE IF EXISTS `é` /* generated by server */", "TRUNCATE TABLE `é`"])
def test_what_a_user_wrote_is_in_the_sessions_character_set(tmp_path, text):
    created = Ddl("CREATE TABLE `é` (a INT)", "d", charsets=(UTF8MB4,) * 3)
    log = Log("mariadb", [created, Ddl(text.encode("latin-1"), "d", charsets=(LATIN1, LATIN1, UTF8MB4))])
    changes = [change for _, change in DefinitionReader("mariadb").read(bronze(tmp_path, log))]
    assert (changes[-1].action, changes[-1].table) == (text.partition(" ")[0].lower(), "é")


@pytest.mark.parametrize("flavor", ["mysql", "mariadb"])
def test_the_log_has_the_sessions_character_set_and_an_override_has_none(tmp_path, flavor):
    text, charsets = "CREATE TABLE d.t (a VARCHAR(9) DEFAULT '☃')", (UTF8MB4, LATIN1, UTF8MB4)
    events = bronze(tmp_path, Log(flavor, [Ddl(text, "d", charsets=charsets)]))
    [(lsn, change)] = DefinitionReader(flavor).read(events)
    assert (change.action, change.reason) == ("refuse", LACKS)
    [(_, change)] = DefinitionReader(flavor, answers=[Answer(1, lsn, "d", "t", text)]).read(events)
    assert change.schema and change.schema.columns[0].default.text == "☃"
    for connection in (UTF8MB4, 60000):  # one that is not known
        events = bronze(tmp_path, Log(flavor, [Ddl(text, "d", charsets=(UTF8MB4, connection, UTF8MB4))]))
        assert [change.action for _, change in DefinitionReader(flavor).read(events)] == ["create"]


@pytest.mark.parametrize("flavor", ["mysql", "mariadb"])
def test_a_statement_that_the_server_wrote_may_be_in_utf8(tmp_path, flavor):
    """That of CREATE TABLE .. SELECT is in UTF-8, with the number of the session's character set."""

    def actions(text: str, encoding: str, client: int) -> list[str]:
        log = Log(flavor, [Ddl(text.encode(encoding), "d", charsets=(client, UTF8MB4, UTF8MB4))])
        return [change.action for _, change in DefinitionReader(flavor).read(bronze(tmp_path, log))]

    written = "CREATE TABLE `t` (\n  `e` enum('{}','b') DEFAULT NULL\n)"
    assert actions(written.format("é"), "utf-8", LATIN1) == ["refuse"]
    assert actions(written.format("é"), "latin-1", LATIN1) == ["create"]
    assert actions(written.format("é"), "utf-8", UTF8MB4) == ["create"]
    assert actions(written.format("a"), "utf-8", LATIN1) == ["create"]
    assert actions(written.format("é").replace("\n  ", ""), "utf-8", LATIN1) == ["create"]
    assert actions("CREATE OR REPLACE TABLE `é` (\n  `e` int\n)", "utf-8", LATIN1) == ["refuse", "refuse"]


@pytest.mark.parametrize(
    ("label", "old", "new", "is_kept"),
    [
        ("a", "latin1", "utf8mb4", True),
        ("a", "utf8mb4", "binary", True),
        ("é", "utf8mb3", "utf8mb4", True),
        ("é", "latin1", "latin1", True),
        ("é", "latin1", "utf8mb4", False),
        ("\U0001f600", "utf8mb4", "utf8mb3", False),
        ("a", "utf8mb4", "utf16", False),
    ],
)
def test_labels_whose_bytes_mean_other_characters_refuse_the_table(label, old, new, is_kept):
    definitions = Definitions()
    for sql in (f"create table d.t (e enum('{label}') charset {old})", f"alter table d.t convert to charset {new}"):
        changes = interpret(sql, database="d", flavor="mysql", definitions=definitions)
        definitions.apply(changes)
    assert [change.action for change in changes] == ["alter" if is_kept else "refuse"]


@pytest.mark.parametrize(
    ("session", "of_mysql"),
    [
        ({"database": "l"}, "latin1"),
        ({"database": "L", "name_case": NameCase(1)}, "latin1"),
        ({"database": "u"}, "utf8mb4"),
        ({"database": "u", "database_charset": "cp1251"}, "cp1251"),
        ({"server_charset": "gbk"}, "gbk"),
        ({"database": "before_the_log", "server_charset": "gbk"}, None),
    ],
)
def test_convert_to_default_takes_the_sessions_character_set_on_mysql(session, of_mysql):
    for flavor, expected in (("mysql", of_mysql), ("mariadb", "utf8mb4")):
        definitions = definitions_after(
            "create database l charset latin1", "create database u charset utf8mb4",
            "create table u.t (id int, c varchar(9) charset koi8r)", flavor=flavor,
        )  # fmt: skip
        for options in ("character set default", "charset = default"):
            [change] = interpret(
                f"alter table u.t convert to {options}", flavor=flavor, definitions=definitions, **session
            )
            assert change.schema.columns[1].type.charset == expected
        [change] = interpret(
            "alter table u.t charset default, add d text", flavor=flavor, definitions=definitions, **session
        )
        assert change.schema.columns[2].type.charset == "utf8mb4"


@pytest.mark.parametrize(
    ("collation_id", "first", "second"),
    [(1, b"\xe5", b"\xa1\x5c"), (28, b"\xe5", b"\xa1\x5c"), (248, b"\xe5", b"\xa1\x5c"), (13, b"\x83", b"\x81\x5c"),
     (95, b"\x83", b"\x81\x5c")],
)  # fmt: skip
def test_a_backslash_escapes_one_byte_of_a_code(collation_id, first, second):
    """In big5, gbk, gb18030, sjis and cp932; MySQL 9.7 and MariaDB 10.11 make the same columns."""
    for quote in (b"'", b'"'):
        texts = (b"\\" + first + second, b", c int comment ", b"x" * 300 + b"\\" + first + second + quote + quote)
        comments = [quote + text + quote for text in texts]
        schema = created(b"a int comment %s, b int comment %s, d int comment %s" % tuple(comments), collation_id)
        assert [column.name for column in schema.columns] == ["id", "a", "b", "d"]
        assert [len(column.comment) for column in schema.columns[2:]] == [len(texts[1]), 300 + 2 + 1]
    last = b"\xec" if first == b"\xe5" else b"\x8e"
    schema = created(b"e enum('\\" + first + b"\\" + last + b"|') charset utf8mb4", collation_id)
    assert schema.columns[1].type.labels == ((first + last + b"|").decode(PYTHONS[collation_id]),)


@pytest.mark.parametrize(("collation_id", "code"), [(13, b"\x81\x5f"), (12, b"\xa1\xc0")])
def test_a_wide_backslash_escapes_nothing(collation_id, code):
    """In sjis and ujis; the servers make a backslash of it after the statement was cut into words (9.7)."""
    body = b"`q%s` int comment 'x%s', r%s enum('a%sb','c') charset utf8mb4" % ((code,) * 4)
    columns = created(body, collation_id).columns[1:]
    assert [column.name for column in columns] == ["q\\", "r\\"]
    assert columns[0].comment == "x\\" and columns[1].type.labels == ("a\\b", "c")


PYTHONS = {1: "big5", 28: "gbk", 248: "gb18030", 13: "shift_jis", 95: "cp932"}


def created(body: bytes, collation_id: int) -> TableSchema:
    statement = decode_statement(b"create table d.t (id int, " + body + b")", collation_id)
    [change] = interpret(
        statement,
        flavor="mysql",
        definitions=Definitions(),
        client_charset=charset_of_collation_id(collation_id, "mysql"),
    )
    assert change.schema, change.reason
    return change.schema
