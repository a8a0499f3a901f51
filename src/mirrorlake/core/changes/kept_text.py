"""Which texts of statements silver has when columns are hidden: a text may hold a value that its row does not show.

Those of DDL on tables and databases stay, because an operator needs them; of these, one with a query does not.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from mirrorlake.core.schema.column_patterns import ColumnPatterns
from mirrorlake.core.schema.history import DefinitionChange

_DDL = re.compile(
    r"\s*(?:(?:ALTER|DROP|RENAME|TRUNCATE|CREATE)\s+(?:(?:OR\s+REPLACE|ONLINE|IGNORE|UNIQUE|FULLTEXT|SPATIAL)\s+)*"
    r"(?:TABLE|DATABASE|SCHEMA|INDEX)\b|TRUNCATE\b)",
    re.IGNORECASE,
)
_NO_WORD = re.compile(
    r"""'(?:[^'\\]|\\.?|'')*'?|"(?:[^"\\]|\\.?|"")*"?|`[^`]*`?|/\*(?!M?!).*?(?:\*/|\Z)|(?:--\s|\#)[^\n]*""", re.DOTALL
)
"""A text, a name in quotes, or a comment that is not executed. One without an end is the rest of the statement."""
_QUERY = re.compile(r"\bSELECT\b|\bVALUES\b(?!\s+(?:LESS|IN)\b)|\bVALUE\s*\(", re.IGNORECASE)
"""Not VALUES of partitions."""
_WITHHELD = "the reason is not shown, because it may have a value of a hidden column; bronze has the statement"


def is_kept(statement: str, hidden: ColumnPatterns) -> bool:
    """May silver hold the text of this statement?"""
    return not hidden.are_any or _DDL.match(statement) is not None and not _QUERY.search(_NO_WORD.sub(" ", statement))


def with_kept_reasons(
    changes: Iterable[DefinitionChange], statement: str, hidden: ColumnPatterns
) -> list[DefinitionChange]:
    """The changes of a statement. A reason may repeat words of it, which are left out as the whole text is."""
    if is_kept(statement, hidden):
        return list(changes)
    return [replace(change, reason=_WITHHELD) if change.reason else change for change in changes]
