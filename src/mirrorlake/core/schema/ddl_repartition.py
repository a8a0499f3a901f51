"""What the clauses of an ALTER TABLE make of a table's partitions. Which rows go with them is elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from mirrorlake.core.schema.ddl_redefine_keys import Contradiction
from mirrorlake.core.schema.ddl_statements import (
    AddPartitions,
    Clause,
    CoalescePartitions,
    DropPartitions,
    PartitionBy,
    PartitionToTable,
    RemovePartitioning,
    ReorganizePartitions,
    TableToPartition,
)
from mirrorlake.core.schema.partitions import Partition, Partitioning
from mirrorlake.core.schema.tables import TableSchema


def repartition(schema: TableSchema, clauses: Sequence[Clause]) -> TableSchema:
    """Raises Contradiction for a partition that is not known."""
    for clause in clauses:
        if isinstance(clause, PartitionBy):
            schema = replace(schema, partitioning=clause.partitioning)
        elif isinstance(clause, RemovePartitioning):
            schema = replace(schema, partitioning=None)
        elif type(clause) in _CHANGES:
            if schema.partitioning is None:
                raise Contradiction("the table is not partitioned")
            schema = replace(schema, partitioning=_CHANGES[type(clause)](schema.partitioning, clause))
    return schema


def _with(known: Partitioning, partitions: Sequence[Partition]) -> Partitioning:
    return replace(known, partitions=tuple(partitions), count=len(partitions))


def _add(known: Partitioning, clause: AddPartitions) -> Partitioning:
    if not known.partitions:  # HASH and KEY may number their partitions
        return replace(known, count=known.count + (clause.count or len(clause.partitions)))
    if clause.count:
        more = tuple(Partition(f"p{known.count + n}") for n in range(clause.count))
        return _with(known, (*known.partitions, *more))
    names = {partition.name.casefold() for partition in known.partitions}
    if clause.if_not_exists and any(partition.name.casefold() in names for partition in clause.partitions):
        return known
    return _with(known, (*known.partitions, *clause.partitions))


def _positions(known: Partitioning, names: Sequence[str]) -> list[int]:
    spelled = [partition.name.casefold() for partition in known.partitions]
    missing = next((name for name in names if name.casefold() not in spelled), None)
    if missing is not None:
        raise Contradiction(f"PARTITION {missing}: there is no such partition")
    return sorted(spelled.index(name.casefold()) for name in names)


def _without(known: Partitioning, names: Sequence[str]) -> Partitioning:
    gone = _positions(known, names)
    return _with(known, [p for i, p in enumerate(known.partitions) if i not in gone])


def _drop(known: Partitioning, clause: DropPartitions) -> Partitioning:
    spelled = {partition.name.casefold() for partition in known.partitions}
    names = [n for n in clause.names if not clause.if_exists or n.casefold() in spelled]
    if not known.partitions and known.method == "SYSTEM_TIME":
        return replace(known, count=known.count - len(names))
    return _without(known, names)


def _coalesce(known: Partitioning, clause: CoalescePartitions) -> Partitioning:
    left = known.count - clause.count
    return replace(known, partitions=known.partitions[:left], count=left)


def _reorganize(known: Partitioning, clause: ReorganizePartitions) -> Partitioning:
    if not clause.partitions:
        return known
    if not known.partitions:
        return replace(known, count=known.count - len(clause.names) + len(clause.partitions))
    at = _positions(known, clause.names)
    kept = [p for i, p in enumerate(known.partitions) if i not in at]
    return _with(known, (*kept[: at[0]], *clause.partitions, *kept[at[0] :]))


def _convert_out(known: Partitioning, clause: PartitionToTable) -> Partitioning:
    return _without(known, [clause.name])


def _convert_in(known: Partitioning, clause: TableToPartition) -> Partitioning:
    return _with(known, (*known.partitions, clause.partition))


_CHANGES: dict[type, Callable[..., Partitioning]] = {
    AddPartitions: _add,
    DropPartitions: _drop,
    CoalescePartitions: _coalesce,
    ReorganizePartitions: _reorganize,
    PartitionToTable: _convert_out,
    TableToPartition: _convert_in,
}
