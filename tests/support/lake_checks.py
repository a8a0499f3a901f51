"""Whether a lake holds a history: gold and silver row by row, and epochs that follow each other."""

from __future__ import annotations

from collections import Counter
from functools import reduce

from pyspark.sql import DataFrame

from mirrorlake.lake.gold.control.register import STREAMING
from tests.support.histories import History
from tests.support.lake_runs import LakeRun, expected_gold


def check(run: LakeRun, history: History) -> None:
    assert run.gold() == expected_gold(history)
    assert silver(run) == expected_silver(history)
    check_epochs(run)


def silver(run: LakeRun) -> list[tuple]:
    rows = run.spark.table(run.lake.names.silver_changes).orderBy("tx_lsn", "ordinal")
    found = []
    for row in rows.select("op", "database", "table", "changes", "statement").collect():
        tail = {"BEGIN": (), "COMMIT": (row.changes,), "DDL": (row.statement,)}.get(row.op, (row.database, row.table))
        found.append((row.op, *tail))
    return found


def expected_silver(history: History) -> list[tuple]:
    found: list[tuple] = []
    for transaction in history.transactions:
        if transaction.statement is not None:
            found.append(("DDL", transaction.statement))
        else:
            found += [("BEGIN",), *((c.op, *c.table) for c in transaction.changes), ("COMMIT", transaction.count)]
    return found


def check_commits(run: LakeRun) -> DataFrame:
    """Each row of each mirror has commit time and GTID of the change at its ``_lsn``, or NULL if that is no change.
    Returns these columns of all rows."""
    mirrors = [run.spark.table(run.lake.names.mirror(e.mirror_id)) for e in run.register if e.state == STREAMING]
    held = reduce(DataFrame.unionAll, (mirror.select("_lsn", "_committed_at", "_gtid") for mirror in mirrors))
    changes = run.spark.table(run.lake.names.silver_changes).where("op IN ('INSERT', 'UPDATE', 'DELETE')")
    logged = changes.selectExpr("lsn AS _lsn", "commit_ts", "gtid").distinct()
    wrong = held.join(logged, "_lsn", "left").where("NOT (_committed_at <=> commit_ts AND _gtid <=> gtid)")
    assert wrong.collect() == []
    return held


def check_epochs(run: LakeRun) -> None:
    """One plan and one done row for each epoch, in order; the ranges follow each other and cut no transaction.

    An edge at the event that opens a transaction leaves all its row changes together.
    """
    rows = run.spark.table(run.lake.names.control_epochs).collect()
    plans, dones = ({row.epoch: row for row in rows if row.phase == phase} for phase in ("plan", "done"))
    numbers = list(range(1, len(plans) + 1))
    assert Counter((row.epoch, row.phase) for row in rows) == Counter((n, p) for n in numbers for p in ("plan", "done"))
    in_time = [row.at for n in numbers for row in (plans[n], dones[n])]
    assert in_time == sorted(in_time)
    edges = [-1, *(plans[n].lsn_to for n in numbers)]
    for phase in (plans, dones):
        assert [(phase[n].lsn_from, phase[n].lsn_to) for n in numbers] == list(zip(edges, edges[1:], strict=False))
    changes = run.spark.table(run.lake.names.silver_changes)
    spans = changes.where("op IN ('BEGIN', 'COMMIT')").groupBy("tx_lsn").agg({"lsn": "max"}).collect()
    assert [(first, last, edge) for first, last in spans for edge in edges if first < edge < last] == []
    newest = run.versions()
    for n in numbers:
        for table in dones[n].tables:
            assert table.version is None or table.version <= newest.get(table.mirror_id, table.version)
