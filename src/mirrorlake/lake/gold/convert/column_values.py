"""A column's default, or its type's zero, as a Spark literal."""

from __future__ import annotations

import re
from datetime import date, datetime
from decimal import ROUND_HALF_UP, Context, Decimal

from mirrorlake.core.ddl.parse.lexer import bytes_of_bits
from mirrorlake.core.ddl.parse.session_moments import utc_of
from mirrorlake.core.schema.charsets import as_converted, decode_bytes_of_literal
from mirrorlake.core.schema.name_case import folded
from mirrorlake.core.schema.row_steps import NOW, ZERO, ServerMode
from mirrorlake.core.schema.tables import Column, Default
from mirrorlake.core.schema.types import STRINGS, ColumnType, integer_range
from mirrorlake.core.sql_text import Sql, bytes_literal, literal
from mirrorlake.lake.delta.types import spark_type
from mirrorlake.lake.gold.convert.conversion import NotDerivable, family
from mirrorlake.lake.gold.convert.default_spelling import in_own_spelling, shown_json
from mirrorlake.lake.gold.convert.labels import first_alike
from mirrorlake.lake.gold.convert.time_text import time_default, time_zero
from mirrorlake.lake.gold.convert.time_zones import from_utc

_NUMBER = re.compile(r"[+-]?([0-9]+([.][0-9]*)?|[.][0-9]+)([eE][+-]?[0-9]+)?")
_HUGE_EXPONENT = re.compile("[eE][+-]?0*[1-9][0-9]{4}")
"""Of 1e-999999999 Java would make all digits for a DECIMAL, and fails without a condition."""
_INTEGER = re.compile(r"[+-]?[0-9]{1,20}")
_MINUS_ZERO = re.compile(r"-([0.]+([eE].*)?)")
"""MySQL keeps the sign if a text or an exponent makes it a DOUBLE at once; MariaDB never does."""
_LONGEST_NUMBER = 200
_EXACT = Context(prec=300)
_YEAR = re.compile(r"[0-9]{4}")
_DATE = re.compile(r"[0-9]{4}-[0-9][0-9]-[0-9][0-9]")
_MOMENT = re.compile(r"[0-9]{4}-[0-9][0-9]-[0-9][0-9] [0-9][0-9]:[0-9][0-9]:[0-9][0-9]([.][0-9]{1,6})?")
_NO_DATE = re.compile(r"[0-9]{4}-00-[0-9][0-9].*|[0-9]{4}-[0-9][0-9]-00.*")


def value_of(default: Default, column: Column, mode: ServerMode) -> Sql:
    """The value of a default. Raises NotDerivable."""
    default = in_own_spelling(default, column.type)
    found = _VALUES[default.kind](default.text, column, mode) if default.kind in _VALUES else None
    if found is None:
        raise NotDerivable(f"column {column.name}: its default as a value of {column.type.sql()}")
    return found


def _zero(text: str, column: Column, mode: ServerMode) -> Sql | None:
    kind = column.type
    if kind.is_wide:
        return wide_decimal("0", kind)
    if kind.name == "enum":
        return literal(kind.labels[0])
    if kind.name == "binary":
        return bytes_literal(bytes(kind.length))
    if kind.name == "time":
        return literal(time_zero(kind.fraction_digits or 0))
    zeros = {"integer": "0", "decimal": "0", "float": "0", "year": "0", "bit": "0", "text": "''", "set": "''"}
    zeros |= {"json": "'null'"}
    zeros |= {"binary": "X''", "date": "NULL", "datetime": "NULL", "timestamp": "NULL"}  # a zero date is NULL here
    return zeros.get(family(kind))


def _string(text: str, column: Column, mode: ServerMode) -> Sql | None:
    kind, group = column.type, family(column.type)
    if group == "bit":  # its bytes
        return str(int.from_bytes(text.encode(), "big")) if text.isascii() else None
    if group == "year":
        return str(int(text)) if _YEAR.fullmatch(text) else None
    if group in ("integer", "decimal", "float"):
        return _number(text.strip(" "), column, mode, is_text=True)
    if group == "text":
        text = as_converted(text, kind.charset or "")
        text = text[: kind.length]
        return literal(text.rstrip(" ") if kind.name == "char" else text)
    if group == "enum":
        return _label(text, column, mode)
    if group == "set":
        chosen = [_label(part, column, mode) for part in text.split(",")] if text else []
        return None if None in chosen else literal(",".join(label for label in kind.labels if literal(label) in chosen))
    if group == "binary" and text.isascii():
        return _bytes(text.encode(), column)
    if kind.name == "json":
        document = shown_json(text)
        return None if document is None else literal(document)
    if group == "time":
        shown = time_default(text, column.type.fraction_digits or 0)
        return shown and literal(shown)
    return _moment(text, column, mode)


def _label(text: str, column: Column, mode: ServerMode) -> Sql | None:
    """A label as a literal. Outside strict mode there may be others before it that its collation takes for the same."""
    labels = column.type.labels
    found = [label for label in labels if label == text] or [lb for lb in labels if folded(lb) == folded(text)]
    if len(found) != 1:
        return None
    is_exact = mode.is_strict or (column.collation or "").endswith("_bin")
    return literal(found[0]) if is_exact or first_alike(found[0], labels) == found[0] else None


def _number(text: str, column: Column, mode: ServerMode, is_text: bool = False) -> Sql | None:
    group = family(column.type)
    if group in ("integer", "bit", "year", "text"):
        number = int(text) if _INTEGER.fullmatch(text) else None
        if number is None or group == "year" and number and not _YEAR.fullmatch(text):
            return None
        if group == "text":
            return literal(str(number)[: column.type.length])
        return str(number) if _fits(number, column.type) else None
    if column.type.unsigned and text.startswith("-") and text.strip("-0."):
        return None
    if group == "decimal" and column.type.is_wide:
        return wide_decimal(text, column.type)
    if group == "decimal" and _NUMBER.fullmatch(text) and not _HUGE_EXPONENT.search(text):
        return f"CAST({literal(text)} AS {spark_type(column.type)})"
    if group == "float" and _NUMBER.fullmatch(text) and not column.display:
        zero = _MINUS_ZERO.fullmatch(text)
        keeps_sign = mode.flavor == "mysql" and (is_text or zero and zero[2])
        return f"CAST({literal(zero[1] if zero and not keeps_sign else text)} AS double)"
    return None


def _fits(number: int, kind: ColumnType) -> bool:
    """Outside strict mode MySQL clips what an expression in parentheses gives."""
    if kind.name == "year":
        return number == 0 or 1901 <= number <= 2155
    low, high = integer_range(kind) or (0, 2 ** (kind.length or 1) - 1)
    return low <= number <= high


def wide_decimal(text: str, kind: ColumnType) -> Sql | None:
    """The digits that the server shows in a DECIMAL that a mirror holds as text; None: not known, or too many."""
    scale = kind.scale or 0
    if not _NUMBER.fullmatch(text) or "e" in text.lower() or len(text) > _LONGEST_NUMBER:
        return None
    number = Decimal(text).quantize(Decimal(1).scaleb(-scale), ROUND_HALF_UP, _EXACT)
    if abs(number) >= 10 ** ((kind.precision or 0) - scale):
        return None
    return literal(format(number or abs(number), "f"))


def _bits(text: str, column: Column, mode: ServerMode) -> Sql | None:
    raw = bytes_of_bits(text)
    if family(column.type) in ("integer", "bit"):
        number = int.from_bytes(raw, "big")
        return str(number) if _fits(number, column.type) else None
    if family(column.type) == "binary":
        return _bytes(raw, column)
    if column.type.name not in STRINGS:
        return None
    shown = decode_bytes_of_literal(raw, column.type.charset or "")
    return None if shown is None else _string(shown, column, mode)


def _bytes(raw: bytes, column: Column) -> Sql:
    raw = raw[: column.type.length]
    return bytes_literal(raw.ljust(column.type.length, b"\0") if column.type.name == "binary" else raw)


def _moment(text: str, column: Column, mode: ServerMode) -> Sql | None:
    kind = column.type.name
    if kind in ("date", "datetime", "timestamp") and _NO_DATE.fullmatch(text):
        return "NULL"
    if _DATE.match(text) and not _is_in_the_calendar(text[:10]):
        return None  # ALLOW_INVALID_DATES lets it in
    if kind == "date" and _DATE.fullmatch(text):
        return f"DATE{literal(text)}"
    if kind not in ("datetime", "timestamp") or not (_MOMENT.fullmatch(text) or _DATE.fullmatch(text)):
        return None
    if len(text.partition(".")[2]) > (column.type.fraction_digits or 0):
        return None
    if kind == "datetime":
        return f"TIMESTAMP_NTZ{literal(text)}"
    moment = utc_of(text, mode.time_zone)
    return f"TIMESTAMP{literal(moment.isoformat(sep=' '))}" if moment else None


def _is_in_the_calendar(text: str) -> bool:
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True


def _now(text: str, column: Column, mode: ServerMode) -> Sql | None:
    """The statement's time as a value. text: UTC, with microseconds. The column keeps as many digits as it has."""
    digits = column.type.fraction_digits or 0
    moment = datetime.fromisoformat(text)
    kept = moment.replace(microsecond=moment.microsecond - moment.microsecond % 10 ** (6 - digits))
    sql = f"TIMESTAMP{literal(kept.isoformat(sep=' '))}"
    if column.type.name == "timestamp":
        return sql
    local = from_utc(sql, mode.time_zone)
    if column.type.name == "datetime":
        return local
    return local and f"CAST({local} AS date)" if column.type.name == "date" else None


_VALUES = {"string": _string, "number": _number, "bits": _bits, NOW: _now, ZERO: _zero}
