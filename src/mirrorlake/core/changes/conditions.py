"""Row changes that the log has only in part: the conditions under which a mirror may apply them.

Silver keeps such a change as logged, with its conditions in ``refusal``, one per line, each with its code. Gold decides
whether a mirror meets them: that depends on the mirror's columns and on what the operator trusts.
"""

from __future__ import annotations

from mirrorlake.core.binlog.rows.row_image import LACKS_GENERATED, MAYBE_REPLACE
from mirrorlake.core.schema.tables import TableSchema

GENERATED, MAYBE_REPLACED = "generated-column", "row-image"
"""Codes: the change lacks values of generated columns; it may be a REPLACE that sets columns to their defaults."""
_REPLACE_REASON = (
    "an UPDATE with some of the columns may be a REPLACE, of which MariaDB does not log all; "
    "--partial-images replica trusts that columns without a value keep theirs, as a replica does"
)


def conditions_of(bits: int, schema: TableSchema) -> str | None:
    """Make the conditions. bits: see ``row_image.completeness``."""
    found = []
    if bits & LACKS_GENERATED:
        names = ", ".join(column.name for column in schema.columns if column.generated is not None)
        found.append(f"{GENERATED}: the log leaves out values of generated columns: {names}")
    if bits & MAYBE_REPLACE:
        found.append(f"{MAYBE_REPLACED}: {_REPLACE_REASON}")
    return "\n".join(found) or None


def read_conditions(text: str | None) -> dict[str, str]:
    """Return code -> reason from the text of ``conditions_of``."""
    pairs = (line.partition(": ") for line in text.split("\n")) if text else ()
    return {code: reason for code, _, reason in pairs}
