"""All quoting: only here do names and literals become SQL of Spark, of the servers and of other engines.

Statements consist of ``Sql``: constants of the program, numbers, and what the functions of this module return.
Text of a source (names, labels, defaults, bounds) is never ``Sql`` before it has gone through one of them;
``tests/unit/test_sql_text.py`` follows every statement back to its parts.
"""

from __future__ import annotations

import re
from typing import TypeAlias

Sql: TypeAlias = str
"""Text that a statement may contain unchanged."""
_PLAIN = re.compile(r"[\w .,:+=-]*", re.ASCII)


def quote(*parts: str) -> Sql:
    """Quote a name of one or more parts, with any characters, in the form that the servers and Spark share.

    It has no escape in Spark: if Spark replaces variables in statements (``has_variable``), the name may change.
    """
    return ".".join("`" + part.replace("`", "``") + "`" for part in parts)


def literal(text: str) -> Sql:
    """Write a text as a string literal of Spark in which Spark finds no variable."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'").replace("${", "\\u0024{") + "'"


def server_literal(text: str) -> Sql:
    """Write a text as a string of MySQL and MariaDB that is the same in every sql_mode."""
    return f"'{text}'" if _PLAIN.fullmatch(text) else f"CONVERT(X'{text.encode().hex()}' USING utf8mb4)"


def ansi_quote(*parts: str) -> Sql:
    """Quote a name of one or more parts as standard SQL does, for DuckDB and Trino."""
    return ".".join('"' + part.replace('"', '""') + '"' for part in parts)


def ansi_literal(text: str) -> Sql:
    """Write a text as a string literal of standard SQL, in which a backslash is a backslash."""
    return "'" + text.replace("'", "''") + "'"


def bytes_literal(raw: bytes) -> Sql:
    """Write bytes as a literal of Spark and of the servers."""
    return f"X'{raw.hex()}'"


def users_sql(text: str) -> Sql:
    """Take SQL that a person has written for this command, unchanged. Never call it with text of a source."""
    return text


def has_variable(name: str) -> bool:
    """May Spark read a part of a name as a variable: ``${name}``, ``${env:NAME}``."""
    return "${" in name
