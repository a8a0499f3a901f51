"""What a run's options say of a table, as gold asks it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from mirrorlake.core.schema.tables import TableSchema

NULL, TEXT, REFUSE = "null", "text", "refuse"
"""What becomes of values that have no meaning: NULL in the mirror, a text, or the table is refused."""
TRUNCATE, DROP_PARTITION, DROP_TABLE = "truncate", "drop-partition", "drop-table"
"""Kinds of DDL that can be ignored: they take rows from a mirror, or a mirror away."""


@dataclass(frozen=True, slots=True)
class TableRules:
    """is_wanted(database, table): the table filter. invalid_values(database, table): ``NULL``, ``TEXT`` or ``REFUSE``.
    ignores(database, table, kind): a DDL of this kind leaves the mirror as it is.

    A mirror holds texts or does not from its creation on: what was ``TEXT`` then stays so, and to another mirror
    ``TEXT`` is ``NULL``.
    """

    is_wanted: Callable[[str, str], bool] = lambda *_: True
    invalid_values: Callable[[str, str], str] = lambda *_: NULL
    ignores: Callable[[str, str, str], bool] = lambda *_: False

    def creates_as_text(self, database: str, table: str) -> bool:
        return self.invalid_values(database, table) == TEXT

    def refuses_invalid(self, database: str, table: str, mirrored: TableSchema) -> bool:
        return not mirrored.as_text and self.invalid_values(database, table) == REFUSE
