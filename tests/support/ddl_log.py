"""Logs with DDL between row changes, and what the tables hold at their end."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass

from mirrorlake.core.schema.tables import Column, TableSchema
from mirrorlake.core.schema.types import ColumnType
from mirrorlake.lake.delta.notes import read_notes
from mirrorlake.lake.gold.ddl.classes import DdlClass
from tests.support.binlog_spec import Ddl, Delete, Insert, Transaction, Update
from tests.support.lake_runs import LakeRun


def table(name: str, *columns: str) -> TableSchema:
    numbers = tuple(Column(column, ColumnType("int"), nullable=column != "id") for column in columns)
    return TableSchema("shop", name, numbers, ("id",))


K, K_WIDER = (
    TableSchema("shop", "k", tuple(Column(name, ColumnType("int")) for name in names), ()) for names in ("v", "vw")
)
"""Without a key, before and after its ALTER."""


def insert(into: TableSchema, *rows: tuple) -> Transaction:
    names = [column.name for column in into.columns]
    return Transaction([Insert(into, [dict(zip(names, row, strict=True)) for row in rows])])


def ddl(text: str) -> Ddl:
    return Ddl(text, database="shop")


PARTITIONS = "partition by range (id) (partition low values less than (10), partition high values less than (20))"
_FIRST_TABLES = (
    ddl("create database shop"),
    ddl("create table a (id int primary key, v int)"),
    ddl("create table b (id int primary key, v int)"),
    ddl(f"create table p (id int primary key, v int) {PARTITIONS}"),
    ddl("create table x (id int primary key, v int)"),
)
ITEMS = (
    *_FIRST_TABLES,
    ddl("create table k (v int)"),
    ddl(f"create table c (id int primary key, v int) {PARTITIONS}"),
    ddl("create table f (id int primary key)"),
    ddl("create table g (id int primary key, f int, foreign key (f) references f (id) on delete cascade)"),
    ddl("create table h (id int primary key, g int, foreign key (g) references g (id) on delete set null)"),
    insert(table("a", "id", "v"), (1, 1), (2, 2)),
    insert(table("b", "id", "v"), (3, 3)),
    insert(table("p", "id", "v"), (4, 4), (14, 14)),
    insert(table("x", "id", "v"), (5, 5), (6, 6)),
    insert(K, (1,), (1,), (1,), (2,)),
    insert(table("c", "id", "v"), (1, 1), (11, 11)),
    insert(table("f", "id"), (1,), (2,)),
    insert(table("g", "id", "f"), (1, 1), (2, 2), (3, 1)),
    insert(table("h", "id", "g"), (1, 1), (2, 2), (3, 3)),
    ddl("alter table k add w int default 5"),
    ddl("alter table a add w int default 5"),
    ddl("alter table a change v u int, drop w, add z int first"),
    ddl("rename table a to t, b to a, t to b"),
    ddl("alter table p exchange partition low with table x"),
    ddl("alter table p drop partition high"),
    ddl("alter table c convert partition high to table d"),
    ddl("truncate table a"),
    ddl("alter table p comment 'ours'"),
    insert(table("b", "z", "id", "u"), (7, 7, 7)),
    insert(table("a", "id", "v"), (8, 8)),
    insert(table("d", "id", "v"), (12, 12)),
    insert(table("p", "id", "v"), (9, 9)),
    Transaction([Delete(table("f", "id"), [{"id": 1}])]),
    Transaction([Delete(K_WIDER, [{"v": 1, "w": 5}]), Update(K_WIDER, [({"v": 2, "w": 5}, {"v": 1, "w": 5})])]),
    ddl("alter table p exchange partition low with table x"),
    ddl("alter table c convert table d to partition top values less than (30)"),
    ddl("drop table a"),
    ddl("create table a (id int primary key, n int)"),
    insert(table("a", "id", "n"), (1, 100)),
    Transaction([Delete(K_WIDER, [{"v": 1, "w": 5}])]),
)
FEW_ITEMS = (
    *_FIRST_TABLES,
    insert(table("a", "id", "v"), (1, 1), (2, 2)),
    insert(table("p", "id", "v"), (4, 4), (14, 14)),
    insert(table("x", "id", "v"), (5, 5), (6, 6)),
    ddl("alter table a change v u int, add w int default 5"),
    ddl("rename table a to t, b to a, t to b"),
    ddl("alter table p exchange partition low with table x"),
    ddl("alter table p drop partition high"),
    insert(table("b", "id", "u", "w"), (7, 7, 7)),
    insert(table("a", "id", "v"), (8, 8)),
    ddl("alter table p exchange partition low with table x"),
    ddl("drop table a"),
    ddl("create table a (id int primary key, n int)"),
    insert(table("a", "id", "n"), (1, 100)),
)


@dataclass(frozen=True)
class DdlLog:
    """Items of a log, and what a lake has at its end.

    rows: of each table, as text. executed: class of each DDL that has an effect -> how many there are. n_steps: commits
    on mirrors that carry these out.
    """

    items: tuple
    rows: dict[str, list[dict]]
    executed: dict[DdlClass, int]
    n_steps: int

    @property
    def expected(self) -> dict[tuple[str, str], list[str]]:
        """Canonical rows of every table, as ``LakeRun.gold`` gives them."""
        return {("shop", name): [json.dumps(row) for row in rows] for name, rows in self.rows.items()}

    def check_every_ddl_once(self, run: LakeRun) -> None:
        """The rows are right, and ledger and histories show each DDL and each of its steps once."""
        assert run.gold() == self.expected
        ledger = run.spark.table(run.lake.names.control_barriers).collect()
        assert Counter(DdlClass(row.kind) for row in ledger if row.phase == "executed") == self.executed
        prepared = {DdlClass.SELF_INVERSE: self.executed[DdlClass.SELF_INVERSE]}
        assert Counter(DdlClass(row.kind) for row in ledger if row.phase == "prepared") == prepared
        assert len({(row.lsn, row.phase) for row in ledger}) == len(ledger)
        made = ddl_steps(run)
        assert len(set(made)) == len(made) == self.n_steps


EVERY_CLASS = DdlLog(
    ITEMS,
    rows={
        "a": [{"id": "1", "n": "100"}],
        "b": [{"id": "1", "u": "1", "z": None}, {"id": "2", "u": "2", "z": None}, {"id": "7", "u": "7", "z": "7"}],
        "c": [{"id": "1", "v": "1"}, {"id": "11", "v": "11"}, {"id": "12", "v": "12"}],
        "f": [{"id": "2"}],
        "g": [{"f": "2", "id": "2"}],
        "h": [{"g": "2", "id": "2"}, {"g": None, "id": "1"}, {"g": None, "id": "3"}],
        "k": [{"v": "1", "w": "5"}] * 2,
        "p": [{"id": "4", "v": "4"}],
        "x": [{"id": "5", "v": "5"}, {"id": "6", "v": "6"}, {"id": "9", "v": "9"}],
    },
    executed={
        DdlClass.COMPARED: 12, DdlClass.REBUILT: 2, DdlClass.REGISTERED: 2, DdlClass.SELF_INVERSE: 4,
        DdlClass.DESTRUCTIVE: 2,
    },
    n_steps=25,
)  # fmt: skip
FEW = DdlLog(
    FEW_ITEMS,
    rows={
        "a": [{"id": "1", "n": "100"}],
        "b": [{"id": "1", "u": "1", "w": "5"}, {"id": "2", "u": "2", "w": "5"}, {"id": "7", "u": "7", "w": "7"}],
        "p": [{"id": "4", "v": "4"}],
        "x": [{"id": "5", "v": "5"}, {"id": "6", "v": "6"}],
    },
    executed={
        DdlClass.COMPARED: 5, DdlClass.REBUILT: 1, DdlClass.REGISTERED: 2, DdlClass.SELF_INVERSE: 2,
        DdlClass.DESTRUCTIVE: 1,
    },
    n_steps=11,
)  # fmt: skip
"""For tests that apply a log many times: no cascade, no table without a key, no CONVERT."""


def ddl_steps(run: LakeRun) -> list[tuple[str, int, int]]:
    """(mirror, lsn of the DDL, number of the step) of every commit by which a DDL moved a mirror's progress."""
    rows = run.spark.table(run.lake.names.control_tables).where("mirror_id IS NOT NULL")
    mirrors = sorted(row.mirror_id for row in rows.select("mirror_id").distinct().collect())
    notes = ((mirror, note) for mirror in mirrors for note, _ in read_notes(run.spark, run.lake.names.mirror(mirror)))
    return [
        (m, n["payload"]["ddl_lsn"], n["payload"]["step"]) for m, n in notes if "ddl_lsn" in n["payload"] and n["lsn"]
    ]
