"""Read PARTITION BY and lists of partition definitions."""

from __future__ import annotations

from dataclasses import dataclass, replace

from mirrorlake.core.ddl.parse.lexer import Kind
from mirrorlake.core.ddl.parse.session_moments import as_number
from mirrorlake.core.ddl.parse.tokens import ParseError, Tokens
from mirrorlake.core.schema.partitions import Bound, Partition, Partitioning, unnamed

MAX_PARTITIONS = 8192
"""Maximum for a table, subpartitions included, on both servers."""
_DEFAULT_VERSIONED_COUNT = 2


@dataclass(frozen=True, slots=True)
class _Method:
    name: str
    expression: str | None = None
    columns: tuple[str, ...] = ()
    options: str = ""


def read_partitioning(tokens: Tokens) -> Partitioning:
    """Read the text after PARTITION BY."""
    method = _read_method(tokens)
    count = read_count(tokens) if tokens.accept("PARTITIONS") else 0
    found = Partitioning(method.name, method.expression, method.columns, options=method.options)
    if tokens.accept("SUBPARTITION", "BY"):
        sub = _read_method(tokens)
        sub_count = read_count(tokens) if tokens.accept("SUBPARTITIONS") else 0
        found = replace(
            found, sub_method=sub.name, sub_expression=sub.expression, sub_columns=sub.columns, sub_count=sub_count
        )
    count = count or (read_count(tokens) if tokens.accept("PARTITIONS") else 0)
    partitions = () if not tokens.sees("(") or _sees_query(tokens) else read_partitions(tokens)
    if not partitions:
        least = _DEFAULT_VERSIONED_COUNT if method.name == "SYSTEM_TIME" else 1
        partitions = unnamed(method.name, 0, count or least)
    subs = found.sub_count or len(partitions[0].subpartitions)
    if len(partitions) * max(subs, 1) > MAX_PARTITIONS:
        raise ParseError(f"more than {MAX_PARTITIONS} partitions")
    found = replace(found, sub_count=max(subs, 1) if found.sub_method else 0)
    return found.with_partitions(partitions)


def read_count(tokens: Tokens) -> int:
    """Read the number of partitions, or of subpartitions of each."""
    count = tokens.number()
    if count > MAX_PARTITIONS:
        raise ParseError(f"more than {MAX_PARTITIONS} partitions")
    return count


def _sees_query(tokens: Tokens) -> bool:
    return any(tokens.sees("(", word) for word in ("SELECT", "WITH", "VALUES", "TABLE", "("))


def _read_method(tokens: Tokens) -> _Method:
    linear = "LINEAR " if tokens.accept("LINEAR") else ""
    if tokens.accept("HASH"):
        return _Method(f"{linear}HASH", tokens.parenthesised())
    if tokens.accept("KEY"):
        options = ""
        if tokens.accept("ALGORITHM"):
            tokens.expect("=")
            options = "" if (number := tokens.number()) == 2 else f"ALGORITHM = {number}"
        return _Method(f"{linear}KEY", columns=_read_columns(tokens), options=options)
    if tokens.accept("SYSTEM_TIME"):
        return _Method("SYSTEM_TIME", options=_read_system_time_options(tokens))
    word = tokens.accept_any("RANGE", "LIST")
    if word is None:
        raise tokens.unexpected()
    if tokens.accept("COLUMNS"):
        return _Method(f"{word} COLUMNS", columns=_read_columns(tokens))
    return _Method(word, tokens.parenthesised())


def _read_columns(tokens: Tokens) -> tuple[str, ...]:
    tokens.expect("(")
    names = () if tokens.sees(")") else tokens.names()
    tokens.expect(")")
    return names


def _read_system_time_options(tokens: Tokens) -> str:
    mark = tokens.mark
    while not (tokens.at_end or tokens.sees("PARTITIONS") or tokens.sees("SUBPARTITION") or _sees_partitions(tokens)):
        if tokens.sees("("):
            tokens.skip_parentheses()
        else:
            tokens.next()
    return tokens.text_since(mark)


def _sees_partitions(tokens: Tokens) -> bool:
    kind = tokens.peek(2)
    return tokens.sees("(") and (tokens.sees("(", "PARTITION") or kind.is_word("HISTORY") or kind.is_word("CURRENT"))


def read_partitions(tokens: Tokens) -> tuple[Partition, ...]:
    """Read ``(PARTITION name .., ..)``; in MariaDB the word is optional."""
    return tokens.enclosed(lambda: read_partition(tokens))


def read_partition(tokens: Tokens) -> Partition:
    """Read ``PARTITION name VALUES ...``."""
    tokens.accept("PARTITION")
    name = tokens.name()
    kind, bounds = _read_bounds(tokens)
    _skip_options(tokens)
    subpartitions = tokens.enclosed(lambda: _read_subpartition(tokens)) if tokens.sees("(") else ()
    return Partition(name, kind, bounds, subpartitions)


def _read_subpartition(tokens: Tokens) -> str:
    tokens.expect("SUBPARTITION")
    name = tokens.next().text if tokens.peek().kind is Kind.STRING else tokens.name()
    _skip_options(tokens)
    return name


def _read_bounds(tokens: Tokens) -> tuple[str | None, tuple[Bound, ...]]:
    if word := tokens.accept_any("HISTORY", "CURRENT", "DEFAULT"):
        return word.lower(), ()
    if not tokens.accept("VALUES"):
        return None, ()
    if tokens.accept("LESS", "THAN"):
        if tokens.accept("MAXVALUE"):
            return "less than", (Bound(("MAXVALUE",)),)
        return "less than", (Bound(_read_values(tokens)),)
    tokens.expect("IN")
    return "in", tokens.enclosed(lambda: Bound(_read_values(tokens) if tokens.sees("(") else (_read_value(tokens),)))


def _read_values(tokens: Tokens) -> tuple[str, ...]:
    return tokens.enclosed(lambda: _read_value(tokens))


def _read_value(tokens: Tokens) -> str:
    mark = tokens.mark
    while not (tokens.at_end or tokens.sees(",") or tokens.sees(")")):
        if tokens.sees("("):
            tokens.skip_parentheses()
        else:
            tokens.next()
    return as_number(tokens.held(tokens.text_since(mark)), tokens.session.time_zone)


def _skip_options(tokens: Tokens) -> None:
    """Skip ENGINE, COMMENT, DATA DIRECTORY .. of a partition."""
    while not (tokens.at_end or any(tokens.sees(*end) for end in _ENDS_OF_OPTIONS)):
        tokens.next()


_ENDS_OF_OPTIONS = ((",",), ("(",), (")",), ("WITH", "VALIDATION"), ("WITHOUT", "VALIDATION"))
