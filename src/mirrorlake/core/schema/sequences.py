"""MariaDB's sequences: tables of one row that hold the next number. The log has their rows, but they have no mirror."""

from __future__ import annotations

from mirrorlake.core.schema.tables import TableSchema

SEQUENCE = "sequence"
"""Code in silver of a name that a sequence has: nothing of it is followed, and no table is refused."""
_COLUMNS = (
    "next_not_cached_value", "minimum_value", "maximum_value", "start_value", "increment", "cache_size", "cycle_option",
    "cycle_count",
)  # fmt: skip


def is_sequence(schema: TableSchema) -> bool:
    """Is this the definition of a sequence, as table maps with names show it?"""
    return tuple(column.name for column in schema.columns) == _COLUMNS
