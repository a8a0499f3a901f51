"""Conversions to and from ENUM and SET."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable
from dataclasses import replace

from mirrorlake.core.schema.row_steps import ServerMode
from mirrorlake.core.schema.tables import Column
from mirrorlake.core.schema.types import ColumnType
from mirrorlake.core.sql_text import Sql, literal
from mirrorlake.lake.gold.convert.conversion import Conversion, NotDerivable, any_of, family, unless_null
from mirrorlake.lake.gold.convert.numbers import to_decimal, to_integer

_NOT_SHOWN = r"[^\\x09-\\x0D\\x20-\\x7E]"
"""Letters outside ASCII, and the control characters that collations may pass over."""
_FROM_INTEGER = {"integer": to_integer, "decimal": to_decimal}


def to_enum(value: Sql, old: Column, new: Column, mode: ServerMode) -> Conversion:
    alike = None if _is_longer(new, old) else _is_alike(value, new.type, mode)
    if set(old.type.labels) <= set(new.type.labels) and old.type.name == "enum":
        return Conversion(value, alike)
    is_none = f"NOT array_contains({_labels(new)}, {value})"
    if mode.is_strict:
        return Conversion(value, is_none)
    fails = f"{is_none} AND ({_may_be(value, new)})"
    return Conversion(f"IF({is_none}, '', {value})", any_of(fails, alike) if alike else fails)


def to_set(value: Sql, old: Column, new: Column, mode: ServerMode) -> Conversion:
    members = f"split({value}, ',')"
    alike = None if _is_longer(new, old) else _is_alike("m", new.type, mode)
    if new.type.labels[: len(old.type.labels)] == old.type.labels:
        return Conversion(value, f"exists({members}, m -> {alike})" if alike else None)
    is_none = f"m <> '' AND NOT array_contains({_labels(new)}, m)" + (
        "" if mode.is_strict else f" AND ({_may_be('m', new)})"
    )
    is_none = f"{is_none} OR {alike}" if alike else is_none
    return Conversion(
        unless_null(value, f"array_join(array_intersect({_labels(new)}, {members}), ',')"),
        f"exists({members}, m -> {is_none})",
    )


def label_to_number(value: Sql, old: Column, new: Column, mode: ServerMode) -> Conversion:
    labels, fails = old.type.labels, None
    if len({*labels}) < len(labels):
        raise NotDerivable(f"column {new.name}: several of its labels are the same")
    if old.type.name == "enum":
        number = f"array_position({_labels(old)}, {value})"
        fails = f"{value} = ''" if "" in labels else None  # the label, or the value that is none
    elif len(labels) < 63:
        bits = (
            f"IF(array_contains(split({value}, ','), {literal(label)}), {2**k}L, 0)" for k, label in enumerate(labels)
        )
        number = " + ".join(bits)
        fails = f"{value} IS NOT NULL" if "" in labels else None  # a value shows no blank member at its beginning
    else:
        raise NotDerivable(f"column {new.name} went from {old.type.sql()} to {new.type.sql()}")
    found = _FROM_INTEGER[family(new.type)](f"({number})", replace(old, type=ColumnType("bigint")), new, mode)
    return replace(found, sql=unless_null(value, found.sql), fails=any_of(found.fails, fails))


def _is_longer(new: Column, old: Column) -> bool:
    """Does each value keep its number, because labels were added after the others, or none?"""
    is_same = (old.type.name, old.type.charset, old.collation) == (new.type.name, new.type.charset, new.collation)
    return is_same and new.type.labels[: len(old.type.labels)] == old.type.labels


def _is_alike(value: Sql, kind: ColumnType, mode: ServerMode) -> Sql | None:
    """True for a label that equals one before it, perhaps in some collation only: the server takes the first. Strict
    mode lets no such labels in. None: there are none."""
    first = dict[str, int]()
    alike = [label for n, label in enumerate(kind.labels) if first.setdefault(_base(label), n) != n]
    return f"array_contains({_array(alike)}, {value})" if alike and not mode.is_strict else None


def first_alike(text: str, labels: Iterable[str]) -> str | None:
    """The first label that equals a text, perhaps in some collation only."""
    return next((label for label in labels if _base(label) == _base(text)), None)


def _base(label: str) -> str:
    """Without case and accents; characters outside utf8mb3 are one character."""
    letters = (sign for sign in unicodedata.normalize("NFKD", label) if not unicodedata.combining(sign))
    return "".join("?" if sign > "\uffff" else sign for sign in letters).casefold()


def _labels(column: Column, change: Callable[[str], str] = str) -> Sql:
    return _array(map(change, column.type.labels))


def _array(texts: Iterable[str]) -> Sql:
    return f"array({', '.join(map(literal, texts))})"


def _may_be(value: Sql, new: Column) -> Sql:
    """True for a text that may mean a label although it is none: by its case, by its number, by a collation."""
    if not all(map(str.isascii, new.type.labels)):
        return "true"
    lowered = _labels(new, str.lower)
    return f"{value} RLIKE '{_NOT_SHOWN}|^ *[0-9]' OR array_contains({lowered}, lower(rtrim({value})))"
