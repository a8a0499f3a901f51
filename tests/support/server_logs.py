"""Logs that real servers write in a given form, as the pure reader and assembler have them."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

from mirrorlake.core.binlog.log_reader import LogReader
from mirrorlake.core.changes.assembler import Assembler
from mirrorlake.core.gtid import parse_gtid_set
from mirrorlake.core.position import BinlogPosition
from mirrorlake.mysql.binlog_dump import LiveSource
from mirrorlake.mysql.binlog_files import FileSource
from tests.support.servers import Server


def logged(server: Server, form: dict[str, str], statements: list[str], gtid_next: str | None = None) -> list[Path]:
    """The closed files of a log that holds the statements."""
    server.reset()
    for variable, value in form.items():
        server.execute(f"SET GLOBAL {variable} = {setting(value)}")
    with server.connect() as connection, connection.cursor() as cursor:
        if gtid_next:
            cursor.execute(f"SET GTID_NEXT = '{gtid_next}'")
        for statement in statements:
            cursor.execute(statement)
    server.execute("FLUSH BINARY LOGS")
    return server.log_files()[:-1]


def bring(folder: Path, paths: list[Path]) -> FileSource:
    folder.mkdir()
    for path in paths:
        (folder / path.name).write_bytes(path.read_bytes())
    return FileSource(folder)


def bronze(source: FileSource | LiveSource, end: BinlogPosition | None = None) -> pa.Table:
    reader = LogReader(source.earliest(), parse_gtid_set(source.flavor, ""))
    chunks = reader.read(source.read(source.earliest(), end or source.current()))
    return pa.Table.from_batches(chunk.batch for chunk in chunks).combine_chunks()


def silver(source: FileSource) -> pa.Table:
    return pa.Table.from_batches(Assembler(source.flavor).assemble(bronze(source).to_batches()))


def setting(value: str) -> str:
    return value if value.isdigit() else f"'{value}'"
