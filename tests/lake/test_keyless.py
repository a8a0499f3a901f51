"""Mirrors of tables without a key, where ``tests/cases`` and the random histories do not come."""

from __future__ import annotations

import pytest

from mirrorlake.core.schema.tables import Column, TableSchema
from mirrorlake.core.schema.types import ColumnType
from mirrorlake.lake.gold.control.register import REFUSED, STREAMING
from tests.support.binlog_spec import Ddl, Delete, Insert, Log, Transaction
from tests.support.binlog_writer import write_logs
from tests.support.canonical import canonical_row
from tests.support.crash import SimulatedCrash, crash_at
from tests.support.lake_runs import LakeRun

NAMES = ("t", "u", "v")
T, U, V = (TableSchema("shop", name, (Column("a", ColumnType("int")),), ()) for name in NAMES)
ONE, TWO = {"a": 1}, {"a": 2}
CREATE = [Ddl("CREATE DATABASE shop"), *(Ddl(f"CREATE TABLE {name} (a INT)", "shop") for name in NAMES)]


@pytest.mark.heavy
def test_a_mirror_that_lacks_a_row_that_goes_is_refused_and_the_others_go_on(spark, tmp_path):
    """By a row that was never there, by one copy too many, and not at all."""
    filled = Transaction([Insert(table, [ONE, ONE, TWO]) for table in (T, U, V)])
    reduced = Transaction([Delete(T, [TWO, {"a": None}]), Delete(U, [ONE, ONE, ONE, TWO]), Delete(V, [ONE, ONE])])
    write_logs(tmp_path / "logs", Log("mysql", [*CREATE, filled], end="open"), 1)
    run = LakeRun(spark, tmp_path / "logs", tmp_path / "lake")
    run.all_hops()
    write_logs(tmp_path / "logs", Log("mysql", [*CREATE, filled, reduced]), 1)
    run.all_hops()
    entries = [run.register.get(("shop", name)) for name in NAMES]
    assert [(entry.state, entry.code) for entry in entries] == [
        (REFUSED, "mirror-diverged"), (REFUSED, "mirror-diverged"), (STREAMING, None)
    ]  # fmt: skip
    assert entries[0].reason == "the log deletes more of equal rows than the mirror has"
    as_before = [canonical_row(row) for row in (ONE, ONE, TWO)]
    assert [run.mirror(entry.mirror_id) for entry in entries] == [as_before, as_before, [canonical_row(TWO)]]


@pytest.mark.heavy
def test_copies_that_stay_keep_their_lsn(spark, tmp_path, monkeypatch):
    """Also when the process ends after the commit that takes one away, and the epoch is repeated."""
    insert, delete = Transaction([Insert(T, [ONE, TWO])]), Transaction([Delete(T, [ONE])])
    logged, found = list(CREATE), []
    for transaction in (insert, insert, delete):
        logged.append(transaction)
        write_logs(tmp_path / "logs", Log("mysql", logged, end="open"), 1)
        run = LakeRun(spark, tmp_path / "logs", tmp_path / "lake")
        if transaction is delete:
            with monkeypatch.context() as patch, pytest.raises(SimulatedCrash):
                crash_at(patch, "mirrorlake.lake.delta.progress.replace_once", "after", 1)
                run.all_hops()
        run.all_hops()
        mirror = spark.table(run.lake.names.mirror(run.register.get(("shop", "t")).mirror_id))
        found.append([(row.a, row._lsn) for row in mirror.orderBy("a", "_lsn").collect()])
    assert [[a for a, _ in rows] for rows in found] == [[1, 2], [1, 1, 2, 2], [1, 2, 2]]
    assert found[1][0] == found[0][0] and found[2] == found[1][1:]
