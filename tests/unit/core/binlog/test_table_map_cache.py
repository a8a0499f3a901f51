"""The slot of each rows event: that of the newest map of its table id, by what the map and the definition say."""

from __future__ import annotations

import numpy as np
import pytest

from mirrorlake.core.binlog.rows.layout import RowLayouts
from mirrorlake.core.binlog.rows.table_map_cache import TableSlots
from mirrorlake.core.schema.history import DefinitionChange, Definitions
from mirrorlake.core.schema.lower_case_names import AS_WRITTEN, NameCase
from mirrorlake.core.schema.tables import Column, TableSchema
from mirrorlake.core.schema.timeline import Timeline
from mirrorlake.core.schema.types import ColumnType
from mirrorlake.errors import RefusedError
from tests.support.table_map_encoding import table_map_body

MAP, ROWS, XID = 19, 30, 16


def table(name: str, *columns: str) -> TableSchema:
    return TableSchema("shop", name, tuple(Column(c, ColumnType("int"), False) for c in columns or ("id",)), ())


ORDERS, VISITS = table("orders"), table("visits")


def map_event(schema: TableSchema, table_id: int, metadata: str = "FULL") -> tuple[int, bytes]:
    return MAP, table_map_body(schema, table_id, "mariadb", metadata)


def rows_event(table_id: int) -> tuple[int, bytes]:
    return ROWS, table_id.to_bytes(6, "little") + bytes(5)


class Reader:
    """Batches of events through one ``TableSlots``; each event's lsn is its number."""

    def __init__(self, timeline: Timeline | None = None, name_case: NameCase = AS_WRITTEN):
        self.layouts, self._lsn = RowLayouts(), 0
        self._slots = TableSlots("mariadb", self.layouts, timeline or Timeline(), name_case)

    def read(self, *events: tuple[int, bytes]) -> list[str | None]:
        """What table each event is of."""
        return [self.layouts.tables[slot].map.table if slot >= 0 else None for slot in self.slots(*events)]

    def slots(self, *events: tuple[int, bytes]) -> list[int]:
        raw = [bytes(19) + body for _, body in events]
        length = np.array([len(each) for each in raw], np.int64)
        kinds = np.array([kind for kind, _ in events], np.uint8)
        lsn = self._lsn + np.arange(len(events), dtype=np.int64)
        self._lsn += len(events)
        buf = np.frombuffer(b"".join(raw), np.uint8)
        return self._slots.resolve(buf, np.cumsum(length) - length, length, np.zeros_like(length), kinds, lsn).tolist()


def test_rows_are_of_the_newest_map_of_their_id():
    reader = Reader()
    events = [rows_event(7), map_event(ORDERS, 7), map_event(VISITS, 8), rows_event(8), rows_event(7), (XID, bytes(8))]
    assert reader.read(*events) == [None, "orders", "visits", "visits", "orders", None]
    assert reader.read(rows_event(8), map_event(ORDERS, 8), rows_event(8)) == ["visits", "orders", "orders"]
    assert len(reader.layouts.tables) == 2


def test_a_table_has_one_slot_however_often_the_server_opens_it():
    reader, opened = Reader(), range(1000, 4000)
    for i in opened:
        assert reader.read(map_event(ORDERS, i), rows_event(i)) == ["orders"] * 2
    assert len(reader.layouts.tables) == 1
    assert reader.read(*(rows_event(i) for i in opened), rows_event(4000)) == ["orders"] * len(opened) + [None]


def test_ids_that_hash_alike_are_told_apart():
    reader, schemas = Reader(), [table(f"t{i}") for i in range(700)]
    ids = [i << 24 | i % 3 for i in range(700)]
    mapped = [map_event(schema, i) for schema, i in zip(schemas, ids, strict=True)]
    names = [schema.table for schema in schemas]
    assert reader.read(*mapped, *map(rows_event, ids)) == names * 2


def test_a_map_of_the_same_length_that_differs_in_its_last_byte_is_another_one():
    reader = Reader()
    assert reader.read(map_event(table("t", "a"), 1), map_event(table("t", "b"), 1)) == ["t", "t"]
    assert [found.schema.columns[0].name for found in reader.layouts.tables] == ["a", "b"]


def test_equal_maps_of_different_definitions_have_different_slots():
    known, definitions = Timeline(), Definitions()
    for lsn, schema in ((0, table("orders", "a")), (3, table("orders", "b")), (6, table("orders", "a"))):
        change = DefinitionChange("create", "shop", "orders", schema)
        definitions.apply([change])
        known.follow(lsn, change, definitions)
    reader = Reader(known)
    slots = reader.slots((XID, bytes(8)), *(map_event(ORDERS, 5, "NO_LOG") for _ in range(8)))
    assert slots == [-1, 0, 0, 0, 1, 1, 1, 2, 2]  # a definition holds after its statement
    assert [found.schema.columns[0].name for found in reader.layouts.tables] == ["a", "b", "a"]


def test_a_map_that_cannot_be_parsed_is_refused():
    kind, body = map_event(ORDERS, 5)
    with pytest.raises(RefusedError, match="log-event"):
        Reader().read((kind, body[:-3]))


@pytest.mark.parametrize("setting", [None, 0, 1, 2])
def test_a_map_is_of_the_table_that_the_server_takes_it_for(setting):
    mixed, lower = table("Orders"), table("orders")
    definitions, timeline = Definitions(), Timeline()
    definitions.apply([change := DefinitionChange("create", "shop", "orders", lower)])
    timeline.follow(-1, change, definitions)
    reader = Reader(timeline, NameCase(setting))
    (slot, _) = reader.slots(map_event(mixed, 7, "NO_LOG"), rows_event(7))
    found = reader.layouts.tables[slot]
    assert found.map.table == ("orders" if setting else "Orders")
    assert found.schema == (lower if setting else None)


@pytest.mark.parametrize("n_bytes", [0, 5, 7, 8])
def test_a_map_that_is_too_short_is_refused_and_none_is_used_in_its_place(n_bytes):
    reader = Reader()
    reader.read(map_event(ORDERS, 7))
    with pytest.raises(RefusedError) as refused:
        reader.read((MAP, bytes(n_bytes)))
    assert refused.value.code == "log-event"
