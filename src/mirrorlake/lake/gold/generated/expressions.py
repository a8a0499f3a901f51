"""The expression of a generated column, MariaDB's SQL -> Spark's, if the values are the same for every row.

    disjunction   XOR and OR of conjunctions; AND of negations; NOT factor
    comparison    sum or membership, then = <=> <> < <= > >= and a sum, or IS [NOT] NULL, any number of times
    membership    sum [NOT] IN (list), sum [NOT] BETWEEN sum AND sum
    sum           term, then + or - and a term, any number of times
    term          factor, then * % MOD DIV and a factor, any number of times
    factor        - factor, ! factor, (disjunction), CASE, a literal, a column, column -> path, column ->> path,
                  or a function of ``functions`` and ``json``

Everything else raises NotDerivable. Comparisons are of numbers: those of text depend on collations.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from mirrorlake.core.ddl.parse.expressions import SESSION, is_as_written
from mirrorlake.core.ddl.parse.lexer import Kind as Token
from mirrorlake.core.ddl.parse.session import SourceServer
from mirrorlake.core.ddl.parse.tokens import Tokens
from mirrorlake.core.schema.charsets import holds_ascii
from mirrorlake.core.schema.tables import Column, TableSchema
from mirrorlake.core.schema.types import MAX_DECIMAL_DIGITS, MAY_BE_INVALID
from mirrorlake.core.sql_text import Sql, literal, quote
from mirrorlake.lake.gold.convert.conversion import NotDerivable, family
from mirrorlake.lake.gold.generated.functions import FUNCTIONS, in_charset, longest, one_of
from mirrorlake.lake.gold.generated.json import WITH_PATH_OF, json_extract, json_unquote
from mirrorlake.lake.gold.generated.numbers import OPERATORS, compared, negative
from mirrorlake.lake.gold.generated.values import (
    NULL,
    Kind,
    Value,
    condition,
    decimal_bounds,
    integer_bounds,
    number,
    stored,
    text,
)

LONGEST = 20_000
"""Characters of an expression in Spark SQL: values that are used twice make it grow fast."""
_DEEPEST = 40
"""Levels of an expression: reading one level takes a dozen nested calls."""
_COMPARISONS = ("<=>", "<>", "!=", "<=", ">=", "=", "<", ">")
_FOLLOWING = (*_COMPARISONS, "IS", "IN", "BETWEEN", "NOT", "LIKE", "REGEXP", "RLIKE")


def computed_column(
    column: Column, schema: TableSchema, spelled: Callable[[str], Sql] = quote, flavor: str = "mariadb"
) -> Value:
    """The value that a generated column stores. spelled: a column's name in Spark SQL.

    Raises NotDerivable with the reason.
    """
    return _Definitions(schema, spelled, flavor).value(column)


def _is_turkish(collation: str) -> bool:
    """Is the capital of i another letter in this collation?"""
    return any(part in collation.lower() for part in ("turkish", "_tr_", "latin5"))


class _Definitions:
    """A table's columns as values; each generated one is read once."""

    def __init__(self, schema: TableSchema, spelled: Callable[[str], Sql], flavor: str):
        self.schema, self.spelled, self.flavor = schema, spelled, flavor
        self._generated: dict[str, Value | None] = {}

    def named(self, name: str) -> Value:
        at = self.schema.position(name)
        if at is None:
            raise NotDerivable(f"there is no column {name}")
        column = self.schema.columns[at]
        return self.value(column) if column.generated is not None else self._plain(column)

    def value(self, column: Column) -> Value:
        if column.name not in self._generated:
            self._generated[column.name] = None
            self._generated[column.name] = self._computed(column)
        found = self._generated[column.name]
        if found is None:
            raise NotDerivable(f"column {column.name} is computed from itself")
        return replace(found, as_text=found.as_text and not column.is_zerofill)

    def _computed(self, column: Column) -> Value:
        if column.is_hashed:
            raise NotDerivable("it is hashed")
        try:
            found = stored(_Reader(column.generated or "", self.named, self.flavor).read(), column.type)
        except ValueError as error:  # LexError and ParseError, too
            raise NotDerivable(str(error)) from None
        except RecursionError:
            raise NotDerivable("it is nested too deep") from None
        return _short(found)

    def _plain(self, column: Column) -> Value:
        kind, name, group = column.type, self.spelled(column.name), family(column.type)
        if self.schema.as_text and kind.name in MAY_BE_INVALID:
            raise NotDerivable(f"column {column.name} is held as text that need not be valid")
        carried = frozenset({column.name} if kind.name in MAY_BE_INVALID else ())
        if group == "integer":
            found = number(name, *integer_bounds(kind), unsigned=kind.unsigned)
            return replace(found, as_text=not column.is_zerofill)
        if kind.name == "year":
            return replace(number(name, 0, 2155), as_text=False)
        if group == "decimal" and (kind.precision or 10) <= MAX_DECIMAL_DIGITS:
            return number(name, *decimal_bounds(kind), kind.scale or 0)
        is_known = kind.charset and holds_ascii(kind.charset)
        if group == "text" and is_known and not _is_turkish(column.collation or f"{kind.charset}_"):
            return replace(text(name, longest(kind), frozenset({kind.charset})), carried=carried)
        if kind.name in ("date", "datetime"):
            return Value(name, Kind(kind.name), digits=kind.fraction_digits or 0, carried=carried)
        return Value(name, Kind.JSON if kind.name == "json" else Kind.OTHER, carried=carried)


def _short(found: Value) -> Value:
    """Check the length on each level, because a value that each level uses twice doubles each time."""
    if len(found.sql) + sum(map(len, found.fails)) > LONGEST:
        raise NotDerivable("it is too long")
    return found


class _Reader:
    """column: the value of a column by its name."""

    def __init__(self, expression: str, column: Callable[[str], Value], flavor: str):
        self._tokens = Tokens(expression, SourceServer("mariadb"))
        self._column, self._level = column, 0
        self._with_path = WITH_PATH_OF[flavor]

    def read(self) -> Value:
        found = self._or()
        if not self._tokens.at_end:
            raise self._tokens.unexpected()
        return found

    def _or(self) -> Value:
        return self._joined(("OR",), "OR", lambda: self._joined(("XOR",), "<>", self._and))

    def _and(self) -> Value:
        return self._joined(("AND", "&&"), "AND", self._not)

    def _joined(self, words: tuple[str, ...], operator: Sql, operand: Callable[[], Value]) -> Value:
        found = operand()
        while any(self._tokens.accept(word) for word in words):
            other = operand()
            found = condition(f"{found.truth()} {operator} {other.truth()}", found, other)
        return found

    def _not(self) -> Value:
        if not self._tokens.accept("NOT"):
            return self._comparison()
        found = self._factor()
        if any(self._tokens.sees(word) for word in (*_FOLLOWING, "+", "-", "*", "/", "%", "MOD", "DIV")):
            raise self._tokens.unexpected()  # sql_mode HIGH_NOT_PRECEDENCE changes what is negated
        return condition(f"NOT {found.truth()}", found)

    def _comparison(self) -> Value:
        tokens, found = self._tokens, self._membership(self._sum())
        while any(tokens.sees(word) for word in _FOLLOWING):
            operator = next((each for each in _COMPARISONS if tokens.accept(each)), None)
            if operator:
                found = compared(found, operator, self._sum())
            else:
                tokens.expect("IS")
                is_not = tokens.accept("NOT")
                tokens.expect("NULL")
                found = condition(f"{found.sql} IS {'NOT ' if is_not else ''}NULL", found)
        return found

    def _membership(self, left: Value) -> Value:
        tokens = self._tokens
        is_not = tokens.accept("NOT")
        if tokens.accept("IN"):
            found = [compared(left, "=", each) for each in tokens.enclosed(self._or)]
            any_of = condition(" OR ".join(each.truth() for each in found), *found)
        elif tokens.accept("BETWEEN"):
            low = compared(left, ">=", self._sum())
            tokens.expect("AND")
            high = compared(left, "<=", self._sum())
            any_of = condition(f"{low.truth()} AND {high.truth()}", low, high)
        elif is_not:
            raise tokens.unexpected()
        else:
            return left
        return condition(f"NOT {any_of.truth()}", any_of) if is_not else any_of

    def _sum(self) -> Value:
        return self._folded(("+", "-"), lambda: self._folded(("*", "%", "MOD", "DIV"), self._collated))

    def _folded(self, operators: tuple[str, ...], operand: Callable[[], Value]) -> Value:
        found = operand()
        while operator := next((each for each in operators if self._tokens.accept(each)), None):
            found = OPERATORS[operator](found, operand())
        return found

    def _collated(self) -> Value:
        found = self._factor()
        while self._tokens.accept("COLLATE"):
            if found.kind is not Kind.TEXT or _is_turkish(self._tokens.name()):
                raise self._tokens.unexpected()
        return found

    def _factor(self) -> Value:
        self._level += 1
        if self._level > _DEEPEST:
            raise NotDerivable("it is nested too deep")
        found = _short(self._plain_factor())
        self._level -= 1
        return found

    def _plain_factor(self) -> Value:
        tokens = self._tokens
        if tokens.accept("-"):
            return negative(self._factor())
        if tokens.accept("!"):
            found = self._factor()
            return condition(f"NOT {found.truth()}", found)
        if tokens.accept("("):
            return self._close(self._or())
        if tokens.accept("CASE"):
            return self._case()
        if tokens.accept_any("CAST", "CONVERT"):
            return self._cast()
        return self._literal() or self._named()

    def _literal(self) -> Value | None:
        tokens, token = self._tokens, self._tokens.peek()
        if token.kind is Token.NUMBER and "e" not in token.text.lower():
            whole, _, fraction = tokens.next().text.partition(".")
            units = int(whole + fraction)
            shown = f"CAST({literal(token.text)} AS DECIMAL(38,{len(fraction)}))" if fraction else f"{units}BD"
            return number(shown, units, units, len(fraction))
        if self._skip_introducer() and not tokens.peek().text.isascii():
            raise tokens.unexpected()
        token = tokens.peek()
        if token.kind is Token.STRING:
            charsets = frozenset(() if token.text.isascii() else ("utf8mb4",))
            return text(literal(tokens.string()), len(token.text), charsets)
        if token.kind is Token.WORD and token.text.upper() in ("TRUE", "FALSE", "NULL"):
            word = tokens.next().text.upper()
            return NULL if word == "NULL" else condition("true" if word == "TRUE" else "false")
        return None

    def _named(self) -> Value:
        tokens = self._tokens
        if tokens.sees(SESSION.upper(), "."):
            raise NotDerivable("functions and texts as the session of its statement has them")
        if not tokens.peek(1).is_symbol("("):
            return self._part(self._column(tokens.name()))
        name = tokens.peek().text.upper()
        if name in self._with_path:
            tokens.next()
            return self._of_document(self._with_path[name])
        if name not in FUNCTIONS:
            raise NotDerivable(f"the function {name.lower()}")
        tokens.next()
        if name in ("SUBSTR", "SUBSTRING"):
            return FUNCTIONS[name](*self._substring())
        if tokens.accept("(", ")"):
            return FUNCTIONS[name]()
        return FUNCTIONS[name](*tokens.enclosed(self._or))

    def _of_document(self, function: Callable[[Value, str], Value]) -> Value:
        self._tokens.expect("(")
        document = self._or()
        self._tokens.expect(",")
        return self._close(function(document, self._path()))

    def _part(self, value: Value) -> Value:
        """The value, or a part of it: document -> path, document ->> path."""
        if self._tokens.accept("->>"):
            return json_unquote(json_extract(value, self._path()))
        return json_extract(value, self._path()) if self._tokens.accept("->") else value

    def _path(self) -> str:
        tokens = self._tokens
        self._skip_introducer()
        return tokens.string()

    def _skip_introducer(self) -> bool:
        """Skip the character set of a text; was there one? Raises ParseError if the text means other characters."""
        tokens, (word, shown) = self._tokens, (self._tokens.peek(), self._tokens.peek(1))
        if not (word.kind is Token.WORD and word.text.startswith("_") and shown.kind is Token.STRING):
            return False
        if not is_as_written(tokens.next().text, shown.text, None):
            raise tokens.unexpected()
        return True

    def _substring(self) -> list[Value]:
        """The arguments of SUBSTRING, with commas or as SUBSTRING(text FROM position FOR length)."""
        tokens = self._tokens
        tokens.expect("(")
        found = [self._or()]
        while any(tokens.accept(word) for word in (",", "FROM", "FOR")):
            found.append(self._or())
        tokens.expect(")")
        return found

    def _case(self) -> Value:
        tokens = self._tokens
        subject = None if tokens.sees("WHEN") else _short(self._or())
        conditions, values, n_chars = [], [], 0
        while tokens.accept("WHEN"):
            found = self._or()
            conditions.append(_short(found if subject is None else compared(subject, "=", found)))
            tokens.expect("THEN")
            values.append(self._or())
            n_chars += len(conditions[-1].sql) + len(values[-1].sql)
            if n_chars > LONGEST:
                raise NotDerivable("it is too long")
        values.append(self._or() if tokens.accept("ELSE") else NULL)
        tokens.expect("END")
        return one_of(conditions, values)

    def _cast(self) -> Value:
        tokens = self._tokens
        tokens.expect("(")
        found = self._or()
        if tokens.accept("USING"):
            return self._close(in_charset(found, tokens.name()))
        if not (tokens.accept("AS") or tokens.accept(",")):
            raise tokens.unexpected()
        word = tokens.name().upper()
        if word == "CHAR" and not tokens.sees("("):
            named = tokens.accept("CHARSET") or tokens.accept("CHARACTER", "SET")
            return self._close(in_charset(found, tokens.name() if named else None))
        sizes = tokens.enclosed(tokens.number) if tokens.sees("(") else ()
        if word in ("SIGNED", "UNSIGNED"):
            tokens.accept("INTEGER")
        if f"CAST {word}" not in FUNCTIONS:
            raise NotDerivable(f"CAST to {word.lower()}")
        return self._close(FUNCTIONS[f"CAST {word}"](found, *sizes))

    def _close(self, value: Value) -> Value:
        self._tokens.expect(")")
        return value
