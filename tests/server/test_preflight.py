"""``mirrorlake preflight``: the checks of the page in its order, and the tables of the server."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from mirrorlake.mysql.connection import ServerConnection
from mirrorlake.mysql.login import ServerLogin
from mirrorlake.mysql.preflight import check_generated_columns
from tests.support.command_line import mirrorlake_cli, without_spark
from tests.support.servers import Server

PAGE = Path(__file__).resolve().parents[2] / "docs/command-line.md"
PASSWORD = "only for these tests"
TABLES = (
    "CREATE DATABASE shop",
    "CREATE DATABASE hidden",
    "CREATE TABLE hidden.secrets (id INT PRIMARY KEY)",
    "CREATE TABLE shop.log_1 (id INT PRIMARY KEY)",
    "CREATE TABLE shop.notes (id INT PRIMARY KEY) ENGINE = MyISAM",
    "CREATE TABLE shop.orders (id INT PRIMARY KEY, secret INT)",
    "CREATE TABLE shop.reserved (id INT PRIMARY KEY, _lsn INT)",
    "CREATE VIEW shop.seen AS SELECT * FROM shop.orders",
)
RETENTION = {"mariadb": ("expire_logs_days", 2, 0), "mysql": ("binlog_expire_logs_seconds", 172_800, 2_592_000)}


@pytest.fixture
def reader(server):
    """A user who may replicate and read a part of the tables, while the server keeps two days of log."""
    server.reset()
    server.play(TABLES)
    name, short, default = RETENTION[server.flavor]
    server.execute(f"SET GLOBAL {name} = {short}")
    server.execute(f"CREATE USER reader IDENTIFIED BY '{PASSWORD}'")
    for grant in ("REPLICATION SLAVE, REPLICATION CLIENT ON *.*", "SELECT ON shop.notes", "INSERT ON shop.*"):
        server.execute(f"GRANT {grant} TO reader")
    server.execute("GRANT SELECT (id) ON shop.orders TO reader")
    yield f"mysql://reader@127.0.0.1:{server.port}"
    server.execute("DROP USER reader")
    server.execute(f"SET GLOBAL {name} = {default}")


def documented() -> list[str]:
    """The names of the checks on the page, in order."""
    rows = re.findall(r"^\| (\d+) \| ([^|]+) \| [^|]+ \| [^|]*\|$", PAGE.read_text(), re.M)
    assert [int(number) for number, _ in rows] == list(range(1, len(rows) + 1)) and len(rows) >= 21
    return [name for _, name in rows]


def looked(server: Server, source: str, *options: object) -> tuple[int, dict]:
    found = mirrorlake_cli("preflight", "--source", source, "--json", *options, MIRRORLAKE_PASSWORD=PASSWORD)
    return found.exit_code, json.loads(found.stdout)


def test_it_finds_the_same_without_pyspark(server, reader):
    ended = without_spark("preflight", "--source", reader, "--json", MIRRORLAKE_PASSWORD=PASSWORD)
    assert (ended.returncode, json.loads(ended.stdout)) == looked(server, reader)


def test_each_check_is_on_the_page_and_a_failed_one_has_its_fix(server, reader, lake_dir):
    options = ("--lake", lake_dir, "--tables", "shop.*,!shop.log_*,!shop.seen")
    exit_code, found = looked(server, reader, *options)
    names = [check["name"] for check in found["checks"]]
    assert len(names) == len(documented()) and not lake_dir.exists()
    assert all(name in on_page for name, on_page in zip(names, documented(), strict=True))
    failed = {check["name"]: check["found"] for check in found["checks"] if not check["ok"]}
    flush = {"privilege FLUSH_TABLES": "missing"} if server.flavor == "mysql" else {}
    assert (exit_code, failed) == (3, {
        "privilege SELECT": "missing on 2 of 3 tables: shop.orders, shop.reserved",
        **flush,
        "log retention": "2.0 days (binlog_expire_logs_seconds)",
    })  # fmt: skip
    assert all(check["fix"] for check in found["checks"] if not check["ok"])
    assert re.fullmatch(r"[\d,.]+ GB free; the log has 0\.0 GB, the tables 0\.0 GB", found["checks"][-1]["found"])


def test_the_tables_are_listed_with_their_fate(server, reader):
    _, found = looked(server, reader, "--tables", "shop.*,!shop.log_*")
    assert [(table["table"], table["fate"], table["code"], table["reason"]) for table in found["tables"]] == [
        ("log_1", "left out", None, "excluded by !shop.log_*"),
        ("notes", "no snapshot", None, "storage engine myisam keeps no older versions of rows"),
        ("orders", "needs a snapshot", None, None),
        ("reserved", "refused", "column-name", "column _lsn is a reserved name"),
    ]


def test_a_user_who_sees_no_table_lacks_select(server):
    server.reset()
    server.execute(f"CREATE USER blind IDENTIFIED BY '{PASSWORD}'")
    try:
        server.execute("GRANT REPLICATION SLAVE, REPLICATION CLIENT ON *.* TO blind")
        _, found = looked(server, f"mysql://blind@127.0.0.1:{server.port}")
    finally:
        server.execute("DROP USER blind")
    assert [check["found"] for check in found["checks"] if check["name"] == "privilege SELECT"] == [
        "missing: this user sees no table"
    ]
    assert found["checks"][-1]["found"] == "not checked without --lake" and found["tables"] == []


def test_the_first_hundred_generated_columns_are_named(mariadb118):
    mariadb118.reset()
    columns = ", ".join(f"g{i} INT AS (id)" for i in range(60))
    mariadb118.play(("CREATE DATABASE shop", *(f"CREATE TABLE shop.{t} (id INT, {columns})" for t in ("a", "b"))))
    connection = ServerConnection(ServerLogin("127.0.0.1", mariadb118.port, "root", ""))
    found = check_generated_columns(connection).found
    connection.close()
    assert found.startswith("not logged: shop.a (g0, g1, ") and found.count(", g") == 98
    assert found.endswith(", g38, g39); and more; they are computed, or see --generated")
