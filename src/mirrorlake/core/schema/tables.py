"""A table's definition as a value, and two questions: may it be mirrored, and do two definitions agree."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field, fields
from functools import cached_property

from mirrorlake.core.schema.charsets import SUPPORTED
from mirrorlake.core.schema.keys import ForeignKey, Key
from mirrorlake.core.schema.name_case import folded, folded_by_spark
from mirrorlake.core.schema.partitions import Partitioning
from mirrorlake.core.schema.plain import from_plain, to_plain
from mirrorlake.core.schema.table_name import TableName
from mirrorlake.core.schema.types import MIRRORED, ColumnType

RESERVED_COLUMN = "_lsn"  # the mirror's own column
FILLED_BY_READERS = frozenset(("_tmp_metadata_row_index", "__delta_internal_is_row_deleted"))
"""Spark and Delta put numbers of rows, or flags, into columns of these names, whatever the file has."""
SEQUENCE = "sequence"
"""Code in silver of a name that a sequence has: nothing of it is followed, and no table is refused."""
_SEQUENCE_COLUMNS = (
    "next_not_cached_value", "minimum_value", "maximum_value", "start_value", "increment", "cache_size", "cycle_option",
    "cycle_count",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Default:
    """A column's default. kind and text:

    null        -
    string      a literal's text, quotes and escapes resolved
    number      a literal as written, sign included; TRUE and FALSE are 1 and 0
    bits        a literal as written: ``x'1f'``, ``b'01'``, ``0x1f``
    now         CURRENT_TIMESTAMP; fraction digits, "0" for none
    expression  SQL text, identifiers in backticks where they were quoted
    """

    kind: str
    text: str = ""


@dataclass(frozen=True, slots=True)
class Column:
    """Name, type and nullability make a column's identity. All else comes only from DDL and is for later DDL:

    collation: None: not named, so the character set's own. default None: there is none. updates_to_now: ON UPDATE
    CURRENT_TIMESTAMP. generated: SQL text of the expression. row_period: ``start`` or ``end``, MariaDB's system
    versioning. is_versioned False: WITHOUT SYSTEM VERSIONING. is_compressed: MariaDB's COMPRESSED. display: digits in
    parentheses after an integer, FLOAT or DOUBLE, which round or pad the result of a later conversion. comment: empty
    if there is none. is_hidden: its values are in bronze alone. is_hashed: silver and gold have digests of them.
    """

    name: str
    type: ColumnType
    nullable: bool = True
    collation: str | None = field(default=None, compare=False)
    default: Default | None = field(default=None, compare=False)
    updates_to_now: bool = field(default=False, compare=False)
    generated: str | None = field(default=None, compare=False)
    is_stored: bool = field(default=False, compare=False)
    is_invisible: bool = field(default=False, compare=False)
    is_auto_increment: bool = field(default=False, compare=False)
    is_compressed: bool = field(default=False, compare=False)
    is_zerofill: bool = field(default=False, compare=False)
    display: tuple[int, ...] = field(default=(), compare=False)
    row_period: str | None = field(default=None, compare=False)
    is_versioned: bool = field(default=True, compare=False)
    has_charset_of_its_own: bool = field(default=False, compare=False)
    comment: str = field(default="", compare=False)
    is_hidden: bool = field(default=False, compare=False)
    is_hashed: bool = field(default=False, compare=False)

    @property
    def never_null(self) -> bool:
        """Is the column NOT NULL for the servers' choice of a key? A virtual column is not."""
        return not self.nullable and (self.is_stored or self.generated is None)

    def to_dict(self) -> dict:
        return self.identity() | to_plain(self, _COLUMN_DETAILS)

    def identity(self) -> dict:
        return {"name": self.name, "type": self.type.to_dict(), "nullable": self.nullable}


_COLUMN_DETAILS = frozenset(f.name for f in fields(Column) if not f.compare)


@dataclass(frozen=True, slots=True)
class Period:
    """PERIOD FOR name (start, end); SYSTEM_TIME is the one of system versioning."""

    name: str
    start: str
    end: str


@dataclass(frozen=True, slots=True)
class UpdateTrigger:
    """A BEFORE UPDATE trigger of MySQL. columns: those of the new row that it names, in lower case; None: not known."""

    name: str
    columns: tuple[str, ...] | None


@dataclass(frozen=True)
class TableSchema:
    """primary_key: names in key order of the key by which the server itself identifies rows: the PRIMARY KEY, else the
    first UNIQUE key without nullable or partial columns (both servers promote it, and say so in their table maps); none
    if only the whole row can identify it.

    default_charset and all after it: properties from DDL for later DDL, and triggers. They do not affect how
    a row is decoded, so equality and ``schema_id`` leave them out. engine: lower case; None: not named. In a mirror's
    definition, as_text: it holds values that may be invalid as text; has_commits: it says of each row when the source
    committed it, and with which GTID; left_out: the source's columns that it does not have, generated or hidden ones.
    comment: empty if there is none.
    """

    database: str
    table: str
    columns: tuple[Column, ...]
    primary_key: tuple[str, ...]
    default_charset: str | None = field(default=None, compare=False)
    key_is_promoted: bool = field(default=False, compare=False)
    default_collation: str | None = field(default=None, compare=False)
    keys: tuple[Key, ...] = field(default=(), compare=False)
    foreign_keys: tuple[ForeignKey, ...] = field(default=(), compare=False)
    engine: str | None = field(default=None, compare=False)
    partitioning: Partitioning | None = field(default=None, compare=False)
    is_versioned: bool = field(default=False, compare=False)
    periods: tuple[Period, ...] = field(default=(), compare=False)
    update_triggers: tuple[UpdateTrigger, ...] = field(default=(), compare=False)
    as_text: bool = field(default=False, compare=False)
    has_commits: bool = field(default=False, compare=False)
    left_out: tuple[str, ...] = field(default=(), compare=False)
    comment: str = field(default="", compare=False)

    @property
    def name(self) -> TableName:
        return TableName(self.database, self.table)

    @property
    def row_changing_keys(self) -> tuple[ForeignKey, ...]:
        """The foreign keys by which a parent's change changes rows of this table."""
        return tuple(key for key in self.foreign_keys if key.changes_rows)

    def position(self, column: str) -> int | None:
        """Index of a column by name, as the servers compare names: without regard to case."""
        wanted = folded(column)
        return next((i for i, known in enumerate(self.columns) if folded(known.name) == wanted), None)

    def trigger_may_set(self, column: str) -> bool:
        """May a BEFORE UPDATE trigger give the column another value than the statement?"""
        wanted = folded(column)
        return any(trigger.columns is None or wanted in trigger.columns for trigger in self.update_triggers)

    def to_json(self) -> str:
        columns = [column.to_dict() for column in self.columns]
        return _json(self._identity() | to_plain(self, _TABLE_DETAILS) | {"columns": columns})

    @classmethod
    def from_json(cls, text: str) -> TableSchema:
        return from_plain(cls, json.loads(text))

    @cached_property
    def schema_id(self) -> int:
        """Signed 64-bit number computed from the content: equal definitions have equal ids, in any process."""
        digest = hashlib.sha256(_json(self._identity()).encode()).digest()
        return int.from_bytes(digest[:8], "big", signed=True)

    def _identity(self) -> dict:
        return {
            "database": self.database,
            "table": self.table,
            "columns": [column.identity() for column in self.columns],
            "primary_key": list(self.primary_key),
        }


_TABLE_DETAILS = frozenset(f.name for f in fields(TableSchema) if not f.compare)


def _json(value: dict) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))


def why_not_mirrored(schema: TableSchema) -> tuple[str, str] | None:
    """Return (code, reason) for the first thing that a mirror cannot hold, or None."""
    for column in schema.columns:
        refusal = _why_column_not_mirrored(column)
        if refusal:
            return refusal
    alike = _taken_for_one(schema.columns)
    if alike:
        return (
            "column-name",
            f"columns {alike[0]} and {alike[1]} have one name for Spark, which compares otherwise",
        )
    hashed = next((key.name for key in schema.keys if key.is_hash), None)
    if hashed:
        return "ddl-unsupported", f"the UNIQUE key {hashed} is kept as a hash, in a column that only the log shows"
    return None


def _taken_for_one(columns: tuple[Column, ...]) -> tuple[str, str] | None:
    seen: dict[str, str] = {}
    for column in columns:
        first = seen.setdefault(folded_by_spark(column.name), column.name)
        if first != column.name:
            return first, column.name
    return None


def _why_column_not_mirrored(column: Column) -> tuple[str, str] | None:
    kind = column.type
    if column.row_period and kind.name != "timestamp":
        return "ddl-unsupported", f"column {column.name} is a period of transactions, whose changes are not logged"
    if folded_by_spark(column.name) in {RESERVED_COLUMN, *FILLED_BY_READERS}:
        return "column-name", f"column {column.name} is a reserved name"
    if kind.name not in MIRRORED:
        return "column-type", f"column {column.name} has type {kind.sql()}"
    if kind.has_charset and kind.charset is not None and kind.charset not in SUPPORTED:
        return "column-charset", f"column {column.name} has character set {kind.charset}"
    return None


def is_sequence(schema: TableSchema) -> bool:
    """Is this a sequence of MariaDB, as table maps with names show it? Its one row is logged, but has no mirror."""
    return tuple(column.name for column in schema.columns) == _SEQUENCE_COLUMNS


def same_definition(from_map: TableSchema, from_ddl: TableSchema) -> str | None:
    """None when the table map and the definition agree, else the first difference in words.

    A character set that the DDL does not decide is taken from the map, and so is utf8mb4 for utf8mb3: MariaDB's
    ``utf8`` is one or the other by ``old_mode``, which no log has. Nullability of a TIMESTAMP is not compared: it
    depends on explicit_defaults_for_timestamp, which a MySQL before 8.0 does not log.
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
    charset_is_open = known.type.has_charset and (
        known.type.charset is None or may_be_utf8mb4(known.type) and seen.type.charset == "utf8mb4"
    )
    if seen.type != known.type and not (charset_is_open and _without_charset(seen) == _without_charset(known)):
        return _describe(seen), _describe(known)
    if seen.nullable != known.nullable and known.type.name != "timestamp":
        return _describe_nullability(seen), _describe_nullability(known)
    return None


def may_be_utf8mb4(kind: ColumnType) -> bool:
    """May a column's type from DDL be utf8mb4 on the server?"""
    return kind.charset == "utf8mb3"


def _without_charset(column: Column) -> dict:
    return {name: value for name, value in column.type.to_dict().items() if name != "charset"}


def _describe(column: Column) -> str:
    return f"{column.name} {column.type.sql()}" + (f" {column.type.charset}" if column.type.charset else "")


def _describe_nullability(column: Column) -> str:
    return f"{column.name} {'NULL' if column.nullable else 'NOT NULL'}"


def _names(schema: TableSchema) -> str:
    return ", ".join(schema.primary_key)
