"""How a table is partitioned, as a value."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Bound:
    """One list of values as SQL text, as many as there are columns; RANGE has one such list, LIST one per value."""

    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Partition:
    """kind: ``less than``, ``in``, ``history``, ``current``, ``default`` (MariaDB's catch-all), or None (HASH, KEY).

    bounds of RANGE: one Bound, whose values are SQL texts or MAXVALUE.
    """

    name: str
    kind: str | None = None
    bounds: tuple[Bound, ...] = ()
    subpartitions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Partitioning:
    """method: RANGE, LIST, RANGE COLUMNS, LIST COLUMNS, HASH, LINEAR HASH, KEY, LINEAR KEY or SYSTEM_TIME.

    expression: SQL text, of RANGE, LIST and HASH. columns: of the others; KEY without columns takes the primary key's.
    count: how many partitions. options: SQL text behind SYSTEM_TIME (INTERVAL, LIMIT). The same for subpartitions.
    """

    method: str
    expression: str | None = None
    columns: tuple[str, ...] = ()
    partitions: tuple[Partition, ...] = ()
    count: int = 1
    options: str = ""
    sub_method: str | None = None
    sub_expression: str | None = None
    sub_columns: tuple[str, ...] = ()
    sub_count: int = 0
