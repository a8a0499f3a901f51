"""CREATE TABLE statements that the server itself writes into the log, and what they leave out.

    written for                          without
    LIKE a temporary table               the table's character set
    SELECT, or that LIKE                 characters of labels outside utf8mb3, which are question marks
    SELECT, or that LIKE, on MariaDB     all character sets in the sql_modes MYSQL323 and MYSQL40; such characters of
                                         DEFAULTs, which MySQL writes as hexadecimal digits

Only table maps say what the character set is. In some sql_modes servers leave out all options of the table, too.
Measured on MySQL 9.7, MariaDB 10.11 and 11.8; MariaDB's modes in ``sql/sql_class.h``, MODE_POSTGRESQL and others.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from mirrorlake.core.ddl.effect.context import Before, refuse
from mirrorlake.core.ddl.effect.definition import Dialect
from mirrorlake.core.ddl.parse.create import may_be_of_server
from mirrorlake.core.ddl.parse.statements import CreateTable
from mirrorlake.core.schema.history import DefinitionChange
from mirrorlake.core.schema.tables import Column

_ANSI = 1 << 18
_WITHOUT_CHARSETS = {"mysql": 0, "mariadb": 1 << 16 | 1 << 17}
_WITHOUT_OPTIONS = {"mysql": _ANSI, "mariadb": 0b11111 << 8 | 1 << 14 | 1 << 16 | 1 << 17 | _ANSI}
"""Bits of sql_mode. MariaDB's: POSTGRESQL, ORACLE, MSSQL, DB2, MAXDB; NO_TABLE_OPTIONS; MYSQL323, MYSQL40; ANSI."""


_BEYOND_UTF8MB3 = (None, "utf8mb4", "utf16", "utf16le", "utf32", "gb18030")
_SERVERS = {"mysql": "MySQL", "mariadb": "MariaDB"}


def without_lost_characters(
    changes: Iterable[DefinitionChange], statement: str, flavor: str
) -> Iterable[DefinitionChange]:
    """The changes by a logged statement; refused is a table of whose texts the server may have lost characters."""
    if "?" not in statement or not may_be_of_server(statement):
        return changes
    return (_without_lost_characters(change, flavor) for change in changes)


def _without_lost_characters(change: DefinitionChange, flavor: str) -> DefinitionChange:
    columns = change.schema.columns if change.action == "create" and change.schema else ()
    lost = next((column.name for column in columns if _may_have_lost_characters(column, flavor)), None)
    if lost is None:
        return change
    reason = f"{_SERVERS[flavor]} may have lost characters of a text of column {lost}"
    return refuse(change.name, "ddl-unsupported", reason)


def _may_have_lost_characters(column: Column, flavor: str) -> bool:
    default = column.default if flavor == "mariadb" else None
    shown = default.text if default and default.kind == "string" else ""
    holds_them = column.type.has_charset and column.type.charset in _BEYOND_UTF8MB3
    return holds_them and any("?" in text for text in (*column.type.labels, shown))


def of_create(created: CreateTable, before: Before) -> Dialect:
    """The context of a CREATE TABLE; without the database's character set if the statement may hide the table's."""
    dialect = before.dialect(created.name.database)
    names_one = created.options.charset or created.options.collation
    hides_charset = _may_be_like_temporary(created, before) or _has_mode(before, _WITHOUT_CHARSETS)
    if created.may_be_of_server and not names_one and hides_charset:
        return replace(dialect, database_charset=None)
    return dialect


def _may_be_like_temporary(created: CreateTable, before: Before) -> bool:
    """A CREATE TABLE .. SELECT names an engine only if its session did."""
    names_engine = created.options.engine is not None or _has_mode(before, _WITHOUT_OPTIONS)
    return before.session.may_use_temporary and names_engine


def _has_mode(before: Before, bits: dict[str, int]) -> bool:
    return bool(before.session.sql_mode & bits[before.server.flavor])
