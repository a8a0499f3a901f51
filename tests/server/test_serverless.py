"""Every verb that writes, through a Spark Connect server whose sessions take no settings, as Databricks serverless."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from mirrorlake.jobs.verify import EQUAL
from tests.support.connect_server import connect_server

CREATE = (
    "CREATE DATABASE shop",
    "CREATE TABLE shop.orders (id INT PRIMARY KEY, note VARCHAR(20), at DATETIME(3), price DECIMAL(10,2))",
    "CREATE TABLE shop.visits (visitor INT, page VARCHAR(20))",
    "CREATE TABLE shop.days (day DATE, n INT) PARTITION BY RANGE (YEAR(day)) (PARTITION old VALUES LESS THAN (2020),"
    " PARTITION new VALUES LESS THAN MAXVALUE)",
    "INSERT INTO shop.orders VALUES (1, 'a', '2024-02-29 12:00:00.5', 1.5), (2, 'b', NULL, NULL), (3, 'c', NULL, 3)",
    "INSERT INTO shop.visits VALUES (1, 'x'), (1, 'x'), (2, 'y')",
    "INSERT INTO shop.days VALUES ('2019-01-01', 1), ('2024-01-01', 2)",
)
CHANGES = (
    "UPDATE shop.orders SET note = 'A' WHERE id = 1",
    "DELETE FROM shop.orders WHERE id = 2",
    "DELETE FROM shop.visits WHERE visitor = 1 LIMIT 1",
    "ALTER TABLE shop.orders CHANGE note remark VARCHAR(40), ADD total BIGINT AFTER id, MODIFY id BIGINT",
    "UPDATE shop.orders SET total = id * 2",
    "ALTER TABLE shop.days DROP PARTITION old",
    "ALTER TABLE shop.orders MODIFY price VARCHAR(20)",
    "RENAME TABLE shop.visits TO shop.visits_of_2024",
)

QUESTIONS = """
import json, sys
from mirrorlake.config import Options
from mirrorlake.jobs.notebook.investigate import Investigation
from mirrorlake.lake.delta.session import open_session

spark = open_session()
asked = {"options": Options(lake=sys.argv[1]), "spark": spark, "table": "shop.orders", "key": "1"}
look, hurried = Investigation(**asked), Investigation(**asked, seconds=0.01)
print(json.dumps({
    "mirrors": dict(zip(look.mirrors().table_name, map(int, look.mirrors().rows))),
    "history": list(look.row_history().op),
    "ddl": list(look.ddl().action),
    "hurried": list(hurried.row_history().code),
}))
"""


@pytest.mark.timeout(1200)
@pytest.mark.heavy
def test_every_verb_that_writes_works_without_settings(mysql, tmp_path):
    mysql.reset()
    for statement in CREATE:
        mysql.execute(statement)
    with connect_server(tmp_path / "connect.log") as remote:

        def python(*words: str) -> str:
            environment = {**os.environ, "SPARK_REMOTE": remote, "MIRRORLAKE_PASSWORD": ""}
            done = subprocess.run([sys.executable, *words], env=environment, capture_output=True, text=True)
            assert done.returncode == 0, done.stderr[-3000:]
            return done.stdout

        def command(*words: str) -> str:
            return python("-m", "tests.support.no_settings", *words, "--lake", str(tmp_path / "lake"))

        command("snapshot", "--source", mysql.url)
        for statement in CHANGES:
            mysql.execute(statement)
        printed = command("verify", "--run", "--source", mysql.url, "--json")
        command("maintain")
        answers = json.loads(python("-c", QUESTIONS, str(tmp_path / "lake")).splitlines()[-1])
    found, _ = json.JSONDecoder().raw_decode(printed[printed.index("[") :])  # after the lines of the run
    assert {row["table"]: (row["state"], row["rows"]) for row in found} == {
        "orders": (EQUAL, 2),
        "visits_of_2024": (EQUAL, 2),
        "days": (EQUAL, 1),
    }
    assert answers == {
        "mirrors": {"shop.days": 1, "shop.orders": 2, "shop.visits_of_2024": 2},
        "history": ["UPDATE", "UPDATE", "SNAPSHOT"],
        "ddl": ["alter", "alter", "create"],
        "hurried": ["question-time"],
    }
