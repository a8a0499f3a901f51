"""Clauses of one ALTER TABLE that a server takes together otherwise than one after another."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from mirrorlake.core.ddl.parse import statements as ddl
from mirrorlake.core.schema.name_case import folded
from mirrorlake.core.schema.tables import TableSchema


def why_clauses_conflict(old: TableSchema, clauses: Sequence[ddl.Clause]) -> str | None:
    """Why the statement is refused: its effect is not that of its clauses (MySQL 9.7, MariaDB 10.11 and 11.8)."""
    if name := _key_column_taken_over(old, clauses):
        return f"a new column takes the name of {name}, which leaves a key that may stay on it"
    if name := _column_named_twice(clauses):
        return f"two clauses about column {name}"
    if _of(clauses, ddl.RenameKey, "name") & _of(clauses, ddl.RenameKey, "new_name"):
        return "RENAME INDEX of one index to the former name of another one"
    charsets = [clause for clause in clauses if isinstance(clause, ddl.SetDefaultCharset | ddl.ConvertCharset)]
    converts = any(isinstance(clause, ddl.ConvertCharset) for clause in charsets)
    if converts and len({(clause.charset, clause.collation) for clause in charsets}) > 1:
        return "two character sets for one table"
    if any(clause.charset is None and clause.collation == "default" for clause in charsets):
        return "COLLATE DEFAULT without a character set"
    return None


def _key_column_taken_over(old: TableSchema, clauses: Sequence[ddl.Clause]) -> str | None:
    """A column of a key that loses its name to a new column."""
    changed = {folded(c.name) for c in clauses if isinstance(c, ddl.ChangeColumn) and c.name != c.column.name}
    leaving = changed | _of(clauses, ddl.DropColumn, "name") | _of(clauses, ddl.RenameColumn, "name")
    added = {folded(clause.column.name) for clause in clauses if isinstance(clause, ddl.AddColumn)}
    taken_over = leaving & added
    of_keys = [*(key.columns for key in old.keys), *(key.columns for key in old.foreign_keys)]
    return next((name for names in of_keys for name in names if folded(name) in taken_over), None)


def _column_named_twice(clauses: Sequence[ddl.Clause]) -> str | None:
    """A column that goes or changes in two ways, or a new one with a further clause (MariaDB takes both)."""
    kinds = ddl.ChangeColumn | ddl.DropColumn | ddl.RenameColumn
    leaving = Counter(folded(clause.name) for clause in clauses if isinstance(clause, kinds))
    added = {folded(clause.column.name) for clause in clauses if isinstance(clause, ddl.AddColumn)}
    altered = _of(clauses, ddl.SetDefault, "name") | _of(clauses, ddl.SetVisibility, "name")
    return next((name for name, n in leaving.items() if n > 1), min(added & altered, default=None))


def _of(clauses: Iterable[ddl.Clause], kind: type, field: str) -> set[str]:
    return {folded(getattr(clause, field)) for clause in clauses if isinstance(clause, kind)}
