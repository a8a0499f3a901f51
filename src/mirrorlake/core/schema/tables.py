"""A table's definition as a value, and two questions: may it be mirrored, and do two accounts of it agree."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from functools import cached_property

from mirrorlake.core.schema.charsets import SUPPORTED
from mirrorlake.core.schema.types import MAX_DECIMAL_DIGITS, MIRRORED, ColumnType

RESERVED_COLUMN = "_lsn"  # the mirror's own column


@dataclass(frozen=True, slots=True)
class Column:
    name: str
    type: ColumnType
    nullable: bool = True

    def to_dict(self) -> dict:
        return {"name": self.name, "type": self.type.to_dict(), "nullable": self.nullable}

    @classmethod
    def from_dict(cls, found: dict) -> Column:
        return cls(found["name"], ColumnType.from_dict(found["type"]), found["nullable"])


@dataclass(frozen=True)
class TableSchema:
    """primary_key: names in key order of the key by which the server itself tells rows apart: the PRIMARY KEY, else the
    first UNIQUE key without nullable or partial columns (both servers promote it, and say so in their table maps).

    default_charset, key_is_promoted: what only DDL tells and later DDL needs. They say nothing about how a row is
    decoded, so equality and ``schema_id`` leave them out.
    """

    database: str
    table: str
    columns: tuple[Column, ...]
    primary_key: tuple[str, ...]
    default_charset: str | None = field(default=None, compare=False)
    key_is_promoted: bool = field(default=False, compare=False)

    def position(self, column: str) -> int | None:
        """Index of a column by name, as the servers compare names: without regard to case."""
        wanted = column.casefold()
        return next((i for i, known in enumerate(self.columns) if known.name.casefold() == wanted), None)

    def to_json(self) -> str:
        return _json(self._identity() | {"default_charset": self.default_charset, "promoted": self.key_is_promoted})

    @classmethod
    def from_json(cls, text: str) -> TableSchema:
        found = json.loads(text)
        return cls(
            found["database"],
            found["table"],
            tuple(Column.from_dict(column) for column in found["columns"]),
            tuple(found["primary_key"]),
            found["default_charset"],
            found["promoted"],
        )

    @cached_property
    def schema_id(self) -> int:
        """Signed 64-bit number computed from the content: equal definitions have equal ids, in any process."""
        digest = hashlib.sha256(_json(self._identity()).encode()).digest()
        return int.from_bytes(digest[:8], "big", signed=True)

    def _identity(self) -> dict:
        return {
            "database": self.database,
            "table": self.table,
            "columns": [column.to_dict() for column in self.columns],
            "primary_key": list(self.primary_key),
        }


def _json(value: dict) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))


def why_not_mirrored(schema: TableSchema) -> tuple[str, str] | None:
    """(code, reason) for the first thing a mirror cannot hold, or None."""
    for column in schema.columns:
        refusal = _why_column_not_mirrored(column)
        if refusal:
            return refusal
    return None if schema.primary_key else ("no-primary-key", "the table has no primary key")


def _why_column_not_mirrored(column: Column) -> tuple[str, str] | None:
    kind = column.type
    if column.name.lower() == RESERVED_COLUMN:
        return "column-name", f"column {column.name} is a reserved name"
    if kind.name not in MIRRORED or (kind.precision or 0) > MAX_DECIMAL_DIGITS:
        return "column-type", f"column {column.name} has type {kind.sql()}"
    if kind.has_charset and kind.charset is not None and kind.charset not in SUPPORTED:
        return "column-charset", f"column {column.name} has character set {kind.charset}"
    return None


def same_definition(from_map: TableSchema, from_ddl: TableSchema) -> str | None:
    """None when the table map and the definition agree, else the first difference in words.

    A character set the DDL left open is taken from the map. Nullability of a TIMESTAMP is not compared: it hangs on
    explicit_defaults_for_timestamp, which the log does not carry.
    """
    if len(from_map.columns) != len(from_ddl.columns):
        return f"the table map has {len(from_map.columns)} columns, the definition {len(from_ddl.columns)}"
    for number, (seen, known) in enumerate(zip(from_map.columns, from_ddl.columns, strict=True), 1):
        difference = _column_difference(seen, known)
        if difference:
            return f"column {number}: the table map has {difference[0]}, the definition {difference[1]}"
    if from_map.primary_key != from_ddl.primary_key:
        return f"the table map has key ({_names(from_map)}), the definition ({_names(from_ddl)})"
    return None


def _column_difference(seen: Column, known: Column) -> tuple[str, str] | None:
    if seen.name != known.name:
        return seen.name, known.name
    charset_is_open = known.type.has_charset and known.type.charset is None
    if seen.type != known.type and not (charset_is_open and _without_charset(seen) == _without_charset(known)):
        return _describe(seen), _describe(known)
    if seen.nullable != known.nullable and known.type.name != "timestamp":
        return _describe_nullability(seen), _describe_nullability(known)
    return None


def _without_charset(column: Column) -> dict:
    return {name: value for name, value in column.type.to_dict().items() if name != "charset"}


def _describe(column: Column) -> str:
    return f"{column.name} {column.type.sql()}" + (f" {column.type.charset}" if column.type.charset else "")


def _describe_nullability(column: Column) -> str:
    return f"{column.name} {'NULL' if column.nullable else 'NOT NULL'}"


def _names(schema: TableSchema) -> str:
    return ", ".join(schema.primary_key)
