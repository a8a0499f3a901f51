"""What a mirror says of its source besides the columns that it has -> the commit that keeps it in step with DDL."""

from __future__ import annotations

from collections.abc import Iterator

from mirrorlake.core.schema.tables import TableSchema
from mirrorlake.core.sql_text import literal
from mirrorlake.lake.gold.control.source_properties import source_properties
from mirrorlake.lake.gold.ddl.steps import Alter


def described(old: TableSchema, new: TableSchema) -> Iterator[Alter]:
    """The commit that gives a mirror its new comment and properties, if they differ. old, new: the mirror's."""
    before, after = (source_properties(schema) | {"comment": schema.comment} for schema in (old, new))
    changed = [f"{literal(key)} = {literal(text)}" for key, text in after.items() if before[key] != text]
    if changed:
        yield Alter(f"SET TBLPROPERTIES ({', '.join(changed)})", may_repeat=True)
