"""Characters that SHOW CREATE TABLE cannot show: outside utf8mb3, as an emoji is, they become question marks.

Both servers do so in the labels of ENUM and SET, MariaDB also in DEFAULTs, and information_schema does the same. The
server is asked for what they are: a DEFAULT by ``DEFAULT(column)``, a label by a value of the column's type. MariaDB
has a variable of that type (``TYPE OF``, since 10.3), MySQL the column of a recursive query (since 8.0).
Partition bounds are shown right. A comment keeps its question marks: no statement shows it right.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from mirrorlake.core.schema.table_name import TableName
from mirrorlake.core.sql_text import Sql, quote
from mirrorlake.errors import RefusedError

_TEXT = r"'(?:[^'\\]|\\.|'')*'(?!')"
_NAME = r"`(?:[^`]|``)*`(?!`)"
_HEAD = re.compile(rf"CREATE (?:TEMPORARY )?TABLE {_NAME} \(\n")
_COLUMN = re.compile(
    rf"  (?P<name>{_NAME}) (?:(?P<kind>enum|set)\((?P<labels>{_TEXT}(?:,{_TEXT})*)\)|\w)"
    rf"(?P<rest>(?:{_TEXT}|{_NAME}|[^'`\n])*)\n",
    re.DOTALL,
)
_LABEL = re.compile(_TEXT, re.DOTALL)
_DEFAULT = re.compile(rf"(?:{_TEXT}|{_NAME}|[^'`])*? DEFAULT (?P<text>{_TEXT})", re.DOTALL)
_ANSWER = "@mirrorlake_text"
_MOST_LABELS = {"enum": 65_535, "set": 64}  # MAX_ENUM_VALUES, MAX_SET_ELEMENTS
MOST_CHARACTERS = 1 << 20
"""Of a text that is searched, which takes 200 bytes of memory for each. MariaDB has 64 KiB of names and labels."""
_TELLS_LABELS: dict[str, Sql] = {
    "mysql": "SELECT 0 /*!80000 + 1 */", "mariadb": "SELECT 0 /*M!100300 + 1 */",
}  # fmt: skip
_TOO_OLD = {"mysql": "MySQL before 8.0", "mariadb": "MariaDB before 10.3"}

Ask = Callable[[Sql], list[tuple]]
"""Function: statement -> its rows."""


def with_all_characters(ask: Ask, name: TableName, text: str, flavor: str) -> str:
    """The SHOW CREATE TABLE with the characters that it lacks. ask: asks the server.

    Raises what ``ask`` raises; RefusedError ``server-protocol``; ``ddl-unsupported`` of a label on an older server, of
    a NOT NULL column's DEFAULT in a table without rows, and of a text longer than ``MOST_CHARACTERS``.
    """
    if "?" not in text:
        return text
    if len(text) > MOST_CHARACTERS:
        what = f"SHOW CREATE TABLE has {len(text):,} characters, and may have lost some"
        raise RefusedError("ddl-unsupported", what)
    parts, end = [], 0
    for start, stop, true in sorted(_replaced(ask, name, text, flavor)):
        parts += [text[end:start], _quoted(true)]
        end = stop
    return "".join([*parts, text[end:]])


def _replaced(ask: Ask, name: TableName, text: str, flavor: str) -> Iterator[tuple[int, int, str]]:
    """Start, end and true text of each literal with a question mark."""
    for found in _columns(text):
        column = found["name"][1:-1].replace("``", "`")
        for number, label in enumerate(_LABEL.finditer(text, *found.span("labels")) if found["labels"] else ()):
            if "?" in label[0]:
                if number >= _MOST_LABELS[found["kind"]]:
                    raise RefusedError("server-protocol", f"{column} has more labels than a server allows")
                value = 1 << number if found["kind"] == "set" else number + 1
                yield *label.span(), _label(ask, name, column, value, flavor)
        default = _DEFAULT.match(text, *found.span("rest")) if flavor == "mariadb" else None
        if default and "?" in default["text"]:
            yield *default.span("text"), _default(ask, name, column)


def _columns(text: str) -> Iterator[re.Match[str]]:
    """The columns, which come before all else, one after another: to look for each would take time squared."""
    found = _HEAD.match(text)
    while found and (found := _COLUMN.match(text, found.end())):
        yield found


def _label(ask: Ask, name: TableName, column: str, value: int, flavor: str) -> str:
    """value: the number of the label, as an integer column would get it."""
    if ask(_TELLS_LABELS[flavor]) == [(0,)]:
        what = f"SHOW CREATE TABLE may have lost characters of a label of {column}"
        raise RefusedError("ddl-unsupported", f"{what}, and {_TOO_OLD[flavor]} shows them nowhere")
    of_server = _label_of_mysql if flavor == "mysql" else _label_of_mariadb
    return of_server(ask, name, column, value)


def _label_of_mysql(ask: Ask, name: TableName, column: str, value: int) -> str:
    """The first row gives the query's column its type; the second one stores the number in it."""
    rows = ask(
        f"WITH RECURSIVE labels (label) AS (SELECT {quote(column)} FROM (SELECT 1) AS one LEFT JOIN {quote(*name)}"
        f" ON false UNION ALL SELECT {int(value)} FROM labels WHERE label IS NULL)"
        " SELECT /*+ SET_VAR(cte_max_recursion_depth = 9) */ HEX(CONVERT(label USING utf8mb4)) FROM labels"
        " WHERE label IS NOT NULL"
    )
    return _text(rows)


def _label_of_mariadb(ask: Ask, name: TableName, column: str, value: int) -> str:
    ask(
        f"BEGIN NOT ATOMIC DECLARE x TYPE OF {quote(*name, column)}; SET x = {int(value)};"
        f" SET {_ANSWER} = HEX(CONVERT(x USING utf8mb4)); END"
    )
    return _text(ask(f"SELECT {_ANSWER}"))


def _default(ask: Ask, name: TableName, column: str) -> str:
    """Of a NOT NULL column, a table without rows does not show it."""
    value = f"HEX(CONVERT(DEFAULT({quote(column)}) USING utf8mb4))"
    rows = ask(f"SELECT {value} FROM (SELECT 1 AS one) a LEFT JOIN {quote(*name)} ON true LIMIT 1")
    if rows == [(None,)]:
        what = f"SHOW CREATE TABLE may have lost characters of the DEFAULT of {column}"
        raise RefusedError("ddl-unsupported", f"{what}, and MariaDB shows it only if the table has a row")
    return _text(rows)


def _text(rows: list[tuple]) -> str:
    try:
        ((answer,),) = rows
        return bytes.fromhex(answer).decode()
    except (TypeError, ValueError):
        raise RefusedError("server-protocol", "an answer about a text that is not what was asked for") from None


def _quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "''") + "'"
