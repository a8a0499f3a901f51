"""`mirrorlake snapshot` and `resync`: tables are copied while the source continues, and compared by `verify`."""

from __future__ import annotations

import json
from random import Random

import pyarrow as pa
import pytest
from typer.testing import CliRunner

from mirrorlake.cli import app
from mirrorlake.config import Options
from mirrorlake.core.schema.column_patterns import NO_COLUMNS
from mirrorlake.core.schema.lower_case_names import AS_WRITTEN
from mirrorlake.core.schema.table_name import TableName
from mirrorlake.errors import RefusedError
from mirrorlake.jobs import snapshot
from mirrorlake.jobs.inspect.trace import trace_row
from mirrorlake.jobs.run import hops
from mirrorlake.jobs.run.open import open_lake
from mirrorlake.jobs.run.watcher import Watcher
from mirrorlake.jobs.source_look import shown_definition
from mirrorlake.jobs.verify import EQUAL, NOT_COMPARED, VerifiedTable, verify
from mirrorlake.lake.delta.names import LakeNames
from mirrorlake.lake.gold.control.register import TableRegister
from mirrorlake.lake.gold.control.runs import last_runs
from mirrorlake.mysql.connection import ServerConnection
from mirrorlake.mysql.login import ServerLogin
from mirrorlake.mysql.result_set import query_batches
from mirrorlake.mysql.session import Session
from tests.support.live import Running, workload
from tests.support.random_sql import create_sql, random_rows_sql, random_table_of
from tests.support.workload import Workload

TABLES, TABLES_LONG = 6, 200
ABSENT = "the lake does not have it"
_SESSION = ("SET time_zone = '+00:00'", "SET SESSION sql_mode = 'ALLOW_INVALID_DATES'")


def copied(options: Options, spark, **how) -> dict[str, int | str]:
    """Rows of each table, or why it was not copied."""
    found: list[snapshot.TableSnapshot] = []
    snapshot.snapshot(options, found.append, spark=spark, **how)
    return {table.table: table.reason or table.rows for table in found}


def refuse(_: snapshot.TableSnapshot) -> None:
    raise RefusedError("log-gap", "for this test")


def verified(options: Options, spark) -> list[VerifiedTable]:
    return verify(options, Watcher(), spark=spark, moves=True, wait_s=60, n_keys=10)[1]


def equal(options: Options, spark) -> dict[str, int]:
    """Rows of each table that the lake has; every one is as its source."""
    found = [table for table in verified(options, spark) if not (table.reason or "").startswith(ABSENT)]
    assert [table for table in found if table.state != EQUAL] == []
    return {table.table: table.rows for table in found}


def test_labels_that_servers_show_as_question_marks_are_copied_with_their_characters(server, spark, lake_dir):
    """Rows before the snapshot and after it, of each label."""
    server.reset()
    server.play((
        "CREATE DATABASE odd CHARACTER SET utf8mb4",
        "CREATE TABLE odd.t (id INT PRIMARY KEY, e ENUM('x😀','y🐬','?') DEFAULT 'y🐬', s SET('😀','it''s?','b\\\\?'))",
        "INSERT INTO odd.t VALUES (1, 'x😀', '😀,it''s?'), (2, '?', 'b\\\\?')",
    ))  # fmt: skip
    options = Options(source=server.url, lake=str(lake_dir), tables="odd.*")
    assert copied(options, spark) == {"t": 2}
    with pytest.raises(RefusedError):
        snapshot.snapshot(options, refuse, again=True, spark=spark)
    server.play(("INSERT INTO odd.t VALUES (3, 'x😀', 'b\\\\?,😀'), (4, '?', ''), (5, DEFAULT, 'it''s?')",))
    hops.run(options, Watcher(), spark=spark)
    assert equal(options, spark) == {"t": 5}
    lake = open_lake(options, spark)
    runs = [(run.verb, run.outcome, run.rows) for run in last_runs(lake, 10)]
    assert runs[-2:] == [("resync", "log-gap", 2), ("snapshot", "ok", 2)]
    [entry] = TableRegister.read(lake)
    rows = spark.table(lake.names.mirror(entry.mirror_id)).orderBy("id").select("e", "s").collect()
    assert [tuple(row) for row in rows] == [
        ("x😀", "😀,it's?"), ("?", "b\\?"), ("x😀", "😀,b\\?"), ("?", ""), ("y🐬", "it's?"),
    ]  # fmt: skip


def test_a_default_that_mariadb_shows_as_question_marks_is_asked_for(mariadb):
    """A table without rows does not show that of a NOT NULL column."""
    mariadb.reset()
    columns = "(id INT PRIMARY KEY, n VARCHAR(9) DEFAULT '🐬?', c VARCHAR(9) NOT NULL DEFAULT '?😀')"
    mariadb.play((
        "CREATE DATABASE odd CHARACTER SET utf8mb4", f"CREATE TABLE odd.empty {columns}",
        f"CREATE TABLE odd.full {columns}", "INSERT INTO odd.full (id) VALUES (1), (2)",
    ))  # fmt: skip
    connection = ServerConnection(ServerLogin("127.0.0.1", mariadb.port, "root", ""))
    full, empty = (
        shown_definition(connection.query, TableName("odd", table), "mariadb", AS_WRITTEN, NO_COLUMNS)
        for table in ("full", "empty")
    )
    connection.close()
    assert [column.default.text for column in full[1].columns[1:]] == ["🐬?", "?😀"]
    reason = "may have lost characters of the DEFAULT of c, and MariaDB shows it only if the table has a row"
    assert empty == ("", None, f"ddl-unsupported: SHOW CREATE TABLE {reason}")


@pytest.mark.parametrize("policy", ["null", "text"])
@pytest.mark.heavy
def test_every_value_of_random_tables_is_copied_followed_and_compared(server, seed, is_long, spark, lake_dir, policy):
    """Every other table is older than the lake: of its rows one half is copied, the other comes by the log."""
    random = Random(f"{seed} {server.flavor} {policy}")
    count = TABLES_LONG if is_long else TABLES
    tables = [random_table_of(random, "random_tables", f"t{n}", server.flavor) for n in range(count)]
    server.reset()
    server.execute("CREATE DATABASE random_tables CHARACTER SET utf8mb4")
    options = Options(source=server.url, lake=str(lake_dir), invalid_values=policy)
    with server.connect(database="random_tables") as connection, connection.cursor() as cursor:
        for sql in _SESSION:
            cursor.execute(sql)
        waiting = []
        for table in tables[::2]:
            cursor.execute(create_sql(random, table, server.flavor))
            rows = list(random_rows_sql(random, table))
            for sql, args in rows[: len(rows) // 2]:
                cursor.execute(sql, args)
            waiting += rows[len(rows) // 2 :]
        reasons = {table: found for table, found in copied(options, spark).items() if isinstance(found, str)}
        assert reasons == {}
        for table in tables[1::2]:
            cursor.execute(create_sql(random, table, server.flavor))
            waiting += random_rows_sql(random, table)
        for sql, args in waiting:
            cursor.execute(sql, args)
    found = verified(options, spark)
    refused = {table.table for table in found if table.reason == "refused (invalid-key)"}  # a zero date in the key
    assert [table for table in found if table.state != EQUAL and table.table not in refused] == []
    assert len(refused) < count / 2
    assert [table.table for table in found] == sorted(table.table for table in tables)
    assert all(table.rows == table.mirror_rows > 0 for table in found if table.state == EQUAL)


@pytest.mark.long
def test_older_tables_are_copied_and_compared_while_a_run_and_sessions_are_at_work(
    server, seed, is_long, spark, lake_dir, tmp_path
):
    server.reset()
    Workload(server, seed).create_tables()
    log, source = tmp_path / "log", ["--source", server.url, "--lake", str(lake_dir)]
    with workload(server, seed, databases=1, rate=5, ddl_every_s=300):  # DDL may refuse a table
        running = Running(log, "run", *source, "--start", "current", "--follow")
        try:
            assert running.has_committed(log)
            copies = CliRunner().invoke(app, ["snapshot", "live_*.*", *source, "--json"])
            compared = CliRunner().invoke(app, ["verify", "live_*.*", *source, "--wait", "900", "--json"])
        finally:
            running.kill(whole_group=True)
    assert (copies.exit_code, compared.exit_code) == (0, 0), copies.output + compared.output
    tables, found = json.loads(copies.stdout), json.loads(compared.stdout)
    assert len(tables) >= 3 and all(table["reason"] is None for table in tables)
    assert {table["state"] for table in found} <= {EQUAL, NOT_COMPARED}
    assert sum(table["state"] == EQUAL and table["rows"] > 0 for table in found) >= 3


@pytest.mark.heavy
def test_a_lake_begins_with_copies_and_refused_tables_are_copied_again(server, spark, lake_dir, monkeypatch):
    server.reset()
    for sql in (
        "CREATE DATABASE shop",
        "CREATE TABLE shop.z_parents (id INT PRIMARY KEY)",
        "CREATE TABLE shop.children (id INT PRIMARY KEY, parent INT, "
        "FOREIGN KEY (parent) REFERENCES shop.z_parents (id) ON DELETE CASCADE)",
        "CREATE TABLE shop.notes (id INT PRIMARY KEY) ENGINE = MyISAM",
        "INSERT INTO shop.z_parents VALUES (1), (2)",
        "INSERT INTO shop.children VALUES (10, 1), (20, 2), (30, NULL)",
    ):
        server.execute(sql)
    options = Options(source=server.url, lake=str(lake_dir))
    with monkeypatch.context() as patch:  # the second table's copy is whole, and the process is killed
        patch.setattr(snapshot, "give", lambda lake, answer, give=snapshot.give: _only_parents(lake, answer, give))
        with pytest.raises(KeyboardInterrupt):
            copied(options, spark)
    without_versions = "storage engine myisam keeps no older versions of rows"
    assert copied(options, spark) == {"children": 3, "notes": without_versions}
    server.execute("DELETE FROM shop.z_parents WHERE id = 1")
    assert equal(options, spark) == {"children": 2, "z_parents": 1}
    assert copied(options, spark) == {"notes": without_versions}

    spark.sql(f"DELETE FROM {LakeNames(str(lake_dir)).mirror(_mirror(lake_dir, 'z_parents'))}")
    server.execute("INSERT INTO shop.z_parents VALUES (3)")
    hops.run(options, Watcher(), spark)
    both = options.model_copy(update={"tables": ("shop.children", "shop.z_parents")})
    assert copied(both, spark, again=True) == {"children": 2, "z_parents": 2}
    server.execute("INSERT INTO shop.children VALUES (40, 3)")
    server.execute("ALTER TABLE shop.children ADD note VARCHAR(9) DEFAULT 'x'")
    server.execute("DELETE FROM shop.z_parents WHERE id = 2")
    assert equal(options, spark) == {"children": 2, "z_parents": 1}
    copy, inserted = (trace_row(open_lake(options, spark), "shop.children", [key]) for key in ("30", "40"))
    assert (copy.row["note"], copy.transaction) == ("x", None)
    assert inserted.transaction.changes["op"].to_pylist() == ["BEGIN", "INSERT", "COMMIT"]


def _only_parents(lake, answer, give) -> None:
    if answer.table != "z_parents":
        raise KeyboardInterrupt
    give(lake, answer)


def _mirror(lake_dir, table: str) -> str:
    found = CliRunner().invoke(app, ["tables", "--lake", str(lake_dir), "--json"])
    (path,) = (each["path"] for each in json.loads(found.stdout) if each["table"] == table)
    return path.rpartition("/")[2]


def test_cells_of_any_length_come_whole(server):
    """Around the limits of the protocol's lengths; a packet has 16 MiB at most, a longer row continues in the next."""
    lengths = (0, 1, 250, 251, 252, 65535, 65536, 2**24 - 6, 2**24 - 5, 2**24, 2**25 + 7)
    server.execute("SET GLOBAL max_allowed_packet = 67108864")
    sql = " UNION ALL ".join(f"SELECT REPEAT('x', {n}), NULL, {n}" for n in lengths)
    types = pa.schema([("text", pa.string()), ("nothing", pa.binary()), ("length", pa.string())])
    session = Session(ServerLogin.parse(server.url))
    found = pa.Table.from_batches(query_batches(session, sql, types))
    session.hang_up()
    assert [len(text) for text in found["text"].to_pylist()] == list(lengths)
    assert found["length"].to_pylist() == list(map(str, lengths)) and found["nothing"].null_count == len(lengths)
