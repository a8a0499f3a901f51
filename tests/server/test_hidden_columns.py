"""Hidden and hashed columns of real servers: a snapshot, the log and `verify`; and patterns that fit no column."""

from __future__ import annotations

from random import Random

import pytest

from mirrorlake.config import Options
from mirrorlake.core.schema.tables import TableSchema
from mirrorlake.jobs.run import column_secret, hops
from mirrorlake.jobs.run.open import open_lake
from mirrorlake.jobs.run.watcher import Watcher
from mirrorlake.jobs.snapshot import snapshot
from mirrorlake.jobs.verify import EQUAL, verify
from mirrorlake.lake.gold.control.register import TableRegister
from tests.support.command_line import complaint, mirrorlake_cli
from tests.support.digests import digest_of
from tests.support.files_of_lake import files_with
from tests.support.random_sql import TYPES_OF, random_expression
from tests.support.random_tables import COLUMN_TYPES, create_table_sql, table_of_every_type

SECRET, KEY = "+49 170 5550199", "the secret of the tests"
COLUMNS = {"shop.*.phone": "drop", "shop.mails.mail": "hash", "shop.*.no": "hash", "shop.kinds.c*": "hash"}
ROWS = 10
MORE = ("ALTER TABLE kinds ADD cz DECIMAL(9,2) ZEROFILL DEFAULT 12.5", "ALTER TABLE kinds ADD cn DECIMAL(9,2)")
SELECTED = {"bit": "{} + 0", "float": "{} * 1e0", "time": "CAST({} AS CHAR)", "vector": "CAST({} AS BINARY)"}
"""Where the driver gives other values than the page's function takes."""
SESSION = ("SET time_zone = '+00:00'", "SET SESSION sql_mode = 'ALLOW_INVALID_DATES'")


def digest(text: str) -> str | None:
    return digest_of(KEY, text)


class Kinds:
    """A table with a hashed column of each type, of a random length. The same rows are in the snapshot and in the log
    after it."""

    def __init__(self, flavor: str, seed: int):
        self._random = Random(f"{seed} {flavor}")
        types = [*COLUMN_TYPES, *TYPES_OF[flavor]]
        self._random.shuffle(types)
        self.columns = table_of_every_type("shop", "kinds", {kind.name: kind for kind in types}.values()).columns
        self.names = ", ".join(column.name for column in self.columns[1:])

    def fill(self, cursor) -> None:
        """A DECIMAL with ZEROFILL, and one that was rounded to zero, have one value in all rows."""
        table = TableSchema("shop", "kinds", self.columns, ("id",))
        for sql in (*SESSION, "USE shop", create_table_sql(table), *MORE):
            cursor.execute(sql)
        for number in range(ROWS):
            row = [random_expression(self._random, column) for column in self.columns[1:]]
            values = ", ".join(sql for sql, _ in row)
            values_of = [arg for _, args in row for arg in args]
            cursor.execute(f"INSERT IGNORE INTO kinds (id, {self.names}) VALUES ({number}, {values})", values_of)
        cursor.execute("UPDATE kinds SET cn = -0.001")

    def fill_again(self, cursor) -> None:
        """The same rows under other keys."""
        names = f"{self.names}, cn"
        cursor.execute(f"INSERT INTO kinds (id, {names}) SELECT id + {ROWS}, {names} FROM kinds")

    def digests(self, cursor) -> list[tuple]:
        """Those that the page's function computes from what SELECT shows."""
        shown = ", ".join(SELECTED.get(column.type.name, "{}").format(column.name) for column in self.columns[1:])
        cursor.execute(f"SELECT {shown} FROM kinds ORDER BY id")
        kinds, more = [column.type for column in self.columns[1:]], (digest("12.50"), digest("0.00"))
        return [
            (*(digest_of(KEY, value, kind) for value, kind in zip(row, kinds, strict=True)), *more)
            for row in cursor.fetchall()
        ]


@pytest.mark.heavy
def test_a_snapshot_and_the_log_after_it_show_no_hidden_value(server, spark, lake_dir, monkeypatch, seed):
    monkeypatch.setattr(column_secret, "_taken", KEY)
    server.reset()
    server.play((
        "CREATE DATABASE shop CHARACTER SET utf8mb4",
        "CREATE TABLE shop.people (id INT PRIMARY KEY, phone VARCHAR(40), tail VARCHAR(9) AS (right(phone, 9)), v INT)",
        f"INSERT INTO shop.people (id, phone, v) VALUES (1, '{SECRET}', 1), (2, '{SECRET}', 2)",
        "CREATE TABLE shop.logins (v INT, phone VARCHAR(40))",
        "CREATE TABLE shop.mails (mail VARCHAR(60) CHARSET latin1 PRIMARY KEY, no INT(5) ZEROFILL, v INT)",
        "INSERT INTO shop.mails VALUES ('Jürgen', 42, 1), ('b', NULL, 2), ('c', 7, 3)",
    ))  # fmt: skip
    options = Options(source=server.url, lake=str(lake_dir), tables="shop.*", columns=COLUMNS)
    kinds = Kinds(server.flavor, seed)
    with server.connect() as connection, connection.cursor() as cursor:
        kinds.fill(cursor)
        snapshot(options, lambda _: None, spark=spark)
        kinds.fill_again(cursor)
        digests = kinds.digests(cursor)
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
        ("kinds", EQUAL, 2 * ROWS), ("logins", EQUAL, 2), ("mails", EQUAL, 2), ("people", EQUAL, 3),
    ]  # fmt: skip
    assert found[2].difference == "hashed columns are not compared: mail, no"
    lake = open_lake(options, spark)
    mirrors = {entry.table: spark.table(lake.names.mirror(entry.mirror_id)) for entry in TableRegister.read(lake)}
    assert sorted(map(tuple, mirrors["mails"].select("mail", "no", "v").collect())) == sorted(
        [(digest("Jürgen"), digest("42"), 10), (digest("ü"), digest("42"), 2)]
    )
    rows = mirrors["kinds"].orderBy("id").drop("id", "_lsn").collect()
    assert digests[:ROWS] == digests[ROWS:]
    assert list(map(tuple, rows)) == digests
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
