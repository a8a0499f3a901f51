"""The expression of a partition, a bound or a generated column, MySQL's SQL -> Spark's, if the values are the same.

    sum       term, then + or - and a term, any number of times
    term      factor, then * % MOD DIV and a factor, any number of times
    factor    - factor, (sum), a number, NULL, a column, or one of the functions below

Everything else is refused.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from mirrorlake.core.ddl.parse.lexer import Kind, LexError
from mirrorlake.core.ddl.parse.session import SourceServer
from mirrorlake.core.ddl.parse.tokens import ParseError, Tokens
from mirrorlake.core.schema.tables import TableSchema
from mirrorlake.core.schema.types import MAX_DECIMAL_DIGITS, ColumnType
from mirrorlake.core.sql_text import Sql, literal, quote
from mirrorlake.lake.gold.convert.conversion import NotDerivable, family
from mirrorlake.lake.gold.convert.date_text import bound_literal, meant

_DAY_NUMBER_OF_EPOCH = 719528  # TO_DAYS('1970-01-01')
_OF_A_DATE = {
    "TO_DAYS": f"(datediff({{}}, DATE'1970-01-01') + {_DAY_NUMBER_OF_EPOCH})",
    "YEAR": "year({})", "MONTH": "month({})", "DAY": "day({})", "DAYOFMONTH": "day({})", "QUARTER": "quarter({})",
    "DAYOFYEAR": "dayofyear({})", "DAYOFWEEK": "dayofweek({})", "WEEKDAY": "weekday({})",
}  # fmt: skip
_OF_A_TEXT = {
    "YEAR": "CAST(substring({}, 1, 4) AS int)", "MONTH": "CAST(substring({}, 6, 2) AS int)",
    **dict.fromkeys(("DAY", "DAYOFMONTH"), "CAST(substring({}, 9, 2) AS int)"),
    "QUARTER": "((CAST(substring({}, 6, 2) AS int) + 2) DIV 3)",
}  # fmt: skip
"""Functions of a date that the mirror holds as text: the server computes them for any date, valid or not."""
_MOST_OPERATIONS = 100
"""Each operation may be a level deeper, and this parser and Spark's both recurse."""
_SHOWN = 200
"""Characters of an expression that a reason shows."""
_DIGITS_OF_INT, _DIGITS_OF_BIGINT = 10, 20  # as decimals of Spark
_BIGINT_UNSIGNED = ColumnType("decimal", precision=20, scale=0)
"""The type in mirrors. A sum or product that exceeds the type is an error on the server."""
_MOMENT = ColumnType("datetime", fraction_digits=6)
_NUMBERS, _DATES = ("integer", "year"), ("date", "datetime")


@dataclass(frozen=True, slots=True)
class SparkExpression:
    """unclear: true if a date is NULL, because it may be a zero date, which has another value, and if a
    number is so large that the server hashes it as a negative one.
    impossible: true if a date held as text is neither the zero date nor a valid one. type: of the
    value, large enough for every one.
    """

    sql: Sql
    unclear: Sql | None = None
    impossible: Sql | None = None
    type: ColumnType = ColumnType("bigint")


def spark_expression(text: str, schema: TableSchema, *, with_decimals: bool = False) -> SparkExpression:
    """with_decimals: columns may be DECIMAL or BIGINT UNSIGNED. Raises NotDerivable."""
    reader = _Reader(text, schema, (*_NUMBERS, *_DATES, *(("decimal",) if with_decimals else ())))
    try:
        sql, kind = reader.read(), reader.type
    except (LexError, ParseError):
        raise NotDerivable(f"which rows are in a partition by {text[:_SHOWN]}") from None
    if not with_decimals and not all(_is_same_unsigned(sql, name) for name in reader.unsigned):
        raise NotDerivable(f"which rows are in a partition by {text[:_SHOWN]}")
    large = [f"{name} >= {2**63}" for name in reader.unsigned]
    unclear = " OR ".join([*(f"{name} IS NULL" for name in reader.dates), *large]) or None
    return SparkExpression(sql, unclear, " OR ".join(reader.impossible) or None, kind)


def _is_same_unsigned(sql: Sql, name: Sql) -> bool:
    """Is the expression just the unsigned column, or its remainder? Then the server's unsigned result is the same."""
    return sql == name or re.fullmatch(rf"\({re.escape(name)} % [0-9]+\)", sql) is not None


class _Reader:
    """families: of the columns. dates: the date columns met so far. impossible: for those that are text, the
    condition for invalid dates. unsigned: the columns met so far that are BIGINT UNSIGNED.
    """

    def __init__(self, text: str, schema: TableSchema, families: tuple[str, ...]):
        self._tokens = Tokens(text, SourceServer("mysql"))
        self._schema, self._families = schema, families
        self._decimals: list[ColumnType] = []
        self._other_digits = self._n_operations = 0
        self.dates: list[Sql] = []
        self.unsigned: list[Sql] = []
        self.impossible: list[Sql] = []

    @property
    def type(self) -> ColumnType:
        """The type, as if all were multiplied: Spark rounds results of more than 38 digits."""
        if not self._decimals:
            return ColumnType("bigint")
        digits = self._other_digits + sum(kind.precision + 1 for kind in self._decimals)
        if digits > MAX_DECIMAL_DIGITS:
            raise self._tokens.unexpected()
        return ColumnType("decimal", precision=38, scale=sum(kind.scale for kind in self._decimals))

    def read(self) -> Sql:
        sql = self._sum()
        if not self._tokens.at_end:
            raise self._tokens.unexpected()
        return sql

    def _sum(self, first: Sql | None = None) -> Sql:
        """Read a sum. first: its first factor, if it was already read."""
        sql = self._term(first)
        while operator := next((o for o in "+-" if self._tokens.accept(o)), None):
            self._count_operation()
            sql = f"({sql} {operator} {self._term()})"
        return sql

    def _term(self, first: Sql | None = None) -> Sql:
        sql = self._factor() if first is None else first
        while operator := next((o for o in ("*", "%", "MOD", "DIV") if self._tokens.accept(o)), None):
            self._count_operation()
            sql = f"({sql} {'%' if operator == 'MOD' else operator} {self._factor()})"
        return sql

    def _count_operation(self) -> None:
        self._n_operations += 1
        if self._n_operations > _MOST_OPERATIONS:
            raise self._tokens.unexpected()

    def _factor(self) -> Sql:
        tokens = self._tokens
        if tokens.accept("-"):
            self._count_operation()
            return f"(-{self._factor()})"
        if tokens.sees("("):
            return self._parenthesised()
        if tokens.peek().kind is Kind.NUMBER:
            self._other_digits += _DIGITS_OF_INT
            return str(tokens.number())
        if tokens.peek().kind is Kind.STRING:
            return literal(tokens.string())
        if tokens.accept("NULL"):
            return "NULL"
        if tokens.peek(1).is_symbol("("):
            self._count_operation()
            return self._function(tokens.name().upper())
        return self._column(self._families)

    def _parenthesised(self) -> Sql:
        """Read any number of parentheses at once, so that only operations deepen the recursion."""
        depth = 0
        while self._tokens.accept("("):
            depth += 1
        sql = self._sum()
        for _ in range(depth - 1):
            sql = self._sum(self._closed(sql))
        return self._closed(sql)

    def _function(self, name: str) -> Sql:
        self._tokens.expect("(")
        if name in ("ABS", "MOD"):
            first = self._sum()
            if name == "ABS":
                return self._closed(f"abs({first})")
            self._tokens.expect(",")
            return self._closed(f"({first} % {self._sum()})")
        if name in ("COALESCE", "IFNULL"):
            values = [self._sum()]
            while self._tokens.accept(","):
                values.append(self._sum())
            return self._closed(f"coalesce({', '.join(values)})")
        if name in _OF_A_DATE:
            return self._closed(self._of_a_date(name))
        if name == "UNIX_TIMESTAMP":
            return self._closed(self._unix_timestamp())
        raise self._tokens.unexpected()

    def _of_a_date(self, function: str) -> Sql:
        if self._tokens.peek().kind is Kind.STRING:
            moment = bound_literal(self._tokens.string(), _MOMENT)
            if moment is None:
                raise self._tokens.unexpected()
            return _OF_A_DATE[function].format(f"CAST({moment} AS date)")
        column = self._column(_DATES)
        if not self._schema.as_text:
            self.dates.append(column)
            return _OF_A_DATE[function].format(f"CAST({column} AS date)")
        if function in _OF_A_TEXT:
            return _OF_A_TEXT[function].format(column)
        date = meant(f"substring({column}, 1, 10)", ColumnType("date"))
        self.impossible.append(f"{column} NOT LIKE '0000-00-00%' AND {date} IS NULL")
        return _OF_A_DATE[function].format(date)

    def _unix_timestamp(self) -> Sql:
        column = self._column(("timestamp",))
        if not self._schema.as_text:
            self.dates.append(column)
            return f"unix_seconds({column})"
        return f"IF({column} LIKE '0000-%', 0, unix_seconds({meant(column, ColumnType('timestamp'))}))"

    def _closed(self, sql: Sql) -> Sql:
        self._tokens.expect(")")
        return sql

    def _column(self, families: tuple[str, ...]) -> Sql:
        name = self._tokens.name()
        at = self._schema.position(name)
        column = None if at is None else self._schema.columns[at]
        if column is None or family(column.type) not in families:
            raise self._tokens.unexpected()
        if column.type.name == "bigint" and column.type.unsigned:
            self._decimals.append(_BIGINT_UNSIGNED)
            self.unsigned.append(quote(column.name))
        elif column.type.name == "decimal":
            self._decimals.append(column.type)
        else:
            self._other_digits += _DIGITS_OF_BIGINT if column.type.name == "bigint" else _DIGITS_OF_INT
        return quote(column.name)
