"""Definitions read from DDL text against what real servers say in their table maps (binlog_row_metadata = FULL).

``definitions/columns*.txt``: one column definition per line. ``definitions/tables*.sql``: cases separated by an empty
line, statements by a semicolon at the end of a line; ``@t`` is the case's own table, ``p`` a parent table. A first line
``-- mode: X`` sets sql_mode, ``-- set: X`` another variable. ``definitions/alters*.sql``: the same, of statements whose
definitions are followed whether gold replays them or not. ``python -m bench.ddl_definitions`` asks many more.
"""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from mirrorlake.core.binlog.events import parse_query
from mirrorlake.core.binlog.rows.mapped_table import MappedTable, describe
from mirrorlake.core.binlog.rows.table_map import parse_table_map
from mirrorlake.core.schema.charsets import charset_of_collation_id
from mirrorlake.core.schema.history import DefinitionChange, Definitions, Refused
from mirrorlake.core.schema.tables import SEQUENCE, TableSchema, same_definition
from mirrorlake.core.schema.types import ColumnType
from tests.support.definition_fold import DefinitionFold
from tests.support.interpreting import interpret
from tests.support.servers import Server

CASES = Path(__file__).parent / "definitions"
_QUERY, _TABLE_MAP = 2, 19
_SETUP = (
    "create database d",
    "create database e2 charset latin1",
    "create schema e3 default character set = utf8mb4 collate utf8mb4_bin",
    "create database e4 collate binary",
    "create database e5 charset ascii",
    "alter database e5 character set utf8mb3",
    "use d",
    "create table p (id int primary key)",
)


_LOGGED_AS = {name: ColumnType("binary", length=n) for name, n in (("uuid", 16), ("inet6", 16), ("inet4", 4))}


@dataclass(frozen=True)
class Case:
    table: str
    mode: str | None
    setting: str | None
    statements: tuple[str, ...]


def read_cases(flavor: str) -> list[Case]:
    columns = [line for name in ("columns", f"columns-{flavor}") for line in read(f"{name}.txt").splitlines()]
    texts = [f"create table @t (id int primary key, c {column}, z int)" for column in columns]
    for name in ("tables", f"tables-{flavor}"):
        texts += read(f"{name}.sql").split("\n\n")
    return [read_case(f"t{number}", text) for number, text in enumerate(texts)]


def read_alters(flavor: str) -> list[Case]:
    texts = [text for name in ("alters", f"alters-{flavor}") for text in read(f"{name}.sql").split("\n\n")]
    cases = (read_case(f"a{number}", text) for number, text in enumerate(texts))
    return [replace(case, mode="NO_ENGINE_SUBSTITUTION") for case in cases]  # not strict: rows never stop an ALTER


def read(name: str) -> str:
    return (CASES / name).read_text().strip()


def read_case(table: str, text: str) -> Case:
    head = re.match(r"-- (mode|set): (.*)\n", text)
    body = (text[head.end() :] if head else text).replace("@t", table)
    found = {head.group(1): head.group(2)} if head else {}
    return Case(table, found.get("mode"), found.get("set"), tuple(body.split(";\n")))


def run_cases(server: Server, cases: list[Case]) -> None:
    """Leaves a table map after every CREATE TABLE and at the end of every case."""
    with server.connect() as connection, connection.cursor() as cursor:
        for statement in (*_SETUP, *(["create sequence sq"] if server.flavor == "mariadb" else [])):
            cursor.execute(statement)
        cursor.execute("select @@sql_mode")
        usual_mode = cursor.fetchone()[0]
        for case in cases:
            run_case(cursor, case, usual_mode)


def run_case(cursor, case: Case, usual_mode: str) -> None:
    cursor.execute("set sql_mode = %s", (case.mode or usual_mode,))
    if case.setting:
        cursor.execute(f"set {case.setting} = 1")
    for statement in case.statements:
        cursor.execute(statement)
        if re.match(r"create (or replace )?table", statement, re.I):
            touch_rows(cursor, case.table, case.mode or usual_mode)
    touch_rows(cursor, case.table, case.mode or usual_mode)
    if case.setting:
        cursor.execute(f"set {case.setting} = 0")


def touch_rows(cursor, table: str, mode: str) -> None:
    cursor.execute("select table_schema from information_schema.tables where table_name = %s", (table,))
    home = cursor.fetchone()
    if home is None:
        return  # the case has created another one first
    name = f"{home[0]}.{table}"
    cursor.execute("set sql_mode = '', foreign_key_checks = 0")
    if not cursor.execute(f"delete from {name}"):
        cursor.execute(f"insert into {name} () values ()")
    cursor.execute("set foreign_key_checks = 1, sql_mode = %s", (mode,))


def events(server: Server):
    for path in server.log_files():
        data, at = path.read_bytes(), 4
        while at < len(data):
            length = struct.unpack_from("<I", data, at + 9)[0]
            yield data[at + 4], data[at + 19 : at + length - 4]
            at += length


def follow(server: Server) -> tuple[list[DefinitionChange], list[str], dict[str, tuple]]:
    """(all changes, silent differences, the last account of each case's table: what is known, and its table map)."""
    version = server_version(server)
    definitions, changes, wrong, last = Definitions(), [], [], {}
    for kind, body in events(server):
        if kind == _QUERY:
            found = interpret_query(body, server.flavor, version, definitions)
            definitions.apply(found)
            changes += found
        elif kind == _TABLE_MAP:
            seen = describe(parse_table_map(body, server.flavor), None, server.flavor)
            known = definitions.get(seen.map.database, seen.map.table)
            last[seen.map.table] = (known, seen)
            wrong += [f"{seen.map.table}: {why}" for why in [why_wrong(known, seen)] if why]
    rebuilt = Definitions(DefinitionChange.from_row(change.to_row()) for change in changes)
    assert definitions_equal(definitions, rebuilt, last.values())
    return changes, wrong, last


def server_version(server: Server) -> int:
    numbers = [int(part) for part in re.findall(r"\d+", server.query("select version()")[0][0])[:3]]
    return numbers[0] * 10000 + numbers[1] * 100 + numbers[2]


def interpret_query(body: bytes, flavor: str, version: int, definitions: Definitions) -> list[DefinitionChange]:
    query = parse_query(body)
    assert query.unread_status == b""
    return interpret(
        query.statement,
        database=query.database,
        sql_mode=query.sql_mode or 0,
        flavor=flavor,
        server_charset=query.charset and charset_of_collation_id(query.charset[2], flavor),
        definitions=definitions,
        version=version,
        has_made_table=query.has_made_table(flavor, version),
        explicit_timestamps=query.explicit_timestamps(flavor),
    )


def why_wrong(known, seen: MappedTable) -> str | None:
    if isinstance(known, TableSchema):
        return str(seen.refusal) if seen.refusal else same_definition(seen.schema, as_logged(known))
    if not isinstance(known, Refused):
        return f"rows for a table that is {known}"
    if known.code in ("foreign-key-cascade", "ddl-unsupported", SEQUENCE):
        return None  # refused in the open; which ones is asserted below
    return (
        None if seen.refusal and seen.refusal[0] == known.code else f"refused as {known}, the map says {seen.refusal}"
    )


def as_logged(known: TableSchema) -> TableSchema:
    """MariaDB's table maps show UUID, INET6 and INET4 as BINARY."""
    columns = (replace(column, type=_LOGGED_AS.get(column.type.name, column.type)) for column in known.columns)
    return replace(known, columns=tuple(columns))


def definitions_equal(folded: Definitions, rebuilt: Definitions, accounts) -> bool:
    names = [(seen.map.database, seen.map.table) for _, seen in accounts]
    return all(folded.get(*name) == rebuilt.get(*name) for name in names) and folded.schema_ids == rebuilt.schema_ids


@pytest.mark.row_metadata("full")
def test_definitions_from_ddl_equal_those_in_the_table_maps(server):
    server.reset()
    cases = read_cases(server.flavor)
    run_cases(server, cases)
    _, wrong, last = follow(server)
    statements = {case.table: "; ".join(case.statements) for case in cases}
    assert [f"{line} | {statements.get(line.partition(':')[0])}" for line in wrong] == []
    assert [case.table for case in cases if case.table not in last] == []
    refused = {name: known for name, (known, _) in last.items() if isinstance(known, Refused)}
    openly = {
        statements.get(name, name) for name, known in refused.items() if known.code in ("ddl-unsupported", SEQUENCE)
    }
    assert openly == ({"sq"} if server.flavor == "mariadb" else set())
    assert len(refused) < len(cases) / 10


@pytest.mark.row_metadata("full")
def test_definitions_are_followed_through_every_alter(server):
    server.reset()
    cases = read_alters(server.flavor)
    run_cases(server, cases)
    fold, last, wrong = DefinitionFold(server.flavor, server_version(server)), {}, []
    for kind, body in events(server):
        if kind == _QUERY:
            fold.take(parse_query(body))
        elif kind == _TABLE_MAP:
            seen = describe(parse_table_map(body, server.flavor), None, server.flavor)
            last[seen.map.table] = known = fold.tables[seen.map.database, seen.map.table]
            why = same_definition(seen.schema, as_logged(known)) if isinstance(known, TableSchema) else known
            wrong += [f"{seen.map.table}: {why} | {fold.texts[seen.map.database, seen.map.table]}"] if why else []
    assert wrong == []
    assert [case.table for case in cases if case.table not in last] == []
