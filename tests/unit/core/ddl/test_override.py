"""What an answer to a refused statement makes of its tables' definitions and row changes."""

from __future__ import annotations

import pyarrow as pa
import pytest

from mirrorlake.core.changes.assembler import CHANGE_SCHEMA, Assembler
from mirrorlake.core.changes.definition_reader import DefinitionReader
from mirrorlake.core.ddl.effect.override import Answer, set_charset
from mirrorlake.core.lsn_range import LsnRange
from mirrorlake.core.schema.row_steps import FromSnapshot
from mirrorlake.core.schema.tables import Column, TableSchema
from mirrorlake.core.schema.types import ColumnType
from tests.support.binlog_spec import Ddl, Insert, Log, Transaction
from tests.support.pure_hops import bronze


def table(name: str, *columns: str) -> TableSchema:
    return TableSchema("d", name, tuple(Column(c, ColumnType("int"), c != "id") for c in columns), ("id",))


T, U, WIDER = table("t", "id"), table("u", "id"), table("t", "id", "v")
FANCY = "alter table t fancy add v int default 4"
LATER = [Ddl("alter table t add w int", "d"), Ddl("alter table t fancy index i (v)", "d")]


def log(flavor: str, then: TableSchema, metadata: str = "FULL", later=()) -> Log:
    creates = [Ddl(text, "d") for text in ("create database d", "create table t (id int primary key)")]
    row = dict.fromkeys((column.name for column in then.columns), 1)
    changed = Transaction([Insert(U, [{"id": 1}]), Insert(then, [row]), Insert(U, [{"id": 2}])])
    return Log(
        flavor, [*creates, Transaction([Insert(T, [{"id": 0}])]), Ddl(FANCY, "d"), changed, *later], metadata=metadata
    )


def statement_lsn(events: list[pa.RecordBatch]) -> int:
    """Of the statement that is not known."""
    rows = pa.Table.from_batches(events).to_pylist()
    return next(row["lsn"] for row in rows if FANCY.encode() in row["raw"])


def answered(events: list[pa.RecordBatch], text: str | None) -> Answer:
    return Answer(1, statement_lsn(events), "d", "t", text)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (None, ["alter id", "alter id w", "refuse"]),
        ("alter table d.t add v int default 4", ["alter id v", "alter id v w", "refuse"]),
        ("rename table t to s", ["moved", "refuse"]),
        ("drop table t", ["drop", "refuse"]),
        ("alter table t add v fancy", ["refuse id v", "refuse"]),
        ("analyze table t", ["alter id w", "refuse"]),
    ],
)
def test_definitions_go_on_from_what_stands_in_the_statements_place(tmp_path, text, found):
    events = bronze(tmp_path, log("mysql", WIDER, later=LATER))
    answer = answered(events, text)
    changes = DefinitionReader("mysql", answers=[answer]).read(events)
    assert found == [
        " ".join(
            [change.action, *(column.name for column in change.schema.columns)] if change.schema else [change.action]
        )
        for lsn, change in changes
        if lsn >= answer.lsn and change.table == "t" and change.action != "table_map"
    ]


def test_nothing_is_known_of_a_table_that_the_log_does_not_create(tmp_path):
    events = bronze(
        tmp_path, Log("mysql", [Ddl("create database e"), Ddl(FANCY, "e"), Ddl("create table t fancy", "e")])
    )
    ((lsn, refusal),) = DefinitionReader("mysql").read(events)[1:]
    skipped = DefinitionReader("mysql", answers=[Answer(1, lsn, "e", "t")]).read(events)[1:]
    assert (refusal.action, skipped) == ("refuse", [(lsn, refusal)])


def rows(flavor: str, events: list[pa.RecordBatch], answers, only: tuple[str, str] | None = None) -> list[tuple]:
    reader = DefinitionReader(flavor, answers=answers)
    reader.read(events)
    timeline = reader.timeline(LsnRange(-1, 2**62))
    table = pa.Table.from_batches(
        Assembler(flavor, timeline.only(only) if only else timeline).assemble(events), CHANGE_SCHEMA
    )
    return [(row["op"], row["table"], row["changes"]) for row in table.to_pylist() if row["op"] != "DDL"]


@pytest.mark.parametrize("flavor", ["mysql", "mariadb"])
@pytest.mark.parametrize("metadata", ["FULL", "MINIMAL"])
def test_row_changes_behind_a_refusal_stay_in_bronze_until_it_is_answered(tmp_path, flavor, metadata):
    events = bronze(tmp_path, log(flavor, T, metadata))
    begin, first = ("BEGIN", None, None), ("INSERT", "t", None)
    u = ("INSERT", "u", None) if metadata == "FULL" else ("REFUSED", "u", None)
    before = [begin, first, ("COMMIT", None, 1), begin]
    n_others = 2 if metadata == "FULL" else 0
    assert rows(flavor, events, []) == [*before, u, u, ("COMMIT", None, n_others)]
    skipped = [answered(events, None)]
    assert rows(flavor, events, skipped) == [*before, u, first, u, ("COMMIT", None, n_others + 1)]
    assert rows(flavor, events, skipped, ("d", "t")) == [*before, first, ("COMMIT", None, 1)]


COPIED_TEXT = "CREATE TABLE `t` (`id` int NOT NULL, `v` int, PRIMARY KEY (`id`)) ENGINE=InnoDB"


@pytest.mark.parametrize(
    ("is_behind_all", "found"),
    [
        (False, ["create id", "refuse", "create id v", "alter id v w", "refuse"]),
        (True, ["create id", "refuse", "refuse", "create id v"]),
    ],
)
def test_a_copy_begins_the_table_anew_at_its_place(tmp_path, is_behind_all, found):
    events = bronze(tmp_path, log("mysql", WIDER, later=LATER))
    end = max(int(batch["lsn"].to_numpy().max()) for batch in events) + 1
    place = end if is_behind_all else statement_lsn(events) + 1
    reader = DefinitionReader("mysql", answers=[Answer(1, place, "d", "t", COPIED_TEXT, "t_copy")])
    changes = reader.read(events, end)
    mine = [change for _, change in changes if change.table == "t" and change.action != "table_map"]
    assert [
        " ".join([change.action, *(column.name for column in change.schema.columns)])
        if change.schema
        else change.action
        for change in mine
    ] == found
    assert [lsn for lsn, change in changes if FromSnapshot("t_copy") in change.steps] == [place]


def test_a_database_has_the_character_set_that_a_snapshot_noted(tmp_path):
    """From there on, until the log says something else."""
    creates = [Ddl(f"create table t{n} (id int primary key, v varchar(5))", "d") for n in range(3)]
    events = bronze(tmp_path, Log("mariadb", [*creates[:2], Ddl("alter database d charset greek"), creates[2]]))
    lsns = [row["lsn"] for row in pa.Table.from_batches(events).to_pylist() if b"create table" in row["raw"]]
    answer = set_charset(1, lsns[1] - 1, "d", "latin1")
    changes = DefinitionReader("mariadb", answers=[answer]).read(events, 2**62)
    assert answer.text == "ALTER DATABASE `d` CHARACTER SET latin1"
    assert [(change.action, change.table) for _, change in changes] == [
        ("create", "t0"), ("alter_database", ""), ("create", "t1"), ("alter_database", ""), ("create", "t2"),
    ]  # fmt: skip
    charsets = [change.schema.columns[1].type.charset for _, change in changes if change.schema]
    assert charsets == [None, "latin1", "greek"]
    assert changes[1][0] == lsns[1] - 1
