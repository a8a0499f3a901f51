"""Parsed statements as values. Nothing here knows which tables exist."""

from __future__ import annotations

from dataclasses import dataclass, field

from mirrorlake.core.schema.keys import ForeignKey, Key
from mirrorlake.core.schema.partitions import Partition, Partitioning
from mirrorlake.core.schema.table_name import TableName
from mirrorlake.core.schema.tables import Default, Period

STATEMENT_DML = "statement-dml"
"""Code of the refusal of a statement that changes rows."""


@dataclass(frozen=True, slots=True)
class TypeSpec:
    """A column's type as written; name: one lower-case word. Defaults and character set are not resolved yet, nor are
    labels that are written as bytes. connection_charset: the session's, for its texts; None: not known."""

    name: str
    numbers: tuple[int, ...] = ()
    labels: tuple[str | bytes, ...] = ()
    connection_charset: str | None = None
    unsigned: bool = False
    charset: str | None = None
    collation: str | None = None
    is_binary: bool = False
    is_serial: bool = False
    is_zerofill: bool = False


@dataclass(slots=True)
class ColumnSpec:
    """One column definition. nullable None: not written. key: written after the type."""

    name: str
    type: TypeSpec
    nullable: bool | None = None
    default: Default | None = None
    default_in_parentheses: bool = False
    updates_to_now: bool = False
    generated: str | None = None
    is_stored: bool = False
    is_invisible: bool = False
    is_auto_increment: bool = False
    is_compressed: bool = False
    is_primary: bool = False
    is_unique: bool = False
    row_period: str | None = None
    is_versioned: bool = True
    is_table_versioned: bool = False
    reference: ForeignKey | None = None
    comment: str = ""
    unsupported: str | None = None


@dataclass(slots=True)
class TableOptions:
    """charset, collation, comment None: not named; charset ``default``: the server's choice. engine: lower case. union:
    tables whose rows are the table's too (MERGE). has_rows_to_come: MySQL has made the table for a CREATE TABLE ..
    SELECT, whose row events follow."""

    charset: str | None = None
    collation: str | None = None
    engine: str | None = None
    comment: str | None = None
    is_versioned: bool = False
    is_sequence: bool = False
    unsupported: str | None = None
    union: tuple[TableName, ...] = ()
    has_rows_to_come: bool = False


@dataclass(slots=True)
class CreateTable:
    """like: the table whose definition it copies. has_select: also takes rows and columns of a query; False if the
    server logs both separately, as it does in row format. keys: as written, those after a column included.
    may_be_of_server: the server itself may have written the statement."""

    name: TableName
    if_not_exists: bool = False
    or_replace: bool = False
    columns: list[ColumnSpec] = field(default_factory=list)
    keys: list[Key] = field(default_factory=list)
    foreign_keys: list[ForeignKey] = field(default_factory=list)
    periods: list[Period] = field(default_factory=list)
    options: TableOptions = field(default_factory=TableOptions)
    partitioning: Partitioning | None = None
    like: TableName | None = None
    has_select: bool = False
    may_be_of_server: bool = False
    unsupported: str | None = None


@dataclass(frozen=True, slots=True)
class AddColumn:
    """after: None: at the end; "": first; else after this column."""

    column: ColumnSpec
    after: str | None = None
    if_not_exists: bool = False


@dataclass(frozen=True, slots=True)
class ChangeColumn:
    """CHANGE, and MODIFY, which keeps the name. after None: it does not move."""

    name: str
    column: ColumnSpec
    after: str | None = None
    if_exists: bool = False


@dataclass(frozen=True, slots=True)
class DropColumn:
    name: str
    if_exists: bool = False


@dataclass(frozen=True, slots=True)
class RenameColumn:
    name: str
    new_name: str
    if_exists: bool = False


@dataclass(frozen=True, slots=True)
class SetDefault:
    """ALTER COLUMN ... SET DEFAULT. default None: DROP DEFAULT."""

    name: str
    default: Default | None
    if_exists: bool = False


@dataclass(frozen=True, slots=True)
class SetVisibility:
    name: str
    is_invisible: bool


@dataclass(frozen=True, slots=True)
class AddKey:
    """or_replace: MariaDB's CREATE OR REPLACE INDEX."""

    key: Key
    if_not_exists: bool = False
    or_replace: bool = False


@dataclass(frozen=True, slots=True)
class DropKey:
    name: str
    if_exists: bool = False


@dataclass(frozen=True, slots=True)
class DropConstraint:
    """Drop a key, a foreign key or a check of that name."""

    name: str
    if_exists: bool = False


@dataclass(frozen=True, slots=True)
class RenameKey:
    name: str
    new_name: str
    if_exists: bool = False


@dataclass(frozen=True, slots=True)
class AddForeignKey:
    foreign_key: ForeignKey
    if_not_exists: bool = False


@dataclass(frozen=True, slots=True)
class DropForeignKey:
    name: str
    if_exists: bool = False


@dataclass(frozen=True, slots=True)
class RenameTable:
    """RENAME in an ALTER TABLE."""

    name: TableName


@dataclass(frozen=True, slots=True)
class SetDefaultCharset:
    """Default for later columns. charset None: the database's, or the one of the collation."""

    charset: str | None = None
    collation: str | None = None


@dataclass(frozen=True, slots=True)
class ConvertCharset:
    """CONVERT TO CHARACTER SET. charset None: the database's."""

    charset: str | None = None
    collation: str | None = None


@dataclass(frozen=True, slots=True)
class SetEngine:
    engine: str


@dataclass(frozen=True, slots=True)
class SetComment:
    """The table's comment."""

    text: str


@dataclass(frozen=True, slots=True)
class SetAlgorithm:
    """name: upper case. COPY also represents clauses that MariaDB executes in no other way: ORDER BY, ADD CHECK,
    ENABLE KEYS, DISABLE KEYS."""

    name: str


@dataclass(frozen=True, slots=True)
class PartitionBy:
    partitioning: Partitioning


@dataclass(frozen=True, slots=True)
class RemovePartitioning:
    pass


@dataclass(frozen=True, slots=True)
class AddPartitions:
    """partitions, or the number of additional ones of HASH or KEY."""

    partitions: tuple[Partition, ...] = ()
    count: int = 0
    if_not_exists: bool = False


@dataclass(frozen=True, slots=True)
class DropPartitions:
    """Drop partitions with their rows."""

    names: tuple[str, ...]
    if_exists: bool = False


@dataclass(frozen=True, slots=True)
class TruncatePartitions:
    """Delete the rows of partitions, which stay. names (): ALL."""

    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CoalescePartitions:
    count: int


@dataclass(frozen=True, slots=True)
class ReorganizePartitions:
    """names (): all. Rows without a new partition would have made it fail; except for SYSTEM_TIME, no row changes."""

    names: tuple[str, ...]
    partitions: tuple[Partition, ...]


@dataclass(frozen=True, slots=True)
class ExchangePartition:
    """Exchange the rows of one partition with those of a table."""

    name: str
    table: TableName


@dataclass(frozen=True, slots=True)
class PartitionToTable:
    """MariaDB's CONVERT PARTITION name TO TABLE: a new table takes its rows."""

    name: str
    table: TableName


@dataclass(frozen=True, slots=True)
class TableToPartition:
    """MariaDB's CONVERT TABLE TO partition: the rows of a table move here, and the table is dropped."""

    table: TableName
    partition: Partition
    if_exists: bool = False
    is_validated: bool = True


@dataclass(frozen=True, slots=True)
class SetVersioning:
    """ADD or DROP SYSTEM VERSIONING: columns of history are added, or dropped with the rows of history."""

    is_versioned: bool


@dataclass(frozen=True, slots=True)
class AddPeriod:
    period: Period
    if_not_exists: bool = False


@dataclass(frozen=True, slots=True)
class DropPeriod:
    name: str
    if_exists: bool = False


@dataclass(frozen=True, slots=True)
class ChangeTablespace:
    """action: DISCARD or IMPORT; rows are removed and added as files."""

    action: str


@dataclass(frozen=True, slots=True)
class RefusedClause:
    """others: other tables that it also affects."""

    code: str
    reason: str
    others: tuple[TableName, ...] = ()


Clause = (
    AddColumn | ChangeColumn | DropColumn | RenameColumn | SetDefault | SetVisibility
    | AddKey | DropKey | DropConstraint | RenameKey | AddForeignKey | DropForeignKey
    | RenameTable | SetDefaultCharset | ConvertCharset | SetEngine | SetComment | SetAlgorithm
    | PartitionBy | RemovePartitioning | AddPartitions | DropPartitions | TruncatePartitions | CoalescePartitions
    | ReorganizePartitions | ExchangePartition | PartitionToTable | TableToPartition
    | SetVersioning | AddPeriod | DropPeriod | ChangeTablespace | RefusedClause
)  # fmt: skip


@dataclass(slots=True)
class AlterTable:
    """clauses: those that matter, in the order written; one without effect on rows or definition is left out.

    ignores_duplicates: ALTER IGNORE TABLE, which removes rows that violate a new unique key.
    """

    name: TableName
    clauses: list[Clause] = field(default_factory=list)
    if_exists: bool = False
    ignores_duplicates: bool = False


@dataclass(frozen=True, slots=True)
class RenameTables:
    """Rename tables one after another, as (from, to)."""

    pairs: tuple[tuple[TableName, TableName], ...]
    if_exists: bool = False


@dataclass(frozen=True, slots=True)
class TruncateTable:
    name: TableName


@dataclass(frozen=True, slots=True)
class DropTables:
    names: tuple[TableName, ...]
    if_exists: bool = False


@dataclass(frozen=True, slots=True)
class DropSequences:
    """MariaDB logs names of tables, too, after IF EXISTS, and leaves the tables alone."""

    names: tuple[TableName, ...]
    if_exists: bool = False


@dataclass(frozen=True, slots=True)
class CreateSequence:
    name: TableName
    if_not_exists: bool = False
    or_replace: bool = False


@dataclass(frozen=True, slots=True)
class CreateTrigger:
    """BEFORE UPDATE, of MySQL. columns: as in ``tables.UpdateTrigger``."""

    name: str
    table: TableName
    columns: tuple[str, ...] | None


@dataclass(frozen=True, slots=True)
class DropTrigger:
    database: str
    name: str


@dataclass(frozen=True, slots=True)
class CreateDatabase:
    """charset, collation None: not named, so the server's."""

    name: str
    if_not_exists: bool
    or_replace: bool
    charset: str | None
    collation: str | None = None


@dataclass(frozen=True, slots=True)
class AlterDatabase:
    """charset, collation None: not named. takes_server_charset: CHARACTER SET DEFAULT."""

    name: str
    charset: str | None
    collation: str | None = None
    takes_server_charset: bool = False


@dataclass(frozen=True, slots=True)
class DropDatabase:
    name: str


@dataclass(frozen=True, slots=True)
class RefusedStatement:
    """A statement that changes these tables in a way that is not replayed.

    even_unknown: it gives a table new rows or a new definition, so it also counts for tables not known before.
    """

    names: tuple[TableName, ...]
    code: str
    reason: str
    even_unknown: bool = False


@dataclass(frozen=True, slots=True)
class RoutineCall:
    """A statement whose routines changed rows of tables that it does not name."""

    reason: str


@dataclass(frozen=True, slots=True)
class CreateTemporaryTable:
    """Logged by sessions that log statements: those that follow may mean it, and not the table of its name."""

    name: TableName


@dataclass(frozen=True, slots=True)
class NoEffect:
    """The statement changes neither tables nor rows."""


Statement = (
    CreateTable | AlterTable | DropTables | DropSequences | RenameTables | TruncateTable | CreateSequence
    | CreateDatabase | AlterDatabase | DropDatabase | CreateTrigger | DropTrigger | RefusedStatement | RoutineCall
    | CreateTemporaryTable | NoEffect
)  # fmt: skip
