"""Find the rows of a mirror that are in a partition of the source: the partition function as a Spark condition.

RANGE and LIST over integers, RANGE COLUMNS and LIST COLUMNS over numbers and dates, HASH, KEY over integers. Text is
compared and hashed by a collation: LIST COLUMNS takes rows whose text is listed exactly; others may be anywhere.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from mirrorlake.core.schema.name_case import folded
from mirrorlake.core.schema.partitions import Partition, Partitioning
from mirrorlake.core.schema.tables import Column, Period, TableSchema
from mirrorlake.core.schema.types import DATED, INTEGERS
from mirrorlake.core.schema.versioning import system_period
from mirrorlake.core.sql_text import Sql, literal, quote
from mirrorlake.lake.gold.convert.conversion import NotDerivable, family
from mirrorlake.lake.gold.convert.date_text import bound_literal
from mirrorlake.lake.gold.partition.expressions import SparkExpression, spark_expression
from mirrorlake.lake.gold.partition.hashes import integer_bytes, key_hash, moment_bytes

MAXVALUE = "MAXVALUE"
_PLAIN_TEXT = re.compile(r"'([^'\\\\]*)'")
"""A literal that means the same in every sql_mode."""
_NULL_HASH = 2**63  # the absolute value of the number that the server hashes for NULL
_COMPARABLE = ("integer", "year", "date", "datetime")


@dataclass(frozen=True, slots=True)
class PartitionRows:
    """where: a condition that is never NULL; None: every row. unclear: true for a row that may be anywhere."""

    where: Sql | None
    unclear: Sql | None = None


@dataclass(frozen=True, slots=True)
class _Value:
    """A value that is compared with bounds. limit: a bound's SQL text -> Spark's, in the form that the value has."""

    sql: Sql
    limit: Callable[[str], Sql]
    is_text: bool = False


def rows_in(partitioning: Partitioning, names: Sequence[str], schema: TableSchema) -> PartitionRows:
    """The rows in some partitions. names: of partitions; none for all. Raises NotDerivable."""
    if not names:
        return PartitionRows(None)
    known = {folded(partition.name): i for i, partition in enumerate(partitioning.partitions)}
    wanted = [known.get(folded(name)) for name in names]
    test = _METHODS.get(partitioning.method)
    if partitioning.has_misplaced_rows:
        raise NotDerivable("which rows are in a partition, because an ALTER TABLE has left rows in other ones")
    if test is None or None in wanted:
        raise NotDerivable(f"which rows are in a partition by {partitioning.method}")
    return test(partitioning, [i for i in wanted if i is not None], schema)


def _any_of(conditions: Sequence[Sql]) -> Sql:
    return "(" + " OR ".join(f"({condition})" for condition in conditions) + ")"


def _range(partitioning: Partitioning, wanted: list[int], schema: TableSchema) -> PartitionRows:
    value = spark_expression(partitioning.expression or "", schema)
    return PartitionRows(_in_ranges(partitioning.partitions, wanted, [_computed(value, schema)]), value.impossible)


def _range_columns(partitioning: Partitioning, wanted: list[int], schema: TableSchema) -> PartitionRows:
    return PartitionRows(_in_ranges(partitioning.partitions, wanted, _column_values(partitioning, schema)))


def _in_ranges(partitions: Sequence[Partition], wanted: list[int], values: list[_Value]) -> Sql:
    """Neighbors are one range: Spark would plan a condition for each of some thousand partitions for minutes."""
    numbers = {*wanted}
    firsts = sorted(i for i in numbers if i - 1 not in numbers)
    lasts = sorted(i for i in numbers if i + 1 not in numbers)
    return _any_of([_between(partitions, first, last, values) for first, last in zip(firsts, lasts, strict=True)])


def _between(partitions: Sequence[Partition], first: int, last: int, values: list[_Value]) -> Sql:
    below = _less(values, partitions[last])
    return f"{below} AND NOT {_less(values, partitions[first - 1])}" if first else below


def _less(values: list[_Value], partition: Partition) -> Sql:
    """Compare column by column; NULL is less than anything, MAXVALUE more."""
    if partition.kind != "less than":
        raise NotDerivable("which rows are in a partition without a bound")
    condition = "false"
    for value, bound in reversed(list(zip(values, partition.bounds[0].values, strict=True))):
        if bound.upper() == MAXVALUE:
            condition = "true"
        else:
            sql, limit = value.sql, value.limit(bound)
            condition = f"({sql} IS NULL OR {sql} < {limit} OR ({sql} = {limit} AND {condition}))"
    return condition


def _list(partitioning: Partitioning, wanted: list[int], schema: TableSchema) -> PartitionRows:
    value = spark_expression(partitioning.expression or "", schema)
    return PartitionRows(_in_lists(partitioning, wanted, [_computed(value, schema)]), _unclear(value))


def _list_columns(partitioning: Partitioning, wanted: list[int], schema: TableSchema) -> PartitionRows:
    values = [_text(c, schema) or _column_value(c, schema) for c in partitioning.columns]
    dates = [c for c in partitioning.columns if family(_column(c, schema).type) in DATED and not schema.as_text]
    unclear = [f"{spark_expression(quote(name), schema).sql} IS NULL" for name in dates]
    unclear += [_unlisted(partitioning, i, value) for i, value in enumerate(values) if value.is_text]
    return PartitionRows(_in_lists(partitioning, wanted, values), " OR ".join(unclear) or None)


def _unlisted(partitioning: Partitioning, i: int, value: _Value) -> Sql:
    """True for a text that no list has exactly: only the collation says which entry it equals, if any."""
    listed = [bound.values[i] for partition in partitioning.partitions for bound in partition.bounds]
    return f"NOT {_is_one_of(value, [*listed, 'NULL'])}"


def _in_lists(partitioning: Partitioning, wanted: list[int], values: list[_Value]) -> Sql:
    chosen = [partitioning.partitions[i] for i in wanted]
    conditions = []
    if any(partition.kind == "default" for partition in chosen):
        others = [partition for partition in partitioning.partitions if partition.kind == "in"]
        conditions.append(f"NOT {_listed(others, values)}" if others else "true")
    if listed := [partition for partition in chosen if partition.kind != "default"]:
        conditions.append(_listed(listed, values))
    return _any_of(conditions)


def _listed(partitions: Sequence[Partition], values: list[_Value]) -> Sql:
    bounds = [bound.values for partition in partitions for bound in partition.bounds]
    if len(values) == 1:
        return _is_one_of(values[0], [text for (text,) in bounds])
    rows = [zip(values, texts, strict=True) for texts in bounds]
    return _any_of([" AND ".join(f"{value.sql} <=> {value.limit(text)}" for value, text in row) for row in rows])


def _is_one_of(value: _Value, bounds: Sequence[str]) -> Sql:
    """Is the value one of these? Never NULL. Spark would plan a comparison with each of some thousand for minutes."""
    known = dict.fromkeys(value.limit(bound) for bound in bounds if bound.upper() != "NULL")
    conditions = [f"{value.sql} IS NOT NULL AND {value.sql} IN ({', '.join(known)})"] if known else []
    if any(bound.upper() == "NULL" for bound in bounds):
        conditions.append(f"{value.sql} IS NULL")
    return _any_of(conditions)


def _hash(partitioning: Partitioning, wanted: list[int], schema: TableSchema) -> PartitionRows:
    value = spark_expression(partitioning.expression or "", schema)
    n = len(partitioning.partitions)
    number = f"coalesce(abs(CAST({value.sql} AS bigint) % {n}), {_NULL_HASH % n})"
    return PartitionRows(_among(wanted, number), _unclear(value))


def _linear_hash(partitioning: Partitioning, wanted: list[int], schema: TableSchema) -> PartitionRows:
    value = spark_expression(partitioning.expression or "", schema)
    number = f"coalesce(CAST({value.sql} AS bigint), 0)"  # of what the server hashes for NULL all lower bits are 0
    return PartitionRows(_among(wanted, _linear(number, len(partitioning.partitions))), _unclear(value))


def _key(partitioning: Partitioning, wanted: list[int], schema: TableSchema) -> PartitionRows:
    return PartitionRows(_among(wanted, f"({_hash_of_key(partitioning, schema)} % {len(partitioning.partitions)})"))


def _linear_key(partitioning: Partitioning, wanted: list[int], schema: TableSchema) -> PartitionRows:
    number = _linear(_hash_of_key(partitioning, schema), len(partitioning.partitions))
    return PartitionRows(_among(wanted, number))


def _linear(number: Sql, n: int) -> Sql:
    """The lower bits that n needs; if they name no partition, one bit less."""
    mask = 2 ** (n - 1).bit_length() - 1
    return f"IF({number} & {mask} < {n}, {number} & {mask}, {number} & {mask >> 1})"


def _hash_of_key(partitioning: Partitioning, schema: TableSchema) -> Sql:
    """Hash the key's columns in the order that they have in the table, which is not the key's."""
    if partitioning.options:
        raise NotDerivable(f"which rows are in a partition by KEY {partitioning.options}")
    period = system_period(schema)
    names = partitioning.columns or (*schema.primary_key, *((period.end,) if period else ()))
    hashed = [_hashed(name, period, partitioning.row_end, schema) for name in names]
    return key_hash([stored for _, stored in sorted(hashed)])


def _hashed(name: str, period: Period | None, row_end: int | None, schema: TableSchema) -> tuple[int, Sql]:
    """Return (column number in the table, stored bytes). The end of a period is the same in all rows in force; if it is
    hidden, it is the last column, unless the user gave it another position."""
    if period is not None and folded(name) == folded(period.end):
        index = schema.position(name)
        if row_end is None or index is None and folded(name) != "row_end":
            raise NotDerivable("which rows are in a partition by KEY of a key that has the end of a period")
        return len(schema.columns) if index is None else index, moment_bytes(row_end, 999999)
    column = _column(name, schema)
    if column.type.name not in INTEGERS:
        raise NotDerivable(f"which rows are in a partition by KEY of column {column.name}")
    return schema.position(name) or 0, integer_bytes(column)


def _among(wanted: list[int], number: Sql) -> Sql:
    return f"({number} IN ({', '.join(map(str, wanted))}))"


def _unclear(value: SparkExpression) -> Sql | None:
    return " OR ".join(filter(None, (value.unclear, value.impossible))) or None


def _computed(value: SparkExpression, schema: TableSchema) -> _Value:
    return _Value(value.sql, lambda bound: spark_expression(bound, schema).sql)


def _column_values(partitioning: Partitioning, schema: TableSchema) -> list[_Value]:
    return [_column_value(name, schema) for name in partitioning.columns]


def _column_value(name: str, schema: TableSchema) -> _Value:
    column = _column(name, schema)
    if family(column.type) not in _COMPARABLE:
        raise NotDerivable(f"which rows are in a partition by column {column.name}")
    if column.type.name in DATED:
        return _date(column)
    return _computed(spark_expression(quote(column.name), schema), schema)


def _text(name: str, schema: TableSchema) -> _Value | None:
    """A text value; None: the column has no text."""
    column = _column(name, schema)
    if column.type.name not in ("char", "varchar"):
        return None

    def limit(bound: str) -> Sql:
        found = _PLAIN_TEXT.fullmatch(bound)
        if bound.upper() != "NULL" and not found:
            raise NotDerivable(f"which rows are in a partition by column {column.name} with {bound}")
        return literal(found[1]) if found else "NULL"

    return _Value(quote(column.name), limit, is_text=True)


def _date(column: Column) -> _Value:
    """A date. Those that are texts compare as the server compares dates, valid or not."""

    def limit(bound: str) -> Sql:
        found = "NULL" if bound.upper() == "NULL" else bound_literal(bound.strip("'\""), column.type)
        if found is None:
            raise NotDerivable(f"which rows are in a partition by column {column.name} up to {bound}")
        return found

    return _Value(quote(column.name), limit)


def _column(name: str, schema: TableSchema) -> Column:
    at = schema.position(name)
    if at is None:
        raise NotDerivable(f"which rows are in a partition by column {name}")
    if schema.columns[at].is_hashed:
        raise NotDerivable(f"which rows are in a partition by column {name}, which is hashed")
    return schema.columns[at]


_METHODS = {
    "RANGE": _range,
    "LIST": _list,
    "RANGE COLUMNS": _range_columns,
    "LIST COLUMNS": _list_columns,
    "HASH": _hash,
    "LINEAR HASH": _linear_hash,
    "KEY": _key,
    "LINEAR KEY": _linear_key,
}
