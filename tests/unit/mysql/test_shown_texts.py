"""Texts that SHOW CREATE TABLE cannot show are asked for, each one that has a question mark."""

from __future__ import annotations

import re

import pytest

from mirrorlake.core.schema.column_patterns import NO_COLUMNS
from mirrorlake.core.schema.lower_case_names import AS_WRITTEN
from mirrorlake.core.schema.table_name import TableName
from mirrorlake.errors import RefusedError
from mirrorlake.jobs.source_look import definition_of, shown_definition
from mirrorlake.mysql import shown_texts
from mirrorlake.mysql.shown_texts import MOST_CHARACTERS, with_all_characters
from tests.support.linear_time import assert_linear

SHOWN = r"""CREATE TABLE `t` (
  `id` int(11) NOT NULL,
  `e ``?` enum('a?','it''s\\','?') NOT NULL DEFAULT 'a?' COMMENT 'DEFAULT ''?''',
  `s` set('b','?',',?') CHARACTER SET latin1 DEFAULT NULL,
  `v` varchar(9) DEFAULT '?' COMMENT '?',
  `w` varchar(9) DEFAULT concat('?','x'),
  `x` varchar(9) COMMENT 'a
  `v` varchar(9) DEFAULT ''?''',
  KEY `k?` (`v`)
) ENGINE=InnoDB COMMENT='?'
 PARTITION BY LIST  COLUMNS(`s`)
(PARTITION `a` VALUES IN ('?') ENGINE = InnoDB)"""
TRUE = SHOWN.replace(
    r"enum('a?','it''s\\','?') NOT NULL DEFAULT 'a?'", r"enum('a😀','it''s\\','''\\') NOT NULL DEFAULT 'a😀'"
)
TRUE = TRUE.replace("set('b','?',',?')", "set('b','😀',',?')").replace(
    "`v` varchar(9) DEFAULT '?' COMMENT '?'", "`v` varchar(9) DEFAULT '🐬' COMMENT '?'"
)
VALUES = {
    ("`d`.`t`.`e ``?`", 1): "a😀", ("`d`.`t`.`e ``?`", 3): "'\\", ("`d`.`t`.`s`", 2): "😀", ("`d`.`t`.`s`", 4): ",?",
    "`e ``?`": "a😀", "`v`": "🐬",
}  # fmt: skip


class Answers:
    """Of a server with these labels and DEFAULTs."""

    kept = ""

    def __call__(self, sql: str) -> list[tuple]:
        for key, text in VALUES.items():
            if isinstance(key, tuple) and f"TYPE OF {key[0]}; SET x = {key[1]};" in sql:
                self.kept = text
                return []
            if isinstance(key, str) and f"DEFAULT({key})" in sql:
                return [(text.encode().hex(),)]
        if sql.startswith("SELECT 0 "):
            return [(int("/*M!100300 + 1 */" in sql),)]
        assert sql == "SELECT @mirrorlake_text"
        return [(self.kept.encode().hex(),)]


def test_labels_and_defaults_get_their_characters_and_all_else_stays():
    assert with_all_characters(Answers(), TableName("d", "t"), SHOWN, "mariadb") == TRUE


def test_of_mysql_labels_alone_get_their_characters():
    """It shows such a DEFAULT as hexadecimal digits."""

    def ask(sql: str) -> list[tuple]:
        if sql.startswith("SELECT 0 "):
            return [(int("/*!80000 + 1 */" in sql),)]
        column, value = re.search(
            r"AS \(SELECT (`.*`) FROM .* JOIN `d`.`t` ON false .* SELECT (\d+) FROM", sql
        ).groups()
        return [(VALUES[f"`d`.`t`.{column}", int(value)].encode().hex(),)]

    enum = r"enum('a😀','it''s\\','''\\')"
    labels = SHOWN.replace(r"enum('a?','it''s\\','?')", enum).replace("set('b','?',',?')", "set('b','😀',',?')")
    assert with_all_characters(ask, TableName("d", "t"), SHOWN, "mysql") == labels


@pytest.mark.parametrize(("flavor", "version"), [("mysql", "MySQL before 8.0"), ("mariadb", "MariaDB before 10.3")])
def test_a_server_that_tells_no_more_of_a_label_refuses_the_table(flavor, version):
    def ask(sql: str) -> list[tuple]:
        return [("t", SHOWN)] if sql.startswith("SHOW CREATE TABLE") else [(0,)]

    name, patterns = TableName("d", "t"), NO_COLUMNS
    reason = (
        "ddl-unsupported: SHOW CREATE TABLE may have lost characters of a label of e `?,"
        f" and {version} shows them nowhere"
    )
    assert shown_definition(ask, name, flavor, AS_WRITTEN, patterns) == ("", None, reason)
    assert definition_of(ask, name, flavor, AS_WRITTEN) is None


def test_a_text_without_a_question_mark_asks_nothing():
    assert with_all_characters(None, TableName("d", "t"), TRUE.replace("?", ""), "mariadb") == TRUE.replace("?", "")


@pytest.mark.parametrize("flavor", ["mysql", "mariadb"])
@pytest.mark.parametrize("rows", [[], [()], [("x",)], [("ff",)], [("61", "61")], [("61",), ("61",)], [(1,)]])
def test_another_answer_is_the_servers_fault(rows, flavor):
    with pytest.raises(RefusedError) as refused:
        with_all_characters(lambda sql: rows, TableName("d", "t"), SHOWN, flavor)
    assert refused.value.code == "server-protocol"


@pytest.mark.parametrize(
    ("first", "piece", "last"),
    [
        ("  `a` int DEFAULT '?x", "''x", "' `\n"), ("  `a` int ", "`x``", "'\n"), ("  `a` enum('?", "','", "''\n"),
        ("", "  `a` int\\'\n", ""), ("  `a` int ", "` DEFAULT '`", "'\n"), ("  `", "``", "\n"),
        ("", "  `a` int,\n", ""), ("  `a` int", " DEFAULT ", "'\n"),
    ],
)  # fmt: skip
def test_time_grows_with_the_texts_length_and_no_faster(first, piece, last, monkeypatch):
    monkeypatch.setattr(shown_texts, "MOST_CHARACTERS", 1 << 24)

    def text(n: int) -> str:
        return f"CREATE TABLE `t` (\n  `v` int COMMENT '?',\n{first}{piece * n}{last})"

    assert_linear(lambda text: with_all_characters(Answers(), TableName("d", "t"), text, "mariadb"), text, 10_000)


@pytest.mark.parametrize("text", [SHOWN, SHOWN.replace("?", "x")])
def test_a_text_that_would_take_gigabytes_is_searched_for_no_characters(text):
    longer = text + " " * MOST_CHARACTERS
    if "?" not in text:
        assert with_all_characters(Answers(), TableName("d", "t"), longer, "mariadb") == longer
        return
    with pytest.raises(RefusedError, match="ddl-unsupported: .* has 1,04[0-9],[0-9]{3} characters"):
        with_all_characters(Answers(), TableName("d", "t"), longer, "mariadb")


@pytest.mark.parametrize(("kind", "n"), [("set", 65), ("set", 20_000), ("enum", 65_536)])
@pytest.mark.parametrize("flavor", ["mysql", "mariadb"])
def test_more_labels_than_a_column_can_have(kind, n, flavor):
    """Their numbers would be integers that Python does not write."""
    labels = ",".join(["'a'"] * (n - 1))
    text = f"CREATE TABLE `t` (\n  `a` {kind}({labels},'?') DEFAULT NULL\n)"
    with pytest.raises(RefusedError, match="server-protocol"):
        with_all_characters(lambda sql: [(1,)], TableName("d", "t"), text, flavor)
