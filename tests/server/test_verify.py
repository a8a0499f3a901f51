"""`mirrorlake verify`: what it says of mirrors that are their source, and of those that are not."""

from __future__ import annotations

import pytest

from mirrorlake.config import Options
from mirrorlake.errors import RetryableError
from mirrorlake.jobs.row_comparison import CHANGED, EXTRA, MISSING
from mirrorlake.jobs.run import hops
from mirrorlake.jobs.run.watcher import Watcher
from mirrorlake.jobs.snapshot import TableSnapshot, snapshot
from mirrorlake.jobs.verify import (
    CHANGED_MEANWHILE,
    DIFFERENT,
    EQUAL,
    LEFT_OUT,
    NEVER_IN_LAKE,
    NOT_COMPARED,
    NOT_IN_LAKE,
    NOT_ON_SERVER,
    ROWS_CHANGED,
    VerifiedTable,
    damaged_silver,
    verify,
)
from mirrorlake.lake.delta.names import LakeNames
from mirrorlake.lake.gold.syncpoint.syncpoints import Syncpoint
from mirrorlake.mysql.consistent_read import ConsistentRead
from tests.support.command_line import mirrorlake_cli


def verified(options: Options, spark, **how) -> list[VerifiedTable]:
    return _verified(options, spark, **how)[1]


def _verified(options: Options, spark, **how) -> tuple[Syncpoint, list[VerifiedTable]]:
    return verify(options, Watcher(), spark=spark, **{"moves": True, "wait_s": 60, "n_keys": 10} | how)


@pytest.mark.heavy
def test_what_differs_is_named(server, spark, lake_dir, monkeypatch):
    """The source is changed without logging it. Of many or long rows that differ, a few are looked into."""
    server.reset()
    server.execute("CREATE DATABASE shop")
    for sql in (
        "CREATE TABLE shop.orders (id INT PRIMARY KEY, city VARCHAR(20), price DOUBLE)",
        "INSERT INTO shop.orders VALUES (1, 'Bonn', 0.1), (2, 'Köln', 1e300), (3, NULL, -0.0), (4, '', 7)",
        "CREATE TABLE shop.visits (page VARCHAR(20))",
        "INSERT INTO shop.visits VALUES ('a'), ('a'), ('b'), (NULL)",
        "CREATE TABLE shop.codes (part VARBINARY(4), number INT, PRIMARY KEY (part, number))",
        "INSERT INTO shop.codes VALUES (x'00ff', 1)",
        "CREATE TABLE shop.notes (id INT PRIMARY KEY) ENGINE = MyISAM",
        "CREATE TABLE shop.drafts (id INT PRIMARY KEY, v INT) ENGINE = MyISAM",
        "INSERT INTO shop.drafts VALUES (1, 1)",
        "CREATE TABLE shop.wide (id INT PRIMARY KEY, "
        + ", ".join(f"c{i} CHAR(1) DEFAULT 'a'" for i in range(20))
        + ")",
        "INSERT INTO shop.wide (id) VALUES (0)",
        *(f"INSERT INTO shop.wide (id) SELECT id + {1 << i} FROM shop.wide" for i in range(6)),
    ):
        server.execute(sql)
    options = Options(source=server.url, lake=str(lake_dir))
    hops.run(options, Watcher(), spark)
    server.play(
        (
            "SET sql_log_bin = 0",
            "UPDATE shop.orders SET city = 'Brühl', price = 0.30000000000000004 WHERE id = 1",
            "DELETE FROM shop.orders WHERE id = 2",
            "INSERT INTO shop.orders VALUES (5, 'Trier', 0)",
            "UPDATE shop.visits SET page = 'b' WHERE page = 'a' LIMIT 1",
            "DELETE FROM shop.codes",
            "UPDATE shop.drafts SET v = 2",
        )
    )
    found = {table.table: table for table in verified(options, spark)}
    assert found == {
        "codes": VerifiedTable("shop", "codes", DIFFERENT, 0, 1, (("part=00FF, number=1", EXTRA),)),
        "drafts": VerifiedTable("shop", "drafts", DIFFERENT, 1, 1, (("id=1", f"{CHANGED} in v"),)),
        "notes": VerifiedTable("shop", "notes", EQUAL, 0, 0),
        "orders": VerifiedTable(
            "shop", "orders", DIFFERENT, 4, 4,
            (("id=1", f"{CHANGED} in city, price"), ("id=2", EXTRA), ("id=5", MISSING)),
        ),
        "visits": VerifiedTable("shop", "visits", DIFFERENT, 4, 4),
        "wide": VerifiedTable("shop", "wide", EQUAL, 64, 64),
    }  # fmt: skip
    printed = mirrorlake_cli("verify", "shop.orders", "--source", server.url, "--lake", lake_dir, "--run")
    assert printed.exit_code == 3 and "orders" in printed.stdout
    point, tables = _verified(options, spark, n_keys=1)
    (shown,) = (table.keys for table in tables if table.table == "orders")
    assert shown == found["orders"].keys[:1]
    assert damaged_silver(options, point, spark) == []
    spark.sql(f"DELETE FROM {LakeNames(str(lake_dir)).silver_changes} WHERE table = 'orders' AND ordinal = 3")
    damaged = [(transaction.changes, transaction.found) for transaction in damaged_silver(options, point, spark)]
    assert damaged == [(4, 3)]
    server.play(("SET sql_log_bin = 0", "UPDATE shop.wide SET c0 = 'b'"))
    monkeypatch.setattr("mirrorlake.mysql.session.ANSWER_BYTES", 8_000)  # all rows of eight parts are longer
    monkeypatch.setattr("mirrorlake.jobs.row_comparison.LOOKED_INTO_BYTES", 12_000)
    (wide,) = (table for table in verified(options, spark) if table.table == "wide")
    assert (wide.state, wide.rows, wide.mirror_rows) == (DIFFERENT, 64, 64)
    assert 1 <= len(wide.keys) <= 2 and {what for _, what in wide.keys} == {f"{CHANGED} in c0"}


def test_nobody_at_work_is_told(server, spark, lake_dir):
    server.reset()
    server.execute("CREATE DATABASE shop")
    options = Options(source=server.url, lake=str(lake_dir))
    hops.run(options, Watcher(), spark)
    server.execute("CREATE TABLE shop.orders (id INT PRIMARY KEY)")
    with pytest.raises(RetryableError) as waited:
        verified(options, spark, moves=False, wait_s=1)
    assert waited.value.code == "verify-wait"
    (table,) = verified(options, spark)
    assert (table.table, table.state, table.rows) == ("orders", EQUAL, 0)


def test_definitions_and_tables_that_differ_are_named(server, spark, lake_dir):
    server.reset()
    for sql in (
        "CREATE DATABASE elsewhere",
        "CREATE DATABASE shop CHARACTER SET latin1",
        "CREATE TABLE shop.changed (id INT PRIMARY KEY, a INT, b VARCHAR(5), c INT)",
        "CREATE TABLE shop.moved (id INT PRIMARY KEY, a INT, b INT)",
        "CREATE TABLE shop.keyed (id INT PRIMARY KEY, a INT NOT NULL)",
        "CREATE TABLE shop.gone (id INT PRIMARY KEY)",
        "CREATE TABLE shop.named (id INT PRIMARY KEY, _lsn INT)",
    ):
        server.execute(sql)
    options = Options(source=server.url, lake=str(lake_dir), tables=("shop.*",))
    hops.run(options, Watcher(), spark)
    server.play(
        (
            "SET sql_log_bin = 0",
            "ALTER TABLE shop.changed ADD n INT, DROP a, MODIFY b VARCHAR(5) CHARACTER SET utf8mb4, MODIFY c BIGINT",
            "ALTER TABLE shop.moved MODIFY b INT AFTER id",
            "ALTER TABLE shop.keyed DROP PRIMARY KEY, ADD PRIMARY KEY (a)",
            "DROP TABLE shop.gone",
            "CREATE TABLE shop.unknown (id INT PRIMARY KEY)",
            "CREATE TABLE shop.taken (id INT PRIMARY KEY, _lsn INT)",
            "CREATE TABLE shop.unversioned (id INT) ENGINE=MEMORY",
            "CREATE TABLE elsewhere.unknown (id INT PRIMARY KEY)",
        )
    )
    assert [(table.database, table.table, table.state, table.reason) for table in verified(options, spark)] == [
        ("elsewhere", "unknown", NOT_COMPARED, LEFT_OUT),
        ("shop", "changed", DIFFERENT,
         "column n is missing in the mirror; column a is only in the mirror; "
         "column b is varchar(5) utf8mb4, in the mirror varchar(5) latin1; column c is bigint, in the mirror int"),
        ("shop", "gone", DIFFERENT, NOT_ON_SERVER),
        ("shop", "keyed", DIFFERENT, "the key is (a), in the mirror (id)"),
        ("shop", "moved", DIFFERENT, "the columns stand in another order"),
        ("shop", "named", NOT_COMPARED, "refused (column-name)"),
        ("shop", "taken", DIFFERENT, NEVER_IN_LAKE.format("column-name: column _lsn is a reserved name")),
        ("shop", "unknown", DIFFERENT, NOT_IN_LAKE),
        ("shop", "unversioned", DIFFERENT,
         NEVER_IN_LAKE.format("storage engine memory keeps no older versions of rows")),
    ]  # fmt: skip


@pytest.mark.heavy
def test_what_changes_meanwhile_is_told_from_what_differs(server, spark, lake_dir, monkeypatch):
    server.reset()
    for sql in (
        "CREATE DATABASE shop",
        "CREATE TABLE shop.wider (id INT PRIMARY KEY)",
        "CREATE TABLE shop.notes (id INT PRIMARY KEY) ENGINE = MyISAM",
        "CREATE TABLE shop.gone (id INT PRIMARY KEY)",
        "CREATE TABLE shop.same (id INT PRIMARY KEY)",
        "INSERT INTO shop.notes VALUES (1)",
    ):
        server.execute(sql)
    options = Options(source=server.url, lake=str(lake_dir))
    hops.run(options, Watcher(), spark)

    def read_and_change(login):
        read = ConsistentRead(login)
        for sql in (
            "ALTER TABLE shop.wider ADD n INT",
            "INSERT INTO shop.notes VALUES (2)",
            "DROP TABLE shop.gone",
            "CREATE TABLE shop.newer (id INT PRIMARY KEY)",
            "INSERT INTO shop.same VALUES (1)",
        ):
            server.execute(sql)
        return read

    monkeypatch.setattr("mirrorlake.jobs.verify.ConsistentRead", read_and_change)
    assert verified(options, spark) == [
        VerifiedTable("shop", "gone", NOT_COMPARED, reason=CHANGED_MEANWHILE),
        VerifiedTable("shop", "notes", NOT_COMPARED, reason=ROWS_CHANGED),
        VerifiedTable("shop", "same", EQUAL, 0, 0),
        VerifiedTable("shop", "wider", NOT_COMPARED, reason=CHANGED_MEANWHILE),
    ]
    monkeypatch.undo()
    assert [(table.table, table.state, table.rows) for table in verified(options, spark)] == [
        ("newer", EQUAL, 0), ("notes", EQUAL, 2), ("same", EQUAL, 1), ("wider", EQUAL, 0),
    ]  # fmt: skip


@pytest.mark.heavy
def test_a_default_whose_bytes_are_no_text_hides_no_table(server, spark, lake_dir):
    """MariaDB shows it as raw bytes in SHOW CREATE TABLE, which snapshot and verify read."""
    server.reset()
    server.execute("CREATE DATABASE shop")
    server.execute(
        "CREATE TABLE shop.codes (id INT PRIMARY KEY, b BINARY(2) DEFAULT x'ff00', v VARBINARY(9) DEFAULT x'e9')"
    )
    server.execute("CREATE TABLE shop.notes (id INT PRIMARY KEY)")
    server.execute("INSERT INTO shop.codes (id) VALUES (1)")
    options = Options(source=server.url, lake=str(lake_dir))
    copied: list[TableSnapshot] = []
    snapshot(options, copied.append, spark=spark)
    assert copied == [TableSnapshot("shop", "codes", 1), TableSnapshot("shop", "notes", 0)]
    server.execute("INSERT INTO shop.codes (id) VALUES (2)")
    hops.run(options, Watcher(), spark)
    assert verified(options, spark) == [
        VerifiedTable("shop", "codes", EQUAL, 2, 2),
        VerifiedTable("shop", "notes", EQUAL, 0, 0),
    ]
