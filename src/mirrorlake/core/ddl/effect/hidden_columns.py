"""Mark the hidden and the hashed columns of a definition, or refuse the table that cannot be mirrored so.

A column is hidden if a pattern fits it, if it was hidden under another name before the statement, or if it is
generated from a hidden or hashed one, or has such a one in its DEFAULT. A column is hashed if a pattern fits it, or if
it was hashed before. So no RENAME shows a value, whatever the patterns say of the new name.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from mirrorlake.core.ddl.effect.generated import names_any
from mirrorlake.core.schema.column_patterns import ColumnPatterns, marked
from mirrorlake.core.schema.history import Absent, DefinitionChange, Definitions, Refused
from mirrorlake.core.schema.name_case import folded
from mirrorlake.core.schema.row_steps import Add, Keep
from mirrorlake.core.schema.table_name import TableName
from mirrorlake.core.schema.tables import Column, TableSchema

HIDDEN_COLUMN = "hidden-column"
Known = TableSchema | Refused | Absent | None
"""What ``Definitions.get`` says of a table."""
_DEFINING = ("create", "alter", "rename")


def with_hidden(change: DefinitionChange, before: Known, patterns: ColumnPatterns) -> DefinitionChange:
    """The change with hidden columns marked. before: what was known of the table under this name.

    The change is a refusal if a hidden column is one that the mirror needs.
    """
    if change.action not in _DEFINING or change.schema is None:
        return change
    schema = marked(patterns.marked(change.schema), *_inherited(change, before))
    schema = _with_generated(schema)
    reason = _why_needed(schema)
    if reason:
        return DefinitionChange("refuse", change.database, change.table, schema, code=HIDDEN_COLUMN, reason=reason)
    return replace(change, schema=schema)


def hidden_names(schema: TableSchema) -> tuple[str, ...]:
    return tuple(column.name for column in schema.columns if column.is_hidden)


def hashed_names(schema: TableSchema) -> tuple[str, ...]:
    return tuple(column.name for column in schema.columns if column.is_hashed)


def made_otherwise(definitions: Definitions, former: ColumnPatterns, present: ColumnPatterns) -> set[TableName]:
    """The followed tables of whose columns the present patterns hide or hash others than the former ones did, and which
    were not made by the present ones."""
    found = set()
    for name in definitions.followed():
        schema = definitions.get(*name)
        assert isinstance(schema, TableSchema), "the table is followed"
        plain = replace(
            schema, columns=tuple(replace(column, is_hidden=False, is_hashed=False) for column in schema.columns)
        )
        were, are = (_marks(patterns.marked(plain)) for patterns in (former, present))
        if were != are and _marks(_with_generated(present.marked(plain))) != _marks(schema):
            found.add(name)
    return found


def _marks(schema: TableSchema) -> tuple[tuple[str, ...], tuple[str, ...]]:
    return hidden_names(schema), hashed_names(schema)


def _inherited(change: DefinitionChange, before: Known) -> tuple[Collection[str], Collection[str]]:
    """The names of the columns that were hidden before the statement, and of those that were hashed."""
    if change.action == "alter" and not any(isinstance(step, Keep | Add) for step in change.steps):
        return _marks(before) if isinstance(before, TableSchema) else ((), ())
    kept = [step for step in change.steps if isinstance(step, Keep)]
    return {step.name for step in kept if step.old.is_hidden}, {step.name for step in kept if step.old.is_hashed}


def _with_generated(schema: TableSchema) -> TableSchema:
    """Hide what is made from hidden or hashed columns, also by way of another such column."""
    while hidden := {folded(name) for names in _marks(schema) for name in names}:
        more = {c.name for c in schema.columns if not c.is_hidden and names_any(_made_from(c), hidden)}
        if not more:
            break
        schema = marked(schema, more)
    return schema


def _made_from(column: Column) -> str:
    """The expression of a generated column, or of a DEFAULT: a row that names no value has it."""
    of_default = column.default.text if column.default and column.default.kind == "expression" else ""
    return column.generated or of_default


def _why_needed(schema: TableSchema) -> str | None:
    return _why_not_hidden(schema) or _why_not_hashed(schema)


def _why_not_hashed(schema: TableSchema) -> str | None:
    period = next((c.name for c in schema.columns if c.is_hashed and c.row_period), None)
    if period:
        return f"column {period} is hashed, and is the period of system versioning"
    in_foreign_key = _in_foreign_key(schema, hashed_names(schema))
    return f"column {in_foreign_key} is hashed, and is in a foreign key that changes rows" if in_foreign_key else None


def _in_foreign_key(schema: TableSchema, names: Collection[str]) -> str | None:
    """The first of these columns that is in a foreign key by which rows change."""
    wanted = {folded(name) for name in names}
    keys = schema.row_changing_keys
    return next((name for key in keys for name in key.columns if folded(name) in wanted), None)


def _why_not_hidden(schema: TableSchema) -> str | None:
    hidden = hidden_names(schema)
    if not hidden:
        return None
    if len(hidden) == len(schema.columns):
        return "all columns are hidden"
    in_key = next((name for name in hidden if name in schema.primary_key), None)
    if in_key:
        return f"column {in_key} is hidden, and is in the key"
    period = next((c.name for c in schema.columns if c.is_hidden and c.row_period), None)
    if period:
        return f"column {period} is hidden, and is the period of system versioning"
    in_foreign_key = _in_foreign_key(schema, hidden)
    return f"column {in_foreign_key} is hidden, and is in a foreign key that changes rows" if in_foreign_key else None
