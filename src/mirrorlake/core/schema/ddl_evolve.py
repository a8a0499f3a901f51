"""A known definition and the clauses of an ALTER TABLE -> the definition after it, and what the mirror has to do."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from mirrorlake.core.schema.ddl_definition import define_column, why_old_rows_change
from mirrorlake.core.schema.ddl_statements import (
    AddColumn,
    ChangeUniqueKey,
    Clause,
    DropColumn,
    RefusedClause,
    SetDefaultCharset,
)
from mirrorlake.core.schema.tables import TableSchema


class CannotEvolve(Exception):
    """A clause that is not replayed, or that does not fit what we know although the server carried it out."""

    def __init__(self, code: str, reason: str):
        super().__init__(code, reason)
        self.code, self.reason = code, reason


_Altered = tuple[TableSchema, list[tuple]]


def evolve(old: TableSchema, clauses: Iterable[Clause], flavor: str) -> tuple[TableSchema, tuple]:
    """(definition after, steps of a DefinitionChange). Raises CannotEvolve, and ParseError for a column's type.

    The server drops first and then adds, whatever the order of the clauses; a new default character set holds for all.
    """
    clauses, new, steps = tuple(clauses), old, []
    for kind, carry_out in _CLAUSES.items():
        for clause in clauses:
            if type(clause) is kind:
                new, made = carry_out(clause, new, flavor)
                steps += made
    return new, tuple(steps)


def _refused_clause(clause: RefusedClause, schema: TableSchema, flavor: str) -> _Altered:
    raise CannotEvolve(clause.code, clause.reason)


def _change_unique_key(clause: ChangeUniqueKey, schema: TableSchema, flavor: str) -> _Altered:
    if schema.key_is_promoted:
        raise CannotEvolve("ddl-unsupported", f"{clause.clause} on a table whose rows are told apart by a unique key")
    return schema, []


def _set_default_charset(clause: SetDefaultCharset, schema: TableSchema, flavor: str) -> _Altered:
    return replace(schema, default_charset=clause.charset), []


def _drop_column(clause: DropColumn, schema: TableSchema, flavor: str) -> _Altered:
    at = schema.position(clause.name)
    if at is None:
        if clause.if_exists:
            return schema, []
        raise CannotEvolve("definition-mismatch", f"DROP COLUMN {clause.name}: there is no such column")
    name = schema.columns[at].name
    if name in schema.primary_key or schema.key_is_promoted:
        raise CannotEvolve("ddl-unsupported", f"DROP COLUMN {name}: the key by which rows are told apart may change")
    return replace(schema, columns=schema.columns[:at] + schema.columns[at + 1 :]), [("drop", name)]


def _add_column(clause: AddColumn, schema: TableSchema, flavor: str) -> _Altered:
    spec = clause.column
    if schema.position(spec.name) is not None:
        if clause.if_not_exists:
            return schema, []
        raise CannotEvolve("definition-mismatch", f"ADD COLUMN {spec.name}: there is such a column already")
    if spec.cascade:
        raise CannotEvolve("foreign-key-cascade", f"a foreign key {spec.cascade}")
    why = why_old_rows_change(spec)
    if why:
        raise CannotEvolve("ddl-unsupported", f"ADD COLUMN {spec.name} with {why}: rows that exist get a value")
    column = define_column(spec, flavor, schema.default_charset)
    at, after = _place(clause, schema)
    return replace(schema, columns=schema.columns[:at] + (column,) + schema.columns[at:]), [("add", column, after)]


def _place(clause: AddColumn, schema: TableSchema) -> tuple[int, str | None]:
    """(index of the new column, the column before it as it is spelled)."""
    if clause.after is None:
        return len(schema.columns), None
    if not clause.after:
        return 0, ""
    before = schema.position(clause.after)
    if before is None:
        raise CannotEvolve("definition-mismatch", f"AFTER {clause.after}: there is no such column")
    return before + 1, schema.columns[before].name


_CLAUSES: dict[type, Callable[..., _Altered]] = {
    RefusedClause: _refused_clause,
    ChangeUniqueKey: _change_unique_key,
    SetDefaultCharset: _set_default_charset,
    DropColumn: _drop_column,
    AddColumn: _add_column,
}
