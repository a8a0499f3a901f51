"""Logs with PARTIAL_UPDATE_ROWS -> reader -> assembler: the rows as they were and became, or a refusal."""

from __future__ import annotations

from random import Random

import pyarrow as pa
import pytest

from mirrorlake.core.changes.assembler import Assembler
from mirrorlake.core.schema.tables import Column, TableSchema
from mirrorlake.core.schema.types import ColumnType
from tests.support.binlog_events import PARTIAL_UPDATE_ROWS
from tests.support.binlog_spec import Ddl, Log, RowsPart, Transaction, Update
from tests.support.json_differences import REMOVE, Difference, encode_differences
from tests.support.json_encoding import encode_json
from tests.support.partial_json import SCHEMAS, PartialJson
from tests.support.pure_hops import assembled, bronze, cut_anywhere, timeline
from tests.support.silver_rows import checksums, silver_rows

J = ColumnType("json")
T = TableSchema("d", "t", (Column("id", ColumnType("int"), False), Column("j", J), Column("k", J)), ("id",))
KEYLESS = TableSchema("d", "t", T.columns, ())
OLD = encode_json({"a": 1, "b": 2})
DIFFERENCES = encode_differences([Difference(REMOVE, ("a",))])
NO_OLD_VALUE = "binlog-row-value-options: an UPDATE logs a part of a JSON value, and not the old value"
MAYBE_BY_TRIGGER = (
    "binlog-row-value-options: an UPDATE logs a part of a JSON value, and not what a BEFORE UPDATE trigger may have "
    "made of it"
)
MALFORMED = "row-event: a row event does not match its table map"


@pytest.mark.parametrize("compression", [False, True])
def test_silver_holds_the_rows_of_random_partial_updates(tmp_path, seed, compression):
    random = Random(seed)
    history = PartialJson(random)
    events = bronze(tmp_path, Log("mysql", history.items, compression=compression))
    limits = {"rows_per_batch": random.choice((3, 1000)), "image_bytes": random.choice((500, 1 << 20))}
    table = assembled("mysql", cut_anywhere(events, random), **limits)
    rows = silver_rows(table.to_batches(), SCHEMAS)
    assert [row for row in rows if row[0] in ("INSERT", "UPDATE")] == history.changes
    assert {row[0] for row in rows} == {"DDL", "BEGIN", "INSERT", "UPDATE", "COMMIT"}
    assert all(recorded == computed for recorded, computed in checksums(table.to_batches()))


def changes(folder, part: RowsPart) -> list[tuple]:
    table = assembled("mysql", bronze(folder, Log("mysql", [Transaction([part])])))
    return silver_rows(table.to_batches(), {part.table.schema_id: part.table})[1:-1]


@pytest.mark.parametrize(
    ("table", "before", "after", "shown"),
    [
        (T, {"id": 1, "j": OLD, "k": OLD}, {"k": DIFFERENCES},
         '{"id": "1", "j": "{\\"a\\": 1, \\"b\\": 2}", "k": "{\\"b\\": 2}"}'),
        (T, {"id": 1, "k": OLD}, {"k": DIFFERENCES}, '{"id": "1", "j": null, "k": "{\\"b\\": 2}"}'),
        (T, {"id": 1}, {"j": OLD}, '{"id": "1", "j": "{\\"a\\": 1, \\"b\\": 2}", "k": null}'),
        (KEYLESS, {"id": 1, "j": OLD, "k": None}, {"j": DIFFERENCES}, '{"id": "1", "j": "{\\"b\\": 2}", "k": null}'),
    ],
)  # fmt: skip
def test_columns_that_are_not_logged_are_as_in_other_updates(tmp_path, table, before, after, shown):
    ((op, _, _, found),) = changes(tmp_path, Update(table, [(before, after)], partial_json=True))
    assert (op, found) == ("UPDATE", shown)


@pytest.mark.parametrize(
    ("before", "after", "refusal"),
    [
        ({"id": 1}, {"j": DIFFERENCES}, NO_OLD_VALUE),
        ({"id": 1, "j": OLD}, {"j": DIFFERENCES, "k": encode_differences([])}, NO_OLD_VALUE),
        ({"id": 1, "j": None}, {"j": DIFFERENCES}, MALFORMED),
        ({"id": 1, "j": encode_json([])}, {"j": DIFFERENCES}, MALFORMED),
        ({"id": 1, "j": OLD}, {"j": encode_differences([Difference(REMOVE, ("c",))])}, MALFORMED),
        ({"id": 1, "j": OLD}, {"j": type(DIFFERENCES)(DIFFERENCES[:-1])}, MALFORMED),
    ],
)
def test_what_cannot_be_applied_refuses_the_table(tmp_path, before, after, refusal):
    rows = [({**before, "j": OLD} if "j" in before else before, {**after, "j": OLD}), (before, after)]
    found = changes(tmp_path, Update(T, rows, partial_json=True))
    assert found == [("REFUSED", ("d", "t"), refusal)]


def test_a_column_that_a_trigger_may_have_set_refuses_the_table(tmp_path):
    """MySQL 9.7 logs the statement's differences, and nothing of what the trigger made of them."""
    ddl = ["CREATE DATABASE d", "CREATE TABLE d.t (id INT PRIMARY KEY, j JSON, k JSON)",
           "CREATE TRIGGER d.g BEFORE UPDATE ON d.t FOR EACH ROW SET NEW.k = NULL", "DROP TRIGGER d.g"]  # fmt: skip
    before, unchanged = {"id": 1, "j": OLD, "k": OLD}, encode_differences([])
    sets_j, sets_k = (
        Transaction([Update(T, [(before, {"id": 1, "j": unchanged, "k": unchanged} | after)], partial_json=True)])
        for after in ({"j": DIFFERENCES}, {"k": DIFFERENCES})
    )
    items = [*(Ddl(text, "d") for text in ddl[:3]), sets_j, sets_k, Ddl(ddl[3], "d"), sets_k]
    events = bronze(tmp_path, Log("mysql", items))
    silver = Assembler("mysql", timeline("mysql", events)).assemble(events)
    rows = [row for row in silver_rows(silver, {T.schema_id: T}) if row[0] in ("UPDATE", "REFUSED")]
    assert [row[0] for row in rows] == ["UPDATE", "REFUSED", "UPDATE"]
    assert rows[1][2] == MAYBE_BY_TRIGGER


def test_an_event_that_is_cut_inside_a_row_or_has_more_is_malformed(tmp_path):
    pair = ({"id": 1, "j": OLD, "k": None}, {"id": 1, "j": DIFFERENCES, "k": OLD})
    logs = [
        bronze(tmp_path / str(n), Log("mysql", [Transaction([Update(T, [pair] * n, partial_json=True)])]))
        for n in (1, 2)
    ]
    events = [event_of(log) for log in logs]
    n_row_bytes = len(events[1]) - len(events[0])
    for n in range(1, n_row_bytes):
        assert decoded_with(logs[0], events[0][: -4 - n] + bytes(4)) == [("REFUSED", ("d", "t"), MALFORMED)]
    assert [row[0] for row in decoded_with(logs[0], events[1])] == ["UPDATE", "UPDATE"]
    assert decoded_with(logs[0], events[0][:-4] + b"\0" + bytes(4)) == [("REFUSED", ("d", "t"), MALFORMED)]
    options = len(events[0]) - 4 - n_row_bytes + len(b"\4\1\0\0\0\4\0\0\0") + len(OLD)
    assert events[0][options] == 1
    for other in (2, 3, 252):
        changed = events[0][:options] + bytes((other,)) + events[0][options + 1 :]
        assert decoded_with(logs[0], changed) == [("REFUSED", ("d", "t"), MALFORMED)]


def event_of(batches: list[pa.RecordBatch]) -> bytes:
    return next(raw for batch in batches for raw in batch["raw"].to_pylist() if raw[4] == PARTIAL_UPDATE_ROWS)


def decoded_with(batches: list[pa.RecordBatch], event: bytes) -> list[tuple]:
    """What the events give with another one of this kind."""
    rows = [row for batch in batches for row in batch.to_pylist()]
    changed = [row | {"raw": event} if row["raw"][4] == PARTIAL_UPDATE_ROWS else row for row in rows]
    batch = pa.RecordBatch.from_pylist(changed, batches[0].schema)
    return silver_rows(assembled("mysql", [batch]).to_batches(), {T.schema_id: T})[1:-1]
