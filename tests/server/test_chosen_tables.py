"""``--tables`` against a server: patterns that fit none of its tables, and a user who sees none."""

from __future__ import annotations

import pytest

from tests.support.command_line import complaint, mirrorlake_cli

PASSWORD = "only for these tests"
TABLES = ("shop.orders", "shop.order_lines", "crm.users")


@pytest.fixture
def shop(server):
    server.reset()
    for sql in ("CREATE DATABASE shop", "CREATE DATABASE crm"):
        server.execute(sql)
    for table in TABLES:
        server.execute(f"CREATE TABLE {table} (id INT PRIMARY KEY)")
    return server


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
