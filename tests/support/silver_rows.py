"""Silver's batches as plain rows, and the rows that a history must give: equal lists when all is right.

("BEGIN",)
("UPDATE", ("shop", "orders"), canonical before, canonical after)
("COMMIT", number of changes)
("DDL", statement)
("ROLLBACK", statement)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import pyarrow as pa
import pyarrow.compute as pc
import xxhash

from mirrorlake.core.schema.tables import TableSchema
from mirrorlake.core.schema.types import ColumnType
from mirrorlake.core.values.variant_columns import decode_images
from tests.support.canonical import canonical_row
from tests.support.histories import History
from tests.support.oracle import TableDdl

ROW_OPS = ("INSERT", "UPDATE", "DELETE")
_INTEGERS = {
    ("tinyint", False): pa.int8(), ("tinyint", True): pa.int16(), ("smallint", False): pa.int16(),
    ("smallint", True): pa.int32(), ("mediumint", False): pa.int32(), ("mediumint", True): pa.int32(),
    ("int", False): pa.int32(), ("int", True): pa.int64(), ("bigint", False): pa.int64(),
    ("bigint", True): pa.decimal128(20, 0),
}  # fmt: skip
_OTHERS = {
    "float": pa.float32(), "double": pa.float64(), "year": pa.int16(), "date": pa.date32(),
    "datetime": pa.timestamp("us"), "timestamp": pa.timestamp("us", "UTC"),
}  # fmt: skip


def silver_rows(batches: Iterable[pa.RecordBatch], schemas: Mapping[int, TableSchema]) -> list[tuple]:
    """schemas: by schema_id."""
    return [row for batch in batches for row in _rows(batch, schemas)]


def expected_rows(history: History) -> list[tuple]:
    rows: list[tuple] = []
    for transaction in history.transactions:
        if transaction.statement is not None:
            rows.append(("DDL", transaction.statement))
            continue
        changes = ((c.op, c.table, _canonical(c.before), _canonical(c.after)) for c in transaction.changes)
        rows += [("BEGIN",), *changes, ("COMMIT", transaction.count)]
    return rows


def all_schemas(history: History) -> dict[int, TableSchema]:
    """Every definition that any table of the history ever had, by schema_id."""
    return {item.new.schema_id: item.new for item in history.items if isinstance(item, TableDdl) and item.new}


def checksums(batches: Iterable[pa.RecordBatch]) -> list[tuple[int, int]]:
    """(recorded, computed again from the images) of every COMMIT."""
    found, so_far = [], 0
    for batch in batches:
        ops, recorded = batch.column("op").to_pylist(), batch.column("checksum").to_pylist()
        images = [[_value(cell) for cell in batch.column(side)] for side in ("before", "after")]
        for op, checksum, before, after in zip(ops, recorded, *images, strict=True):
            for image in (before, after):
                so_far = xxhash.xxh64_intdigest(image, so_far) if image else so_far
            found += [(checksum, (so_far + 2**63) % 2**64 - 2**63)] if op == "COMMIT" else []
            so_far = 0 if op == "COMMIT" else so_far
    return found


def arrow_types(schema: TableSchema) -> dict[str, pa.DataType]:
    return {column.name: _arrow_type(column.type) for column in schema.columns}


def _rows(batch: pa.RecordBatch, schemas: Mapping[int, TableSchema]) -> list[tuple]:
    cells = {name: batch.column(name).to_pylist() for name in batch.schema.names if name not in ("before", "after")}
    images = {side: _images(batch, side, schemas) for side in ("before", "after")}
    rows = []
    for i, op in enumerate(cells["op"]):
        table = (cells["database"][i], cells["table"][i])
        tail = {
            "BEGIN": (), "COMMIT": (cells["changes"][i],), "DDL": (cells["statement"][i],),
            "REFUSED": (table, cells["refusal"][i]), "ROLLBACK": (cells["statement"][i],),
        }.get(op) if op not in ROW_OPS else (table, images["before"][i], images["after"][i])  # fmt: skip
        rows.append((op, *tail))
    return rows


def _images(batch: pa.RecordBatch, side: str, schemas: Mapping[int, TableSchema]) -> list[str | None]:
    found: list[str | None] = [None] * batch.num_rows
    present = batch.column(side).is_valid()
    for schema_id in pc.unique(batch.column("schema_id").filter(present)).to_pylist():
        chosen = pc.and_(present, pc.fill_null(pc.equal(batch.column("schema_id"), schema_id), False))
        types = arrow_types(schemas[schema_id])
        rows = pa.table(decode_images(batch.column(side).filter(chosen), types), names=list(types)).to_pylist()
        for i, row in zip(pc.indices_nonzero(chosen).to_pylist(), rows, strict=True):
            found[i] = canonical_row(row)
    return found


def _value(cell: pa.StructScalar) -> bytes:
    return cell["value"].as_py() if cell.is_valid else b""


def _canonical(row: Mapping | None) -> str | None:
    return None if row is None else canonical_row(row)


def _arrow_type(of: ColumnType) -> pa.DataType:
    if (of.name, bool(of.unsigned)) in _INTEGERS:
        return _INTEGERS[of.name, bool(of.unsigned)]
    if of.name == "decimal":
        return pa.decimal128(of.precision, of.scale) if of.precision <= 38 else pa.string()
    if of.name == "bit":
        return pa.decimal128(20, 0) if of.length == 64 else pa.int64()
    if of.name.endswith(("binary", "blob")) or of.name in ("geometry", "vector"):
        return pa.binary()
    return _OTHERS.get(of.name, pa.string())
