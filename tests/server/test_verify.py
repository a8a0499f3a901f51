"""`mirrorlake verify`: what it says of mirrors that are their source, and of those that are not."""

from __future__ import annotations

import pytest

from mirrorlake.config import Options
from mirrorlake.errors import RetryableError
from mirrorlake.jobs import hops
from mirrorlake.jobs.verify import (
    CHANGED,
    DIFFERENT,
    EQUAL,
    EXTRA,
    MISSING,
    NO_VERSIONS,
    NOT_COMPARED,
    VerifiedTable,
    verify,
)
from mirrorlake.jobs.watcher import Watcher


def verified(options: Options, spark, **how) -> list[VerifiedTable]:
    return verify(options, Watcher(), spark=spark, **{"moves": True, "wait_s": 60, "n_keys": 10} | how)[1]


def test_what_differs_is_named(server, spark, lake_dir):
    """The source is changed behind the log's back."""
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
    ):
        server.execute(sql)
    options = Options(source=server.url, lake=str(lake_dir))
    hops.run(options, Watcher(), spark)
    with server.connect() as connection, connection.cursor() as cursor:
        for sql in (
            "SET sql_log_bin = 0",
            "UPDATE shop.orders SET city = 'Brühl', price = 0.30000000000000004 WHERE id = 1",
            "DELETE FROM shop.orders WHERE id = 2",
            "INSERT INTO shop.orders VALUES (5, 'Trier', 0)",
            "UPDATE shop.visits SET page = 'b' WHERE page = 'a' LIMIT 1",
            "DELETE FROM shop.codes",
        ):
            cursor.execute(sql)
    found = {table.table: table for table in verified(options, spark)}
    assert found == {
        "codes": VerifiedTable("shop", "codes", DIFFERENT, 0, 1, (("part=00FF, number=1", EXTRA),)),
        "notes": VerifiedTable("shop", "notes", NOT_COMPARED, reason=NO_VERSIONS),
        "orders": VerifiedTable(
            "shop", "orders", DIFFERENT, 4, 4,
            (("id=1", f"{CHANGED} in city, price"), ("id=2", EXTRA), ("id=5", MISSING)),
        ),
        "visits": VerifiedTable("shop", "visits", DIFFERENT, 4, 4),
    }  # fmt: skip
    (shown,) = (table.keys for table in verified(options, spark, n_keys=1) if table.table == "orders")
    assert shown == found["orders"].keys[:1]


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
