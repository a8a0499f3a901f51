"""Rows as text that is equal exactly when a mirror row equals its source row.

A canonical row is one line of JSON: column name -> text, names sorted, None for NULL. The text of a value:

    integers, YEAR, BIT     decimal digits
    DECIMAL                 all digits of its scale, no exponent: 12.50
    FLOAT, DOUBLE           repr of the double with the same value
    DATE                    2024-02-29
    DATETIME, TIMESTAMP     2024-02-29 23:59:59.000000, TIMESTAMP in UTC
    binary, BLOB, GEOMETRY  lower-case hex
    text, ENUM, SET, TIME   itself

Of a mirror that holds invalid values as text dates are texts, as the server shows them.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date, datetime, timezone
from decimal import Decimal

import pyarrow as pa
import pymysql

_SELECTED = {
    "float": "{} + 0e0",  # the server prints a FLOAT with six digits; as a double it prints all that there are
    "time": "CAST({} AS CHAR)",  # the driver would make a duration of it
    "shown date": "CAST({} AS CHAR)",
    **dict.fromkeys(("enum", "set"), "CONVERT({} USING utf8mb4)"),  # as bytes in character set binary
    "vector": "CAST({} AS BINARY)",  # the driver would take it for text
}
_DATED = ("date", "datetime", "timestamp")
MIRROR_ONLY = frozenset({"_lsn", "_committed_at", "_gtid"})


@dataclass(frozen=True, slots=True)
class TableDigest:
    """What a whole table holds, whatever the order of its rows."""

    rows: int
    sha256: str

    @classmethod
    def of(cls, canonical_rows: Iterable[str]) -> TableDigest:
        lines = sorted(canonical_rows)
        return cls(len(lines), hashlib.sha256("\n".join(lines).encode()).hexdigest())


def canonical_value(value: object) -> str | None:
    """The text of one value. Raises TypeError for a Python type that no supported column has."""
    match value:
        case None | str():
            return value
        case int() if not isinstance(value, bool):
            return str(value)
        case float():
            return repr(value)
        case Decimal():
            return format(value, "f")
        case bytes() | bytearray():
            return value.hex()
        case datetime():
            utc = value.astimezone(timezone.utc).replace(tzinfo=None) if value.tzinfo else value
            return utc.isoformat(sep=" ", timespec="microseconds")
        case date():
            return value.isoformat()
    raise TypeError(f"no canonical text for {type(value).__name__}")


def canonical_row(row: Mapping[str, object]) -> str:
    return json.dumps({name: canonical_value(row[name]) for name in sorted(row)}, ensure_ascii=False)


def source_rows(connection: pymysql.Connection, database: str, table: str, *, dates_as_text: bool = False) -> list[str]:
    """The canonical rows of a table on the source. Sets the session's time zone to UTC."""
    return [canonical_row(row) for row in source_values(connection, database, table, dates_as_text=dates_as_text)]


def source_values(
    connection: pymysql.Connection, database: str, table: str, *, dates_as_text: bool = False
) -> list[dict[str, object]]:
    """The same rows as values: column name -> value, in the table's order of columns."""
    with connection.cursor() as cursor:
        cursor.execute("SET time_zone = '+00:00'")
        cursor.execute(
            "SELECT COLUMN_NAME, DATA_TYPE FROM information_schema.COLUMNS"
            " WHERE TABLE_SCHEMA = %s AND TABLE_NAME = %s ORDER BY ORDINAL_POSITION",
            (database, table),
        )
        types = {name: data_type.lower() for name, data_type in cursor.fetchall()}
        if dates_as_text:
            types = {name: "shown date" if kind in _DATED else kind for name, kind in types.items()}
        cursor.execute(f"SELECT {', '.join(map(_selected, types, types.values()))} FROM {_quoted(database, table)}")
        return [dict(zip(types, _decoded(types, row), strict=True)) for row in cursor]


def mirror_rows(table: pa.Table) -> list[str]:
    """The canonical rows of a mirror read with ``DataFrame.toArrow()``, without the columns that only a mirror has.

    Arrow keeps TIMESTAMP's zone; ``DataFrame.collect()`` would hand out local times without one.
    """
    source_columns = [name for name in table.column_names if name not in MIRROR_ONLY]
    return [canonical_row(row) for row in table.select(source_columns).to_pylist()]


def source_tables(connection: pymysql.Connection, database: str) -> list[str]:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = %s"
            " AND TABLE_TYPE IN ('BASE TABLE', 'SYSTEM VERSIONED')",
            (database,),
        )
        return sorted(name for (name,) in cursor.fetchall())


def _selected(name: str, data_type: str) -> str:
    return _SELECTED.get(data_type, "{}").format(_quoted(name))


def _decoded(types: Mapping[str, str], row: tuple) -> list[object]:
    return [_decoded_value(data_type, value) for data_type, value in zip(types.values(), row, strict=True)]


def _decoded_value(data_type: str, value: object) -> object:
    if data_type == "bit" and value is not None:
        return int.from_bytes(value, "big")
    # A date that no calendar has: the driver hands out its text, the mirror has NULL.
    return None if data_type in _DATED and isinstance(value, str) else value


def _quoted(*names: str) -> str:
    return ".".join("`" + name.replace("`", "``") + "`" for name in names)
