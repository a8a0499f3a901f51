"""Online schema changes while others write: the mirror follows the copy and the swap of names, and shows one table."""

from __future__ import annotations

import random
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from mirrorlake.jobs.inspect.tables import list_tables
from tests.support.canonical import source_rows
from tests.support.lake_runs import LakeRun

ROWS = 3000
ORDERS = "CREATE TABLE orders (id INT PRIMARY KEY, customer INT NOT NULL, amount DECIMAL(8,2), note VARCHAR(20))"
ALTER = "ADD COLUMN state ENUM('new', 'paid') NOT NULL DEFAULT 'new' AFTER id, MODIFY amount DECIMAL(12,3), DROP note"


def lake_of(server, spark, lake_dir) -> LakeRun:
    """Of a server with a table of ROWS rows; the mirror holds them."""
    server.reset()
    server.execute("CREATE DATABASE shop")
    with server.connect(database="shop") as connection, connection.cursor() as cursor:
        cursor.execute(ORDERS)
        for start in range(0, ROWS, 1000):
            values = ", ".join(f"({n}, {n % 7}, {n}.25, 'n{n}')" for n in range(start, start + 1000))
            cursor.execute(f"INSERT INTO orders VALUES {values}")
    run = LakeRun(spark, server.datadir, lake_dir)
    all_hops(run)
    return run


def all_hops(run: LakeRun) -> None:
    run.ingest()
    run.assemble()
    run.apply(tables="shop.orders")


@contextmanager
def changing(server, seed: int) -> Iterator[None]:
    """Rows of the table come, change and go meanwhile."""
    rng, is_over = random.Random(seed), threading.Event()

    def work() -> None:
        with server.connect(database="shop") as connection, connection.cursor() as cursor:
            while not is_over.wait(0.01):
                row, other = rng.randrange(2 * ROWS), rng.randrange(2 * ROWS)
                cursor.execute("INSERT IGNORE INTO orders (id, customer, amount) VALUES (%s, 8, 1)", (row,))
                cursor.execute("UPDATE orders SET amount = amount + 1 WHERE id BETWEEN %s AND %s", (other, other + 5))
                cursor.execute("DELETE FROM orders WHERE id = %s", (rng.randrange(2 * ROWS),))

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()


def check_one_table(run: LakeRun, server) -> None:
    all_hops(run)
    mirrors = run.gold()
    with server.connect() as connection:
        assert mirrors["shop", "orders"] == sorted(source_rows(connection, "shop", "orders"))
    assert [(table["table"], table["state"]) for table in list_tables(run.lake)] == [("orders", "streaming")]


@pytest.mark.heavy
def test_pt_online_schema_change(mariadb, spark, lake_dir, pt_online_schema_change, seed):
    server, run = mariadb, lake_of(mariadb, spark, lake_dir)
    command = [
        pt_online_schema_change, "--execute", "--alter", ALTER, "--chunk-size", "50", "--sleep", "0.2",
        "--recursion-method", "none", f"D=shop,t=orders,h={server.host},P={server.port},u={server.user}",
    ]  # fmt: skip
    with changing(server, seed):
        tool = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        has_seen_shadow = False
        while tool.poll() is None:
            all_hops(run)
            shadows = [table["table"] for table in list_tables(run.lake, with_shadows=True)]
            has_seen_shadow |= "_orders_new" in shadows
            assert [table["table"] for table in list_tables(run.lake)] == ["orders"]
        assert tool.returncode == 0, tool.stdout.read()
    assert has_seen_shadow
    check_one_table(run, server)


@pytest.mark.heavy
def test_the_statements_of_gh_ost(mysql, spark, lake_dir):
    """Its rows and names; what it does with locks is not in the log. The tool is for MySQL alone."""
    run = lake_of(mysql, spark, lake_dir)
    with mysql.connect(database="shop") as connection, connection.cursor() as cursor:
        cursor.execute("CREATE TABLE _orders_ghc (id BIGINT AUTO_INCREMENT PRIMARY KEY, hint VARCHAR(64), value TEXT)")
        cursor.execute("INSERT INTO _orders_ghc (hint, value) VALUES ('state', 'GhostTableMigrated')")
        cursor.execute("CREATE TABLE _orders_gho LIKE orders")
        cursor.execute(f"ALTER TABLE _orders_gho {ALTER}")
        shared = "id, customer, amount"
        for start in range(0, 2 * ROWS, 500):
            cursor.execute(
                f"INSERT IGNORE INTO _orders_gho ({shared}) SELECT {shared} FROM orders"
                f" WHERE id >= {start} AND id < {start + 500}"
            )
            cursor.execute("UPDATE orders SET amount = amount + 1 WHERE id BETWEEN %s AND %s", (start, start + 9))
            cursor.execute("DELETE FROM orders WHERE id = %s", (start + 11,))
            cursor.execute(
                f"REPLACE INTO _orders_gho ({shared}) SELECT {shared} FROM orders WHERE id BETWEEN %s AND %s",
                (start, start + 9),
            )
            cursor.execute("DELETE FROM _orders_gho WHERE id = %s", (start + 11,))
            cursor.execute("REPLACE INTO _orders_ghc (id, hint, value) VALUES (2, 'copy', %s)", (start,))
            if start == 1000:
                all_hops(run)
        cursor.execute("CREATE TABLE _orders_del (id INT AUTO_INCREMENT PRIMARY KEY) COMMENT 'ghost-cut-over-sentry'")
        cursor.execute("DROP TABLE _orders_del")
        cursor.execute("RENAME TABLE orders TO _orders_del, _orders_gho TO orders")
        cursor.execute("INSERT INTO orders VALUES (%s, 'paid', 1, 2.125)", (3 * ROWS,))
        check_one_table(run, mysql)
        cursor.execute("DROP TABLE _orders_ghc, _orders_del")
        check_one_table(run, mysql)
