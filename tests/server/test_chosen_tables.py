"""``--tables`` against a server: patterns that fit none of its tables, and a user who sees none."""

from __future__ import annotations

import pytest

from mirrorlake.core.schema.table_name import TableName
from mirrorlake.core.sql_text import quote
from mirrorlake.mysql import source_tables
from mirrorlake.mysql.connection import ServerConnection
from mirrorlake.mysql.login import ServerLogin
from tests.support.command_line import complaint, mirrorlake_cli

PASSWORD = "only for these tests"
ODD = ("Orders", "ORDERS", "o'r", "\u00e9", "\\", "a.b")
TABLES = ("shop.orders", "shop.order_lines", "crm.users")


@pytest.fixture
def shop(server):
    server.reset()
    for sql in ("CREATE DATABASE shop", "CREATE DATABASE crm"):
        server.execute(sql)
    for table in TABLES:
        server.execute(f"CREATE TABLE {table} (id INT PRIMARY KEY)")
    return server


@pytest.mark.parametrize("n_rows", [1, 2, 3, 10])
def test_long_lists_are_read_in_pages(shop, monkeypatch, n_rows):
    """Names that differ in case alone, or are odd in SQL, are on one side of a page's end."""
    shop.play(
        (
            *(f"CREATE TABLE shop.{quote(name)} (id INT PRIMARY KEY)" for name in ODD),
            "CREATE TABLE crm.child (u INT, v INT, FOREIGN KEY (u) REFERENCES users (id),"
            " FOREIGN KEY (v) REFERENCES shop.orders (id), FOREIGN KEY (v) REFERENCES users (id))",
        )
    )
    names = {TableName("shop", name) for name in ODD} | {TableName(*name.split(".")) for name in (*TABLES, "crm.child")}
    monkeypatch.setattr(source_tables, "PAGE_ROWS", n_rows)
    monkeypatch.setattr(source_tables, "MOST_PAGES", 20)
    control = ServerConnection(ServerLogin("127.0.0.1", shop.port, "root", ""))
    tables = source_tables.list_tables(control.query)
    assert [table.name for table in tables] == sorted(names) and source_tables.table_names(control.query) == names
    assert tables[0].parents == {TableName("crm", "users"), TableName("shop", "orders")}
    assert source_tables.database_charsets(control.query).keys() == {"crm", "shop"}
    control.close()


@pytest.mark.parametrize(
    ("verb", "patterns", "says"),
    [
        ("snapshot", "shp.*", "shp.* fits no table that this user sees; the nearest: shop.*"),
        ("resync", "shop.ordres", "shop.ordres fits no table that this user sees; the nearest: shop.orders"),
        ("snapshot", "shop.*,!crm.user", "!crm.user fits no table that this user sees; the nearest: crm.users"),
        ("snapshot", "zzz.*", "zzz.* fits no table that this user sees"),
        ("snapshot", "shop", "option tables: 'shop' is no pattern of database.table, such as"),
    ],
)
def test_a_pattern_that_fits_no_table_is_a_usage_error_before_anything_is_made(shop, lake_dir, verb, patterns, says):
    exit_code, code, message = complaint(mirrorlake_cli(verb, patterns, "--source", shop.url, "--lake", lake_dir))
    assert (exit_code, code, lake_dir.exists()) == (2, "usage", False)
    assert message.startswith(says)


def test_a_snapshot_by_a_user_without_select_is_an_error(shop, lake_dir):
    shop.execute(f"CREATE USER blind IDENTIFIED BY '{PASSWORD}'")
    try:
        shop.execute("GRANT REPLICATION SLAVE, REPLICATION CLIENT ON *.* TO blind")
        source = f"mysql://blind@127.0.0.1:{shop.port}"
        asked = mirrorlake_cli("snapshot", "--source", source, "--lake", lake_dir, MIRRORLAKE_PASSWORD=PASSWORD)
    finally:
        shop.execute("DROP USER blind")
    says = f"blind@127.0.0.1:{shop.port}: SELECT is missing, this user sees no table"
    assert complaint(asked) == (3, "server-privilege", says) and not lake_dir.exists()
