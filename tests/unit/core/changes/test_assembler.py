"""Random histories -> binlog files -> reader -> assembler: silver is the oracle's, row by row and in its order."""

from __future__ import annotations

from random import Random

import pyarrow as pa
import pytest

from mirrorlake.core.changes import assembler
from mirrorlake.core.changes.assembler import CHANGE_SCHEMA, Assembler
from mirrorlake.core.schema.history import DefinitionChange, Definitions
from mirrorlake.core.schema.tables import Column, TableSchema
from mirrorlake.core.schema.timeline import Timeline
from mirrorlake.core.schema.types import ColumnType
from mirrorlake.errors import RefusedError
from tests.support import binlog_events
from tests.support.binlog_spec import Ddl, Delete, Insert, Log, Query, RawEvent, Statement, Transaction, Update
from tests.support.histories import random_history
from tests.support.pure_hops import assembled, bronze, cut_anywhere, timeline
from tests.support.silver_rows import all_schemas, checksums, expected_rows, silver_rows

HISTORIES = 12
FLAVORS = pytest.mark.parametrize("flavor", ["mysql", "mariadb"])
T = TableSchema("d", "t", (Column("id", ColumnType("int"), False), Column("v", ColumnType("int"), True)), ("id",))


@FLAVORS
def test_silver_holds_every_transaction_of_a_random_history_in_order(tmp_path, seed, flavor, history_number):
    random = Random(f"{seed} {history_number}")
    history = random_history(seed + history_number)
    log = history.log(flavor, checksum=random.random() < 0.7, compression=random.random() < 0.5)
    events = bronze(tmp_path, log, block_bytes=random.choice((300, 8 << 20)))
    table = assembled(flavor, cut_anywhere(events, random))
    assert silver_rows(table.to_batches(), all_schemas(history)) == expected_rows(history)
    assert all(recorded == computed for recorded, computed in checksums(table.to_batches()))


@FLAVORS
@pytest.mark.parametrize("metadata", ["MINIMAL", "NO_LOG"])
def test_silver_is_the_same_whatever_the_table_maps_tell(tmp_path, seed, flavor, metadata, history_number):
    history = random_history(seed + history_number)
    events = bronze(tmp_path, history.log(flavor, metadata=metadata))
    known = timeline(flavor, events)
    table = pa.Table.from_batches(Assembler(flavor, known).assemble(cut_anywhere(events, Random(seed))), CHANGE_SCHEMA)
    assert silver_rows(table.to_batches(), all_schemas(history)) == expected_rows(history)


@FLAVORS
def test_how_events_are_cut_and_how_much_fits_a_buffer_does_not_matter(tmp_path, seed, flavor, monkeypatch):
    random = Random(seed)
    events = bronze(tmp_path, random_history(seed, items=60).log(flavor))
    whole = assembled(flavor, events)
    one_by_one = [part for batch in events for i in range(len(batch)) for part in [batch.slice(i, 1)]]
    assert assembled(flavor, one_by_one) == whole
    assert assembled(flavor, events, rows_per_batch=4, image_bytes=256) == whole
    with monkeypatch.context() as few:
        few.setattr(assembler, "NAMES_BYTES", 64)
        assert assembled(flavor, events) == whole
    for _ in range(3):
        limits = {"rows_per_batch": random.randint(3, 40), "image_bytes": random.randint(1, 5000)}
        assert assembled(flavor, cut_anywhere(events, random), **limits) == whole


@FLAVORS
def test_names_of_a_wide_table_do_not_fill_a_batch(tmp_path, monkeypatch, flavor):
    """Each image has all of them: an UPDATE of one column logs a few bytes of each row."""
    names = ["id", *(f"{i:064}" for i in range(500))]
    wide = TableSchema("d", "w", tuple(Column(name, ColumnType("int"), name != "id") for name in names), ("id",))
    row = dict.fromkeys(names[1:])
    rows = [{"id": n} for n in range(200)]
    parts = [Insert(wide, [row | r for r in rows]), Update(wide, [(row | r, row | r) for r in rows])]
    events = bronze(tmp_path, Log(flavor, [Transaction(parts)]))
    whole = pa.Table.from_batches(Assembler(flavor).assemble(events)).combine_chunks()
    monkeypatch.setattr(assembler, "NAMES_BYTES", 1 << 20)
    batches = list(Assembler(flavor).assemble(events))
    assert pa.Table.from_batches(batches).combine_chunks() == whole
    assert max(batch.nbytes for batch in batches) < 2 << 20


@FLAVORS
def test_markers_carry_order_time_gtid_and_count(tmp_path, flavor):
    rows = [{"id": n, "v": n} for n in (1, 2)]
    log = Log(flavor, [Transaction([Insert(T, rows), Delete(T, rows[:1])], timestamp=1_700_000_500)])
    table = assembled(flavor, bronze(tmp_path, log))
    assert table["op"].to_pylist() == ["BEGIN", "INSERT", "INSERT", "DELETE", "COMMIT"]
    assert table["ordinal"].to_pylist() == [0, 1, 2, 3, 4]
    assert table["changes"].to_pylist() == [None] * 4 + [3]
    assert table["lsn"].to_pylist() == sorted(table["lsn"].to_pylist())
    gtid = {"mysql": "6c1f7e0a-11d2-11ef-9a3b-0242ac120002:1", "mariadb": "0-7-1"}[flavor]
    for name, value in (("gtid", gtid), ("tx_lsn", table["tx_lsn"][0].as_py())):
        assert table[name].to_pylist() == [value] * 5
    assert {moment.timestamp() for moment in table["commit_ts"].to_pylist()} == {1_700_000_500}


def test_a_tagged_gtid_names_its_transaction_and_when_it_was_committed(tmp_path):
    begin = binlog_events.query(Query("BEGIN", "d"), "mysql")
    log = Log("mysql", [RawEvent(42, binlog_events.TAGGED_GTID), RawEvent(2, begin), RawEvent(16, bytes(8))])
    table = assembled("mysql", bronze(tmp_path, log))
    assert table["op"].to_pylist() == ["BEGIN", "COMMIT"]
    assert table["gtid"].to_pylist() == ["d422b336-e5a0-11f1-9aae-02fc00000001:my_tag:1"] * 2
    assert table["commit_ts"].cast(pa.int64()).to_pylist() == [1_795_261_442_664_639] * 2


@FLAVORS
def test_an_event_that_does_not_name_its_rows_refuses_its_table_only(tmp_path, flavor):
    other = TableSchema("d", "u", T.columns, T.primary_key)
    partly = Update(T, [({"v": 1}, {"id": 1, "v": 2})])
    log = Log(flavor, [Transaction([Insert(other, [{"id": 1, "v": 1}]), partly])])
    table = assembled(flavor, bronze(tmp_path, log))
    assert silver_rows(table.to_batches(), {other.schema_id: other})[2:] == [
        ("REFUSED", ("d", "t"), "row-image: a row event does not log column id, which names the row"),
        ("COMMIT", 1),
    ]


@FLAVORS
def test_an_event_refused_in_its_middle_leaves_no_row_of_it(tmp_path, flavor):
    """The row event of a table with two columns is given the table map of one with a longer second column."""
    wide = TableSchema("d", "t", (T.columns[0], Column("v", ColumnType("bigint"), True)), ("id",))
    rows = [{"id": 1, "v": 1}, {"id": 2, "v": 2}]
    events, of_wide = (
        pa.Table.from_batches(bronze(tmp_path / name, Log(flavor, [Transaction([Insert(table, rows)])])))
        for name, table in (("narrow", T), ("wide", wide))
    )
    table_map = next(event["raw"] for event in of_wide.to_pylist() if event["event_type"] == 19)
    mixed = [event | {"raw": table_map} if event["event_type"] == 19 else event for event in events.to_pylist()]
    table = assembled(flavor, [pa.RecordBatch.from_pylist(mixed, events.schema)])
    assert silver_rows(table.to_batches(), {}) == [
        ("BEGIN",), ("REFUSED", ("d", "t"), "row-event: a row event does not match its table map"), ("COMMIT", 0),
    ]  # fmt: skip


@FLAVORS
def test_an_event_with_more_than_all_the_room_is_cut_between_its_rows(tmp_path, flavor):
    wide = TableSchema("d", "w", (T.columns[0], Column("v", ColumnType("longblob"), True)), ("id",))
    rows = [{"id": n, "v": bytes(3000 + n)} for n in range(10)]
    changed = [(row, row | {"v": b"x" * 3000}) for row in rows]
    statements = [Statement([part], rows_per_event=10) for part in (Insert(wide, rows), Update(wide, changed))]
    log = Log(flavor, [Transaction([*statements, Delete(wide, rows[:1])])])
    events = bronze(tmp_path, log, max_file_bytes=1 << 20)
    assert assembled(flavor, events, max_image_bytes=8192) == assembled(flavor, events)


@FLAVORS
def test_a_row_with_more_than_all_the_room_refuses_its_table_only(tmp_path, flavor):
    wide = TableSchema("d", "w", (T.columns[0], Column("v", ColumnType("longblob"), True)), ("id",))
    rows = [{"id": n, "v": bytes(n)} for n in (5000, 9000, 5000)]
    insert = Statement([Insert(wide, rows)], rows_per_event=3)
    update = Update(wide, [(rows[0], rows[1])])
    log = Log(flavor, [Transaction([insert, Insert(T, [{"id": 1, "v": 1}]), update])])
    table = assembled(flavor, bronze(tmp_path, log, max_file_bytes=1 << 20), max_image_bytes=8192)
    refused = ("REFUSED", "w", "row-event: a row takes more than 1 GiB")
    found = list(zip(*(table[name].to_pylist() for name in ("op", "table", "refusal")), strict=True))
    changes = [("INSERT", "w", None), refused, ("INSERT", "t", None), refused]
    assert found == [("BEGIN", None, None), *changes, ("COMMIT", None, None)]
    assert all(recorded == computed for recorded, computed in checksums(table.to_batches()))


@FLAVORS
def test_a_row_event_without_a_table_map_ends_the_reading(tmp_path, flavor):
    """Nobody knows which table lacks its rows, so none may go on."""
    [batch] = bronze(tmp_path, Log(flavor, [Transaction([Insert(T, [{"id": 1, "v": 1}])])]))
    events = [event for event in batch.to_pylist() if event["event_type"] != 19]
    row_event = next(event for event in events if event["event_type"] in (23, 30))
    with pytest.raises(RefusedError) as refused:
        assembled(flavor, [pa.RecordBatch.from_pylist(events, batch.schema)])
    assert (refused.value.code, refused.value.message) == ("log-event", "a row event has no table map")
    assert refused.value.position == f"{row_event['log_file']}:{row_event['log_pos']}"


@FLAVORS
def test_savepoints_leave_no_trace(tmp_path, flavor):
    insert = Insert(T, [{"id": 1, "v": 1}])
    log = Log(flavor, [Transaction([Query("SAVEPOINT `s`", "d"), insert])])
    assert assembled(flavor, bronze(tmp_path, log))["op"].to_pylist() == ["BEGIN", "INSERT", "COMMIT"]


@FLAVORS
@pytest.mark.parametrize("items", [[Query("ROLLBACK TO `s`", "d")], []], ids=["to a savepoint", "of all"])
def test_a_rollback_whose_rows_nobody_looked_for_is_an_error(tmp_path, flavor, items):
    end = "xid" if items else "ROLLBACK"
    log = Log(flavor, [Transaction([Insert(T, [{"id": 1, "v": 1}]), *items], end=end)])
    with pytest.raises(RefusedError, match="ROLLBACK") as refused:
        assembled(flavor, bronze(tmp_path, log))
    assert refused.value.code == "log-event"
    assert refused.value.position


@FLAVORS
def test_rows_in_statement_format_refuse_their_table(tmp_path, flavor):
    log = Log(flavor, [Transaction([Query("UPDATE t SET v = 2", "d")], end="COMMIT"), Ddl("DROP TABLE u", "d")])
    rows = silver_rows(assembled(flavor, bronze(tmp_path, log)).to_batches(), {})
    assert [row[0] for row in rows] == ["BEGIN", "REFUSED", "COMMIT", "DDL"]
    assert rows[1][1] == ("d", "t")
    assert rows[1][2].startswith("statement-dml: ")


def test_a_refusal_holds_after_the_create_table_of_its_own_transaction(tmp_path):
    """Another table that is changed in the same transaction ends before it."""
    text = Column("v", ColumnType("varchar", length=9), True)
    made, other = (TableSchema("d", name, (T.columns[0], text), ("id",)) for name in ("made", "other"))
    create = Query("CREATE TABLE IF NOT EXISTS `made` (`id` int(11) NOT NULL, `v` varchar(9) DEFAULT NULL)", "d")
    changes = [create, Insert(other, [{"id": 1, "v": "x"}]), Insert(made, [{"id": 1, "v": "x"}])]
    events = bronze(tmp_path, Log("mariadb", [Transaction(changes)], metadata="NO_LOG"))
    known = Timeline()
    definitions = Definitions()
    for table in (made, other):
        change = DefinitionChange("create", "d", table.table, table)
        definitions.apply([change])
        known.follow(-1, change, definitions)
    silver = pa.Table.from_batches(Assembler("mariadb", known).assemble(events)).to_pylist()
    tx_lsn = silver[0]["tx_lsn"]
    at = {row["op"]: row["lsn"] for row in silver}
    assert [(row["op"], row["table"], row["lsn"]) for row in silver] == [
        ("BEGIN", None, at["BEGIN"]), ("DDL", None, at["DDL"]), ("REFUSED", "other", tx_lsn),
        ("REFUSED", "made", at["DDL"] + 1), ("COMMIT", None, at["COMMIT"]),
    ]  # fmt: skip
    assert {row["refusal"].split(":")[0] for row in silver if row["refusal"]} == {"row-metadata"}
