"""What a mirror says of its source besides its columns -> the commit that keeps it in step with DDL."""

from __future__ import annotations

from collections.abc import Iterator

from mirrorlake.core.schema.tables import TableSchema
from mirrorlake.core.sql_text import literal
from mirrorlake.lake.gold.ddl.steps import Alter


def described(old: TableSchema, new: TableSchema) -> Iterator[Alter]:
    """The commit that gives a mirror its new description, if it differs. old, new: the mirror's."""
    if old.comment != new.comment:
        yield Alter(f"SET TBLPROPERTIES ('comment' = {literal(new.comment)})")
