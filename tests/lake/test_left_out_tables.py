"""A table that ``--tables`` leaves out costs the others nothing: its DDL ends no epoch, nor do its rows."""

from __future__ import annotations

import pytest

from mirrorlake.core.schema.tables import Column, TableSchema
from mirrorlake.core.schema.types import ColumnType
from mirrorlake.lake.gold.control.register import DROPPED, REFUSED, STREAMING
from tests.support.binlog_spec import Ddl, Delete, Insert, Log, Transaction
from tests.support.binlog_writer import write_logs
from tests.support.canonical import canonical_row
from tests.support.crash import SimulatedCrash, crash_at
from tests.support.lake_checks import check_epochs
from tests.support.lake_runs import LakeRun, run_of

COLUMNS = (Column("id", ColumnType("int"), False), Column("v", ColumnType("int"), True))
FOLLOWED, LEFT_OUT = (TableSchema("d", name, COLUMNS, ("id",)) for name in ("t", "log_t"))
ROWS = [{"id": n, "v": n} for n in range(1, 7)]
LAST = {"id": 7, "v": 7}
TABLES = "d.*,!d.log_*"
BEGIN = [Ddl("CREATE DATABASE d"), *(Ddl(f"CREATE TABLE {name} (id INT PRIMARY KEY, v INT)", "d") for name in "tu")]


def busy() -> list:
    """Rows of both tables, and DDL of the one that is left out between them."""
    items = [*BEGIN, Ddl("CREATE TABLE log_t (id INT PRIMARY KEY, v INT)", "d")]
    for row in ROWS:
        items += [Transaction([Insert(FOLLOWED, [row]), Insert(LEFT_OUT, [row])])]
        items += [Ddl("TRUNCATE TABLE log_t", "d"), Ddl(f"ALTER TABLE log_t ADD INDEX i{row['id']} (v)", "d")]
    return items


def lake_of(spark, folder, items: list) -> LakeRun:
    run = run_of(spark, folder, lambda logs: write_logs(logs, Log("mysql", items)))
    run.ingest()
    run.assemble()
    return run


def epochs(run: LakeRun) -> list[str]:
    """The kind of each epoch, in order."""
    rows = run.spark.table(run.lake.names.control_epochs).where("phase = 'plan'").orderBy("epoch")
    return [row.kind for row in rows.select("kind").collect()]


def test_ddl_of_a_table_that_is_left_out_ends_no_epoch(spark, tmp_path):
    """Unless it renames the table to a followed name, or a followed table to a name that is left out."""
    renamed = [Ddl("RENAME TABLE log_t TO w", "d"), Ddl("RENAME TABLE u TO log_u", "d")]
    run = lake_of(spark, tmp_path, [*busy(), *renamed, Transaction([Insert(FOLLOWED, [LAST])])])
    run.apply(tables=TABLES)
    check_epochs(run)
    assert epochs(run) == ["ddl", "rows", "ddl", "rows"]
    states = {entry.table: (entry.state, entry.code) for entry in run.register}
    assert states == {"t": (STREAMING, None), "u": (DROPPED, None), "w": (REFUSED, "needs-first-copy")}
    assert run.gold() == {("d", "t"): [canonical_row(row) for row in (*ROWS, LAST)]}


def test_an_epoch_that_is_repeated_with_other_patterns_makes_no_mirror_by_halves(spark, tmp_path, monkeypatch):
    """The table was left out when the epoch was planned; the run that repeats it takes the table."""
    run = lake_of(spark, tmp_path, busy())
    with monkeypatch.context() as patch, pytest.raises(SimulatedCrash):
        crash_at(patch, "mirrorlake.lake.gold.row_epoch.RowEpochs.carry_out", "before")
        run.apply(tables=TABLES)
    run.apply()
    check_epochs(run)
    assert run.gold() == {("d", "t"): [canonical_row(row) for row in ROWS], ("d", "u"): []}
    left_out = run.register.get(("d", "log_t"))
    assert (left_out.state, left_out.code) == (REFUSED, "needs-first-copy")


def test_rows_that_are_left_out_do_not_count_for_the_size_of_an_epoch(spark, tmp_path, monkeypatch):
    monkeypatch.setattr("mirrorlake.lake.gold.merge.changes.CHUNK_BITS", 10)
    many = [{"id": n, "v": n} for n in range(200)]
    items = [*BEGIN, Ddl("CREATE TABLE log_t (id INT PRIMARY KEY, v INT)", "d")]
    for row in ROWS:
        items += [Transaction([Insert(FOLLOWED, [row])]), Transaction([Insert(LEFT_OUT, many), Delete(LEFT_OUT, many)])]
    run = lake_of(spark, tmp_path, items)
    run.apply(tables=TABLES, epoch_changes=3)
    assert epochs(run) == ["ddl", "rows", "rows"]
    assert run.gold() == {("d", "t"): [canonical_row(row) for row in ROWS], ("d", "u"): []}
