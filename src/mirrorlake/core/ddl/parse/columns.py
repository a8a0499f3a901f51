"""Read one column definition: name, type, and attributes in any order."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from mirrorlake.core.ddl.parse.defaults import read_default, read_now
from mirrorlake.core.ddl.parse.expressions import read_expression
from mirrorlake.core.ddl.parse.keys import read_reference, skip_check
from mirrorlake.core.ddl.parse.lexer import Kind
from mirrorlake.core.ddl.parse.statements import ColumnSpec
from mirrorlake.core.ddl.parse.tokens import Tokens
from mirrorlake.core.ddl.parse.types import read_charset, read_charset_word, read_collation, read_type
from mirrorlake.core.schema.charsets import charset_of_collation_name

_BEHIND = ((",",), (")",), ("FIRST",), ("AFTER",), ("PARTITION", "BY"), ("REMOVE", "PARTITIONING"))


def read_column(tokens: Tokens) -> ColumnSpec:
    """Read up to the end of the definition."""
    name = tokens.column_name()
    spec = read_type(tokens)
    column = ColumnSpec(name, spec)
    if spec.is_serial:
        column.nullable, column.is_auto_increment, column.is_unique = False, True, True
    while not (tokens.at_end or any(tokens.sees(*words) for words in _BEHIND)):
        _read_attribute(tokens, column)
    return column


def _read_attribute(tokens: Tokens, column: ColumnSpec) -> None:
    charset = read_charset_word(tokens) or read_charset(tokens)
    if charset:
        column.type = replace(column.type, charset=charset)
    elif collation := read_collation(tokens):
        charset = column.type.charset or charset_of_collation_name(collation)
        named = None if collation.lower() == "default" else collation.lower()
        column.type = replace(column.type, charset=charset if named else column.type.charset, collation=named)
    else:
        for pattern, read in _ATTRIBUTES.items():
            if tokens.accept(*pattern):
                return read(tokens, column)
        _read_named_option(tokens)


def _set(**values) -> Callable[[Tokens, ColumnSpec], None]:
    def read(tokens: Tokens, column: ColumnSpec) -> None:
        for name, value in values.items():
            setattr(column, name, value)

    return read


def _nothing(tokens: Tokens, column: ColumnSpec) -> None:
    pass


def _skip(*read: Callable[[Tokens], object]) -> Callable[[Tokens, ColumnSpec], None]:
    def skip(tokens: Tokens, column: ColumnSpec) -> None:
        for step in read:
            step(tokens)

    return skip


def _read_default(tokens: Tokens, column: ColumnSpec) -> None:
    column.default_in_parentheses = tokens.sees("(")
    column.default = read_default(tokens)


def _read_comment(tokens: Tokens, column: ColumnSpec) -> None:
    column.comment = tokens.comment()


def _read_on_update(tokens: Tokens, column: ColumnSpec) -> None:
    if read_now(tokens) is None:
        raise tokens.unexpected()
    column.updates_to_now = True


def _read_generated(tokens: Tokens, column: ColumnSpec) -> None:
    if tokens.accept("ROW"):
        period = tokens.accept_any("START", "END")
        if period is None:
            raise tokens.unexpected()
        column.row_period = period.lower()
        column.nullable = False
    else:
        column.generated = read_expression(tokens)


_INLINE_REFERENCES_SINCE = {"mysql": 90000, "mariadb": 100500}
"""Before, REFERENCES after a column was read and made no foreign key (MySQL 9.0 release notes, MDEV-20480)."""


def _read_reference(tokens: Tokens, column: ColumnSpec) -> None:
    found = read_reference(tokens, None, (column.name,))
    if tokens.server.assumed_version >= _INLINE_REFERENCES_SINCE[tokens.server.flavor]:
        column.reference = found


def _skip_constraint_name(tokens: Tokens, column: ColumnSpec) -> None:
    if not (tokens.sees("CHECK", "(") or tokens.sees("REFERENCES")):
        tokens.name()


def _read_compressed(tokens: Tokens, column: ColumnSpec) -> None:
    """Read COMPRESSED. How a value is stored is in the table map, and in each value."""
    column.is_compressed = True
    if tokens.accept("="):
        tokens.next()


def _read_binary(tokens: Tokens, column: ColumnSpec) -> None:
    column.type = replace(column.type, is_binary=True)


def _skip_equal_value(tokens: Tokens) -> None:
    tokens.accept("=")
    tokens.next()


def _read_named_option(tokens: Tokens) -> None:
    """Read an option that a storage engine defines: name = value."""
    if not (tokens.peek().kind in (Kind.WORD, Kind.QUOTED) and tokens.peek(1).is_symbol("=")):
        raise tokens.unexpected()
    tokens.name(), tokens.next(), tokens.next()


_ATTRIBUTES: dict[tuple[str, ...], Callable[[Tokens, ColumnSpec], None]] = {
    ("NOT", "NULL", "ENABLE"): _set(nullable=False),
    ("NOT", "NULL"): _set(nullable=False),
    ("NOT", "SECONDARY"): _nothing,
    ("NULL",): _set(nullable=True),
    ("DEFAULT",): _read_default,
    ("ON", "UPDATE"): _read_on_update,
    ("AUTO_INCREMENT",): _set(is_auto_increment=True, nullable=False),  # a NULL after it counts
    ("SERIAL", "DEFAULT", "VALUE"): _set(is_auto_increment=True, nullable=False, is_unique=True),
    ("PRIMARY", "KEY"): _set(is_primary=True, nullable=False),
    ("PRIMARY",): _set(is_primary=True, nullable=False),
    ("UNIQUE", "KEY"): _set(is_unique=True),
    ("UNIQUE",): _set(is_unique=True),
    ("KEY",): _set(is_primary=True, nullable=False),
    ("COMMENT",): _read_comment,
    ("GENERATED", "ALWAYS", "AS"): _read_generated,
    ("AS",): _read_generated,
    ("VIRTUAL",): _nothing,
    ("STORED",): _set(is_stored=True),
    ("PERSISTENT",): _set(is_stored=True),
    ("VISIBLE",): _nothing,
    ("INVISIBLE",): _set(is_invisible=True),
    ("CONSTRAINT",): _skip_constraint_name,
    ("CHECK",): _skip(skip_check),
    ("REFERENCES",): _read_reference,
    ("COLUMN_FORMAT",): _skip(Tokens.name),
    ("STORAGE",): _skip(Tokens.name),
    ("ENGINE_ATTRIBUTE",): _skip(_skip_equal_value),
    ("SECONDARY_ENGINE_ATTRIBUTE",): _skip(_skip_equal_value),
    ("SRID",): _skip(Tokens.number),
    ("WITHOUT", "SYSTEM", "VERSIONING"): _set(is_versioned=False),
    ("WITH", "SYSTEM", "VERSIONING"): _set(is_table_versioned=True),
    ("COMPRESSED",): _read_compressed,
    ("BINARY",): _read_binary,
}
