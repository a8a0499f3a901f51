"""What Spark or Delta does not take of one table refuses that table; the epoch ends and the others have their rows."""

from __future__ import annotations

import pytest

from mirrorlake.core.schema import tables
from mirrorlake.core.schema.tables import Column, TableSchema
from mirrorlake.core.schema.types import ColumnType
from tests.support.binlog_spec import Ddl, Insert, Log, Transaction, Update
from tests.support.canonical import canonical_row
from tests.support.lake_runs import LakeRun, count_as_large

OTHER = TableSchema("d", "other", (Column("id", ColumnType("int"), False),), ("id",))
CREATE_THIRD = Ddl("CREATE TABLE third (id INT PRIMARY KEY)", "d")
"""Ends an epoch."""
CREATE_OTHER = Ddl("CREATE TABLE other (id INT PRIMARY KEY)", "d")


def table(*names: str) -> TableSchema:
    columns = (Column("id", ColumnType("int"), False), *(Column(name, ColumnType("int")) for name in names))
    return TableSchema("d", "l", columns, ("id",))


def create(*names: str) -> Ddl:
    columns = ", ".join(f"`{name.replace('`', '``')}` INT" for name in names)
    return Ddl(f"CREATE TABLE l (id INT PRIMARY KEY, {columns})", "d")


def applied(spark, tmp_path, *items) -> LakeRun:
    run = LakeRun.up_to_silver(spark, Log("mariadb", [CREATE_OTHER, *items]), tmp_path)
    run.apply()
    run.apply()  # no epoch is open
    return run


@pytest.fixture
def mirrored_before(monkeypatch):
    """As in lakes that an earlier version began: names that Spark takes for one were not looked for."""
    monkeypatch.setattr(tables, "_taken_for_one", lambda columns: None)


def test_names_that_a_mirror_cannot_hold_refuse_the_table(spark, tmp_path):
    rows = Transaction([Insert(table("ſ", "s"), [{"id": 1, "ſ": 2, "s": 3}]), Insert(OTHER, [{"id": 7}])])
    run = applied(spark, tmp_path, create("ſ", "s"), rows)
    assert run.register.get(("d", "l")).code == "column-name"
    assert run.gold() == {("d", "other"): [canonical_row({"id": 7})]}


@pytest.mark.heavy
def test_names_that_only_look_odd(spark, tmp_path):
    names = [
        "a b",
        "a,b",
        "a;b",
        "{a}",
        "(a)",
        "a=b",
        "a\tb",
        "a\nb",
        "a.b",
        "a`b",
        "a'b",
        'a"b',
        "a\\b",
        "${a}",
        "%s",
        "{}",
    ]
    names += ["_metadata", "_change_type", "_commit_version", "op", "lsn", "1", "é", "x" * 64]
    before = {"id": 1} | {name: i for i, name in enumerate(names)}
    after = before | {name: -i for i, name in enumerate(names)}
    changes = [Insert(table(*names), [before, before | {"id": 2}]), Update(table(*names), [(before, after)])]
    run = applied(spark, tmp_path, create(*names), Transaction(changes[:1]), CREATE_THIRD, Transaction(changes[1:]))
    rows = [canonical_row(after), canonical_row(before | {"id": 2})]
    assert run.gold() == {("d", "l"): rows, ("d", "other"): [], ("d", "third"): []}


@pytest.mark.heavy
def test_row_changes_that_delta_does_not_take_refuse_the_table(spark, tmp_path, mirrored_before, monkeypatch):
    """A MERGE takes the two names for one."""
    count_as_large(monkeypatch, merges=True)
    schema, before = table("ſ", "s"), {"id": 1, "ſ": 2, "s": 3}
    insert = Transaction([Insert(schema, [before]), Insert(OTHER, [{"id": 1}])])
    update = Transaction([Update(schema, [(before, before | {"ſ": 4})]), Insert(OTHER, [{"id": 2}])])
    run = applied(spark, tmp_path, create("ſ", "s"), insert, CREATE_THIRD, update)
    refused = run.register.get(("d", "l"))
    assert (refused.state, refused.code) == ("refused", "spark-refused")
    assert run.gold() == {("d", "other"): [canonical_row({"id": n}) for n in (1, 2)], ("d", "third"): []}
    assert run.mirror(refused.mirror_id) == [canonical_row(before)]


@pytest.mark.heavy
def test_a_key_with_a_name_that_deltas_merge_uses_refuses_the_table(spark, tmp_path, monkeypatch):
    """Spark calls it a defect of its own: the condition of the join has the wrong one of two columns."""
    count_as_large(monkeypatch, merges=True)
    columns = (Column("id", ColumnType("int"), False), Column("_row_id_", ColumnType("int"), False))
    schema = TableSchema("d", "l", columns, ("id", "_row_id_"))
    first, second = {"id": 1, "_row_id_": 2}, {"id": 1, "_row_id_": 3}
    create_it = Ddl("CREATE TABLE l (id INT, _row_id_ INT, PRIMARY KEY (id, _row_id_))", "d")
    insert = Transaction([Insert(schema, [first]), Insert(OTHER, [{"id": 1}])])
    update = Transaction([Update(schema, [(first, second)]), Insert(OTHER, [{"id": 2}])])
    run = applied(spark, tmp_path, create_it, insert, CREATE_THIRD, update)
    refused = run.register.get(("d", "l"))
    assert (refused.state, refused.code) == ("refused", "spark-refused")
    assert run.gold() == {("d", "other"): [canonical_row({"id": n}) for n in (1, 2)], ("d", "third"): []}


@pytest.mark.heavy
def test_a_small_mirror_has_both_columns(spark, tmp_path, mirrored_before):
    schema, before = table("ſ", "s"), {"id": 1, "ſ": 2, "s": 3}
    update = Transaction([Update(schema, [(before, before | {"ſ": 4})])])
    run = applied(spark, tmp_path, create("ſ", "s"), Transaction([Insert(schema, [before])]), CREATE_THIRD, update)
    assert run.gold() == {("d", "l"): [canonical_row(before | {"ſ": 4})], ("d", "other"): [], ("d", "third"): []}


@pytest.mark.parametrize(
    ("alter", "code"),
    [("ADD COLUMN `ſ` INT", "spark-refused"), ("DROP COLUMN v, ADD COLUMN `ſ` INT", "mirror-diverged")],
)
@pytest.mark.heavy
def test_a_statement_that_delta_does_not_take_refuses_the_table(spark, tmp_path, mirrored_before, alter, code):
    row = {"id": 1, "s": 3, "v": 4}
    rows = Transaction([Insert(table("s", "v"), [row]), Insert(OTHER, [{"id": 1}])])
    run = applied(spark, tmp_path, create("s", "v"), rows, Ddl(f"ALTER TABLE l {alter}", "d"),
                  Transaction([Insert(OTHER, [{"id": 2}])]))  # fmt: skip
    refused = run.register.get(("d", "l"))
    assert refused.state == "refused" and refused.code == code
    assert run.gold() == {("d", "other"): [canonical_row({"id": n}) for n in (1, 2)]}
