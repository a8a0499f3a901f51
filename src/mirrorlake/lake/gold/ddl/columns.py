"""An ALTER's columns before and after -> the commits that give a mirror its new columns.

If no value changes, the mirror is altered in place; else it is overwritten in one commit.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count

from mirrorlake.core.ddl.effect.generated import names_any
from mirrorlake.core.schema.name_case import folded, folded_by_spark
from mirrorlake.core.schema.row_steps import Add, Keep, ServerMode
from mirrorlake.core.schema.tables import Column, TableSchema
from mirrorlake.core.sql_text import Sql, literal, quote
from mirrorlake.lake.delta.creation import comment_clause
from mirrorlake.lake.delta.types import spark_type
from mirrorlake.lake.gold.control.features import OTHER_NAMES, TYPE_WIDENING, needed_by
from mirrorlake.lake.gold.control.register import INVALID_VALUE
from mirrorlake.lake.gold.control.table import column_comment
from mirrorlake.lake.gold.convert.as_text import text_conversion, text_of
from mirrorlake.lake.gold.convert.by_type import conversion, replaces_nulls
from mirrorlake.lake.gold.convert.column_values import value_of
from mirrorlake.lake.gold.convert.conversion import Conversion, NotDerivable
from mirrorlake.lake.gold.ddl.steps import RENAME, Alter, Check, MirrorStep, Overwrite
from mirrorlake.lake.gold.ddl.widening import widens_in_place
from mirrorlake.lake.gold.generated.computed_values import computed_value


@dataclass(frozen=True, slots=True)
class Layout:
    """steps: the commits that make the new columns. checks: go before them. in_one: the same as one commit, if the
    steps alter the mirror in place."""

    steps: tuple[MirrorStep, ...]
    checks: tuple[Check, ...]
    in_one: Overwrite | None = None


@dataclass(frozen=True, slots=True)
class _PlannedColumn:
    """A column of the new definition. old: the name of the mirror's column it comes from, None for a new one. invalid:
    true for a row that gets a date which no calendar has, and NULL here.
    """

    name: str
    type: Sql
    comment: str
    old: str | None
    old_type: Sql | None
    sql: Sql
    checks: tuple[Check, ...] = ()
    invalid: Sql | None = None

    @property
    def is_in_place(self) -> bool:
        if self.old is None:
            return self.sql == "NULL"
        if self.sql != quote(self.old) and self.sql != f"CAST({quote(self.old)} AS {self.type})":
            return False
        return self.old_type == self.type or widens_in_place(self.old_type, self.type)


def new_layout(old: TableSchema, new: TableSchema, steps: Sequence, *, refuses_invalid: bool) -> Layout:
    """Plan a statement's new columns. old: of the mirror, which may hold invalid values as text.

    If the server's effect on rows is not known, the check is that there are none; likewise if rows get dates that no
    calendar has, and the table refuses those.
    """
    mode = next((step for step in steps if isinstance(step, ServerMode)), ServerMode("mysql", is_strict=False))
    columns = [step for step in steps if isinstance(step, Keep | Add)]
    pairs = list(zip(new.columns, columns, strict=bool(columns)))
    may_copy = _may_copy(pairs, mode)
    mode = replace(mode, changes_dates=mode.changes_dates and may_copy)
    sources = {
        after.name: step.old
        for after, step in pairs
        if isinstance(step, Keep) and not _changed_names(after, step, mode)
    }
    planned = [_planned(column, step, mode, old, sources) for column, step in pairs]
    checks = (*_checks_of_computed(new, pairs, mode, may_copy), *(check for plan in planned for check in plan.checks))
    if refuses_invalid:
        reason = "rows that exist get a date that no calendar has in column"
        checks += tuple(Check(p.invalid, f"{reason} {p.name}", INVALID_VALUE) for p in planned if p.invalid)
    if not planned:
        return Layout((), checks)
    needs = needed_by({plan.name: plan.type for plan in planned})
    overwrite = Overwrite(tuple((p.name, f"CAST({p.sql} AS {p.type})") for p in planned), new, needs)
    if not all(plan.is_in_place for plan in planned):
        return Layout((overwrite,), checks)
    alters = tuple(_alters([c.name for c in old.columns], planned))
    return Layout((*alters, *_comments(pairs)), checks, overwrite if alters else None)


def _checks_of_computed(
    new: TableSchema, pairs: Sequence[tuple[Column, Keep | Add]], mode: ServerMode, may_copy: bool
) -> Iterator[Check]:
    """A generated column may be computed again from a column that changed, by this statement or by the next that copies
    the table; a STORED one by this, from a column as the session's settings show it."""
    changed = {folded(name) for after, step in pairs for name in _changed_names(after, step, mode)}
    settings = {folded(after.name): setting for after, _ in pairs if (setting := mode.setting_of(after.type))}
    for column in new.columns:
        if source := names_any(column.generated or "", changed):
            yield Check("true", f"column {column.name} is computed again from {source}, which has changed")
        elif column.is_stored and may_copy and (source := names_any(column.generated or "", settings)):
            yield Check("true", f"column {column.name} is computed again from {source} in {settings[source]}")


def _may_copy(pairs: Sequence[tuple[Column, Keep | Add]], mode: ServerMode) -> bool:
    """May the server copy the rows into a new table? Yes if a kept column gets another type, or NULL or NOT NULL, or
    for a new STORED one."""
    return mode.copies_rows is True or any(
        step.old.nullable != after.nullable or bool(_changed_names(after, step, mode))
        if isinstance(step, Keep)
        else after.is_stored
        for after, step in pairs
    )


def _changed_names(after: Column, step: Keep | Add, mode: ServerMode) -> tuple[str, ...]:
    """Names of a column whose values may differ from before, or compare in another way."""
    if isinstance(step, Add):
        return (after.name,)
    is_same = (step.old.type, step.old.collation, step.old.generated) == (after.type, after.collation, after.generated)
    return () if is_same and not replaces_nulls(step.old, after, mode) else (step.old.name, after.name)


def _planned(
    column: Column, step: Keep | Add, mode: ServerMode, old: TableSchema, sources: Mapping[str, Column]
) -> _PlannedColumn:
    """Plan a column. sources: see ``computed_value``."""
    plan = _PlannedColumn(
        column.name, spark_type(column.type, as_text=old.as_text), column_comment(column), None, None, "NULL"
    )
    if isinstance(step, Keep):
        plan = replace(plan, old=step.old.name, old_type=spark_type(step.old.type, as_text=old.as_text))
    try:
        return (
            _kept(plan, column, step.old, mode, old, sources)
            if isinstance(step, Keep)
            else _added(plan, column, step, mode, old, sources)
        )
    except NotDerivable as stop:
        return replace(plan, checks=(Check("true", str(stop)),))


def _kept(
    plan: _PlannedColumn, column: Column, before: Column, mode: ServerMode, old: TableSchema,
    sources: Mapping[str, Column],
) -> _PlannedColumn:  # fmt: skip
    """Plan a column that stays. One with an expression is computed again for another type: it may have been cut."""
    if column.generated is not None and column.generated == before.generated and column.type != before.type:
        if replaces_nulls(before, column, mode):
            raise NotDerivable(f"column {column.name} is computed again, and NULL becomes another value")
        return _with_value(plan, computed_value(column, sources, old, mode))
    return _with_value(plan, (text_conversion if old.as_text else conversion)(quote(before.name), before, column, mode))


def _with_value(plan: _PlannedColumn, found: Conversion) -> _PlannedColumn:
    checks = (Check(found.fails, f"column {plan.name}: {found.reason}"),) if found.fails else ()
    return replace(plan, sql=found.sql, checks=checks, invalid=found.invalid)


def _added(
    plan: _PlannedColumn, column: Column, step: Add, mode: ServerMode, old: TableSchema, sources: Mapping[str, Column]
) -> _PlannedColumn:
    if column.generated is not None:
        return _with_value(plan, computed_value(column, sources, old, mode))
    if step.needs_empty:
        raise NotDerivable(f"column {column.name}: {step.needs_empty}")
    if step.value is None:
        return plan
    sql = (text_of if old.as_text else value_of)(step.value, column, mode)
    return replace(plan, sql=sql, invalid="true" if sql == "NULL" else None)


def _alters(before: list[str], planned: list[_PlannedColumn]) -> Iterator[Alter]:
    kept = {plan.old: plan for plan in planned if plan.old is not None}
    dropped = [name for name in before if name not in kept]
    order = [name for name in before if name in kept]
    if dropped:
        yield Alter(f"DROP COLUMNS ({', '.join(map(quote, dropped))})", OTHER_NAMES)
    for clause in _renames({old: plan.name for old, plan in kept.items() if old != plan.name}, order):
        yield Alter(clause, OTHER_NAMES)
    for plan in kept.values():
        if plan.type != plan.old_type:
            yield Alter(f"ALTER COLUMN {quote(plan.name)} TYPE {plan.type}", frozenset({TYPE_WIDENING}))
    yield from map(Alter, _moves([kept[name].name for name in order], [p.name for p in planned if p.old is not None]))
    added = [
        f"{quote(plan.name)} {plan.type}{comment_clause(plan.comment)} "
        + (f"AFTER {quote(planned[i - 1].name)}" if i else "FIRST")
        for i, plan in enumerate(planned)
        if plan.old is None
    ]
    if added:
        needs = needed_by({plan.name: plan.type for plan in planned if plan.old is None})
        yield Alter(f"ADD COLUMNS ({', '.join(added)})", needs)


def _comments(pairs: Sequence[tuple[Column, Keep | Add]]) -> Iterator[Alter]:
    """The commit that gives kept columns their new comments, if there are any."""
    changed = [
        f"{quote(column.name)} COMMENT {literal(column_comment(column))}"
        for column, step in pairs
        if isinstance(step, Keep) and step.old.comment != column.comment
    ]
    if changed:
        yield Alter(f"ALTER COLUMN {', '.join(changed)}", may_repeat=True)


def _renames(names: dict[str, str], present: list[str]) -> list[Sql]:
    """Rename columns: old name -> new name, through a temporary name if the new one is still in use, as in a swap."""
    taken = {folded_by_spark(name) for name in present}
    used = taken.union(map(folded_by_spark, names.values()))
    free = (name for i in count() if (name := f"_renamed_{i}") not in used)
    detours = {old: next(free) for old, new in names.items() if folded_by_spark(new) in taken}
    first = [_rename(old, detours.get(old, new)) for old, new in names.items()]
    return first + [_rename(detour, names[old]) for old, detour in detours.items()]


def _rename(old: str, new: str) -> Sql:
    return f"{RENAME} {quote(old)} TO {quote(new)}"


def _moves(now: list[str], wanted: list[str]) -> list[Sql]:
    """Move the columns outside the longest run that is already in order, each after its predecessor."""
    stay = set(_longest_increasing([wanted.index(name) for name in now]))
    return [
        f"ALTER COLUMN {quote(name)} " + (f"AFTER {quote(wanted[i - 1])}" if i else "FIRST")
        for i, name in enumerate(wanted)
        if i not in stay
    ]


def _longest_increasing(numbers: list[int]) -> list[int]:
    best: list[list[int]] = []
    for number in numbers:
        before = max((run for run in best if run[-1] < number), key=len, default=[])
        best.append([*before, number])
    return max(best, key=len, default=[])
