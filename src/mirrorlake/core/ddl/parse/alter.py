"""ALTER TABLE: the text of its clauses -> values."""

from __future__ import annotations

from collections.abc import Callable

from mirrorlake.core.ddl.parse.columns import read_column
from mirrorlake.core.ddl.parse.create import MAX_COLUMNS, MAX_KEYS, keys_of_column, read_period, skip_wait
from mirrorlake.core.ddl.parse.defaults import read_default
from mirrorlake.core.ddl.parse.keys import read_constraint
from mirrorlake.core.ddl.parse.options import read_table_option
from mirrorlake.core.ddl.parse.partition_clauses import PARTITION_CLAUSES
from mirrorlake.core.ddl.parse.statements import (
    AddColumn,
    AddForeignKey,
    AddKey,
    AddPeriod,
    AlterTable,
    ChangeColumn,
    ChangeTablespace,
    Clause,
    ColumnSpec,
    ConvertCharset,
    DropColumn,
    DropConstraint,
    DropForeignKey,
    DropKey,
    DropPeriod,
    RefusedClause,
    RenameColumn,
    RenameKey,
    RenameTable,
    SetAlgorithm,
    SetComment,
    SetDefault,
    SetDefaultCharset,
    SetEngine,
    SetVersioning,
    SetVisibility,
    TableOptions,
)
from mirrorlake.core.ddl.parse.tokens import ParseError, Tokens
from mirrorlake.core.schema.keys import PRIMARY_NAME

Reader = Callable[[Tokens], list[Clause]]
_COPY = SetAlgorithm("COPY")
_MAX_CLAUSES = 2 * MAX_COLUMNS
"""A statement can drop all columns of a table and add as many."""


def read_alter_table(tokens: Tokens) -> AlterTable:
    """Read the text after ALTER ... TABLE."""
    if_exists = tokens.accept("IF", "EXISTS")
    table = AlterTable(tokens.table_name(), if_exists=if_exists)
    skip_wait(tokens)
    n_keys = 0
    while not tokens.at_end:
        if len(table.clauses) > _MAX_CLAUSES:
            raise ParseError(f"an ALTER TABLE with more than {_MAX_CLAUSES} clauses")
        found = _read_clause(tokens)
        table.clauses += found
        n_keys += sum(isinstance(clause, (AddKey, AddForeignKey)) for clause in found)
        if n_keys > MAX_KEYS:
            raise ParseError(f"an ALTER TABLE with more than {MAX_KEYS} keys")
        tokens.accept(",")
    return table


def _read_clause(tokens: Tokens) -> list[Clause]:
    for pattern, read in _CLAUSES.items():
        if tokens.accept(*pattern):
            return read(tokens)
    options = TableOptions()
    if not read_table_option(tokens, options):
        raise tokens.unexpected()
    n_options = 1
    while read_table_option(tokens, options):  # a character set and its collation are one clause
        n_options += 1
        if n_options > _MAX_CLAUSES:
            raise ParseError(f"an ALTER TABLE with more than {_MAX_CLAUSES} options")
    return list(_option_clauses(options))


def _option_clauses(options: TableOptions) -> list[Clause]:
    clauses: list[Clause] = []
    if options.unsupported:
        clauses.append(RefusedClause("ddl-unsupported", options.unsupported, options.union))
    if options.is_sequence:
        clauses.append(RefusedClause("ddl-unsupported", "ALTER TABLE ... SEQUENCE"))
    if options.charset or options.collation:
        clauses.append(SetDefaultCharset(options.charset, options.collation))
    if options.engine:
        clauses.append(SetEngine(options.engine))
    if options.comment is not None:
        clauses.append(SetComment(options.comment))
    return clauses


def _skip_clause(tokens: Tokens) -> list[Clause]:
    while not (tokens.at_end or tokens.sees(",") or tokens.sees("PARTITION", "BY")):
        if tokens.sees("("):
            tokens.skip_parentheses()
        else:
            tokens.next()
    return []


def _read_algorithm(tokens: Tokens) -> list[Clause]:
    tokens.accept("=")
    return [SetAlgorithm(tokens.name().upper())]


def _read_order(tokens: Tokens) -> list[Clause]:
    """Read a list of columns with commas between them."""
    tokens.separated(lambda: _skip_ordered(tokens))
    return [_COPY]


def _skip_ordered(tokens: Tokens) -> None:
    tokens.name()
    while tokens.accept("."):
        tokens.name()
    tokens.accept_any("ASC", "DESC")


def _nothing(tokens: Tokens) -> list[Clause]:
    return []


def _one(clause: Clause) -> Reader:
    def read(tokens: Tokens) -> list[Clause]:
        return [clause]

    return read


def _named(kind: Callable[..., Clause]) -> Reader:
    """A clause that is [IF EXISTS] and a name; MariaDB accepts a foreign key's name after its table's."""

    def read(tokens: Tokens) -> list[Clause]:
        if_exists = tokens.accept("IF", "EXISTS")
        return [kind(tokens.column_name(), if_exists)]

    return read


def _renamed(kind: Callable[..., Clause]) -> Reader:
    def read(tokens: Tokens) -> list[Clause]:
        if_exists, name = tokens.accept("IF", "EXISTS"), tokens.name()
        tokens.expect("TO")
        return [kind(name, tokens.name(), if_exists)]

    return read


def _read_add(tokens: Tokens) -> list[Clause]:
    found = _read_added_constraint(tokens)
    return _read_add_column(tokens) if found is None else found


def _read_added_constraint(tokens: Tokens) -> list[Clause] | None:
    """Read a key or constraint; None: a column comes instead."""
    found = read_constraint(tokens)
    if found is None:
        return None
    clauses: list[Clause] = [AddKey(found.key, found.if_not_exists)] if found.key else [_COPY]
    return [*clauses, AddForeignKey(found.foreign_key, found.if_not_exists)] if found.foreign_key else clauses


def _read_add_column(tokens: Tokens) -> list[Clause]:
    if_not_exists = tokens.accept("IF", "NOT", "EXISTS")
    if not tokens.sees("("):
        column = read_column(tokens)
        return _with_keys(column, AddColumn(column, _read_place(tokens), if_not_exists), if_not_exists)
    return [clause for item in tokens.enclosed(lambda: _read_added_item(tokens, if_not_exists)) for clause in item]


def _read_added_item(tokens: Tokens, if_not_exists: bool) -> list[Clause]:
    """Read one of the parenthesised items after ADD."""
    if tokens.accept("PERIOD", "FOR"):
        return [AddPeriod(read_period(tokens))]
    found = _read_added_constraint(tokens)
    if found is not None:
        return found
    column = read_column(tokens)
    return _with_keys(column, AddColumn(column, None, if_not_exists), if_not_exists)


def _with_keys(column: ColumnSpec, clause: Clause, is_optional: bool = False) -> list[Clause]:
    keys: list[Clause] = [AddKey(key, is_optional) for key in keys_of_column(column)]
    reference: list[Clause] = [AddForeignKey(column.reference, is_optional)] if column.reference else []
    return [clause, *keys, *reference]


def _read_place(tokens: Tokens) -> str | None:
    if tokens.accept("FIRST"):
        return ""
    return tokens.name() if tokens.accept("AFTER") else None


def _read_modify(tokens: Tokens) -> list[Clause]:
    tokens.accept("COLUMN")
    if_exists = tokens.accept("IF", "EXISTS")
    column = read_column(tokens)
    return _with_keys(column, ChangeColumn(column.name, column, _read_place(tokens), if_exists))


def _read_change(tokens: Tokens) -> list[Clause]:
    tokens.accept("COLUMN")
    if_exists, name = tokens.accept("IF", "EXISTS"), tokens.column_name()
    column = read_column(tokens)
    return _with_keys(column, ChangeColumn(name, column, _read_place(tokens), if_exists))


def _read_drop_column(tokens: Tokens) -> list[Clause]:
    if_exists = tokens.accept("IF", "EXISTS")
    column = DropColumn(tokens.column_name(), if_exists)
    tokens.accept_any("RESTRICT", "CASCADE")
    return [column]


def _read_alter_column(tokens: Tokens) -> list[Clause]:
    """Read the text after ALTER: a column's default or visibility; an index's visibility and a check's enforcement do
    not matter."""
    if any(tokens.sees(word) for word in ("INDEX", "KEY", "CHECK", "CONSTRAINT")):
        return _skip_clause(tokens)
    tokens.accept("COLUMN")
    if_exists, name = tokens.accept("IF", "EXISTS"), tokens.column_name()
    if tokens.accept("DROP", "DEFAULT"):
        return [SetDefault(name, None, if_exists)]
    tokens.expect("SET")
    if word := tokens.accept_any("VISIBLE", "INVISIBLE"):
        return [SetVisibility(name, word == "INVISIBLE")]
    tokens.expect("DEFAULT")
    return [SetDefault(name, read_default(tokens), if_exists)]


def _read_rename(tokens: Tokens) -> list[Clause]:
    tokens.accept_any("TO", "AS") or tokens.accept("=")
    return [RenameTable(tokens.table_name())]


def _read_convert(tokens: Tokens) -> list[Clause]:
    options = TableOptions()
    tokens.expect("TO")
    if not read_table_option(tokens, options) or options.charset is None:
        raise tokens.unexpected()
    if tokens.sees("COLLATE"):
        read_table_option(tokens, options)
    return [ConvertCharset(options.charset, options.collation)]


def _read_add_period(tokens: Tokens) -> list[Clause]:
    return [AddPeriod(read_period(tokens))]


def _read_add_optional_period(tokens: Tokens) -> list[Clause]:
    return [AddPeriod(read_period(tokens), if_not_exists=True)]


def _read_drop_period(tokens: Tokens) -> list[Clause]:
    return [DropPeriod(tokens.name())]


def _read_drop_optional_period(tokens: Tokens) -> list[Clause]:
    return [DropPeriod(tokens.name(), if_exists=True)]


_CLAUSES: dict[tuple[str, ...], Reader] = {
    **PARTITION_CLAUSES,
    ("ADD", "SYSTEM", "VERSIONING"): _one(SetVersioning(True)),
    ("ADD", "PERIOD", "FOR"): _read_add_period,
    ("ADD", "PERIOD", "IF", "NOT", "EXISTS", "FOR"): _read_add_optional_period,
    ("ADD", "COLUMN"): _read_add_column,
    ("ADD",): _read_add,
    ("DROP", "PRIMARY", "KEY"): _one(DropKey(PRIMARY_NAME)),
    ("DROP", "INDEX"): _named(DropKey),
    ("DROP", "KEY"): _named(DropKey),
    ("DROP", "CONSTRAINT"): _named(DropConstraint),
    ("DROP", "FOREIGN", "KEY"): _named(DropForeignKey),
    ("DROP", "CHECK"): _skip_clause,
    ("DROP", "SYSTEM", "VERSIONING"): _one(SetVersioning(False)),
    ("DROP", "PERIOD", "FOR"): _read_drop_period,
    ("DROP", "PERIOD", "IF", "EXISTS", "FOR"): _read_drop_optional_period,
    ("DROP", "COLUMN"): _read_drop_column,
    ("DROP",): _read_drop_column,
    ("MODIFY",): _read_modify,
    ("CHANGE",): _read_change,
    ("RENAME", "COLUMN"): _renamed(RenameColumn),
    ("RENAME", "INDEX"): _renamed(RenameKey),
    ("RENAME", "KEY"): _renamed(RenameKey),
    ("RENAME",): _read_rename,
    ("ALTER",): _read_alter_column,
    ("CONVERT",): _read_convert,
    ("DISABLE", "KEYS"): _one(_COPY),
    ("ENABLE", "KEYS"): _one(_COPY),
    ("FORCE",): _nothing,
    ("LOCK",): _skip_clause,
    ("ALGORITHM",): _read_algorithm,
    ("ORDER", "BY"): _read_order,
    ("WITH", "VALIDATION"): _nothing,
    ("WITHOUT", "VALIDATION"): _nothing,
    ("DISCARD", "TABLESPACE"): _one(ChangeTablespace("DISCARD")),
    ("IMPORT", "TABLESPACE"): _one(ChangeTablespace("IMPORT")),
    ("SECONDARY_LOAD",): _skip_clause,
    ("SECONDARY_UNLOAD",): _skip_clause,
}
