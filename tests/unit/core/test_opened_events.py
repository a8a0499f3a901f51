"""What a compressed transaction may hold: nothing in it is passed over."""

from __future__ import annotations

from datetime import datetime, timezone

import pyarrow as pa
import pytest

from mirrorlake.core.changes.assembler import Assembler
from mirrorlake.core.changes.bronze_events import BRONZE_COLUMNS
from mirrorlake.core.schema.tables import Column, TableSchema
from mirrorlake.core.schema.types import ColumnType
from mirrorlake.errors import RefusedError
from tests.support.binlog_events import frame, query
from tests.support.binlog_spec import Query
from tests.support.compressed_events import as_payload
from tests.support.table_map_encoding import table_map_body

T = TableSchema("d", "t", (Column("id", ColumnType("int"), False), Column("j", ColumnType("json"))), ("id",))
AT = datetime(2026, 1, 2, tzinfo=timezone.utc)
LOAD = query(Query("LOAD DATA INFILE 'x' INTO TABLE t", database="d"), "mysql")
TABLE_ID = (7).to_bytes(6, "little")


def assembled(*inner: tuple[int, bytes]) -> list[tuple]:
    """(op, table, refusal) of what a transaction of these events gives."""
    bodies = [(2, query(Query("BEGIN"), "mysql"), 0), *((kind, body, 0) for kind, body in inner), (16, bytes(8), 0)]
    kind, body, flags = as_payload(bodies, 0, 1)
    raw = frame(kind, body, timestamp=0, server_id=1, start=4, flags=flags, checksum=True)
    row = (9, 9, kind, AT, "a:1", True, "binlog.000001", 4, raw)
    batch = pa.RecordBatch.from_arrays([pa.array([cell]) for cell in row], list(BRONZE_COLUMNS))
    silver = pa.Table.from_batches(Assembler("mysql").assemble([batch])).to_pylist()
    return [(row["op"], row["table"], row["refusal"]) for row in silver]


@pytest.mark.parametrize(
    ("inner", "refusal"),
    [
        ([(18, LOAD[:13] + bytes(13) + LOAD[13:])], "statement-dml: LOAD was logged as a statement"),
        ([(19, table_map_body(T, 7, "mysql", "FULL")), (39, TABLE_ID + bytes(20))],
         "row-event: a row event does not match its table map"),
    ],
)  # fmt: skip
def test_what_is_not_decoded_refuses_its_table(inner, refusal):
    assert assembled(*inner) == [("BEGIN", None, None), ("REFUSED", "t", refusal), ("COMMIT", None, None)]


def test_what_no_transaction_holds_is_refused():
    with pytest.raises(RefusedError, match="holds an event of type 33"):
        assembled((33, bytes(42)))
