"""Definitions that we read from the DDL in a log against those of the server that wrote it.

    python -m bench.ddl_definitions mysql --every 10      # each 10th of the server's own test files

Runs the DDL of the servers' test files on a private server. After each statement the server tells what its tables look
like, and a row inserted gives a table map. Then the log is read: every statement is folded into definitions, which must
be the same at each of those places. A definition that we do not give is *refused*; one that differs is a defect.
"""

from __future__ import annotations

import argparse
import re
import struct
import time
from collections import Counter
from dataclasses import dataclass, field

import pymysql

from bench.server_definitions import Facts, our_facts, read_facts
from bench.server_tests import ddl_statements, test_files
from mirrorlake.core.binlog.events import parse_query
from mirrorlake.core.binlog.rows.table_map import TableMap, parse_table_map
from mirrorlake.core.schema.tables import TableSchema, same_definition, why_not_mirrored
from mirrorlake.errors import RefusedError
from tests.support.definition_fold import DefinitionFold
from tests.support.servers import Server, running_server

_DATABASE = "test"
_STATUS = {"mysql": "SHOW BINARY LOG STATUS", "mariadb": "SHOW MASTER STATUS"}
_SYSTEM = ("mysql", "sys", "information_schema", "performance_schema")


@dataclass(slots=True)
class Checkpoint:
    """What the server said at one position of its log, of the tables that the statement changed."""

    place: tuple[str, int]
    test: str
    statement: str
    tables: dict[str, Facts]


@dataclass
class Result:
    equal: int = 0
    table_maps: int = 0
    refused: Counter = field(default_factory=Counter)
    different: list[str] = field(default_factory=list)


def run_statements(server: Server, tests: list) -> tuple[list[Checkpoint], int]:
    """(checkpoints, statements that the server took)."""
    checkpoints: list[Checkpoint] = []
    taken, seen = 0, set()
    for path in tests:
        statements = ddl_statements(path)
        if seen.issuperset(statements):
            continue
        seen.update(statements)
        with server.connect() as connection, connection.cursor() as cursor:
            _begin(cursor)
            before: dict[str, Facts] = {}
            for statement in statements:
                if _is_taken(cursor, statement):
                    taken += 1
                    before = _look(server, cursor, path.stem, statement, before, checkpoints)
    return checkpoints, taken


def _begin(cursor) -> None:
    cursor.execute("SET foreign_key_checks = 0")
    cursor.execute("SHOW DATABASES")
    for (name,) in cursor.fetchall():
        if name not in _SYSTEM:
            cursor.execute(f"DROP DATABASE `{name}`")
    cursor.execute(f"CREATE DATABASE {_DATABASE}")
    cursor.execute(f"USE {_DATABASE}")
    cursor.execute("SET foreign_key_checks = 1, lock_wait_timeout = 2")


def _is_taken(cursor, statement: str) -> bool:
    try:
        cursor.execute(statement)
    except (pymysql.MySQLError, UnicodeError):
        return False
    return True


def _look(server: Server, cursor, test: str, statement: str, before: dict, checkpoints: list) -> dict[str, Facts]:
    facts = read_facts(cursor, _DATABASE, server.flavor)
    changed = {n: found for n, found in facts.items() if found != before.get(n) and _opens(cursor, n)}
    if changed or facts.keys() != before.keys():
        cursor.execute(_STATUS[server.flavor])
        place = cursor.fetchone()[:2]
        checkpoints.append(Checkpoint(place, test, statement, changed))
    for name in changed:
        _touch_row(cursor, name)
    return facts


def _opens(cursor, table: str) -> bool:
    """Of a table that the server cannot open any more it tells but a part."""
    return _is_taken(cursor, f"SELECT * FROM {_DATABASE}.{_quote(table)} LIMIT 0")


def _quote(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _touch_row(cursor, table: str) -> None:
    """A table map in the log, where the table takes a row of defaults."""
    cursor.execute("SET @mode = @@sql_mode, sql_mode = ''")
    name = f"{_DATABASE}.{_quote(table)}"
    if _is_taken(cursor, f"INSERT IGNORE INTO {name} () VALUES ()"):
        _is_taken(cursor, f"DELETE FROM {name}")
    cursor.execute("SET sql_mode = @mode")


def compare(server: Server, checkpoints: list[Checkpoint]) -> Result:
    result, fold = Result(), DefinitionFold(server.flavor, _version(server))
    waiting = iter([*checkpoints, None])
    due = next(waiting)
    for path in server.log_files():
        data, at = path.read_bytes(), 4
        while at < len(data):
            length = struct.unpack_from("<I", data, at + 9)[0]
            while due and due.place <= (path.name, at):
                _compare_facts(due, fold, result, server.flavor)
                due = next(waiting)
            _take_event(data[at + 4], data[at + 19 : at + length - 4], fold, due, result)
            at += length
    return result


def _version(server: Server) -> int:
    numbers = server.query("SELECT VERSION()")[0][0].split("-")[0].split(".")
    return int(numbers[0]) * 10000 + int(numbers[1]) * 100 + int(numbers[2])


def _take_event(kind: int, body: bytes, fold: DefinitionFold, due: Checkpoint | None, result: Result) -> None:
    if kind == 2:
        fold.take(parse_query(body))
    elif kind == 19:
        seen = parse_table_map(body, fold.flavor)
        known = fold.tables.get((seen.database, seen.table))
        if isinstance(known, TableSchema) and seen.schema:
            result.table_maps += 1
            difference = _map_difference(seen, known)
            if difference:
                result.different.append(f"table map: {difference} | {fold.texts.get((seen.database, seen.table))}")


def _map_difference(seen: TableMap, known: TableSchema) -> str | None:
    """Of a table with a type or character set that its map does not tell, names and key alone."""
    if any(key.is_hash for key in known.keys):
        return None  # refused by name
    if not (seen.refusal or why_not_mirrored(known)):
        return same_definition(seen.schema, known)
    ours, theirs = ((tuple(c.name for c in schema.columns), schema.primary_key) for schema in (known, seen.schema))
    return None if ours == theirs else f"the map has {theirs}, the definition {ours}"


def _compare_facts(place: Checkpoint, fold: DefinitionFold, result: Result, flavor: str) -> None:
    for table, facts in place.tables.items():
        known = fold.tables.get((_DATABASE, table))
        hashed = isinstance(known, TableSchema) and any(key.is_hash for key in known.keys)
        if hashed:
            result.refused["a UNIQUE key that MariaDB keeps as a hash"] += 1
            continue
        if not isinstance(known, TableSchema):
            result.refused[f"{known} {place.test}: {' '.join(place.statement.split())}"] += 1
            continue
        wrong = facts.differences(our_facts(known, facts, flavor))
        if wrong:
            result.different.append(f"{place.test}: {'; '.join(wrong)} | {' '.join(place.statement.split())}")
        else:
            result.equal += 1


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("flavor", choices=("mysql", "mariadb"))
    arguments.add_argument("--every", type=int, default=1, help="take each Nth test file")
    arguments.add_argument("--first", type=int, default=0, help="begin with this one")
    arguments.add_argument("--match", default="", help="only test files whose path has this pattern")
    arguments.add_argument("--show", type=int, default=20, help="how many differences and refusals to print")
    options = arguments.parse_args()
    tests = [path for path in test_files(options.flavor) if re.search(options.match, str(path))]
    tests = tests[options.first :: options.every]
    started = time.monotonic()
    with running_server(options.flavor) as server:
        checkpoints, taken = run_statements(server, tests)
        try:
            result = compare(server, checkpoints)
        except RefusedError as error:
            raise SystemExit(f"the log was not read: {error}") from error
    report(result, len(tests), taken, options.show)
    print(f"{time.monotonic() - started:.0f} s")


def report(result: Result, tests: int, taken: int, show: int) -> None:
    refused, different = sum(result.refused.values()), len(result.different)
    total = max(result.equal + refused + different, 1)
    print(f"{tests} test files, {taken} statements taken, {total} definitions, {result.table_maps} table maps")
    for name, number in (("equal", result.equal), ("refused", refused), ("silently different", different)):
        print(f"{name:20}{number:8}{100 * number / total:8.2f} %")
    for reason, number in result.refused.most_common(show):
        print(f"refused {number:6} {' '.join(reason.split())[:400]}")
    for line in result.different[:show]:
        print(f"different {line[:600]}")


if __name__ == "__main__":
    main()
