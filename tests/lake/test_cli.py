"""The command line as a contract: exit codes, two lines for an error, what programs read."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import mirrorlake
from tests.support.command_line import COMMAND, complaint, in_a_process, mirrorlake_cli

DATA = Path(mirrorlake.__file__).parent / "demo_data"
DOCS = Path(__file__).resolve().parents[2] / "docs/command-line.md"
VERBS = (
    "demo", "run", "ingest", "assemble", "apply", "status", "tables", "sql", "views", "trace", "syncpoint",
    "syncpoints", "replay", "snapshot", "resync", "verify", "maintain", "preflight", "ddl", "workspace",
)  # fmt: skip
PAGES = (
    *VERBS,
    "ddl list",
    "ddl skip",
    "ddl replace",
    "workspace check",
    "workspace setup",
    "workspace runs",
    "workspace status",
)
"""Of the help."""


# --- what it offers


def test_help_names_every_verb_and_the_documentation_every_verb_and_option():
    shown = mirrorlake_cli("--help", COLUMNS="200").stdout
    assert re.findall(r"^│ ([a-z]+) ", shown, re.MULTILINE) == list(VERBS)
    documented, options = DOCS.read_text(), set()
    for page in PAGES:
        options |= set(re.findall(r"--[a-z-]+", mirrorlake_cli(*page.split(), "--help", COLUMNS="200").stdout))
    assert [verb for verb in VERBS if f"mirrorlake {verb}" not in documented] == []
    assert sorted(option for option in options if f"`{option}`" not in documented) == []


def test_help_and_version_load_neither_spark_nor_numba():
    check = "import sys; from mirrorlake.cli import app; app(['--help'], standalone_mode=False)"
    tail = "; print('LOADED', [m for m in ('pyspark', 'numba', 'pyarrow', 'pydantic', 'numpy') if m in sys.modules])"
    code = check.replace("app(", "\ntry: app(") + "\nexcept SystemExit: pass\n" + tail[2:]
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert shown.stdout.splitlines()[-1] == "LOADED []"
    assert in_a_process("--version").stdout == f"mirrorlake {mirrorlake.__version__}\n"


# --- exit codes; none of these needs Spark


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["run", "--nonsense"], "No such option: --nonsense"),
        (["run", "--lake", "x"], "--source is missing: mysql://user@host:port or files:DIR"),
        (["run", "--source", "files:x"], "option lake: Field required"),
        (["run", "--lake", "x", "--source", "ftp://x"], "a source is written mysql://user@host:port or files:DIR"),
        (["run", "--lake", "x", "--source", "mysql://u:secret@h"], "no password in the URL"),
        (["run", "--lake", "x", "--source", "files:x", "--follow", "--until", "f.000001:4"], "--follow runs until"),
        (["verify", "shop.*", "--tables", "crm.*"], "tables are chosen by PATTERNS or by --tables, not by both"),
        (["sql"], "Missing argument 'SELECT'"),
        (["sql", "SELECT '\udcff'", "--lake", "x"], "argument 2 is not UTF-8"),
        (["sql", "SELECT 1", "--lake", "x", "--format", "xml"], "'xml' is not one of"),
        (["views", "--lake", "x"], "views takes --engine duckdb|spark|trino|databricks, or --duckdb FILE"),
        (["views", "--lake", "x", "--engine", "spark", "--duckdb", "y"], "views takes --engine"),
        (["views", "--lake", "x", "--schema-template", "{table}"], "a template is the name of a schema; it may have"),
        (["run", "--config", "/no/such/file"], "cannot read /no/such/file"),
        (["preflight", "--source", "files:x"], "--source must name a server"),
        (["demo", "--flavor", "oracle"], "--flavor is one of mariadb, mysql, both, not oracle"),
    ],
)
def test_a_wrong_command_line_ends_with_2(arguments, expected):
    exit_code, code, message = complaint(mirrorlake_cli(*arguments))
    assert (exit_code, code) == (2, "usage")
    assert expected in message and "secret" not in message


def test_usage_errors_refusals_and_passing_failures_have_their_exit_codes_as_a_process(tmp_path):
    lake = tmp_path / "lake"
    results = [
        in_a_process("run", "--nonsense"),
        in_a_process("run", "--source", f"files:{tmp_path}/nothing", "--lake", lake),
        in_a_process("run", "--source", "mysql://root@127.0.0.1:1", "--lake", lake),
        in_a_process("preflight", "--source", "mysql://root@127.0.0.1:1"),
    ]
    assert [r.returncode for r in results] == [2, 3, 4, 4]
    assert [r.stderr.split(":")[0] for r in results] == [
        "usage",
        "log-missing",
        "server-unreachable",
        "server-unreachable",
    ]
    assert [len(r.stderr.splitlines()) for r in results] == [2, 2, 2, 2]
    assert not lake.exists()


def test_verbose_adds_the_traceback(tmp_path):
    shown = in_a_process(
        "run", "--source", f"files:{tmp_path}/nothing", "--lake", tmp_path / "lake", "--verbose"
    ).stderr
    assert shown.startswith("Traceback") and shown.splitlines()[-2].startswith("log-missing: ")


# --- on a lake


def test_a_lake_that_is_not_there_is_refused(spark, tmp_path):
    for verb in (["status"], ["tables"], ["sql", "SELECT 1"], ["assemble"], ["apply"]):
        exit_code, code, _ = complaint(mirrorlake_cli(*verb, "--lake", tmp_path / "lake"))
        assert (exit_code, code) == (3, "lake-missing")
    assert not (tmp_path / "lake").exists()


def test_a_lake_of_another_source_is_refused_and_stays_as_it_was(demo):
    lake = demo.lakes["mariadb"]
    before = sorted((path, path.stat().st_mtime_ns) for path in lake.rglob("*"))
    exit_code, code, message = complaint(mirrorlake_cli("run", "--source", f"files:{DATA}/mysql", "--lake", lake))
    assert (exit_code, code) == (3, "lake-source")
    assert "files:mariadb:10:binlog" in message
    assert sorted((path, path.stat().st_mtime_ns) for path in lake.rglob("*")) == before


@pytest.mark.heavy
def test_single_hops_do_what_run_does_and_print_one_line_per_commit(spark, tmp_path):
    config = tmp_path / "job.yaml"
    config.write_text(
        f"source: files:{DATA}/mysql\nlake: {tmp_path}/lake\ntables: shop.customers\nuntil: binlog.000001:4500\n"
    )
    shown = {verb: mirrorlake_cli(verb, "--config", config, "--until", "binlog.000001:9000") for verb in VERBS[2:5]}
    assert {verb: result.exit_code for verb, result in shown.items()} == dict.fromkeys(VERBS[2:5], 0)
    for verb, unit in (("ingest", "events"), ("assemble", "rows"), ("apply", "changes")):
        *commits, done = shown[verb].stderr.splitlines()
        pattern = rf"{verb} +\d{{6}}:\d+ \.\. 000001:\d+  [\d,]+ {unit}(  epoch \d+ \((rows|ddl)\))?  \d+\.\d\d s"
        assert commits and all(re.fullmatch(pattern, line) for line in commits), commits
        assert re.fullmatch(rf"done: {verb} [\d,]+ {unit}", done)
    names = [t["table"] for t in json.loads(mirrorlake_cli("tables", "--json", "--config", config).stdout)]
    assert names == ["customers"]
    status = json.loads(mirrorlake_cli("status", "--json", "--config", config).stdout)
    assert status["bronze"]["lag_bytes"] > 500_000 and status["bronze"]["lag_s"] > 0


def test_status_tells_where_every_hop_is(demo):
    found = json.loads(mirrorlake_cli("status", "--json", "--lake", demo.lakes["mysql"]).stdout)
    size = (DATA / "mysql/binlog.000004").stat().st_size
    lsn = found["bronze"]["lsn"]
    assert found["source"].startswith("files:mysql:") and found["flavor"] == "mysql"
    for hop in ("bronze", "silver", "gold"):
        assert found[hop]["lsn"] == lsn and found[hop]["position"] in (f"binlog.000004:{size}", "binlog.000005:4")
    assert [(found[hop]["lag_s"], found[hop]["lag_bytes"]) for hop in ("silver", "gold")] == [(0.0, 0)] * 2
    assert (found["bronze"]["lag_s"], found["bronze"]["lag_bytes"]) == (None, None)
    assert (found["gold"]["epoch"], found["gold"]["open_epoch"]) == (9, None)
    assert found["tables"] == {"streaming": 7, "refused": 1, "dropped": 1}
    assert [(r["table"], r["code"]) for r in found["refused"]] == [("visits", "needs-resync")]
    shown = mirrorlake_cli("status", "--lake", demo.lakes["mysql"]).stdout
    assert all(word in shown for word in ("bronze", "silver", "gold", "7 streaming", "needs-resync"))


def test_tables_are_listed_with_their_columns(demo):
    lake = demo.lakes["mariadb"]
    found = json.loads(mirrorlake_cli("tables", "--json", "--lake", lake).stdout)
    by_name = {table["table"]: table for table in found}
    assert sorted(by_name) == [
        "customers",
        "opening_hours",
        "order_lines",
        "orders",
        "payments",
        "products",
        "stock_moves",
        "visits",
    ]
    lines = by_name["order_lines"]
    applied_lsn = json.loads(mirrorlake_cli("status", "--json", "--lake", lake).stdout)["gold"]["lsn"]
    assert Path(lines.pop("path"), "_delta_log").is_dir()
    assert lines == {
        "database": "shop", "table": "order_lines", "state": "streaming", "applied_lsn": applied_lsn,
        "columns": [
            {"name": "order_id", "source_type": "bigint unsigned", "spark_type": "decimal(20,0)"},
            {"name": "line_no", "source_type": "tinyint unsigned", "spark_type": "smallint"},
            {"name": "product_id", "source_type": "mediumint unsigned", "spark_type": "int"},
            {"name": "quantity", "source_type": "smallint", "spark_type": "smallint"},
            {"name": "unit_price", "source_type": "decimal(10,2)", "spark_type": "decimal(10,2)"},
            {"name": "discount", "source_type": "float", "spark_type": "float"},
        ],
    }  # fmt: skip
    refused = by_name["visits"]
    assert 0 < refused["applied_lsn"] < applied_lsn and Path(refused["path"], "_delta_log").is_dir()
    assert (refused["state"], refused["code"], refused["reason"]) == (
        "refused",
        "needs-resync",
        "column visit_id: rows that exist get numbers in an order that the log does not have",
    )
    assert refused["columns"] == [
        {"name": "visitor", "source_type": "varchar(40)", "spark_type": "string"},
        {"name": "came_at", "source_type": "datetime", "spark_type": "timestamp_ntz"},
    ]


# --- sql


@pytest.fixture
def sql(demo, monkeypatch):
    monkeypatch.setenv("MIRRORLAKE_LAKE", str(demo.lakes["mariadb"]))
    return lambda statement, form="json": mirrorlake_cli("sql", statement, "--format", form)


@pytest.mark.parametrize(
    "name", ["shop.customers", "SHOP.Customers", "`shop`.`customers`", "customers", "shop__customers"]
)
def test_a_mirror_is_queried_under_its_source_name(sql, name):
    result = sql(f"SELECT count(*) AS n, count(*) AS n FROM {name};")
    assert json.loads(result.stdout) == [{"n": 580, "n_2": 580}] and result.exit_code == 0


def test_values_come_as_text_where_json_has_no_such_type(sql):
    query = """SELECT 1.50BD AS price, DATE'2024-02-29' AS day, TIMESTAMP'2024-02-29 12:00:00+02:00' AS moment,
        2.5D AS real, TIMESTAMP_NTZ'2024-02-29 12:00:00.25' AS clock, X'00FF' AS bytes, NULL AS nothing, true AS yes,
        array(1.5BD) AS list"""
    expected = {
        "price": "1.50", "day": "2024-02-29", "moment": "2024-02-29 10:00:00", "real": 2.5,
        "clock": "2024-02-29 12:00:00.250000", "bytes": "00ff", "nothing": None, "yes": True, "list": ["1.5"],
    }  # fmt: skip
    assert json.loads(sql(query).stdout) == [expected]
    names, values = csv.reader(io.StringIO(sql(query, "csv").stdout))
    assert names == list(expected)
    assert values == [
        "1.50",
        "2024-02-29",
        "2024-02-29 10:00:00",
        "2.5",
        "2024-02-29 12:00:00.250000",
        "00ff",
        "",
        "true",
        '["1.5"]',
    ]
    assert "2024-02-29 12:00:00.250000" in sql(query, "table").stdout


def test_what_the_hops_keep_is_queried_too(sql):
    join = "SELECT count(*) AS n FROM bronze_events b JOIN silver_changes s ON b.lsn = s.lsn AND s.op = 'COMMIT'"
    assert json.loads(sql(join).stdout) == [{"n": 956}]
    variant = json.loads(
        sql("SELECT after FROM silver_changes WHERE table = 'orders' AND op = 'INSERT' LIMIT 1").stdout
    )
    assert {"order_id", "status"} <= json.loads(variant[0]["after"]).keys()
    for table in ("silver_table_schemas", "control_tables", "control_epochs", "control_barriers"):
        assert json.loads(sql(f"SELECT count(*) > 0 AS ok FROM {table}").stdout) == [{"ok": True}]


def test_all_tables_are_shown_and_nothing_is_left_behind(sql, spark):
    shown = [row["tableName"] for row in json.loads(sql("SHOW TABLES IN shop").stdout) if row["namespace"] == "shop"]
    assert shown == ["customers", "opening_hours", "order_lines", "orders", "payments", "products", "stock_moves"]
    assert [row.namespace for row in spark.sql("SHOW DATABASES").collect()] == ["default"]


@pytest.mark.parametrize("query", ["SELECT * FROM shop.visits", "SELECT 1 FROM customers, visits"])
def test_a_refused_table_says_why(sql, query):
    exit_code, code, message = complaint(sql(query))
    assert (exit_code, code) == (3, "needs-resync")
    reason = "column visit_id: rows that exist get numbers in an order that the log does not have"
    assert message == f"this table is not mirrored: {reason} (table shop.visits)"


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("SELECT * FROM shop.carts", "this lake has no table `shop`.`carts`"),
        ("SELECT * FROM carts", "[TABLE_OR_VIEW_NOT_FOUND] The table or view `carts` cannot be found"),
        ("SELECT nme FROM shop.customers", "[UNRESOLVED_COLUMN.WITH_SUGGESTION]"),
        ("SELEC 1", "[PARSE_SYNTAX_ERROR]"),
        ("DELETE FROM shop.customers", "only statements that read are run"),
        ("/* SELECT */ DROP TABLE shop.customers", "only statements that read are run"),
        ("WITH x AS (SELECT 1) INSERT INTO shop.customers SELECT * FROM shop.customers", "only statements"),
        ("FROM shop.customers INSERT INTO shop.customers SELECT *", "only statements that read are run"),
        ("SELECT 1; DROP TABLE shop.customers", "[PARSE_SYNTAX_ERROR]"),
        ("SELECT CAST(name AS INT) FROM shop.customers", "[CAST_INVALID_INPUT] The value ... of the type"),
    ],
)  # fmt: skip
def test_a_statement_that_fails_or_writes_is_a_usage_error_of_one_line(sql, statement, said):
    exit_code, code, message = complaint(sql(statement))
    assert (exit_code, code) == (2, "sql") and message.startswith(said)


# --- stopping


@pytest.mark.heavy
def test_a_run_that_follows_stops_cleanly_on_sigterm(tmp_path):
    environment = os.environ | {"PYTHONUNBUFFERED": "1"}
    arguments = ["run", "--source", f"files:{DATA}/mysql", "--lake", str(tmp_path / "lake"), "--follow"]
    log = tmp_path / "stderr"
    with log.open("w") as stderr:
        process = subprocess.Popen([*COMMAND, *arguments], stderr=stderr, stdout=subprocess.PIPE, env=environment)
        try:
            deadline = time.monotonic() + 300
            while "ingest " not in log.read_text() and process.poll() is None and time.monotonic() < deadline:
                time.sleep(0.2)
            process.send_signal(signal.SIGTERM)
            assert process.wait(60) == 0, log.read_text()
        finally:
            process.kill()
    lines = log.read_text().splitlines()
    assert lines[-1] == "stopped: everything committed is in the lake; run the same command to continue"
    assert len(lines) < 10 and not [line for line in lines if "Error" in line or "Traceback" in line]
