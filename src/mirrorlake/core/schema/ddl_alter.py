"""ALTER TABLE: each clause, reduced to what it does to rows or to the definition."""

from __future__ import annotations

from collections.abc import Callable

from mirrorlake.core.schema.ddl_columns import read_column
from mirrorlake.core.schema.ddl_create import read_key, read_table_option, skip_wait
from mirrorlake.core.schema.ddl_statements import (
    AddColumn,
    AlterTable,
    ChangeUniqueKey,
    Clause,
    CreateTable,
    DropColumn,
    RefusedClause,
    RefusedStatement,
    SetDefaultCharset,
)
from mirrorlake.core.schema.ddl_tokens import Tokens

_UNSUPPORTED = "ddl-unsupported"


def read_alter_table(tokens: Tokens) -> AlterTable | RefusedStatement:
    """Behind ALTER ... TABLE. A statement that gives the table another name is refused under both names."""
    tokens.accept("IF", "EXISTS")
    table = AlterTable(tokens.table_name())
    skip_wait(tokens)
    while not tokens.at_end:
        table.clauses += _read_clause(tokens)
        tokens.accept(",")
    if len(tokens.tables) > 1:
        return RefusedStatement(tuple(tokens.tables), _UNSUPPORTED, "ALTER TABLE ... RENAME")
    return table


def _read_clause(tokens: Tokens) -> list[Clause]:
    for pattern, read in _CLAUSES.items():
        if tokens.accept(*pattern):
            return read(tokens)
    option = read_table_option(tokens)
    if option is None:
        raise tokens.unexpected()
    if "unsupported" in option:
        return [RefusedClause(_UNSUPPORTED, option["unsupported"])]
    return [SetDefaultCharset(option["charset"])] if "charset" in option else []


def _skip_clause(tokens: Tokens) -> list[Clause]:
    while not (tokens.at_end or tokens.sees(",")):
        if tokens.sees("("):
            tokens.skip_parentheses()
        else:
            tokens.next()
    return []


def _skip_rest(tokens: Tokens) -> list[Clause]:
    while not tokens.at_end:
        tokens.next()
    return []


def _nothing(tokens: Tokens) -> list[Clause]:
    return []


def _refuse(clause: str, skip: Callable[[Tokens], list[Clause]] = _skip_clause) -> Callable[[Tokens], list[Clause]]:
    def read(tokens: Tokens) -> list[Clause]:
        skip(tokens)
        return [RefusedClause(_UNSUPPORTED, clause)]

    return read


def _read_add(tokens: Tokens) -> list[Clause]:
    found = _read_added_key(tokens)
    return _read_add_column(tokens) if found is None else found


def _read_added_key(tokens: Tokens) -> list[Clause] | None:
    """None: no key but a column comes."""
    scratch = CreateTable(tokens.tables[0])
    if not read_key(tokens, scratch):
        return None
    if scratch.cascade:
        return [RefusedClause("foreign-key-cascade", f"ADD FOREIGN KEY {scratch.cascade}")]
    if scratch.unsupported:
        return [RefusedClause(_UNSUPPORTED, scratch.unsupported)]
    if any(key.is_primary for key in scratch.keys):
        return [RefusedClause(_UNSUPPORTED, "ADD PRIMARY KEY")]
    return [ChangeUniqueKey("ADD UNIQUE")] if scratch.keys else []


def _read_add_column(tokens: Tokens) -> list[Clause]:
    if_not_exists = tokens.accept("IF", "NOT", "EXISTS")
    if not tokens.accept("("):
        column = read_column(tokens)
        return [AddColumn(column, _read_place(tokens), if_not_exists)]
    clauses: list[Clause] = []
    while True:
        added_key = _read_added_key(tokens)
        clauses += [AddColumn(read_column(tokens), None, if_not_exists)] if added_key is None else added_key
        if tokens.accept(")"):
            return clauses
        tokens.expect(",")


def _read_place(tokens: Tokens) -> str | None:
    if tokens.accept("FIRST"):
        return ""
    return tokens.name() if tokens.accept("AFTER") else None


def _read_drop_column(tokens: Tokens) -> list[Clause]:
    if_exists = tokens.accept("IF", "EXISTS")
    column = DropColumn(tokens.name(), if_exists)
    tokens.accept_any("RESTRICT", "CASCADE")
    return [column]


def read_drop_index(tokens: Tokens) -> list[Clause]:
    """The name behind DROP INDEX, KEY or CONSTRAINT."""
    tokens.accept("IF", "EXISTS")
    if tokens.name().upper() == "PRIMARY":
        return [RefusedClause(_UNSUPPORTED, "DROP PRIMARY KEY")]
    return [ChangeUniqueKey("DROP INDEX")]


def _read_rename(tokens: Tokens) -> list[Clause]:
    tokens.accept_any("TO", "AS") or tokens.accept("=")
    tokens.table_name()
    return []


_CLAUSES: dict[tuple[str, ...], Callable[[Tokens], list[Clause]]] = {
    ("ADD", "PARTITION"): _skip_rest,
    ("ADD", "SYSTEM", "VERSIONING"): _refuse("ADD SYSTEM VERSIONING"),
    ("ADD", "PERIOD", "FOR"): _refuse("ADD PERIOD"),
    ("ADD", "COLUMN"): _read_add_column,
    ("ADD",): _read_add,
    ("DROP", "PRIMARY", "KEY"): _refuse("DROP PRIMARY KEY"),
    ("DROP", "INDEX"): read_drop_index,
    ("DROP", "KEY"): read_drop_index,
    ("DROP", "CONSTRAINT"): read_drop_index,
    ("DROP", "FOREIGN", "KEY"): _skip_clause,
    ("DROP", "CHECK"): _skip_clause,
    ("DROP", "PARTITION"): _refuse("DROP PARTITION", _skip_rest),
    ("DROP", "SYSTEM", "VERSIONING"): _refuse("DROP SYSTEM VERSIONING"),
    ("DROP", "PERIOD", "FOR"): _refuse("DROP PERIOD"),
    ("DROP", "COLUMN"): _read_drop_column,
    ("DROP",): _read_drop_column,
    ("MODIFY",): _refuse("MODIFY COLUMN"),
    ("CHANGE",): _refuse("CHANGE COLUMN"),
    ("RENAME", "COLUMN"): _refuse("RENAME COLUMN"),
    ("RENAME", "INDEX"): _skip_clause,
    ("RENAME", "KEY"): _skip_clause,
    ("RENAME",): _read_rename,
    ("ALTER",): _skip_clause,  # a column's default or visibility, an index's visibility, a check's enforcement
    ("CONVERT",): _refuse("CONVERT"),
    ("DISABLE", "KEYS"): _nothing,
    ("ENABLE", "KEYS"): _nothing,
    ("FORCE",): _nothing,
    ("LOCK",): _skip_clause,
    ("ALGORITHM",): _skip_clause,
    ("ORDER", "BY"): _skip_rest,
    ("WITH", "VALIDATION"): _nothing,
    ("WITHOUT", "VALIDATION"): _nothing,
    ("DISCARD",): _refuse("DISCARD TABLESPACE"),
    ("IMPORT",): _refuse("IMPORT TABLESPACE"),
    ("SECONDARY_LOAD",): _skip_clause,
    ("SECONDARY_UNLOAD",): _skip_clause,
    ("ANALYZE", "PARTITION"): _skip_rest,
    ("CHECK", "PARTITION"): _skip_rest,
    ("OPTIMIZE", "PARTITION"): _skip_rest,
    ("REBUILD", "PARTITION"): _skip_rest,
    ("REPAIR", "PARTITION"): _skip_rest,
    ("COALESCE", "PARTITION"): _skip_rest,
    ("REORGANIZE", "PARTITION"): _refuse("REORGANIZE PARTITION", _skip_rest),
    ("TRUNCATE", "PARTITION"): _refuse("TRUNCATE PARTITION", _skip_rest),
    ("EXCHANGE", "PARTITION"): _refuse("EXCHANGE PARTITION", _skip_rest),
    ("REMOVE", "PARTITIONING"): _nothing,
    ("UPGRADE", "PARTITIONING"): _nothing,
    ("PARTITION", "BY"): _skip_rest,
}
