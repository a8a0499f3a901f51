"""Columns of a source that are called like those which gold adds on the way: with a key and without."""

from __future__ import annotations

import pytest

from mirrorlake.core.changes.images import REMOVED
from mirrorlake.core.schema.tables import Column, TableSchema
from mirrorlake.core.schema.types import ColumnType
from mirrorlake.lake.gold.apply import ApplyHop
from mirrorlake.lake.gold.control.register import STREAMING
from mirrorlake.lake.gold.control.rules import TableRules
from mirrorlake.lake.gold.merge.net_effect import Sizes
from tests.support.binlog_spec import Ddl, Delete, Insert, Log, Transaction, Update
from tests.support.lake_runs import LakeRun

IN_KEYS = (
    "ordinal", "tx_lsn", "_removed", "_row", "_place", "lsn", "op", "before", "after", "_base0", "_logged_columns",
    "c0", "s", "t", REMOVED[:64],
)  # fmt: skip
NAMES = (*IN_KEYS, "_held", "_n", "_nth", "_each", "_count", "hit", "began", "ended", "first", "m", "e", "v", "l")
KEYS = {"keyed": ("id", *IN_KEYS), "beside": ("id",), "keyless": ()}


def table(name: str) -> TableSchema:
    columns = tuple(Column(each, ColumnType("int"), False) for each in ("id", *NAMES))
    return TableSchema("d", name, columns, KEYS[name])


def create(name: str) -> Ddl:
    columns = ", ".join(f"`{each}` INT NOT NULL" for each in ("id", *NAMES))
    key = ", ".join(f"`{each}`" for each in KEYS[name])
    return Ddl(f"CREATE TABLE d.{name} ({columns}{f', PRIMARY KEY ({key})' if key else ''})")


def row(number: int, value: int) -> dict[str, int]:
    return {"id": number, **dict.fromkeys(NAMES, value)}


@pytest.mark.parametrize("local", [0, 1_000])
def test_they_are_columns_like_any_other(spark, tmp_path, local):
    groups = []
    for each in map(table, KEYS):
        first = [Insert(each, [row(n, n) for n in range(4)]), Update(each, [(row(0, 0), row(0, 10))])]
        later = [Update(each, [(row(1, 1), row(1, 11))]), Delete(each, [row(2, 2)]), Insert(each, [row(5, 5)])]
        groups += [Transaction(first), Transaction(later)]
    log = Log("mysql", [*map(create, KEYS), *groups])
    run = LakeRun.up_to_silver(spark, log, tmp_path)
    list(ApplyHop(run.lake, TableRules(), epoch_changes=5, sizes=Sizes(local=local)).apply())
    assert {entry.name.table: entry.reason or entry.state for entry in run.register} == dict.fromkeys(KEYS, STREAMING)
    wanted = [(n, *[value] * len(NAMES)) for n, value in ((0, 10), (1, 11), (3, 3), (5, 5))]
    for entry in run.register:
        mirror = spark.table(run.lake.names.mirror(entry.mirror_id)).drop("_lsn")
        assert sorted(map(tuple, mirror.collect())) == wanted, entry.name
