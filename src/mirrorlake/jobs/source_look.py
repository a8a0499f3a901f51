"""The source's tables at one moment: their definitions and, if an engine keeps no older rows, sums over their rows.

``verify`` looks before it takes a position, and again when it compares. What is equal in both is true at the position.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from mirrorlake.config import Options
from mirrorlake.core.ddl.effect.hidden_columns import with_hidden
from mirrorlake.core.ddl.effect.interpret import interpret_shown
from mirrorlake.core.schema.column_patterns import ColumnPatterns
from mirrorlake.core.schema.history import DefinitionChange, Definitions
from mirrorlake.core.schema.keys import NOT_FOLLOWED
from mirrorlake.core.schema.lower_case_names import NameCase
from mirrorlake.core.schema.table_name import TableName
from mirrorlake.core.schema.tables import Column, TableSchema, may_be_utf8mb4
from mirrorlake.core.schema.versioning import of_rows_in_force
from mirrorlake.errors import RefusedError
from mirrorlake.mysql.consistent_read import CurrentRead, TableChanged
from mirrorlake.mysql.source_tables import Ask, SourceTable, create_statement, list_tables

Sums = dict[str, tuple[int, str]]
"""Part of the keys -> number of rows, sum of their hashes in decimal digits."""
_UNSUPPORTED = "ddl-unsupported"


@dataclass(frozen=True, slots=True)
class SourceLook:
    """tables: all tables of the server. definitions: those of the requested tables; None: not understood. sums: those
    of tables whose engine keeps no older rows."""

    tables: dict[TableName, SourceTable]
    definitions: dict[TableName, TableSchema | None]
    sums: dict[TableName, Sums]

    @classmethod
    def take(
        cls, read: CurrentRead, options: Options, flavor: str, sums_of: Callable[[Ask, TableSchema], Sums]
    ) -> SourceLook:
        """Look at the source. read: asks a session that shows the present state. options: from ``as_compared``.
        sums_of: computes the sums of a table with this definition."""
        name_case = NameCase(options.lower_case_table_names)
        tables = {table.name: table for table in list_tables(read.rows, name_case.fold)}
        definitions, sums = dict[TableName, TableSchema | None](), dict[TableName, Sums]()
        for name, table in tables.items():
            if not options.wants(*name):
                continue
            try:
                definitions[name] = schema = definition_of(read.rows, name, flavor, name_case)
                if schema and not table.has_versions:
                    sums[name] = sums_of(read.rows_of_scan, schema)
            except TableChanged:
                definitions.pop(name, None)
        return cls(tables, definitions, sums)


def definition_of(ask: Ask, name: TableName, flavor: str, name_case: NameCase) -> TableSchema | None:
    """The definition that a mirror would have; None if the mirror would be refused. Raises what ``ask`` raises."""
    text, refusal = _statement(ask, name, flavor)
    change = None if refusal else _change(text, name, flavor, name_case)
    schema = change.schema if change else None
    return schema and of_rows_in_force(schema)


def shown_definition(
    ask: Ask, name: TableName, flavor: str, name_case: NameCase, hidden: ColumnPatterns
) -> tuple[str, TableSchema | None, str | None]:
    """The SHOW CREATE TABLE, its definition, or why a snapshot is refused. Whether its parents are followed is decided
    when the snapshot is applied. Raises what ``ask`` raises."""
    text, refusal = _statement(ask, name, flavor)
    return (text, None, refusal) if refusal else (text, *defined(text, name, flavor, name_case, hidden))


def _statement(ask: Ask, name: TableName, flavor: str) -> tuple[str, str | None]:
    """The SHOW CREATE TABLE, or why this server cannot show all of it."""
    try:
        return create_statement(ask, name, flavor), None
    except RefusedError as error:
        if error.code != _UNSUPPORTED:
            raise
        return "", str(error)


def defined(
    text: str, name: TableName, flavor: str, name_case: NameCase, hidden: ColumnPatterns
) -> tuple[TableSchema | None, str | None]:
    """The definition in a SHOW CREATE TABLE, or why a snapshot is refused."""
    change = _change(text, name, flavor, name_case)
    if change is None:
        return None, "ddl-unsupported: its SHOW CREATE TABLE was not understood"
    change = with_hidden(change, None, hidden)
    is_refused = change.action == "refuse" and change.code != NOT_FOLLOWED
    return (None, f"{change.code}: {change.reason}") if is_refused else (change.schema, None)


def _change(text: str, name: TableName, flavor: str, name_case: NameCase) -> DefinitionChange | None:
    """What a SHOW CREATE TABLE defines; None if it is not understood, or is about something else."""
    changes = interpret_shown(text, name[0], flavor, Definitions(), name_case)
    of_table = (change for change in changes if (change.database, change.table) == name)
    return next((change for change in of_table if change.action in ("create", "refuse")), None)


def no_versions(table: SourceTable) -> str:
    """Why ``snapshot`` leaves the table out."""
    return f"storage engine {table.engine} keeps no older versions of rows"


def differences(source: TableSchema, mirror: TableSchema) -> list[str]:
    """Describe each difference of two definitions. Columns that the options leave out are no difference."""
    theirs, ours = ({column.name.lower(): column for column in schema.columns} for schema in (source, mirror))
    theirs = {name: column for name, column in theirs.items() if column.name not in mirror.left_out}
    found = [f"column {theirs[name].name} is missing in the mirror" for name in theirs if name not in ours]
    found += [f"column {ours[name].name} is only in the mirror" for name in ours if name not in theirs]
    both = [name for name in theirs if name in ours]
    for name in both:
        if not ours[name].is_hashed and not _same_type(theirs[name], ours[name]):
            found.append(f"column {theirs[name].name} is {_shown(theirs[name])}, in the mirror {_shown(ours[name])}")
    if both != [name for name in ours if name in theirs]:
        found.append("the columns stand in another order")
    keys = [", ".join(schema.primary_key) for schema in (source, mirror)]
    if keys[0].lower() != keys[1].lower() and not _may_be_null(source):
        found.append(f"the key is ({keys[0]}), in the mirror ({keys[1]})")
    return found


def _may_be_null(source: TableSchema) -> bool:
    """Is the key a UNIQUE one of an AUTO_INCREMENT column? SHOW CREATE TABLE does not say whether that may be NULL, and
    then it is no key."""
    of_key = [column for column in source.columns if column.name in source.primary_key]
    return source.key_is_promoted and any(column.is_auto_increment for column in of_key)


def _same_type(theirs: Column, ours: Column) -> bool:
    kinds = [column.type.to_dict() for column in (theirs, ours)]
    if ours.type.charset is None or may_be_utf8mb4(ours.type) and theirs.type.charset == "utf8mb4":
        kinds = [{name: value for name, value in kind.items() if name != "charset"} for kind in kinds]
    return kinds[0] == kinds[1]


def _shown(column: Column) -> str:
    return column.type.sql() + (f" {column.type.charset}" if column.type.charset else "")
