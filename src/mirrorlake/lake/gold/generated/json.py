"""JSON functions of a generated column's expression, those of MariaDB and MySQL -> Spark's variants.

A path names members only. A row is not computed where servers and Spark may read its document differently:

- it is not JSON, it is nested deeper than MariaDB reads, or an object has a name twice;
- the value is an object or an array, which MariaDB writes in a form of its own (JSON_VALUE gives NULL for it);
- the value is a number other than BIGINT and its text is needed, because a variant does not keep how it was written.

Measured in ``tests/server/test_generated_json.py``.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from mirrorlake.core.schema.types import LARGEST_BYTES
from mirrorlake.core.sql_text import Sql, literal
from mirrorlake.lake.gold.convert.conversion import NotDerivable
from mirrorlake.lake.gold.generated.values import UTF8, JsonValue, Kind, Value, text

_MEMBER = re.compile(r"""\.(?:([A-Za-z_]\w*)|"([\w$ :.@-]+)")""", re.ASCII)
_DEEPEST = 31
"""Levels of a document that MariaDB reads: JSON_DEPTH_LIMIT is 32."""
_LONGEST = LARGEST_BYTES["longtext"]
_SCALARS, _NESTED = "STRING|BIGINT|BOOLEAN|VOID", "OBJECT|ARRAY"
"""Types of values in a variant, as ``schema_of_variant`` names them; BIGINT is every whole number of 64 bits."""
_ESCAPED_ASCII = r"\\\\u00[2-7]"
"""MariaDB's JSON_EXTRACT does not find a member whose name is written so."""


class _Found:
    """What a path finds in a document. variant: the value. kind: its type, NULL where there is no value. text: of a
    string the string itself, else JSON. fails: true for a row that Spark may read differently than the servers."""

    def __init__(self, document: Value, path: str):
        if document.kind is not Kind.JSON and not (document.kind is Kind.TEXT and document.charsets <= UTF8):
            raise NotDerivable(f"JSON in a {document.kind.value}")
        self.document, sql = document, document.sql
        parsed = f"try_parse_json({sql})"
        self.variant = f"variant_get({parsed}, {literal(_spark_path(path))})"
        self.kind = f"schema_of_variant({self.variant})"
        self.text = f"CAST({self.variant} AS STRING)"
        minus_zero = f"{self.kind} = 'BIGINT' AND {self.text} = '0' AND contains({sql}, '-0')"
        self.fails = (f"{sql} IS NOT NULL AND {parsed} IS NULL", minus_zero, _is_too_deep(sql))

    def value(self, sql: Sql, *fails: Sql) -> Value:
        made = text(sql, _LONGEST, frozenset({"utf8mb4"}), (self.document,))
        return replace(made, fails=(*made.fails, *self.fails, *fails))


def json_value(document: Value, path: str) -> JsonValue:
    """MariaDB's JSON_VALUE: the text of a scalar. Raises NotDerivable."""
    at = _Found(document, path)
    truth, is_nested = f"IF({at.text} = 'true', '1', '0')", f"{at.kind} RLIKE '^({_NESTED})'"
    sql = f"CASE WHEN {at.kind} = 'BOOLEAN' THEN {truth} WHEN {is_nested} THEN NULL ELSE {at.text} END"
    return _scalar(at, sql, f"{_SCALARS}|{_NESTED}")


def json_extract(document: Value, path: str) -> JsonValue:
    """JSON_EXTRACT of one value, as JSON. Raises NotDerivable."""
    at = _Found(document, path)
    bare = f"IF({at.kind} = 'VOID', 'null', {at.text})"
    doubts = (_is_not_whole(document.sql), f"{document.sql} RLIKE '{_ESCAPED_ASCII}'")
    sql = f"IF({at.kind} = 'STRING', concat('\"', {at.text}, '\"'), {bare})"
    has_escapes = f"{at.kind} = 'STRING' AND contains({document.sql}, '\\\\')"
    found = at.value(sql, _is_other(at, _SCALARS), *doubts, has_escapes)
    return _shown(found, found, _scalar(at, bare, _SCALARS, *doubts))


def json_unquote(value: Value) -> Value:
    """JSON_UNQUOTE of a value of JSON_EXTRACT. Raises NotDerivable."""
    if not isinstance(value, JsonValue) or value.unquoted is None:
        raise NotDerivable("JSON_UNQUOTE of another value than JSON_EXTRACT's")
    return value.unquoted


def _scalar(at: _Found, sql: Sql, kinds: Sql, *fails: Sql) -> JsonValue:
    """A value that is shown without quotes. kinds: those that have a value."""
    found = at.value(sql, _is_other(at, kinds), *fails)
    number = at.value(sql, _is_other(at, f"{kinds}|DECIMAL"), *fails)
    return _shown(found, number)


def _shown(found: Value, number: Value, unquoted: JsonValue | None = None) -> JsonValue:
    return JsonValue(
        found.sql, Kind.JSON, length=found.length, charsets=found.charsets, doubtful=found.doubtful, fails=found.fails,
        text=found, number=number, unquoted=unquoted,
    )  # fmt: skip


def _is_other(at: _Found, kinds: Sql) -> Sql:
    return f"{at.kind} NOT RLIKE '^({kinds})'"


def _is_not_whole(document: Sql) -> Sql:
    """Is there something after the value? Spark does not look there; text that is one array's only element and one
    object's only value has nothing after it."""
    in_array, in_object = f"concat('[', {document}, ']')", f"concat('{{\"d\":', {document}, '}}')"
    either = f"try_parse_json({in_array}) IS NULL OR try_parse_json({in_object}) IS NULL"
    return f"{document} IS NOT NULL AND ({either})"


def _is_too_deep(document: Sql) -> Sql:
    """Levels are counted only where there are brackets enough."""
    brackets = f"char_length({document}) - char_length(translate({document}, '{{[', ''))"
    outside = f"regexp_replace({document}, '\"[^\"\\\\\\\\]*+(?:\\\\\\\\.[^\"\\\\\\\\]*+)*+\"', '')"
    change = "CASE WHEN c IN ('{', '[') THEN 1 WHEN c IN ('}', ']') THEN -1 ELSE 0 END"
    step = f"(a, c) -> named_struct('now', a.now + {change}, 'most', greatest(a.most, a.now + {change}))"
    most = f"aggregate(split({outside}, ''), named_struct('now', 0, 'most', 0), {step}, a -> a.most)"
    return f"IF({brackets} > {_DEEPEST}, {most} > {_DEEPEST}, false)"


def _spark_path(path: str) -> str:
    """A path of members as Spark writes it. Raises NotDerivable."""
    at, members = 1, []
    while member := _MEMBER.match(path, at):
        members.append(member[1] or member[2])
        at = member.end()
    if not (path.startswith("$") and members and at == len(path)):
        raise NotDerivable("a path in a document that names more than members")
    return "".join(["$", *(f'["{member}"]' for member in members)])


WITH_PATH_OF: dict[str, dict[str, Callable[[Value, str], Value]]] = {
    "mariadb": {"JSON_VALUE": json_value, "JSON_EXTRACT": json_extract}, "mysql": {"JSON_EXTRACT": json_extract},
}  # fmt: skip
"""Functions of a document and a path, by flavor: MySQL's JSON_VALUE shows other texts."""
