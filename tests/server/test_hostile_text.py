"""Names, labels, defaults, bounds and comments that are SQL, quotes or variables to Spark, through every class of DDL.

All mirrors are their sources afterwards, and what the pipeline's environment holds is in no file of the lake.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pyarrow.parquet as pq
from typer.testing import CliRunner

from mirrorlake.cli import app
from mirrorlake.config import Options
from mirrorlake.core.sql_text import quote
from mirrorlake.jobs import snapshot
from mirrorlake.jobs.run.open import open_lake
from mirrorlake.jobs.run.watcher import Watcher
from mirrorlake.jobs.verify import EQUAL, verify
from mirrorlake.lake.gold.control.register import STREAMING, TableRegister

CALL = "'||reflect('java.lang.System','getenv','PATH')||'"
NAMES = (
    "${env:PATH}", "a ${spark.app.id} b", "{}", "{0} %s", "it's", 'dou"ble', "back`tick", "back\\slash", "\\'", "lsn",
    "new\nline\ttab", "; DROP TABLE x; --", "/* c */", "a.b", "l", "M", "\u2603" * 64, CALL, "=,() -", "_c", "before",
)  # fmt: skip
TABLES = ("${env:PATH}", "'`\\\"\n.{}", "; DROP TABLE x; -- /* c */ a.b", "\u2603" * 40, CALL)
"""Each has a column of its name. A server's file has five characters for each that is not ASCII, and 255 in all."""
DATABASES = ("db ${env:PATH}", "d'`\\{}.;")


def text(value: str) -> str:
    """A literal of both servers."""
    return "'" + value.replace("\\", "\\\\").replace("'", "''") + "'"


def columns(kind: str = "VARCHAR(90)") -> list[tuple[str, str]]:
    """(name, definition) of one column for each hostile name, whose default is its name."""
    return [(name, f"{quote(name)} {kind} DEFAULT {text(name)} COMMENT {text(name)}") for name in NAMES]


def before(database: str) -> list[str]:
    """The statements up to the copy of all tables."""
    key, labels = CALL, ", ".join(map(text, LABELS))

    def of(table: str) -> str:
        return quote(database, table)

    wide = ", ".join(definition for _, definition in columns())
    bounds = (
        f"PARTITION BY LIST COLUMNS ({quote('{}')}) (PARTITION {quote('p{}')} VALUES IN ('{{}}', '${{env:PATH}}'), "
    )
    bounds += f"PARTITION {quote('rest')} VALUES IN ('rest', 'a'))"
    return [
        f"CREATE DATABASE {quote(database)} CHARACTER SET utf8mb4",
        f"CREATE TABLE {of('wide ${env:PATH}')} ({quote('id')} INT PRIMARY KEY, {wide}) COMMENT {text('; --')}",
        f"INSERT INTO {of('wide ${env:PATH}')} (id) VALUES (1), (2)",
        f"CREATE TABLE {of('labels`{}')} (id INT PRIMARY KEY, e ENUM({labels}), {quote(key)} SET({labels}),"
        f" l SET({labels}), {quote('${env:PATH}')} ENUM({labels}), d VARCHAR(90) DEFAULT '{{}}')",
        *(
            f"INSERT INTO {of('labels`{}')} VALUES ({i}, {', '.join([text(label)] * 4)}, NULL)"
            for i, label in enumerate(LABELS)
        ),
        f"CREATE TABLE {of('parts')} (id INT, {quote('{}')} VARCHAR(90), PRIMARY KEY (id, {quote('{}')})) {bounds}",
        f"INSERT INTO {of('parts')} VALUES (1, '{{}}'), (2, '${{env:PATH}}'), (3, 'rest'), (4, 'a')",
        f"CREATE TABLE {of('; --')} (id INT, {quote('{}')} VARCHAR(90), PRIMARY KEY (id, {quote('{}')}))",
        f"INSERT INTO {of('; --')} VALUES (7, '{{}}')",
        f"CREATE TABLE {of('range')} ({quote(key)} INT PRIMARY KEY) PARTITION BY RANGE ({quote(key)} + 1)"
        f" (PARTITION p0 VALUES LESS THAN (10), PARTITION p1 VALUES LESS THAN MAXVALUE)",
        f"INSERT INTO {of('range')} VALUES (1), (8), (9), (30)",
        f"CREATE TABLE {of('no key')} (l VARCHAR(90), {quote(key)} DOUBLE, {quote('${env:PATH}')} VARCHAR(90))",
        f"INSERT INTO {of('no key')} VALUES ('a', 1, '${{env:PATH}}'), ('a', 1, '${{env:PATH}}'), ('b', 2, '{{}}')",
        f"CREATE TABLE {of('parent${a}')} ({quote('${a}')} INT PRIMARY KEY)",
        f"CREATE TABLE {of('child`')} (id INT PRIMARY KEY, {quote('`${b}')} INT,"
        f" FOREIGN KEY ({quote('`${b}')}) REFERENCES {of('parent${a}')} ({quote('${a}')}) ON DELETE CASCADE)",
        f"INSERT INTO {of('parent${a}')} VALUES (1), (2)",
        f"INSERT INTO {of('child`')} VALUES (1, 1), (2, 2), (3, 2)",
    ]


def after(database: str, other: str, flavor: str) -> list[str]:
    """The statements that come by the log; every class of DDL."""
    wide, labels, parts, ranges = "wide ${env:PATH}", "labels`{}", "parts", "range"

    def of(table: str) -> str:
        return quote(database, table)

    added = ", ".join(f"ADD {quote('+' + n[:40])} VARCHAR(90) NOT NULL DEFAULT {text(n)}" for n in NAMES)
    added += (
        f", ADD {quote('+b')} VARBINARY(9) NOT NULL DEFAULT '{{}}' FIRST, ADD {quote('+`')} INT AFTER {quote('{}')}"
    )
    return [
        "SET SESSION sql_mode = ''",
        f"INSERT INTO {of(wide)} (id, {quote(CALL)}) VALUES (3, {text(chr(0x1F600))}), (4, NULL)",
        f"ALTER TABLE {of(wide)} {added}",
        f"ALTER TABLE {of(wide)} RENAME COLUMN {quote('{}')} TO {quote('${env:PATH}2')},"
        f" RENAME COLUMN {quote('/* c */')} TO {quote('new `{}')}",
        f"ALTER TABLE {of(wide)} DROP COLUMN {quote('; DROP TABLE x; --')}, DROP {quote('+' + CALL[:40])}",
        f"ALTER TABLE {of(wide)} MODIFY {quote(CALL)} VARCHAR(90) NOT NULL DEFAULT '{{}}',"
        f" CHANGE {quote('${env:PATH}')} {quote('changed${env:PATH}')} CHAR(20) FIRST",
        f"ALTER TABLE {of(wide)} MODIFY {quote('back`tick')} VARBINARY(90), MODIFY {quote(chr(0x2603) * 64)} TEXT,"
        f" ALTER {quote('a.b')} SET DEFAULT '${{env:PATH}}', COMMENT = {text('${env:PATH}')}",
        f"INSERT INTO {of(wide)} (id) VALUES (5)",
        f"ALTER TABLE {of(labels)} MODIFY e BIGINT",
        f"ALTER TABLE {of(labels)} MODIFY {quote(CALL)} BIGINT",
        f"ALTER TABLE {of(labels)} MODIFY l SET({', '.join(map(text, reversed(LABELS)))})",
        f"ALTER TABLE {of(labels)} MODIFY {quote('${env:PATH}')} VARCHAR(90)",
        f"ALTER TABLE {of(labels)} MODIFY d VARCHAR(90) NOT NULL DEFAULT '{{}}'" if flavor == "mysql" else
        f"ALTER TABLE {of(labels)} ADD {quote('g {}')} BIGINT AS (id + 1) STORED",
        f"ALTER TABLE {of(parts)} TRUNCATE PARTITION rest",
        f"ALTER TABLE {of(parts)} EXCHANGE PARTITION {quote('p{}')} WITH TABLE {of('; --')}",
        f"ALTER TABLE {of(ranges)} DROP PARTITION p0",
        f"UPDATE {of(wide)} SET {quote(CALL)} = 'x' WHERE id = 1",
        f"DELETE FROM {of('no key')} LIMIT 1",
        f"UPDATE {of('no key')} SET {quote('l')} = {text(CALL)} WHERE {quote(CALL)} = 2",
        f"DELETE FROM {of('parent${a}')} WHERE {quote('${a}')} = 2",
        f"CREATE TABLE {of('like {}')} LIKE {of(wide)}",
        f"INSERT INTO {of('like {}')} (id) VALUES (1)",
        f"CREATE TABLE {of('select ${env:PATH}')} (PRIMARY KEY (id))"
        f" AS SELECT id, '${{env:PATH}}' AS {quote('${x} {}')} FROM {of(parts)}",
        f"RENAME TABLE {of('select ${env:PATH}')} TO {quote(other, 'moved ${env:PATH}`')}",
        f"TRUNCATE TABLE {of('; --')}",
        f"INSERT INTO {of('; --')} VALUES (9, '${{env:PATH}}')",
        f"CREATE DATABASE {quote('gone ${env:PATH}')}",
        f"CREATE TABLE {quote('gone ${env:PATH}', '${env:PATH}')} (id INT PRIMARY KEY)",
        f"INSERT INTO {quote('gone ${env:PATH}', '${env:PATH}')} VALUES (1)",
        f"DROP DATABASE {quote('gone ${env:PATH}')}",
    ]  # fmt: skip


LABELS = tuple(label for label in NAMES[:17] if "," not in label)


def test_text_of_the_source_is_text_in_every_mirror_and_takes_nothing_from_the_environment(
    server, spark, lake_dir, row_metadata, is_long
):
    server.reset()
    canaries = (os.environ["PATH"], spark.conf.get("spark.app.id"))
    first, second = DATABASES
    for sql in (*before(first), f"CREATE DATABASE {quote(second)} CHARACTER SET utf8mb4"):
        server.execute(sql)
    has_all = row_metadata == "full"  # with all that an option adds to a mirror, or none of it
    options = Options(source=server.url, lake=str(lake_dir), change_feed=has_all, commit_columns=has_all)
    copied: list = []
    snapshot.snapshot(options, copied.append, spark=spark)
    assert [(table.table, table.reason) for table in copied if table.reason] == []
    with server.connect() as connection, connection.cursor() as cursor:
        for sql in after(first, second, server.flavor):
            cursor.execute(sql)
        for name in TABLES:
            table = quote(second, name)
            cursor.execute(f"CREATE TABLE {table} ({quote(name)} VARCHAR(90) PRIMARY KEY)")
            cursor.execute(f"INSERT INTO {table} VALUES ({text(name)}), ('')")
    _, found = verify(options, Watcher(), spark=spark, moves=True, wait_s=60, n_keys=3)
    assert [table for table in found if table.state != EQUAL or not table.rows] == []
    assert len(found) == len(TABLES) + 10
    assert columns_of_mirrors(options, spark) == columns_of_source(server)
    look_at_all(str(lake_dir), second)
    if is_long:
        assert run("maintain", "--lake", str(lake_dir))
    assert files_with(lake_dir, canaries) == []


def columns_of_source(server) -> dict[tuple[str, str], list[str]]:
    found: dict[tuple[str, str], list[str]] = {}
    every = """SELECT TABLE_SCHEMA, TABLE_NAME, COLUMN_NAME FROM information_schema.COLUMNS
               WHERE TABLE_SCHEMA IN (%s, %s) ORDER BY 1, 2, ORDINAL_POSITION"""
    for database, table, column in server.query(every, *DATABASES):
        found.setdefault((database, table), []).append(column)
    return found


def columns_of_mirrors(options: Options, spark) -> dict[tuple[str, str], list[str]]:
    lake = open_lake(options, spark)
    entries = [entry for entry in TableRegister.read(lake) if entry.state == STREAMING]
    return {e.name: lake.spark.table(lake.names.mirror(e.mirror_id)).columns[: len(e.schema.columns)] for e in entries}


def look_at_all(lake: str, database: str) -> None:
    """The commands that read, on tables of every name."""
    assert run("syncpoint", "--lake", lake)
    listed = json.loads(run("tables", "--lake", lake, "--json"))
    assert {*TABLES} <= {each["table"] for each in listed if each["database"] == database}
    for name in (TABLES[1], CALL):
        found = asked(f"SELECT {quote(name)} AS found FROM {quote(f'{database}__{name}')} ORDER BY 1", lake)
        assert found == [{"found": ""}, {"found": name}]
        traced = json.loads(run("trace", f"{database}.{name}", name, "--lake", lake, "--json"))
        assert traced["row"][name] == name
    assert asked("SELECT '${env:PATH}' AS found", lake) == [{"found": "${env:PATH}"}]


def asked(sql: str, lake: str) -> list[dict]:
    return json.loads(run("sql", sql, "--lake", lake, "--format", "json"))


def run(*arguments: str) -> str:
    done = CliRunner().invoke(app, list(arguments))
    assert done.exit_code == 0, (arguments, done.output, done.exception)
    return done.stdout


def files_with(folder: Path, canaries: tuple[str, ...]) -> list[str]:
    """Files in which one of these stands, also where Parquet has compressed it."""
    found = []
    for file in (path for path in Path(folder).rglob("*") if path.is_file()):
        held = [file.read_bytes()]
        if file.suffix == ".parquet":
            chunks = [chunk for column in pq.read_table(file).columns for chunk in column.chunks]
            held += [bytes(buffer) for chunk in chunks for buffer in chunk.buffers() if buffer]
        if any(canary.encode() in part for canary in canaries for part in held):
            found.append(file.name)
    return found
