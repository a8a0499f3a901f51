"""Rows for a person (table) or a program (JSON, CSV).

The text of a value: dates and times as in ISO 8601 with a space (TIMESTAMP in UTC), DECIMAL with all its digits, binary
as lower-case hex. JSON keeps integers, floats, strings, booleans and null as its own; infinities and NaN are strings.

Control characters are escaped in a table, in JSON by JSON's own means. CSV has them unchanged, because programs read
it; on a terminal they are escaped. A table shows the first 500 characters of a value, the others all of it.
"""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Iterable, Sequence
from datetime import date, datetime, timezone
from decimal import Decimal
from typing import Any, TextIO

import pyarrow as pa
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from mirrorlake.errors import UsageError
from mirrorlake.shown import as_line, json_text, shown

FORMATS = ("table", "json", "csv")


def write_rows(rows: pa.Table, form: str, stream: TextIO) -> None:
    """Write rows. form: one of ``FORMATS``. CSV writes NULL as nothing.

    Raises UsageError ``sql`` for a value that only Spark can hold.
    """
    names, found = rows.column_names, _python_rows(rows)
    if form == "json":
        print(json_text([dict(zip(names, map(plain, row), strict=True)) for row in found]), file=stream)
    elif form == "csv":
        _write_csv([names, *found], stream)
    else:
        show_table(names, ([_text(value) for value in row] for row in found), stream)


def _python_rows(rows: pa.Table) -> list[tuple[Any, ...]]:
    columns = zip(rows.column_names, rows.columns, strict=True)
    return list(zip(*(_python_values(name, column) for name, column in columns), strict=True))


def _python_values(name: str, column: pa.ChunkedArray) -> list[Any]:
    try:
        return column.to_pylist()
    except (OverflowError, ValueError) as error:  # a UnicodeDecodeError is a ValueError
        reason = f"column {name} has a text that is not UTF-8, or a time outside the years 1 to 9999"
        raise UsageError("sql", f"{reason}: CAST it to another type") from error


def _write_csv(rows: Iterable[Sequence[Any]], stream: TextIO) -> None:
    plain_writer = csv.writer(stream, lineterminator="\n")
    quoting_writer = csv.writer(stream, lineterminator="\n", quoting=csv.QUOTE_ALL)
    for row in rows:
        texts = [_text(value, null="") for value in row]
        if stream.isatty():
            texts = [shown(text, None) for text in texts]
        needs_quotes = any("\r" in text for text in texts)  # which ends a line for many readers, not for this writer
        (quoting_writer if needs_quotes else plain_writer).writerow(texts)


def show_list(
    found: list[dict[str, Any]], columns: Sequence[str], rows: Iterable[Sequence[Any]], as_json: bool, stream: TextIO
) -> None:
    """Write everything found as JSON, or ``rows`` as a table, in which a name stays in its line."""
    if as_json:
        print(json_text(found), file=stream)
    else:
        show_table(
            columns, ([as_line(cell) if isinstance(cell, str) else cell for cell in row] for row in rows), stream
        )


def show_table(columns: Sequence[str], rows: Iterable[Sequence[Any]], stream: TextIO, title: str | None = None) -> None:
    """Write a table as wide as the terminal; elsewhere as wide as its values."""
    console = Console(file=stream, highlight=False)
    if not console.is_terminal:
        console = Console(file=stream, highlight=False, width=10_000)
    table = Table(box=box.SIMPLE_HEAD, title=title and Text(shown(title, None)), title_justify="left", pad_edge=False)
    for column in columns:
        table.add_column(Text(shown(column)), overflow="fold")
    for row in rows:
        table.add_row(*[Text(shown(_text(value))) for value in row])
    console.print(table)


def plain(value: Any) -> Any:
    """A value in the form that JSON has for it."""
    match value:
        case None | bool() | int() | str():
            return value
        case float():
            return value if math.isfinite(value) else str(value)
        case Decimal():
            return format(value, "f")
        case bytes():
            return value.hex()
        case datetime():
            utc = value.astimezone(timezone.utc).replace(tzinfo=None) if value.tzinfo else value
            return utc.isoformat(sep=" ")
        case date():
            return value.isoformat()
        case dict():
            return {str(key): plain(item) for key, item in value.items()}
        case list() | tuple():
            return [plain(item) for item in value]
    return str(value)


def _text(value: Any, null: str = "NULL") -> str:
    found = plain(value)
    if found is None:
        return null
    if isinstance(found, (dict, list)):
        return json.dumps(found, ensure_ascii=False)
    return str(found).lower() if isinstance(found, bool) else str(found)
