"""The partitioning of a table, as a value."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace


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

    expression: SQL text, for RANGE, LIST and HASH. columns: for the others; KEY without columns takes the primary
    key's. partitions: all of them, those without a name in the text under the server's names (p0, p0sp0). options: SQL
    text after SYSTEM_TIME (INTERVAL, LIMIT); for KEY, the ALGORITHM if it is not the usual one, 2.

    row_end: for KEY in a table with system versioning, the end of the period of rows in force, in seconds since 1970;
    None: not known. has_misplaced_rows: MariaDB may have left rows in partitions other than the method's.
    """

    method: str
    expression: str | None = None
    columns: tuple[str, ...] = ()
    partitions: tuple[Partition, ...] = ()
    options: str = ""
    sub_method: str | None = None
    sub_expression: str | None = None
    sub_columns: tuple[str, ...] = ()
    sub_count: int = 0
    row_end: int | None = None
    has_misplaced_rows: bool = False

    @property
    def is_by_key(self) -> bool:
        return self.method in ("KEY", "LINEAR KEY")

    def on_server(self, row_end: int | None) -> Partitioning:
        """Set row_end: the value that a server gives rows in force now. One that was upgraded in between may have had
        another."""
        return self if self.row_end == row_end else replace(self, row_end=None)

    def with_partitions(self, partitions: Iterable[Partition]) -> Partitioning:
        """Replace the partitions, each with its subpartitions, and keep the method."""
        return replace(self, partitions=tuple(self._with_subpartitions(partition) for partition in partitions))

    def _with_subpartitions(self, partition: Partition) -> Partition:
        if partition.subpartitions or not self.sub_method:
            return partition
        return replace(partition, subpartitions=tuple(f"{partition.name}sp{n}" for n in range(self.sub_count)))


def unnamed(method: str, first: int, count: int) -> tuple[Partition, ...]:
    """Partitions with the names that the server gives them. The last one of SYSTEM_TIME has the rows in force."""
    if method == "SYSTEM_TIME":
        history = (Partition(f"p{n}", "history") for n in range(first, first + count - 1))
        return (*history, Partition("pn", "current"))
    return tuple(Partition(f"p{n}") for n in range(first, first + count))
