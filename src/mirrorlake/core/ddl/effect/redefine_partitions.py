"""Apply the clauses of an ALTER TABLE to a table's partitions. ``alter`` has the rows."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from mirrorlake.core.ddl.effect.redefine_keys import Contradiction
from mirrorlake.core.ddl.parse.statements import (
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
from mirrorlake.core.schema.name_case import folded
from mirrorlake.core.schema.partitions import Partitioning, unnamed
from mirrorlake.core.schema.tables import TableSchema

_NEW_LISTS = (AddPartitions, ReorganizePartitions, TableToPartition)
_NUMBERED = re.compile(r"p([0-9]{1,18})")


def repartition(schema: TableSchema, clauses: Sequence[Clause]) -> TableSchema:
    """The table with new partitions. Raises Contradiction for an unknown partition."""
    for clause in clauses:
        if isinstance(clause, PartitionBy):
            schema = replace(schema, partitioning=clause.partitioning)
        elif isinstance(clause, RemovePartitioning):
            schema = replace(schema, partitioning=None)
        elif type(clause) in _CHANGES:
            if schema.partitioning is None:
                raise Contradiction("the table is not partitioned")
            schema = replace(schema, partitioning=_changed(schema.partitioning, clause))
    return schema


def _changed(known: Partitioning, clause: Clause) -> Partitioning:
    """Change some of the partitions. MariaDB has rows in wrong ones then, if there is a DEFAULT partition: ADD moves
    none out of it, and REORGANIZE may put all of its rows into one list (measured: 10.11 and 11.8)."""
    new = _CHANGES[type(clause)](known, clause)
    takes_rows = isinstance(clause, ReorganizePartitions) and _has_default(new) or _has_default(known)
    if new is known or not takes_rows or not isinstance(clause, _NEW_LISTS):
        return new
    return replace(new, has_misplaced_rows=True)


def _has_default(known: Partitioning) -> bool:
    return any(partition.kind == "default" for partition in known.partitions)


def misplaces_rows(old: TableSchema, new: TableSchema, renamed: Mapping[str, str | None]) -> bool:
    """May MariaDB leave rows in partitions where it no longer looks for them?

    It takes the columns of a KEY in the order that they have in the table, and an ALTER in place moves no row; it also
    does not follow names that two columns swap. Measured on 10.11 and 11.8, where CHECK TABLE then says "Found a
    misplaced row"; MySQL 9.7 does move the rows. renamed: old column name, case folded -> the new name, None: dropped.
    """
    known = old.partitioning
    if known is None or not (known.is_by_key or known.columns):
        return False
    names = sorted(known.columns or old.primary_key, key=lambda name: old.position(name) or 0)
    now = [renamed.get(folded(name), name) or "" for name in names]
    if any(folded(a) != folded(b) and new.position(a) is not None for a, b in zip(names, now, strict=True)):
        return True
    indexes = [index for name in now if (index := new.position(name)) is not None]
    return known.is_by_key and indexes != sorted(indexes)


def _add(known: Partitioning, clause: AddPartitions) -> Partitioning:
    names = {folded(partition.name) for partition in known.partitions}
    if clause.if_not_exists and any(folded(partition.name) in names for partition in clause.partitions):
        return known
    if known.method == "SYSTEM_TIME":  # the rows in force stay in the last one
        more = clause.partitions or unnamed(known.method, _first_free(known, clause.count), clause.count + 1)[:-1]
        return known.with_partitions((*known.partitions[:-1], *more, known.partitions[-1]))
    more = clause.partitions or unnamed(known.method, len(known.partitions), clause.count)
    return known.with_partitions((*known.partitions, *more))


def _first_free(known: Partitioning, count: int) -> int:
    """MariaDB numbers new partitions of history in the first gap, after a number in use, that has room for all."""
    numbers = (_NUMBERED.fullmatch(partition.name) for partition in known.partitions)
    used = sorted(int(found[1]) for found in numbers if found)
    follows = zip(used, [*used[1:], None], strict=True)
    return next((n + 1 for n, after in follows if after is None or after - n > count), 0)


def _positions(known: Partitioning, names: Sequence[str]) -> list[int]:
    index = {folded(partition.name): i for i, partition in enumerate(known.partitions)}
    missing = next((name for name in names if folded(name) not in index), None)
    if missing is not None:
        raise Contradiction(f"PARTITION {missing}: there is no such partition")
    return sorted(index[folded(name)] for name in names)


def _without(known: Partitioning, names: Sequence[str]) -> Partitioning:
    gone = frozenset(_positions(known, names))
    return known.with_partitions(p for i, p in enumerate(known.partitions) if i not in gone)


def _drop(known: Partitioning, clause: DropPartitions) -> Partitioning:
    spelled = {folded(partition.name) for partition in known.partitions}
    names = [n for n in clause.names if not clause.if_exists or folded(n) in spelled]
    return _without(known, names)


def _coalesce(known: Partitioning, clause: CoalescePartitions) -> Partitioning:
    return known.with_partitions(known.partitions[: len(known.partitions) - clause.count])


def _reorganize(known: Partitioning, clause: ReorganizePartitions) -> Partitioning:
    if not clause.partitions:
        return known
    at = _positions(known, clause.names)
    moved = frozenset(at)
    kept = [p for i, p in enumerate(known.partitions) if i not in moved]
    return known.with_partitions((*kept[: at[0]], *clause.partitions, *kept[at[0] :]))


def _convert_out(known: Partitioning, clause: PartitionToTable) -> Partitioning:
    return _without(known, [clause.name])


def _convert_in(known: Partitioning, clause: TableToPartition) -> Partitioning:
    return known.with_partitions((*known.partitions, clause.partition))


_CHANGES: dict[type, Callable[..., Partitioning]] = {
    AddPartitions: _add,
    DropPartitions: _drop,
    CoalescePartitions: _coalesce,
    ReorganizePartitions: _reorganize,
    PartitionToTable: _convert_out,
    TableToPartition: _convert_in,
}
