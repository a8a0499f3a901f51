"""The definition of a source table -> the one of its mirror: it may lack columns, or hold digests or texts of some."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from mirrorlake.core.ddl.effect.hidden_columns import hashed_names, hidden_names
from mirrorlake.core.schema.hashing import DIGEST, keeps_digests
from mirrorlake.core.schema.history import DefinitionChange
from mirrorlake.core.schema.row_steps import Add, Keep, ServerMode
from mirrorlake.core.schema.tables import Column, Default, TableSchema
from mirrorlake.core.schema.versioning import of_rows_in_force, system_period
from mirrorlake.lake.gold.control.rules import TableRules
from mirrorlake.lake.gold.convert.by_type import replaces_nulls
from mirrorlake.lake.gold.convert.conversion import NotDerivable, family
from mirrorlake.lake.gold.merge.generated_columns import not_computed


def created(change: DefinitionChange, rules: TableRules) -> DefinitionChange:
    """Give a change the definition of a new mirror."""
    name, left_out = change.name, set(hidden_names(change.schema))
    as_text = rules.creates_as_text(*name)
    if rules.leaves_out_generated(*name):
        left_out |= not_computed(replace(change.schema, as_text=as_text)).keys() - left_out
    return _held(change, left_out, as_text=as_text, has_commits=rules.commit_columns)


def altered(change: DefinitionChange, old: TableSchema, rules: TableRules) -> DefinitionChange:
    """Give a change of a mirror the definition after it, and the steps of its columns. old: the mirror's before.

    A mirror still lacks the columns that it lacked, new ones that are not computed, and hidden ones. Raises
    NotDerivable if a column that it lacks as a generated one is none any more.
    """
    steps = [step for step in change.steps if isinstance(step, Keep | Add)]
    added = {step.name for step in steps if isinstance(step, Add)}
    lacked = {step.name for step in steps if isinstance(step, Keep) and step.old.name in old.left_out}
    lacked = lacked if steps else set(old.left_out)
    hidden = set(hidden_names(change.schema))
    _require_digests(change)
    if not steps and set(hashed_names(change.schema)) - set(old.left_out) != set(hashed_names(old)):
        raise NotDerivable("the statement's definition hashes other columns than the mirror")
    plain = next((c.name for c in change.schema.columns if c.name in lacked - hidden and c.generated is None), None)
    if plain:
        raise NotDerivable(f"column {plain} was left out as a generated one, and is none now")
    if rules.leaves_out_generated(change.database, change.table):
        lacked |= added & not_computed(replace(change.schema, as_text=old.as_text)).keys()
    return _held(change, lacked | hidden, as_text=old.as_text, has_commits=old.has_commits)


def held_as(change: DefinitionChange, other: TableSchema) -> DefinitionChange:
    """Give a change the definition of a mirror that takes rows of another one. Raises NotDerivable if other columns of
    them are hidden."""
    shown = {column.name for column in other.columns if not column.is_hashed}
    if not shown.isdisjoint(hashed_names(change.schema)):
        raise NotDerivable(f"rows came from {other.name}, which shows columns that are hashed here")
    if not set(hidden_names(change.schema)) <= set(other.left_out):
        raise NotDerivable(f"rows came from {other.name}, which shows columns that are hidden here")
    return _held(change, other.left_out, as_text=other.as_text, has_commits=other.has_commits)


def shows(new: TableSchema, old: TableSchema) -> bool:
    """Does the register show a difference of the two? A definition that only later DDL needs is kept in silver."""
    of_new, of_old = (
        (s.columns, s.primary_key, system_period(s), s.row_changing_keys, s.left_out, _computed_from(s), _comments(s))
        for s in (new, old)
    )
    return of_new != of_old


def _held(change: DefinitionChange, lacked: Collection[str], *, as_text: bool, has_commits: bool) -> DefinitionChange:
    left_out = tuple(column.name for column in change.schema.columns if column.name in lacked)
    held = tuple(_held_column(column) for column in change.schema.columns if column.name not in left_out)
    made = replace(change.schema, columns=held, as_text=as_text, has_commits=has_commits, left_out=left_out)
    schema = of_rows_in_force(made)
    hidden = {column.name for column in change.schema.columns} - {column.name for column in schema.columns}
    steps = (step for step in change.steps if not (isinstance(step, Keep | Add) and step.name in hidden))
    steps = (replace(step, old=_held_column(step.old)) if isinstance(step, Keep) else step for step in steps)
    return replace(change, schema=schema, steps=tuple(steps))


def _held_column(column: Column) -> Column:
    """The column as a mirror has it."""
    if not column.is_hashed:
        return column
    return Column(
        column.name, DIGEST, column.nullable, generated=column.generated, is_stored=column.is_stored,
        comment=column.comment, is_hashed=True,
    )  # fmt: skip


def _require_digests(change: DefinitionChange) -> None:
    """Raise NotDerivable if a statement may give rows that exist other digests."""
    mode = next((step for step in change.steps if isinstance(step, ServerMode)), ServerMode("mysql", is_strict=False))
    columns = {column.name: column for column in change.schema.columns if column.is_hashed}
    for step in change.steps:
        column = columns.get(step.name) if isinstance(step, Keep | Add) else None
        if column is None:
            continue
        if isinstance(step, Add):
            is_null = step.value in (None, Default("null")) and column.generated is None
            if step.needs_empty or not is_null:
                raise NotDerivable(f"rows that exist get a value in column {column.name}, which is hashed")
        elif not step.old.is_hashed:
            raise NotDerivable(f"column {column.name} is hashed now, and the mirror has its values")
        elif _may_change(step.old, column, mode):
            raise NotDerivable(f"column {column.name} is hashed, and the statement may change its values")


def _may_change(old: Column, new: Column, mode: ServerMode) -> bool:
    """May a statement give a column's rows other values?"""
    is_numbered = new.is_auto_increment and not old.is_auto_increment
    is_computed = new.generated not in (None, old.generated)
    is_rounded = family(new.type) == "float" and new.display != old.display
    is_other = is_numbered or is_computed or is_rounded or not keeps_digests(old.type, new.type)
    return is_other or replaces_nulls(old, new, mode) or mode.pads_char


def _comments(schema: TableSchema) -> list[str]:
    return [schema.comment, *(column.comment for column in schema.columns)]


def _computed_from(schema: TableSchema) -> list[tuple] | None:
    """All that values of generated columns depend on, besides types."""
    if all(column.generated is None for column in schema.columns):
        return None
    return [(column.generated, column.collation, column.is_zerofill) for column in schema.columns]
