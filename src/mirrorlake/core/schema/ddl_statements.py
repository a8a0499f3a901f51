"""What the parser finds in a statement, as values. Nothing here knows which tables exist."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from mirrorlake.core.schema.ddl_tokens import TableName


@dataclass(frozen=True, slots=True)
class TypeSpec:
    """A column's type as written; name: one lower-case word. Defaults and character set are not resolved yet."""

    name: str
    numbers: tuple[int, ...] = ()
    labels: tuple[str, ...] = ()
    unsigned: bool = False
    charset: str | None = None
    is_serial: bool = False


class Default(Enum):
    """What rows that exist before the column would hold."""

    NONE = "no default"
    NULL = "NULL"
    VALUE = "a value"


@dataclass(slots=True)
class ColumnSpec:
    """One column definition. nullable None: not written."""

    name: str
    type: TypeSpec
    nullable: bool | None = None
    default: Default = Default.NONE
    is_generated: bool = False
    is_stored: bool = False
    is_auto_increment: bool = False
    is_primary: bool = False
    is_unique: bool = False
    cascade: str | None = None
    unsupported: str | None = None


@dataclass(frozen=True, slots=True)
class KeySpec:
    """PRIMARY KEY or UNIQUE. is_whole: each part is a whole column, not a prefix nor an expression."""

    columns: tuple[str, ...]
    is_primary: bool
    is_whole: bool = True


@dataclass(slots=True)
class CreateTable:
    """charset None: the database's. cascade: text of a foreign key's action that changes rows unseen."""

    name: TableName
    if_not_exists: bool = False
    or_replace: bool = False
    columns: list[ColumnSpec] = field(default_factory=list)
    keys: list[KeySpec] = field(default_factory=list)
    charset: str | None = None
    cascade: str | None = None
    unsupported: str | None = None


@dataclass(frozen=True, slots=True)
class AddColumn:
    """after: None: at the end; "": first; else behind this column."""

    column: ColumnSpec
    after: str | None
    if_not_exists: bool


@dataclass(frozen=True, slots=True)
class DropColumn:
    name: str
    if_exists: bool


@dataclass(frozen=True, slots=True)
class SetDefaultCharset:
    charset: str | None


@dataclass(frozen=True, slots=True)
class ChangeUniqueKey:
    """A UNIQUE key comes or goes: the identity of a table without PRIMARY KEY may hang on it."""

    clause: str


@dataclass(frozen=True, slots=True)
class RefusedClause:
    code: str
    reason: str


Clause = AddColumn | DropColumn | SetDefaultCharset | ChangeUniqueKey | RefusedClause


@dataclass(slots=True)
class AlterTable:
    """clauses: those that matter; a clause without effect on rows or definition leaves nothing."""

    name: TableName
    clauses: list[Clause] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class DropTables:
    names: tuple[TableName, ...]


@dataclass(frozen=True, slots=True)
class CreateDatabase:
    """charset None: not written, so the server's."""

    name: str
    if_not_exists: bool
    or_replace: bool
    charset: str | None


@dataclass(frozen=True, slots=True)
class AlterDatabase:
    name: str
    charset: str | None


@dataclass(frozen=True, slots=True)
class DropDatabase:
    name: str


@dataclass(frozen=True, slots=True)
class RefusedStatement:
    """A statement that changes these tables in a way that is not replayed.

    even_unknown: it gives a table rows or a definition of its own, so it counts for tables not known before too.
    """

    names: tuple[TableName, ...]
    code: str
    reason: str
    even_unknown: bool = False


@dataclass(frozen=True, slots=True)
class NoEffect:
    """Nothing about tables or rows changes."""


Statement = (
    CreateTable | AlterTable | DropTables | CreateDatabase | AlterDatabase | DropDatabase | RefusedStatement | NoEffect
)
