"""``tables --source``: what becomes of each table of a server, before and after a run; and what ``run`` says of it."""

from __future__ import annotations

import json

from tests.support.command_line import complaint, mirrorlake_cli

OLDER = (
    "CREATE DATABASE shop",
    "CREATE TABLE shop.older (id INT PRIMARY KEY)",
    "CREATE TABLE shop.log_1 (id INT PRIMARY KEY)",
    "CREATE TABLE shop.notes (id INT PRIMARY KEY) ENGINE = MyISAM",
    "CREATE TABLE shop.reserved (id INT PRIMARY KEY, _lsn INT)",
    "CREATE VIEW shop.seen AS SELECT * FROM shop.older",
)
LOGGED = (
    "CREATE TABLE shop.orders (id INT PRIMARY KEY)",
    "INSERT INTO shop.orders VALUES (1)",
    "INSERT INTO shop.older VALUES (1)",
    "INSERT INTO shop.log_1 VALUES (1)",
)
SEQUENCES = ("CREATE SEQUENCE shop.numbers", "SELECT NEXTVAL(shop.numbers)")
NEEDS_COPY = ("needs-first-copy", "its CREATE TABLE is not in the log")


def fates(server, lake, *options: str) -> dict[str, tuple]:
    """Table -> fate, code, reason, and whether there is a mirror."""
    shown = mirrorlake_cli("tables", "--lake", lake, "--source", server.url, "--json", *options)
    assert shown.exit_code == 0, shown.stderr
    found = json.loads(shown.stdout)
    assert [row["table"] for row in found] == sorted(row["table"] for row in found)
    return {row["table"]: (row["fate"], row.get("code"), row.get("reason"), bool(row["path"])) for row in found}


def test_each_table_of_the_server_has_a_fate(server, spark, lake_dir):
    server.reset()
    server.play(OLDER)
    server.execute("FLUSH BINARY LOGS")
    start = server.log_files()[-1].name
    server.play((*LOGGED, *(SEQUENCES if server.flavor == "mariadb" else ())))
    source = ["--source", server.url, "--lake", lake_dir, "--tables", "shop.*,!shop.log_*,shop.zzz"]
    done = mirrorlake_cli("run", *source, "--start", f"{start}:4")
    assert done.exit_code == 0, done.stderr
    *lines, note, last = done.stderr.splitlines()
    command = f"mirrorlake tables --lake {lake_dir} --source {server.url} --tables 'shop.*,!shop.log_*,shop.zzz'"
    assert note == f"3 tables of the server are not mirrored: {command} shows why"
    assert last.startswith("done: ingest ")
    assert lines[0] == "warning: shop.zzz fits no table that this user sees"

    no_versions = "storage engine myisam keeps no older versions of rows"
    expected = {
        "log_1": ("left out", None, "excluded by !shop.log_*", False),
        "notes": ("no snapshot", None, no_versions, False),
        "older": ("refused", *NEEDS_COPY, False),
        "orders": ("mirrored", None, None, True),
        "reserved": ("refused", "column-name", "column _lsn is a reserved name", False),
    }
    found = fates(server, lake_dir, "--tables", "shop.*,!shop.log_*")
    assert found == expected
    compared = mirrorlake_cli("verify", "shp.*", "--source", server.url, "--lake", lake_dir)
    assert complaint(compared) == (2, "usage", "shp.* fits no table that this user sees; the nearest: shop.*")
    assert fates(server, lake_dir)["log_1"] == ("needs a snapshot", None, None, False)

    server.execute("CREATE TABLE shop.fresh (id INT PRIMARY KEY)")
    assert mirrorlake_cli("snapshot", "shop.older", "--source", server.url, "--lake", lake_dir).exit_code == 0
    assert mirrorlake_cli("ingest", *source[:4]).exit_code == mirrorlake_cli("assemble", *source[2:4]).exit_code == 0
    later = fates(server, lake_dir, "--tables", "shop.*,!shop.log_*")
    assert (later["fresh"], later["older"]) == (("next run", None, None, False),) * 2
