"""One column definition: name, type, and attributes in any order."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from mirrorlake.core.schema.charsets import charset_of_collation_name
from mirrorlake.core.schema.ddl_lexer import Kind
from mirrorlake.core.schema.ddl_statements import ColumnSpec, Default, TypeSpec
from mirrorlake.core.schema.ddl_tokens import Tokens
from mirrorlake.core.schema.ddl_types import read_charset, read_charset_word, read_collation, read_type

_UNSEEN_ACTIONS = (("CASCADE",), ("SET", "NULL"), ("SET", "DEFAULT"))


def read_column(tokens: Tokens) -> ColumnSpec:
    """Up to the comma, parenthesis, FIRST or AFTER behind the definition."""
    name = tokens.name()
    spec = read_type(tokens)
    column = ColumnSpec(name, spec)
    if spec.is_serial:
        column.nullable, column.is_auto_increment, column.is_unique = False, True, True
    while not (tokens.at_end or tokens.sees(",") or tokens.sees(")") or tokens.sees("FIRST") or tokens.sees("AFTER")):
        _read_attribute(tokens, column)
    return column


def _read_attribute(tokens: Tokens, column: ColumnSpec) -> None:
    charset = read_charset_word(tokens) or read_charset(tokens)
    if charset:
        column.type = replace(column.type, charset=charset)
    elif collation := read_collation(tokens):
        charset = column.type.charset or charset_of_collation_name(collation)
        column.type = replace(column.type, charset=charset)
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
    column.default = Default.NULL if tokens.accept("NULL") else Default.VALUE
    if column.default is Default.VALUE:
        _skip_value(tokens)


def _skip_value(tokens: Tokens) -> None:
    """A literal, a parenthesised expression, or a function call: what may stand unparenthesised behind DEFAULT."""
    while tokens.accept("-") or tokens.accept("+"):
        pass
    if tokens.sees("("):
        return tokens.skip_parentheses()
    if tokens.peek().kind is Kind.WORD and tokens.peek(1).kind in (Kind.STRING, Kind.BITS):
        tokens.next()  # a character set introducer, DATE, TIME or TIMESTAMP
    if tokens.accept("NEXT", "VALUE", "FOR"):
        tokens.name()
    elif tokens.peek().kind in (Kind.STRING, Kind.NUMBER, Kind.BITS):
        tokens.next()
        while tokens.peek().kind is Kind.STRING:
            tokens.next()
    else:
        tokens.name()
    while tokens.accept("."):
        tokens.name()
    if tokens.sees("("):
        tokens.skip_parentheses()


def _read_generated(tokens: Tokens, column: ColumnSpec) -> None:
    if tokens.accept_any("ROW"):
        tokens.next()
        column.unsupported = "a system versioning column"
        return
    tokens.skip_parentheses()
    column.is_generated = True


def _read_reference(tokens: Tokens, column: ColumnSpec) -> None:
    column.cascade = read_reference(tokens) or column.cascade


def read_reference(tokens: Tokens) -> str | None:
    """The rest of REFERENCES. Returns the action that changes rows of this table without a row event, or None."""
    tokens.table_name()
    tokens.tables.pop()  # the parent is not what this statement is about
    if tokens.sees("("):
        tokens.skip_parentheses()
    if tokens.accept("MATCH"):
        tokens.name()
    unseen = None
    while tokens.accept("ON"):
        event = tokens.name().upper()
        action = next((a for a in _UNSEEN_ACTIONS if tokens.accept(*a)), None)
        if action:
            unseen = f"ON {event} {' '.join(action)}"
        elif not tokens.accept("NO", "ACTION"):
            tokens.expect("RESTRICT")
    return unseen


def skip_check(tokens: Tokens) -> None:
    """The rest of CHECK."""
    tokens.skip_parentheses()
    if not tokens.accept("NOT", "ENFORCED"):
        tokens.accept("ENFORCED")


def _skip_constraint_name(tokens: Tokens, column: ColumnSpec) -> None:
    if not (tokens.sees("CHECK", "(") or tokens.sees("REFERENCES")):
        tokens.name()


def _read_compressed(tokens: Tokens, column: ColumnSpec) -> None:
    if tokens.accept("="):
        tokens.next()
    kind = "varchar" if column.type.name.startswith("var") else "blob"
    column.type = TypeSpec(f"{kind} compressed")


def _skip_equal_value(tokens: Tokens) -> None:
    tokens.accept("=")
    tokens.next()


def _read_named_option(tokens: Tokens) -> None:
    """An option that a storage engine defines: name = value."""
    if not (tokens.peek().kind in (Kind.WORD, Kind.QUOTED) and tokens.peek(1).is_symbol("=")):
        raise tokens.unexpected()
    tokens.name(), tokens.next(), tokens.next()


_ATTRIBUTES: dict[tuple[str, ...], Callable[[Tokens, ColumnSpec], None]] = {
    ("NOT", "NULL", "ENABLE"): _set(nullable=False),
    ("NOT", "NULL"): _set(nullable=False),
    ("NOT", "SECONDARY"): _nothing,
    ("NULL",): _set(nullable=True),
    ("DEFAULT",): _read_default,
    ("ON", "UPDATE"): _skip(_skip_value),
    ("AUTO_INCREMENT",): _set(is_auto_increment=True),
    ("SERIAL", "DEFAULT", "VALUE"): _set(is_auto_increment=True, nullable=False, is_unique=True),
    ("PRIMARY", "KEY"): _set(is_primary=True),
    ("PRIMARY",): _set(is_primary=True),
    ("UNIQUE", "KEY"): _set(is_unique=True),
    ("UNIQUE",): _set(is_unique=True),
    ("KEY",): _set(is_primary=True),
    ("COMMENT",): _skip(Tokens.string),
    ("GENERATED", "ALWAYS", "AS"): _read_generated,
    ("AS",): _read_generated,
    ("VIRTUAL",): _nothing,
    ("STORED",): _set(is_stored=True),
    ("PERSISTENT",): _set(is_stored=True),
    ("VISIBLE",): _nothing,
    ("INVISIBLE",): _nothing,
    ("CONSTRAINT",): _skip_constraint_name,
    ("CHECK",): _skip(skip_check),
    ("REFERENCES",): _read_reference,
    ("COLUMN_FORMAT",): _skip(Tokens.name),
    ("STORAGE",): _skip(Tokens.name),
    ("ENGINE_ATTRIBUTE",): _skip(_skip_equal_value),
    ("SECONDARY_ENGINE_ATTRIBUTE",): _skip(_skip_equal_value),
    ("SRID",): _skip(Tokens.number),
    ("WITHOUT", "SYSTEM", "VERSIONING"): _nothing,
    ("WITH", "SYSTEM", "VERSIONING"): _set(unsupported="system versioning"),
    ("COMPRESSED",): _read_compressed,
    ("BINARY",): _nothing,
}
