"""Expressions of MariaDB's generated columns: what is computed, in which SQL, and what is not.

``tests/server/test_generated.py`` asks a server.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from mirrorlake.core.changes.conditions import GENERATED, MAYBE_REPLACED
from mirrorlake.core.schema.tables import TableSchema
from mirrorlake.lake.gold.control.register import STREAMING, TableEntry, TableRegister
from mirrorlake.lake.gold.control.rules import TableRules
from mirrorlake.lake.gold.ddl.steps import Overwrite
from mirrorlake.lake.gold.decisions import Decisions
from mirrorlake.lake.gold.merge.changes import TableChanges
from mirrorlake.lake.gold.merge.generated_columns import computed_sql, not_computed
from tests.support.ddl_outcomes import Replay

COLUMNS = (
    "id int primary key, i int, u int unsigned, b bigint, z int zerofill, d decimal(10,2), f double, w varchar(10),"
    " t text, l varchar(5) charset latin1, da date, dt datetime(3), ts timestamp null, e enum('a','b'), j json,"
    " `o'd``d{}` int"
)
OF_SESSION = "functions and texts as the session of its statement has them"
LEAVE_OUT = TableRules(generated=lambda *_: "leave-out")


class MariadbReplay(Replay):
    flavor, server_version, time_zone = "mariadb", 110809, "+00:00"

    def __init__(self, *statements: str, rules: TableRules = TableRules()):  # noqa: B008
        super().__init__("create database d charset utf8mb4", *statements, rules=rules)

    def entry(self, table: str = "t") -> TableEntry:
        found = self.register.get(("d", table))
        assert found
        return found


def table(generated: str, columns: str = COLUMNS) -> TableSchema:
    schema = MariadbReplay(f"create table t ({columns}, {generated})").entry().schema
    assert schema
    return schema


@pytest.mark.parametrize(
    ("definition", "sql"),
    [
        ("int as (i)", "CAST(CAST(`i` AS BIGINT) AS int)"),
        ("bigint as (i + 1)", "CAST(CAST((CAST(`i` AS BIGINT) + CAST(1BD AS BIGINT)) AS BIGINT) AS bigint)"),
        ("int as (`o'd``d{}`)", "CAST(CAST(`o'd``d{}` AS BIGINT) AS int)"),
        (
            "tinyint as (i)",
            "CAST(CAST(IF(CAST(`i` AS BIGINT) < (-128), (-128), IF(CAST(`i` AS BIGINT) > (127), (127),"
            " CAST(`i` AS BIGINT))) AS BIGINT) AS tinyint)",
        ),
        ("varchar(20) as (concat(w, 'it''s \\\\ {}'))", "CAST(concat(`w`, 'it\\'s \\\\ {}') AS string)"),
        ("varchar(5) as (w)", "CAST(substring(`w`, 1, 5) AS string)"),
        ("varchar(20) as (concat('a'\"b'\", _latin1'c' 'd', w))", "CAST(concat('ab\\'', 'cd', `w`) AS string)"),
        ("int as (year(da))", "CAST(CAST(year(CAST(`da` AS DATE)) AS BIGINT) AS int)"),
        ("int as (i is null)", "CAST(CAST((CAST(`i` AS BIGINT) IS NULL) AS BIGINT) AS int)"),
        ("int as (e is null)", "CAST(CAST((`e` IS NULL) AS BIGINT) AS int)"),
        (
            "varchar(9) as (upper(w))",
            "IF(coalesce((octet_length(`w`) <> char_length(`w`)), false), raise_error('mirrorlake.errors"
            ".RefusedError: generated-column: the value of generated column v is not computed for a row'),"
            " CAST(substring(upper(`w`), 1, 9) AS string))",
        ),
    ],
)
def test_an_expression_is_written_for_spark(definition, sql):
    schema = table(f"v {definition}")
    assert computed_sql(schema.columns[-1], schema) == sql


@pytest.mark.parametrize(
    ("definition", "reason"),
    [
        ("varchar(40) as (hex(i))", "the function hex"),
        ("int as (i / 2)", "/ is not understood at character 3"),
        ("int as (i | 1)", "| is not understood at character 3"),
        ("int as (not i = 1)", "= is not understood at character 7"),
        ("int as (w = 'a')", "a calculation with a text"),
        ("date as (w)", "a text in a column of type date"),
        ("int as (u - 1)", "an unsigned number that may be below 0"),
        ("int as (f + 1)", "a calculation with a value of another type"),
        ("double as (d)", "a number in a column of type double"),
        ("bigint as (b * b * b)", "a number of more than 38 digits"),
        ("varchar(20) as (concat(z))", "the text of a number"),
        ("varchar(20) as (concat(d))", "the text of a number"),
        ("varchar(20) charset latin1 as (w)", "text of utf8mb4 in latin1"),
        ("varchar(20) as (substring(w, i))", "a position in a text that is no constant"),
        ("varchar(20) as (json_length(j, '$.a'))", "the function json_length"),
        ("int as (year(ts))", "the date of a value of another type"),
        ("int as (hour(da))", "the time of a date"),
        ("enum('a','b') as (e)", "a value of another type in a column of type enum('a','b')"),
        ("int as (e + 0)", "a calculation with a value of another type"),
        ("int as (v + 1)", "column v is computed from itself"),
        ("varchar(9) as (concat(_utf16'ab', w))", "a string is not understood at character 14"),
        ("varchar(9) as (concat(_swe7'[x]', w))", "a string is not understood at character 13"),
        ("varchar(9) charset swe7 as (concat(i, '['))", "text in swe7"),
        ("int as (length(convert(i using utf16)))", "text in utf16"),
        ("varchar(9) as (cast('[' as char charset swe7))", "text in swe7"),
        ("varchar(9) as (upper(_binary'a'))", "a string is not understood at character 14"),
        ("int as (json_value(j, _ucs2'$.a'))", "a string is not understood at character 20"),
        ("int as (i + 1e0)", "a number is not understood at character 5"),
        ("varchar(20) as (cast(w as char(3)))", "CAST to char"),
        ("time as (cast(dt as time))", "CAST to time"),
    ],
)
def test_what_is_not_exact_is_not_computed(definition, reason):
    assert not_computed(table(f"v {definition}")) == {"v": reason}


@pytest.mark.parametrize("sql_mode", [1 << 9, 1 << 32])
def test_functions_of_another_sql_mode_are_not_computed(sql_mode):
    replay = MariadbReplay()
    replay.run("create table t (id int primary key, w varchar(9), v varchar(9) as (concat(w, '')))", sql_mode)
    assert not_computed(replay.entry().schema) == {"v": OF_SESSION}


def test_dates_and_texts_that_are_held_as_text_are_not_computed():
    schema = replace(table("v int as (year(da)), x int as (i + 1)"), as_text=True)
    assert not_computed(schema) == {"v": "column da is held as text that need not be valid"}


@pytest.mark.parametrize(
    ("alter", "generated"),
    [
        ("alter table t change i x int", ("`x` * 10 + `u`", "concat(w, '`i`', i(1))")),
        ("alter table t change i u int unsigned, change u i int", ("`u` * 10 + `i`", "concat(w, '`i`', i(1))")),
        ("alter table t rename column w to `a``b`", ("i * 10 + `u`", "concat(`a``b`, '`i`', i(1))")),
        ("alter table t change i x int, modify v int as (x + 1)", ("x + 1", "concat(w, '`i`', i(1))")),
    ],
)
def test_mariadb_writes_new_names_of_columns_into_expressions(alter, generated):
    columns = "v int as (i * 10 + `u`), c varchar(99) as (concat(w, '`i`', i(1)))"
    schema = MariadbReplay(f"create table t ({COLUMNS}, {columns})", alter).entry().schema
    assert tuple(column.generated for column in schema.columns if column.generated) == generated


UNKNOWN = "column v: rows that exist get what an expression gives"


@pytest.mark.parametrize(
    ("clauses", "sql", "stops"),
    [
        ("add v varchar(9) as (concat(w, '!'))", "CAST(substring(concat(`w`, '!'), 1, 9) AS string)", None),
        ("change w x varchar(10), add v char(32) as (md5(x))",
         "CAST(rtrim(md5(CAST(`w` AS BINARY))) AS string)", ("(`w` IS NULL)", UNKNOWN)),
        ("add v int as (month(da))", "CAST(CAST(month(CAST(`da` AS DATE)) AS BIGINT) AS int)",
         ("(`da` IS NULL)", UNKNOWN)),
        ("modify w varchar(20), add v varchar(40) as (concat(w, '!'))", None, ("true", UNKNOWN)),
        ("add y int, add v int as (mod(y, 2))", None, ("true", UNKNOWN)),
        ("add v varchar(9) as (hex(w))", None, ("true", UNKNOWN)),
    ],
)  # fmt: skip
def test_rows_that_exist_get_the_value_of_a_new_column_s_expression(clauses, sql, stops):
    (outcome,) = MariadbReplay(f"create table t ({COLUMNS})").run(f"alter table t {clauses}")
    given = [dict(step.columns).get("v") for step in outcome.work.steps if isinstance(step, Overwrite)]
    assert given == ([f"CAST({sql} AS {'int' if 'int as' in clauses else 'string'})"] if sql else [])
    stopped = [(check.where, check.reason) for check in outcome.work.checks]
    assert stops is None and not stopped or stops in stopped


def changes(schema: TableSchema, *codes: str, has_partial: bool = False, n_invalid: int = 0) -> TableChanges:
    conditions = {code: f"reason of {code}" for code in codes}
    return TableChanges(
        "d", "t", frozenset({schema.schema_id}), 3, 0, 0, 300, None, has_partial, n_invalid, None, conditions
    )


def refusal(entry: TableEntry, seen: TableSchema, found: TableChanges, rules: TableRules) -> tuple | None:
    decisions = Decisions(lambda: {seen.schema_id: seen}, rules)
    work, refused = decisions.take([found], TableRegister([entry]), ())
    assert len(work) + len(refused) == 1
    return (refused[0].code, refused[0].reason) if refused else None


LACKING = "the log leaves out generated column v, which is not computed"
NO_MEANING = f"{LACKING} from column {{}}: a value there may have no meaning"
WAY_OUT = "; --generated leave-out makes mirrors without such columns"


@pytest.mark.parametrize(
    ("generated", "how", "reason"),
    [
        ("v int as (i + 1)", {}, None),
        ("v int as (i + 1)", {"has_partial": True, "n_invalid": 1}, None),
        ("v varchar(30) as (concat(w, i))", {"has_partial": True, "n_invalid": 1}, None),
        ("v int as (year(da))", {}, None),
        ("v int as (year(da))", {"n_invalid": 1}, NO_MEANING.format("da")),
        ("v int as (w is null)", {"has_partial": True}, NO_MEANING.format("w")),
        ("v varchar(30) as (hex(i))", {}, f"{LACKING}: the function hex"),
    ],
)  # fmt: skip
def test_changes_without_generated_columns_are_applied_where_these_are_computed(generated, how, reason):
    schema = table(generated)
    entry = TableEntry(5, "d", "t", STREAMING, "m", schema)
    expected = (GENERATED, reason + WAY_OUT) if reason else None
    assert refusal(entry, schema, changes(schema, GENERATED, **how), TableRules()) == expected


def test_what_may_be_a_replace_is_applied_as_a_replica_does_where_the_operator_says_so():
    schema = table("v int as (i)")
    entry, found = TableEntry(5, "d", "t", STREAMING, "m", schema), changes(schema, MAYBE_REPLACED)
    assert refusal(entry, schema, found, TableRules()) == (MAYBE_REPLACED, "reason of row-image")
    assert refusal(entry, schema, found, TableRules(partial_images=lambda *_: "replica")) is None


CREATE = "create table t (id int primary key, a int, v int as (hex(a)), w int as (a + 1), x int as (v + 1))"


def test_a_mirror_can_be_made_without_what_is_not_computed():
    replay = MariadbReplay(CREATE, rules=LEAVE_OUT)
    entry, seen = replay.entry(), replay.definitions.get("d", "t")
    assert [column.name for column in entry.schema.columns] == ["id", "a", "w"]
    assert entry.schema.left_out == ("v", "x")
    assert entry.mirror_id == "d__t__2__less"
    assert TableSchema.from_json(entry.schema.to_json()).left_out == ("v", "x")
    assert refusal(entry, seen, changes(seen, GENERATED), LEAVE_OUT) is None


@pytest.mark.parametrize(
    ("alter", "columns", "left_out"),
    [
        ("alter table t add y int first, add k int as (hex(a))", ["y", "id", "a", "w"], ("v", "x", "k")),
        ("alter table t change v vv int as (hex(a)), drop x", ["id", "a", "w"], ("vv",)),
        ("alter table t modify v int as (a + 3)", ["id", "a", "w"], ("v", "x")),
        ("alter table t comment 'x'", ["id", "a", "w"], ("v", "x")),
        ("rename table t to t2, t2 to t", ["id", "a", "w"], ("v", "x")),
    ],
)
def test_what_a_mirror_lacks_it_lacks_after_an_alter(alter, columns, left_out):
    entry = MariadbReplay(CREATE, alter, rules=LEAVE_OUT).entry()
    assert (entry.state, entry.code) == (STREAMING, None)
    assert ([column.name for column in entry.schema.columns], entry.schema.left_out) == (columns, left_out)


def test_a_left_out_column_that_becomes_an_ordinary_one_needs_a_new_mirror():
    entry = MariadbReplay(CREATE, "alter table t modify v int", rules=LEAVE_OUT).entry()
    assert (entry.code, entry.reason) == ("needs-resync", "column v was left out as a generated one, and is none now")


def test_without_the_option_a_mirror_has_all_columns():
    entry = MariadbReplay(CREATE).entry()
    assert ([column.name for column in entry.schema.columns], entry.schema.left_out) == (["id", "a", "v", "w", "x"], ())


def test_another_expression_is_registered():
    entry = MariadbReplay("create table t (id int primary key, a int)", "alter table t add v int as (a + 1)").entry()
    assert entry.schema.columns[-1].generated == "a + 1"
