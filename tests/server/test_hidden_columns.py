"""Hidden and hashed columns of real servers: a snapshot, the log and `verify`; and patterns that fit no column."""

from __future__ import annotations

import hashlib
import hmac

import pytest

from mirrorlake.config import Options
from mirrorlake.jobs.run import column_secret, hops
from mirrorlake.jobs.run.open import open_lake
from mirrorlake.jobs.run.watcher import Watcher
from mirrorlake.jobs.snapshot import snapshot
from mirrorlake.jobs.verify import EQUAL, verify
from mirrorlake.lake.gold.control.register import TableRegister
from tests.support.command_line import complaint, mirrorlake_cli
from tests.support.files_of_lake import files_with

SECRET, KEY = "+49 170 5550199", "the secret of the tests"
COLUMNS = {"shop.*.phone": "drop", "shop.mails.mail": "hash", "shop.*.no": "hash"}


def digest(text: str) -> str:
    return hmac.new(KEY.encode(), text.encode(), hashlib.sha256).hexdigest()


def test_a_snapshot_and_the_log_after_it_show_no_hidden_value(server, spark, lake_dir, monkeypatch):
    monkeypatch.setattr(column_secret, "_taken", KEY)
    server.reset()
    server.play((
        "CREATE DATABASE shop",
        "CREATE TABLE shop.people (id INT PRIMARY KEY, phone VARCHAR(40), tail VARCHAR(9) AS (right(phone, 9)), v INT)",
        f"INSERT INTO shop.people (id, phone, v) VALUES (1, '{SECRET}', 1), (2, '{SECRET}', 2)",
        "CREATE TABLE shop.logins (v INT, phone VARCHAR(40))",
        "CREATE TABLE shop.mails (mail VARCHAR(60) CHARSET latin1 PRIMARY KEY, no INT(5) ZEROFILL, v INT)",
        "INSERT INTO shop.mails VALUES ('Jürgen', 42, 1), ('b', NULL, 2), ('c', 7, 3)",
    ))  # fmt: skip
    options = Options(source=server.url, lake=str(lake_dir), tables="shop.*", columns=COLUMNS)
    snapshot(options, lambda _: None, spark=spark)
    server.play((
        f"UPDATE shop.people SET v = 3 WHERE phone = '{SECRET}' AND id = 1",
        f"INSERT INTO shop.logins VALUES (1, '{SECRET}'), (1, '{SECRET} '), (2, NULL)",
        "DELETE FROM shop.logins LIMIT 1",
        "UPDATE shop.mails SET v = 10 WHERE mail = 'Jürgen'",
        "ALTER TABLE shop.mails CONVERT TO CHARACTER SET utf8mb4",
        "UPDATE shop.mails SET mail = 'ü', no = 42 WHERE mail = 'b'",
        "DELETE FROM shop.mails WHERE mail = 'c'",
        "ALTER TABLE shop.people ADD w INT FIRST, CHANGE v u BIGINT",
        f"REPLACE INTO shop.people (id, phone, u) VALUES (3, '{SECRET}', 3), (2, NULL, 5)",
    ))  # fmt: skip
    hops.run(options, Watcher(), spark=spark)
    _, found = verify(options, Watcher(), spark=spark, moves=True, wait_s=60, n_keys=10)
    assert [(table.table, table.state, table.rows) for table in found] == [
        ("logins", EQUAL, 2), ("mails", EQUAL, 2), ("people", EQUAL, 3),
    ]  # fmt: skip
    assert found[1].difference == "hashed columns are not compared: mail, no"
    lake = open_lake(options, spark)
    mails = spark.table(lake.names.mirror(TableRegister.read(lake).get(("shop", "mails")).mirror_id))
    assert sorted(map(tuple, mails.select("mail", "no", "v").collect())) == sorted(
        [(digest("Jürgen"), digest("42"), 10), (digest("ü"), digest("42"), 2)]
    )
    assert files_with(lake_dir, SECRET) == []
    assert files_with(lake_dir, SECRET[-9:]) == []


@pytest.mark.parametrize("verb", ["snapshot", "resync"])
def test_a_pattern_that_fits_no_column_is_a_usage_error_before_anything_is_made(mysql, lake_dir, tmp_path, verb):
    mysql.reset()
    mysql.play(("CREATE DATABASE shop", "CREATE TABLE shop.people (id INT PRIMARY KEY, phone TEXT)"))
    config = tmp_path / "config.yml"
    config.write_text("columns: {shop.people.fone: drop, '*.*.password': drop}")
    asked = mirrorlake_cli(verb, "shop.*", "--source", mysql.url, "--lake", lake_dir, "--config", config)
    says = "shop.people.fone fits no column that this user sees; the nearest: shop.people.phone, shop.people.id"
    assert complaint(asked) == (2, "usage", says)
    assert not lake_dir.exists()
