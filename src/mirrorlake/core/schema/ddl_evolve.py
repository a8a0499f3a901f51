"""A known definition and the clauses of an ALTER TABLE -> the definition after it, and what the mirror has to do."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from mirrorlake.core.schema import ddl_statements as ddl
from mirrorlake.core.schema.ddl_definition import Dialect, why_old_rows_change
from mirrorlake.core.schema.ddl_redefine import Contradiction, redefine
from mirrorlake.core.schema.engines import why_engine_loses_rows
from mirrorlake.core.schema.keys import PRIMARY, PRIMARY_NAME
from mirrorlake.core.schema.tables import TableSchema

_UNSUPPORTED = "ddl-unsupported"
_REFUSED_CLAUSES = {
    ddl.RenameColumn: "RENAME COLUMN",
    ddl.ConvertCharset: "CONVERT",
    ddl.DropPartitions: "DROP PARTITION",
    ddl.TruncatePartitions: "TRUNCATE PARTITION",
    ddl.ReorganizePartitions: "REORGANIZE PARTITION",
    ddl.ExchangePartition: "EXCHANGE PARTITION",
    ddl.PartitionToTable: "CONVERT",
    ddl.TableToPartition: "CONVERT",
    ddl.AddPeriod: "ADD PERIOD",
    ddl.DropPeriod: "DROP PERIOD",
}


class CannotEvolve(Exception):
    """A clause that is not replayed, or that does not fit what we know although the server carried it out."""

    def __init__(self, code: str, reason: str):
        super().__init__(code, reason)
        self.code, self.reason = code, reason


def evolve(old: TableSchema, clauses: Iterable[ddl.Clause], dialect: Dialect) -> tuple[TableSchema, tuple]:
    """(definition after, steps of a DefinitionChange). Raises CannotEvolve, and ParseError for a column's type."""
    clauses = tuple(clauses)
    for clause in clauses:
        _refuse_clause(clause, old)
    try:
        new = redefine(old, clauses, dialect)
    except Contradiction as error:
        raise CannotEvolve("definition-mismatch", str(error)) from None
    for clause in clauses:
        _refuse_values_of_old_rows(clause, old)
    if _identity(new) != _identity(old):
        raise CannotEvolve(_UNSUPPORTED, "the key by which rows are told apart changes")
    return new, _steps(old, new, clauses)


def _refuse_clause(clause: ddl.Clause, old: TableSchema) -> None:
    if isinstance(clause, ddl.RefusedClause):
        raise CannotEvolve(clause.code, clause.reason)
    if type(clause) in _REFUSED_CLAUSES:
        raise CannotEvolve(_UNSUPPORTED, _REFUSED_CLAUSES[type(clause)])
    reason = _why_refused(clause, old)
    if reason:
        raise CannotEvolve(_UNSUPPORTED, reason)
    if isinstance(clause, ddl.AddForeignKey) and clause.foreign_key.row_changing_action:
        raise CannotEvolve("foreign-key-cascade", f"ADD FOREIGN KEY {clause.foreign_key.row_changing_action}")


def _why_refused(clause: ddl.Clause, old: TableSchema) -> str | None:
    if isinstance(clause, ddl.ChangeColumn):
        return "MODIFY COLUMN" if clause.name == clause.column.name else "CHANGE COLUMN"
    if isinstance(clause, ddl.AddKey) and clause.key.kind == PRIMARY:
        return "ADD PRIMARY KEY"
    if isinstance(clause, ddl.AddKey) and clause.key.is_unique and old.key_is_promoted:
        return "ADD UNIQUE on a table whose rows are told apart by a unique key"
    if isinstance(clause, ddl.DropKey | ddl.DropConstraint) and clause.name.upper() == PRIMARY_NAME:
        return "DROP PRIMARY KEY"
    if isinstance(clause, ddl.DropKey | ddl.DropConstraint) and old.key_is_promoted:
        return "DROP INDEX on a table whose rows are told apart by a unique key"
    if isinstance(clause, ddl.SetVersioning):
        return "ADD SYSTEM VERSIONING" if clause.is_versioned else "DROP SYSTEM VERSIONING"
    if isinstance(clause, ddl.ChangeTablespace):
        return f"{clause.action} TABLESPACE"
    if isinstance(clause, ddl.SetEngine):
        return why_engine_loses_rows(clause.engine)
    return _why_drop_refused(clause, old) if isinstance(clause, ddl.DropColumn) else None


def _why_drop_refused(clause: ddl.DropColumn, old: TableSchema) -> str | None:
    at = old.position(clause.name)
    if at is None:
        return None
    name = old.columns[at].name
    if name in old.primary_key or old.key_is_promoted:
        return f"DROP COLUMN {name}: the key by which rows are told apart may change"
    return None


def _refuse_values_of_old_rows(clause: ddl.Clause, old: TableSchema) -> None:
    if not isinstance(clause, ddl.AddColumn) or old.position(clause.column.name) is not None and clause.if_not_exists:
        return
    why = why_old_rows_change(clause.column)
    if why:
        reason = f"ADD COLUMN {clause.column.name} with {why}: rows that exist get a value"
        raise CannotEvolve(_UNSUPPORTED, reason)


def _identity(schema: TableSchema) -> tuple:
    return tuple(name.casefold() for name in schema.primary_key), schema.key_is_promoted


def _steps(old: TableSchema, new: TableSchema, clauses: Sequence[ddl.Clause]) -> tuple:
    """The server drops first and then adds, whatever the order of the clauses."""
    dropped = [old.columns[at].name for at in _dropped(old, clauses)]
    added = [clause for clause in clauses if isinstance(clause, ddl.AddColumn) and _is_new(clause, old, dropped)]
    return (*(("drop", name) for name in dropped), *(_add_step(new, clause) for clause in added))


def _dropped(old: TableSchema, clauses: Sequence[ddl.Clause]) -> list[int]:
    positions = (old.position(clause.name) for clause in clauses if isinstance(clause, ddl.DropColumn))
    return [at for at in positions if at is not None]


def _is_new(clause: ddl.AddColumn, old: TableSchema, dropped: Sequence[str]) -> bool:
    at = old.position(clause.column.name)
    return at is None or old.columns[at].name in dropped


def _add_step(new: TableSchema, clause: ddl.AddColumn) -> tuple:
    """("add", column, None: last, "": first, else the name of the column before it, as that is spelled)."""
    at = new.position(clause.column.name)
    assert at is not None
    before = new.position(clause.after) if clause.after else None
    return "add", new.columns[at], new.columns[before].name if before is not None else clause.after
