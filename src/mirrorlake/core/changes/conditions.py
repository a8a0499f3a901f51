"""Row changes of which the log does not tell all: what a mirror must bear to take them.

Silver keeps such a change as it is logged, with its conditions in ``refusal``, one a line, each with its code. Whether
a mirror bears them is gold's question: it hangs on the mirror's columns and on what the operator trusts.
"""

from __future__ import annotations

from mirrorlake.core.binlog.row_image import LACKS_GENERATED, MAYBE_REPLACE
from mirrorlake.core.schema.tables import TableSchema

GENERATED, MAYBE_REPLACED = "generated-column", "row-image"
"""Codes: the change lacks values of generated columns; it may be a REPLACE that sets columns to their defaults."""
_REPLACE_REASON = (
    "an UPDATE with some of the columns may be a REPLACE, of which MariaDB does not log all; "
    "--partial-images replica trusts that columns without a value keep theirs, as a replica does"
)


def conditions_of(bits: int, schema: TableSchema) -> str | None:
    """bits: see ``row_image.completeness``."""
    found = []
    if bits & LACKS_GENERATED:
        names = ", ".join(column.name for column in schema.columns if column.generated is not None)
        found.append(f"{GENERATED}: the log leaves out values of generated columns: {names}")
    if bits & MAYBE_REPLACE:
        found.append(f"{MAYBE_REPLACED}: {_REPLACE_REASON}")
    return "\n".join(found) or None


def read_conditions(text: str | None) -> dict[str, str]:
    """Code -> reason of what ``conditions_of`` gave."""
    pairs = (line.partition(": ") for line in text.split("\n")) if text else ()
    return {code: reason for code, _, reason in pairs}
