"""Compare the names of databases and tables as a server does, by its ``lower_case_table_names``.

0  as they are written (default on Linux)
1  in lower case: the server keeps them so and logs rows under them; the text of a statement is logged as it was typed
2  in lower case, too, but kept as they were created (macOS)

The log does not have the setting. Here a name of 1 and 2 is the name in lower case.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from mirrorlake.core.schema.name_case import folded

NAME_CASE = "lower_case_table_names"
"""The server's setting, and the key of a note with it: how the source compares names; absent if nobody said it."""


@dataclass(frozen=True, slots=True)
class NameCase:
    """setting: the server's lower_case_table_names; None: not known, because the log came as files and nobody said
    it."""

    setting: int | None

    def fold(self, name: str) -> str:
        """The name by which a database or table is known here."""
        return folded(name) if self.setting else name

    def fold_all(self, *names: str) -> Iterator[str]:
        return map(self.fold, names)


AS_WRITTEN = NameCase(0)
