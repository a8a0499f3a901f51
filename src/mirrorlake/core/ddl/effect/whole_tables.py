"""Statements that move or empty whole tables: RENAME TABLE, TRUNCATE TABLE, EXCHANGE PARTITION."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from mirrorlake.core.ddl.effect.context import Before, refuse
from mirrorlake.core.ddl.parse.statements import ExchangePartition, RenameTables, TruncateTable
from mirrorlake.core.schema.history import ABSENT, DefinitionChange, Refused
from mirrorlake.core.schema.keys import foreign_keys_of_renamed
from mirrorlake.core.schema.partitions import Partitioning
from mirrorlake.core.schema.row_steps import Exchange, From, Step
from mirrorlake.core.schema.table_name import TableName
from mirrorlake.core.schema.tables import TableSchema

_FIRST_COPY, _RESYNC = "needs-first-copy", "needs-resync"


def rename_tables(parsed: RenameTables, before: Before) -> list[DefinitionChange]:
    """The net effect of a chain or a circle: every name with the table that has it in the end."""
    return rename(parsed.pairs, before)


def rename(pairs: Iterable[tuple[TableName, TableName]], before: Before) -> list[DefinitionChange]:
    owner: dict[TableName, TableName | None] = {}  # name -> the name that its table had before the statement
    for old, new in pairs:
        source = owner.get(old, old)
        if source is not None and before.known(source) is not ABSENT:  # a view is not known; IF EXISTS skips a pair
            owner[new], owner[old] = source, None
    return [
        change
        for name, source in owner.items()
        if source != name and (change := _renamed(name, source, before)) is not None
    ]


def _renamed(name: TableName, source: TableName | None, before: Before) -> DefinitionChange | None:
    if source is None:
        return DefinitionChange("moved", name.database, name.table)
    known = before.known(source)
    if isinstance(known, TableSchema):
        foreign = foreign_keys_of_renamed(known.foreign_keys, source.table, name.table)
        moved = replace(known, database=name.database, table=name.table, foreign_keys=foreign)
        return renamed_table(name, source, moved, ())
    if isinstance(known, Refused):
        return refuse(name, known.code, known.reason)
    if before.known(name) is None:
        return None
    reason = f"it was renamed from {source.database}.{source.table}, whose CREATE TABLE is not in the log"
    return refuse(name, _FIRST_COPY, reason)


def renamed_table(name: TableName, source: TableName, schema: TableSchema, steps: Sequence[Step]) -> DefinitionChange:
    """The change of a renamed table. schema: under the new name."""
    came_from = From(source.database, source.table)
    return DefinitionChange("rename", name.database, name.table, schema, (came_from, *steps))


def truncate_table(parsed: TruncateTable, before: Before) -> list[DefinitionChange]:
    known, name = before.known(parsed.name), parsed.name
    if not isinstance(known, TableSchema):
        return []
    return [DefinitionChange("truncate", name.database, name.table, known)]


def exchange_partition(name: TableName, clause: ExchangePartition, before: Before) -> list[DefinitionChange]:
    partitioned, plain = before.known(name), before.known(clause.table)
    if isinstance(partitioned, TableSchema) and isinstance(plain, TableSchema) and partitioned.partitioning is not None:
        partitioning = partitioned.partitioning.on_server(before.row_end)
        return [
            _exchanged(name, clause.table, clause, partitioning, partitioned, True),
            _exchanged(clause.table, name, clause, partitioning, plain, False),
        ]
    reason = f"EXCHANGE PARTITION of {name.database}.{name.table} with {clause.table.database}.{clause.table.table}"
    sides = {name: partitioned, clause.table: plain}
    return [refuse(mine, _RESYNC, reason) for mine, known in sides.items() if isinstance(known, TableSchema)]


def _exchanged(
    mine: TableName, other: TableName, clause: ExchangePartition, partitioning: Partitioning, schema: TableSchema,
    is_partitioned: bool,
) -> DefinitionChange:  # fmt: skip
    step = Exchange(partitioning, clause.name, other.database, other.table, is_partitioned)
    return DefinitionChange("exchange", mine.database, mine.table, schema, (step,))
