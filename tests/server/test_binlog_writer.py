"""The test support's binlog writer against the real thing: the servers' own logs, and the servers' own tools."""

from __future__ import annotations

import re
import struct
from itertools import count
from random import Random
from subprocess import CalledProcessError

import pytest

from mirrorlake.core.schema.tables import TableSchema
from tests.support.binlog_spec import Ddl, Insert, Log, Transaction
from tests.support.binlog_writer import encode_logs, write_logs
from tests.support.canonical import canonical_row, source_rows, source_tables
from tests.support.damage import flip_byte
from tests.support.histories import History, random_history
from tests.support.history_sql import run_history
from tests.support.oracle import TableDdl
from tests.support.random_tables import create_table_sql, table_of_every_type
from tests.support.silver_rows import all_schemas
from tests.support.values import edge_values, random_value

_TABLE_MAP, _ROWS = 19, (23, 24, 25, 30, 31, 32)
_DATABASES = {"shop", "crm"}


def every_type_history(rows: int) -> History:
    """One table with every column type; row n holds the n-th edge value of each, rows after them random ones."""
    table, random = table_of_every_type("shop", "every_type"), Random(1)

    def value(column, number):
        edges = edge_values(column.type)
        return edges[number] if number < len(edges) else random_value(random, column.type, nullable=True)

    found = [{column.name: value(column, n) for column in table.columns} | {"id": n} for n in range(rows)]
    create = TableDdl(create_table_sql(table), "shop", new=table)
    inserts = (Transaction([Insert(table, [row])]) for row in found)
    return History(0, (Ddl("CREATE DATABASE shop", "shop"), create, *inserts))


HISTORIES = {"every type": every_type_history(20)} | {f"seed {seed}": random_history(seed) for seed in range(8)}


@pytest.mark.row_metadata("full")
@pytest.mark.parametrize("name", HISTORIES)
def test_the_server_writes_the_same_maps_and_rows_and_ends_with_the_same_tables(server, name):
    history = HISTORIES[name]
    server.reset()
    with server.connect() as connection:
        if server.program == "mariadb118":
            connection.cursor().execute("SET character_set_collations = ''")  # 10.11's default collations
        run_history(connection, history)
        tables = {(db, t): source_rows(connection, db, t) for db in _DATABASES for t in source_tables(connection, db)}
    assert {name: sorted(rows) for name, rows in tables.items()} == {
        name: sorted(canonical_row(row) for row in rows.values()) for name, rows in history.tables.items()
    }
    server.execute("FLUSH BINARY LOGS")
    theirs = [path.read_bytes() for path in server.log_files()[:-1]]
    ours = [encoded.data for encoded in encode_logs(one_row_per_statement(history).log(server.flavor))]
    assert row_payloads(ours) == row_payloads(theirs)


def one_row_per_statement(history: History) -> History:
    """The history as ``run_history`` runs it."""
    return History(history.seed, tuple(map(_one_row_per_statement, history.items)))


def _one_row_per_statement(item):
    if not isinstance(item, Transaction):
        return item
    parts = [part for s in item.statements for part in getattr(s, "parts", [s])]
    return Transaction([type(part)(part.table, [row]) for part in parts for row in part.rows])


def row_payloads(logs: list[bytes]) -> list[tuple[int, bytes]]:
    """Type and body, without the table id, of every TABLE_MAP and rows event."""
    found = []
    for log in logs:
        offset = 4
        while offset < len(log):
            event_type, length = struct.unpack_from("<4xB4xI", log, offset)
            if event_type in (_TABLE_MAP, *_ROWS):
                found.append((event_type, log[offset + 19 + 6 : offset + length - 4]))
            offset += length
    return found


FLAVORS = pytest.mark.parametrize("flavor", ["mysql", "mariadb"])
OPTIONS = ("--verify-binlog-checksum", "-v", "-v", "--base64-output=decode-rows")


@pytest.mark.parametrize(
    "options", [{}, {"checksum": False}, {"compression": True}, {"gtid_mode": False}, {"end": "open"}], ids=str
)
@FLAVORS
def test_the_servers_tool_reads_every_event_of_a_history(flavor, options, tmp_path, read_with_tool):
    history = readable_history()
    paths = write_logs(tmp_path, history.log(flavor, **options), max_file_bytes=30_000)
    text = read_with_tool(flavor, *OPTIONS, *paths)
    verbs = re.findall(r"^### (INSERT|UPDATE|DELETE) ", text, re.MULTILINE)
    assert verbs == [change.op for transaction in history.transactions for change in transaction.changes]
    assert "ERROR" not in text and "WARNING" not in text.replace("WARNING: The option", "")
    assert len(paths) > 3


def readable_history() -> History:
    """One without the types of which the tools print nothing, and not the row either."""
    histories = (random_history(seed) for seed in count(3))
    return next(h for h in histories if all(not unread_columns(table) for table in all_schemas(h).values()))


def unread_columns(table: TableSchema) -> list[str]:
    return [column.name for column in table.columns if column.type.name in ("geometry", "vector")]


@FLAVORS
def test_the_servers_tool_shows_positions_gtids_and_statements(flavor, tmp_path, read_with_tool):
    log = Log(flavor, [Ddl("CREATE DATABASE shop", "shop"), Ddl("CREATE TABLE café (id INT PRIMARY KEY)", "shop")])
    (path,) = write_logs(tmp_path, log)
    text = read_with_tool(flavor, *OPTIONS, path)
    offsets = [offset for _, offset in encode_logs(log)[0].item_offsets]
    assert all(f"# at {offset}\n" in text for offset in offsets)
    assert "CREATE TABLE café (id INT PRIMARY KEY)" in text and "/*!*/" in text
    assert ("0-7-2" if flavor == "mariadb" else f"{log.server_uuid}:2") in text


@FLAVORS
def test_the_servers_tool_notices_one_flipped_bit(flavor, tmp_path, read_with_tool):
    (path,) = write_logs(tmp_path, Log(flavor, [Ddl("CREATE DATABASE shop", "shop")]))
    flip_byte(path, -30, mask=1)
    with pytest.raises(CalledProcessError) as complaint:
        read_with_tool(flavor, *OPTIONS, path)
    assert re.search("crc|checksum", complaint.value.stderr, re.IGNORECASE)
