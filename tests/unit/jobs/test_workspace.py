"""``mirrorlake workspace`` with the real SDK, against a stand-in workspace on loopback."""

from __future__ import annotations

import json
import os
import re
import socket
import sys
from datetime import datetime, timedelta, timezone
from types import SimpleNamespace

import pytest

from mirrorlake import __version__
from mirrorlake.config import Options
from mirrorlake.errors import REFUSALS
from mirrorlake.jobs.run import password
from tests.support.command_line import complaint, mirrorlake_cli, without_spark
from tests.support.databricks_sdk import with_sdk
from tests.support.workspace import NOBODY, TOKEN, Fault, stand_in

pytestmark = pytest.mark.xdist_group("workspace")  # one process installs the SDK
SECRET = "secret mirrorlake/source-password"
LAKE = "uc:main.mirrorlake"
THEN = datetime(2026, 1, 2, 3, 4, 5, tzinfo=timezone.utc)


@pytest.fixture(scope="module", autouse=True)
def _sdk():
    with_sdk()


@pytest.fixture
def ws():
    with stand_in() as workspace:
        yield workspace


def ask(ws, verb: str, *arguments, lake: str = LAKE, **environment):
    return mirrorlake_cli("workspace", verb, "--lake", lake, *arguments, **{**ws.environment, **environment})


# --- runs


def wheel_job(job_id: int, name: str, *parameters: str) -> dict:
    wheel = {"package_name": "mirrorlake", "entry_point": "mirrorlake-task", "parameters": list(parameters)}
    return {"job_id": job_id, "settings": {"name": name, "tasks": [{"task_key": "t", "python_wheel_task": wheel}]}}


def run_of(run_id: int, minute: int, result: str | None = "SUCCESS", *, message: str = "", tasks=()) -> dict:
    start = int(THEN.timestamp() * 1000) + minute * 60_000
    state = {"life_cycle_state": "TERMINATED", "result_state": result} if result else {"life_cycle_state": "RUNNING"}
    ended = {"end_time": start + 12_345} if result else {}
    return {
        "run_id": run_id, "start_time": start, **ended, "state": {**state, "state_message": message},
        "tasks": list(tasks), "run_page_url": f"https://ws/run/{run_id}",
    }  # fmt: skip


def task_of(run_id: int, result: str, message: str = "") -> dict:
    state = {"life_cycle_state": "TERMINATED", "result_state": result, "state_message": message}
    return {"run_id": run_id, "task_key": f"t{run_id}", "start_time": run_id, "state": state}


@pytest.fixture
def with_jobs(ws):
    notebook = {"notebook_path": "80", "base_parameters": {"lake": LAKE}}
    ws.jobs = [
        wheel_job(1, "replication", "run", "--lake", LAKE),
        wheel_job(2, "of another lake", "run", "--lake", "uc:main.other"),
        {"job_id": 3, "settings": {"name": "maintenance", "tasks": [{"task_key": "t", "notebook_task": notebook}]}},
        {"job_id": 4, "settings": {"name": "of others"}},
        wheel_job(5, "by parameters", "status", "--lake", "{{job.parameters.lake}}"),
    ]
    ws.jobs[4]["settings"]["parameters"] = [{"name": "lake", "default": LAKE}]
    failed = [task_of(72, "UPSTREAM_FAILED"), task_of(71, "FAILED", "Workload failed")]
    ws.runs = {
        1: [run_of(13, 30, None), run_of(12, 20, "FAILED", message="a task failed", tasks=failed), run_of(11, 10)],
        2: [run_of(21, 25)],
        3: [run_of(31, 15, "TIMEDOUT", message="\nThe run took too long.\nmore")],
        5: [run_of(51, 12, "FAILED", tasks=[task_of(52, "FAILED", "no such cluster")])],
    }
    ws.errors = {71: "TaskFailed: server-unreachable: db:3306 refuses\nCheck host, port and network."}
    return ws


def test_runs_are_those_of_the_jobs_of_the_lake_newest_first_with_the_first_line_of_their_error(with_jobs):
    answer = ask(with_jobs, "runs", "--json")
    assert answer.exit_code == 0, answer.output
    running, *ended = json.loads(answer.stdout)
    assert running.pop("duration_s") > 3600
    assert running == {
        "job": "replication", "run_id": 13, "state": "running", "started": "2026-01-02T03:34:05+00:00", "error": None,
        "page": "https://ws/run/13",
    }  # fmt: skip
    assert [(run["job"], run["run_id"], run["state"], run["duration_s"], run["error"]) for run in ended] == [
        ("replication", 12, "failed", 12.345, "TaskFailed: server-unreachable: db:3306 refuses"),
        ("maintenance", 31, "timedout", 12.345, "The run took too long."),
        ("by parameters", 51, "failed", 12.345, "no such cluster"),
        ("replication", 11, "success", 12.345, None),
    ]
    pages = [line for line in with_jobs.asked if line == "GET /api/2.2/jobs/list"]
    assert len(pages) == 3 and len(json.loads(ask(with_jobs, "runs", "--json", "--last", "2").stdout)) == 2


@pytest.mark.parametrize(
    "odd", [{"state": None}, {"start_time": 10**30}, {"start_time": "soon"}, {"start_time": -(10**18)}]
)
def test_runs_with_other_parts_than_documented_are_refused(with_jobs, odd):
    with_jobs.runs[1][-1] |= odd
    exit_code, code, message = complaint(ask(with_jobs, "runs"))
    assert (exit_code, code, message.split(":")[0]) == (3, "workspace-refused", "an answer that cannot be read")


def test_runs_are_a_table_for_a_person(with_jobs):
    lines = ask(with_jobs, "runs").stdout.splitlines()
    assert lines[1].split() == ["started", "(UTC)", "job", "state", "duration", "error"]
    failed = next(line for line in lines if "failed" in line)
    assert failed.split() == [
        "2026-01-02", "03:24:05", "replication", "failed", "12", "s", "TaskFailed:", "server-unreachable:", "db:3306",
        "refuses",
    ]  # fmt: skip


# --- check


@pytest.fixture
def complete(with_jobs):
    """A workspace with all that a lake needs, most of it by way of a group."""
    ws = with_jobs
    ws.groups = ["loaders", "users"]
    ws.catalogs, ws.schemas = {"main": {"owner": "root"}}, {"main.mirrorlake": {"owner": "root"}}
    ws.volumes = {"main.mirrorlake.staging": {"owner": "loaders"}}
    others = {"eve": ["ALL_PRIVILEGES"], "a": ["SELECT"]}
    ws.grants = {
        "main": {**others, "account users": ["USE_CATALOG"]},
        "main.mirrorlake": {
            **others,
            "ann@example.org": ["USE_SCHEMA", "SELECT"],
            "loaders": ["CREATE_TABLE", "MODIFY"],
        },
    }
    ws.scopes = {"mirrorlake": {"other": "x", "source-password": "s3cret"}}
    ws.versions = ["18.0.x-scala2.13", "16.4.x-scala2.12", "17.3.x-scala2.13", "apache-spark-4.0.x"]
    ws.jobs[2]["settings"]["job_clusters"] = [
        {"job_cluster_key": "c", "new_cluster": {"spark_version": "17.3.x-scala2.13"}}
    ]
    ws.warehouses = [{"id": "w1", "name": "Starter", "state": "STOPPED"}]
    return ws


@pytest.fixture
def database():
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"mysql://ann@127.0.0.1:{server.getsockname()[1]}"


def faults(ws, *arguments, **environment) -> dict[str, tuple[str, str, str]]:
    """What is not ok: level, what was found, and the fix, by the name of the check."""
    answer = ask(ws, "check", "--json", *arguments, **environment)
    assert answer.stderr == ""
    found = json.loads(answer.stdout)
    return {one["name"]: (one["level"], one["found"], one["fix"]) for one in found if one["level"] != "ok"}


def test_a_workspace_that_has_everything_passes_each_check_and_no_value_of_a_secret_is_asked_for(complete, database):
    answer = ask(complete, "check", "--source", database)
    here = f"from {socket.gethostname()}, no compute of Databricks"
    assert answer.stdout.splitlines() == [
        f"ok       workspace: {complete.host} as ann@example.org",
        "ok       catalog main: owner root",
        "ok       grants on catalog main: USE CATALOG",
        "ok       schema main.mirrorlake: owner root",
        "ok       grants on schema main.mirrorlake: USE SCHEMA, CREATE TABLE, SELECT, MODIFY",
        "ok       volume main.mirrorlake.staging: owner loaders",
        "ok       grants on volume main.mirrorlake.staging: ann@example.org owns it",
        "ok       secret mirrorlake/source-password: there",
        f"ok       network to {database.removeprefix('mysql://ann@')}: reached {here}",
        "ok       runtimes that the workspace offers: 17.3, 18.0",
        "ok       runtime of job by parameters: serverless",
        "ok       runtime of job maintenance: 17.3.x-scala2.13",
        "ok       runtime of job replication: serverless",
        "ok       SQL warehouse Starter: stopped",
    ]
    assert (answer.exit_code, answer.stderr) == (0, "")
    assert not any("secrets/get" in line for line in complete.asked)


def test_each_thing_that_is_missing_is_an_error_with_its_fix(complete):
    complete.grants["main.mirrorlake"].pop("loaders")
    complete.volumes, complete.scopes["mirrorlake"], complete.warehouses = {}, {}, []
    clusters = complete.jobs[2]["settings"]["job_clusters"]
    clusters[0]["new_cluster"]["spark_version"] = "16.4.x-scala2.12"
    answer = ask(complete, "check")
    assert answer.exit_code == 3
    assert [line for line in answer.stdout.splitlines() if not line.startswith("ok ")] == [
        "error    grants on schema main.mirrorlake: missing CREATE TABLE, MODIFY of ann@example.org",
        "         GRANT CREATE TABLE, MODIFY ON SCHEMA `main`.`mirrorlake` TO `ann@example.org`",
        "error    volume main.mirrorlake.staging: not there, or not to be seen",
        "         `mirrorlake workspace setup` makes it, or `databricks bundle deploy`.",
        "error    secret mirrorlake/source-password: the scope has no such key",
        "         `mirrorlake workspace setup` makes it.",
        "error    runtime of job maintenance: too old: 16.4.x-scala2.12",
        "         Give the cluster Databricks Runtime 17.3 or later.",
        "warning  SQL warehouse: --warehouse names one of the SQL warehouses: none",
        "         Name one with --warehouse: `workspace status` needs it.",
    ]


def test_the_schema_of_the_mirrors_is_checked_as_that_of_the_lake(complete):
    mirrors = ("--mirrors-schema", "mirrors")
    found = faults(complete, *mirrors)
    assert found["grants on catalog main"][1] == "missing CREATE SCHEMA of ann@example.org"
    assert found["schema main.mirrors"][1] == "not there, or not to be seen"
    complete.schemas["main.mirrors"] = {"owner": "root"}
    complete.grants["main.mirrors"] = {"loaders": ["USE_SCHEMA", "SELECT", "MODIFY"]}
    fix = "GRANT CREATE TABLE ON SCHEMA `main`.`mirrors` TO `ann@example.org`"
    missing = "missing CREATE TABLE of ann@example.org"
    assert faults(complete, *mirrors) == {"grants on schema main.mirrors": ("error", missing, fix)}
    assert faults(complete, "--mirrors-schema", "mirrorlake") == {}


def test_a_lake_that_exists_has_its_mirrors_in_the_schema_that_it_has_kept(complete):
    complete.lakes["main.mirrorlake.bronze_events"] = {"properties": {"mirrorlake.mirrors_schema": "mirrors"}}
    assert faults(complete)["schema main.mirrors"][1] == "not there, or not to be seen"
    complete.schemas["main.mirrors"] = {"owner": "ann@example.org"}
    assert faults(complete) == faults(complete, "--mirrors-schema", "Mirrors") == {}
    told = "error", "the lake has its mirrors in main.mirrors", "Leave out --mirrors-schema."
    assert faults(complete, "--mirrors-schema", "others") == {"schema main.others": told}
    complete.faults = [Fault("GET /api/2.1/unity-catalog/tables/", 403, "PERMISSION_DENIED")]
    assert faults(complete, "--mirrors-schema", "mirrors") == {}


def test_the_external_location_of_the_tables_is_the_innermost_one_and_needs_grants(complete):
    given = ("--tables-location", "s3://bucket/lakes/shop/")
    of = "external location of s3://bucket/lakes/shop"
    complete.locations = [{"name": "other", "url": "s3://bucket/lakes/sho", "owner": "root"}]
    assert faults(complete, *given)[of][:2] == ("error", "not there, or not to be seen")
    complete.locations += [
        {"name": "outer", "url": "s3://bucket/", "owner": "root"},
        {"name": "the lakes", "url": "s3://bucket/lakes", "owner": "root"},
    ]
    complete.grants["the lakes"] = {"loaders": ["READ_FILES"]}
    fix = "GRANT CREATE EXTERNAL TABLE ON EXTERNAL LOCATION `the lakes` TO `ann@example.org`"
    missing = {
        "grants on external location the lakes": ("error", "missing CREATE EXTERNAL TABLE of ann@example.org", fix)
    }
    assert faults(complete, *given) == missing
    kept = {"mirrorlake.tables_location": "s3://bucket/lakes/shop"}
    complete.lakes["main.mirrorlake.bronze_events"] = {"properties": kept}
    assert faults(complete) == missing
    complete.locations[-1]["owner"] = "loaders"
    assert faults(complete) == {}
    told = "error", "the lake has its tables below s3://bucket/lakes/shop", "Leave out --tables-location."
    assert faults(complete, "--tables-location", "s3://bucket/lakes") == {"location s3://bucket/lakes": told}


def test_a_catalog_or_scope_that_is_not_there_or_is_closed(complete):
    complete.schemas, complete.jobs = {}, []
    found = faults(complete, "--password-secret", "closed/key")
    assert found["grants on catalog main"][1:] == (
        "missing CREATE SCHEMA of ann@example.org", "GRANT CREATE SCHEMA ON CATALOG `main` TO `ann@example.org`",
    )  # fmt: skip
    assert list(found)[1:] == ["schema main.mirrorlake", "secret closed/key", "jobs"]
    complete.faults = [
        Fault("GET /api/2.1/unity-catalog/catalogs/", 403, "PERMISSION_DENIED"),
        Fault("GET /api/2.0/secrets/list", 403, "PERMISSION_DENIED"),
    ]
    found = faults(complete)
    closed = "this user may not see it"
    assert found["catalog main"] == ("error", closed, "Ask its owner for USE CATALOG or BROWSE on it.")
    assert found["secret mirrorlake/source-password"] == (
        "error", closed, "databricks secrets put-acl mirrorlake ann@example.org READ",
    )  # fmt: skip


def test_grants_of_groups_that_only_an_owner_sees_are_a_warning(complete):
    path = "GET /api/2.1/unity-catalog/effective-permissions/schema/"
    complete.faults = [Fault(path, 403, "PERMISSION_DENIED")]
    assert faults(complete) == {
        "grants on schema main.mirrorlake": (
            "warning",
            "missing CREATE TABLE, MODIFY of ann@example.org alone, whose groups cannot be seen",
            "GRANT CREATE TABLE, MODIFY ON SCHEMA `main`.`mirrorlake` TO `ann@example.org`",
        )
    }


def test_a_source_that_is_not_reached_is_an_error_on_databricks_and_a_warning_elsewhere(complete):
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    name, source = f"network to 127.0.0.1:{port}", ("--source", f"mysql://ann@127.0.0.1:{port}")
    level, found, fix = faults(complete, *source)[name]
    assert level == "warning" and found.endswith(", no compute of Databricks: Connection refused")
    level, found, fix = faults(complete, *source, DATABRICKS_RUNTIME_VERSION="17.3")[name]
    assert level == "error" and found.endswith(", compute of Databricks: Connection refused")
    assert fix.startswith("Open the way between the two")


def test_a_folder_of_files_is_looked_up_and_needs_no_secret(complete):
    complete.scopes, complete.folders = {}, {"/Volumes/main/raw/binlogs"}
    assert faults(complete, "--source", "files:/Volumes/main/raw/binlogs") == {}
    assert list(faults(complete, "--source", "files:/Volumes/main/raw/none")) == ["folder /Volumes/main/raw/none"]


# --- setup


@pytest.fixture
def empty(ws, tmp_path):
    """A workspace with a catalog alone, and a file with the password."""
    ws.catalogs = {"main": {"owner": "root"}}
    (tmp_path / "password").write_text("s3cret-Ä\n", encoding="utf-8")
    (tmp_path / "password").chmod(0o600)
    return ws, ("--password-file", tmp_path / "password")


def test_setup_makes_what_is_missing_once_and_never_shows_the_password(empty):
    ws, file = empty
    answers = [ask(ws, "setup", *file) for _ in range(2)]
    parts = "schema main.mirrorlake", "volume main.mirrorlake.staging", "secret scope mirrorlake", SECRET
    assert answers[0].stdout.splitlines() == [f"made       {part}" for part in parts]
    assert answers[1].stdout.splitlines() == [f"was there  {part}" for part in parts]
    assert [(answer.exit_code, answer.stderr) for answer in answers] == [(0, ""), (0, "")]
    assert ws.scopes == {"mirrorlake": {"source-password": "s3cret-Ä"}}
    assert ws.volumes["main.mirrorlake.staging"]["volume_type"] == "MANAGED"
    assert len([line for line in ws.asked if line.startswith("POST ")]) == 4


def test_setup_makes_the_schema_of_the_mirrors_too(empty):
    ws, file = empty
    found = json.loads(ask(ws, "setup", "--json", "--mirrors-schema", "mirrors", *file).stdout)
    assert [part["part"] for part in found][:3] == [
        "schema main.mirrorlake", "schema main.mirrors", "volume main.mirrorlake.staging",
    ]  # fmt: skip
    assert list(ws.schemas) == ["main.mirrorlake", "main.mirrors"] and list(ws.volumes) == ["main.mirrorlake.staging"]


def test_a_new_password_is_written_only_when_it_is_asked_for_and_alone_for_a_bundle(empty):
    ws, _ = empty
    ws.scopes = {"mirrorlake": {"source-password": "old"}}
    setup = ("setup", "--only-secret", "--json")
    assert json.loads(ask(ws, *setup, MIRRORLAKE_PASSWORD="new").stdout)[1] == {"part": SECRET, "state": "was there"}
    assert ws.scopes == {"mirrorlake": {"source-password": "old"}}
    replaced = ask(ws, *setup, "--new-password", MIRRORLAKE_PASSWORD="new")
    assert json.loads(replaced.stdout)[1] == {"part": SECRET, "state": "replaced"}
    assert ws.scopes == {"mirrorlake": {"source-password": "new"}} and ws.schemas == ws.volumes == {}


def test_without_a_password_nothing_is_made_and_a_terminal_is_asked(empty, monkeypatch):
    ws, _ = empty
    monkeypatch.setattr(password, "_taken", None)
    assert complaint(ask(ws, "setup")) == (
        2, "usage", "no password is given: set MIRRORLAKE_PASSWORD, or name a --password-file",
    )  # fmt: skip
    assert (ws.schemas, ws.volumes, ws.scopes) == ({}, {}, {})
    assert [part["state"] for part in json.loads(ask(ws, "setup", "--json", "--source", "files:/x").stdout)] == [
        "made", "made",
    ]  # fmt: skip
    monkeypatch.setattr(password, "getpass", lambda prompt: "typed")
    monkeypatch.setattr(password.sys, "stdin", SimpleNamespace(isatty=lambda: True))
    assert password.password_to_keep(Options(lake=LAKE)) == "typed"


def test_a_part_that_somebody_else_makes_at_the_same_time_was_there_and_a_refusal_is_named(empty):
    ws, file = empty
    ws.faults = [
        Fault("POST /api/2.1/unity-catalog/schemas", 409, "SCHEMA_ALREADY_EXISTS"),
        Fault("POST /api/2.1/unity-catalog/volumes", 409, "VOLUME_ALREADY_EXISTS"),
    ]
    found = json.loads(ask(ws, "setup", "--json", *file).stdout)
    assert [part["state"] for part in found] == ["was there", "was there", "made", "made"]
    denied = Fault("POST /api/2.1/unity-catalog/schemas", 403, "PERMISSION_DENIED", "ann lacks CREATE SCHEMA.")
    ws.faults = [denied]
    refused = complaint(ask(ws, "setup", *file))
    assert refused == (3, "workspace-refused", "PermissionDenied: ann lacks CREATE SCHEMA.")


# --- status


@pytest.fixture
def lake(complete):
    """A lake in the warehouse, with runs and tables in every state, and rows that newer ones replaced."""
    ws = complete
    ws.warehouses += [{"id": f"w{n}", "name": f"Other {n}", "state": "RUNNING"} for n in (2, 3)]
    for statement in (
        "ATTACH ':memory:' AS lakes",
        "CREATE SCHEMA lakes.shop",
        "CREATE MACRO unix_micros(moment) AS epoch_us(moment)",
        'CREATE TABLE lakes.shop.control_runs (run TEXT, verb TEXT, "by" TEXT, version TEXT, started TIMESTAMP,'
        ' "at" TIMESTAMP, ended TIMESTAMP, outcome TEXT, lsn BIGINT, rows BIGINT, refused BIGINT, lag_s DOUBLE)',
        'CREATE TABLE lakes.shop.control_tables (lsn BIGINT, database TEXT, "table" TEXT, mirror_id TEXT, state TEXT,'
        " definition TEXT, code TEXT, reason TEXT, epoch BIGINT)",
    ):
        ws.tables.execute(statement)
    at = [f"2026-01-02 03:0{n}:00.000001" for n in range(5)]
    by = ("ann@host", "0.1")
    ws.tables.executemany(
        "INSERT INTO lakes.shop.control_runs VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [
            ("a", "run", *by, at[0], at[0], None, None, None, 0, None, None),
            ("a", "run", *by, at[0], at[1], at[1], "ok", 2**62 + 1, 10, 1, 0.25),
            ("b", "apply", *by, at[2], at[3], at[3], "lag", 7, 1, None, 9.5),
            ("c", "run", *by, at[4], at[4], None, None, None, 0, 0, None),
        ],
    )
    ws.tables.executemany(
        "INSERT INTO lakes.shop.control_tables VALUES (?, ?, ?, NULL, ?, NULL, ?, ?, ?)",
        [
            (1, "shop", "visits", "streaming", None, None, 1),
            (5, "shop", "visits", "refused", "ddl-unsupported", "not yet", 3),
            (5, "shop", "visits", "refused", "needs-resync", "a column's values", 4),
            (2, "shop", "orders", "streaming", None, None, 1),
            (3, "shop", "_orders_gho", "streaming", None, None, 1),
            (4, "crm", "`odd` name", "refused", "row-image", "no\nvalue", 1),
            (6, "crm", "_old_gho", "dropped", None, None, 5),
        ],
    )
    return ws


def status_of(ws, *arguments, **environment):
    return ask(ws, "status", "--warehouse", "Starter", *arguments, lake="uc:lakes.shop", **environment)


def test_status_is_what_the_newest_rows_of_the_control_tables_say(lake):
    answer = status_of(lake, "--json")
    assert (answer.exit_code, answer.stderr) == (0, "")
    found = json.loads(answer.stdout)
    moment = "2026-01-02T03:0{}:00.000001+00:00".format
    lag_s = (datetime.now(timezone.utc) - datetime.fromisoformat(moment(1)) + timedelta(seconds=0.25)).total_seconds()
    assert 0 <= lag_s - found.pop("lag_s") < 10
    common = {"by": "ann@host", "version": "0.1"}
    idle = {"ended": None, "outcome": None, "lsn": None, "rows": 0, "refused": 0, "lag_s": None}
    assert found == {
        "tables": {"shadow": 1, "streaming": 1, "refused": 2, "dropped": 1},
        "refused": [
            {"database": "crm", "table": "`odd` name", "code": "row-image", "reason": "no\nvalue"},
            {"database": "shop", "table": "visits", "code": "needs-resync", "reason": "a column's values"},
        ],
        "runs": [
            {"run": "c", "verb": "run", **common, "started": moment(4), "at": moment(4), **idle},
            {
                "run": "b", "verb": "apply", **common, "started": moment(2), "at": moment(3), "ended": moment(3),
                "outcome": "lag", "lsn": 7, "rows": 1, "refused": None, "lag_s": 9.5,
            },
            {
                "run": "a", "verb": "run", **common, "started": moment(0), "at": moment(1), "ended": moment(1),
                "outcome": "ok", "lsn": 2**62 + 1, "rows": 10, "refused": 1, "lag_s": 0.25,
            },
        ],
    }  # fmt: skip
    assert [line for line in lake.asked if "/result/chunks/" in line] == [
        "GET /api/2.0/sql/statements/statement-0/result/chunks/1",
        "GET /api/2.0/sql/statements/statement-0/result/chunks/2",
        "GET /api/2.0/sql/statements/statement-1/result/chunks/1",
    ]


def test_status_waits_for_a_statement_and_shows_a_person_what_to_do(lake):
    lake.polls = 2
    lines = status_of(lake).stdout.splitlines()
    assert len([line for line in lake.asked if re.fullmatch("GET .*/statements/statement-.", line)]) == 4
    assert re.fullmatch(r"lag: [0-9,]+ s   tables: 1 dropped, 2 refused, 1 shadow, 1 streaming", lines[0])
    assert lines[1:5] == [
        "refused crm.`odd` name: row-image: no\\x0avalue", f"        {REFUSALS['row-image']}",
        "refused shop.visits: needs-resync: a column's values", f"        {REFUSALS['needs-resync']}",
    ]  # fmt: skip
    assert [line.split()[2] for line in lines[8:11]] == ["run", "apply", "run"]


def test_status_needs_no_spark(lake):
    status = ("workspace", "status", "--json", "--lake", "uc:lakes.shop", "--warehouse", "w1")
    answer = without_spark(*status, **lake.environment, PYTHONPATH=os.pathsep.join(sys.path))
    assert (answer.returncode, answer.stderr) == (0, "") and len(json.loads(answer.stdout)["runs"]) == 3


def test_a_statement_that_does_not_end_is_cancelled(lake, monkeypatch):
    lake.polls = 1000
    monkeypatch.setattr("mirrorlake.jobs.workspace.statements.MOST_S", 0)
    assert complaint(status_of(lake)) == (4, "workspace-unreachable", "a statement ran for more than 0 s")
    assert lake.statements["statement-0"]["state"] == "CANCELED"


def test_a_lake_that_is_not_there_or_from_before_the_runs_and_a_statement_that_fails(lake):
    lake.tables.execute("DROP TABLE lakes.shop.control_runs")
    found = json.loads(status_of(lake, "--json").stdout)
    assert (found["lag_s"], found["runs"], len(found["refused"])) == (None, [], 2)
    lake.tables.execute("ALTER TABLE lakes.shop.control_tables DROP COLUMN state")
    assert complaint(status_of(lake))[:2] == (3, "workspace-refused")
    lake.tables.execute("DROP TABLE lakes.shop.control_tables")
    code, reason = complaint(status_of(lake))[1:]
    assert code == "lake-missing" and reason.startswith("[TABLE_OR_VIEW_NOT_FOUND]")


def test_the_warehouse_is_named_by_id_or_name_or_in_the_environment(lake):
    status = ("status", "--json")
    for named in (("--warehouse", "w1"), ("--warehouse", "Other 3")):
        assert ask(lake, *status, *named, lake="uc:lakes.shop").exit_code == 0
    assert ask(lake, *status, lake="uc:lakes.shop", DATABRICKS_WAREHOUSE_ID="w2").exit_code == 0
    there = "--warehouse names one of the SQL warehouses: Other 2 (w2), Other 3 (w3), Starter (w1)"
    assert complaint(ask(lake, *status, lake="uc:lakes.shop")) == (2, "usage", there)
    assert complaint(ask(lake, *status, "--warehouse", "w9", lake="uc:lakes.shop")) == (2, "usage", there)


# --- errors


def test_a_request_that_is_throttled_is_repeated_and_names_us(with_jobs):
    with_jobs.faults = [Fault("GET /api/2.2/jobs/list", 429, "RESOURCE_EXHAUSTED", headers={"Retry-After": "0"})]
    assert ask(with_jobs, "runs", "--last", "1").exit_code == 0
    assert with_jobs.faults[0].times == 0
    assert any(agent.startswith(f"mirrorlake/{__version__} databricks-sdk-py/") for agent in with_jobs.agents)


@pytest.mark.parametrize(
    ("status", "error_code", "exit_code", "code", "reason"),
    [
        (403, "PERMISSION_DENIED", 3, "workspace-refused", "PermissionDenied: ann may not"),
        (404, "RESOURCE_DOES_NOT_EXIST", 3, "workspace-refused", "ResourceDoesNotExist: ann may not"),
        (500, "INTERNAL_ERROR", 4, "workspace-unreachable", "InternalError: ann may not"),
    ],
)
def test_an_answer_that_is_an_error_is_one_of_ours(with_jobs, status, error_code, exit_code, code, reason):
    with_jobs.faults = [Fault("GET /api/2.2/jobs/runs/list", status, error_code, "ann may not\nsee this")]
    assert complaint(ask(with_jobs, "runs")) == (exit_code, code, reason)


def test_a_workspace_that_does_not_take_the_login_or_is_not_there_is_said(ws, monkeypatch):
    refused = complaint(ask(ws, "runs", DATABRICKS_TOKEN="dapi-of-others"))
    assert refused == (2, "workspace-login", NOBODY)
    nobody = ask(ws, "runs", DATABRICKS_TOKEN="", DATABRICKS_AUTH_TYPE="pat")
    assert complaint(nobody)[:2] == (2, "workspace-login") and TOKEN not in nobody.output
    monkeypatch.setattr("mirrorlake.jobs.workspace.client.RETRY_S", 1)
    away = complaint(ask(ws, "runs", DATABRICKS_HOST="http://127.0.0.1:9"))
    assert away[:2] == (4, "workspace-unreachable") and re.match("ConnectionError: .*refused", away[2])


def test_a_lake_in_a_folder_is_in_no_workspace_and_without_the_sdk_the_extra_is_named(ws, monkeypatch):
    assert complaint(ask(ws, "runs", lake="/data/lake")) == (
        2, "usage", "a workspace has lakes in Unity Catalog: --lake uc:catalog.schema, not /data/lake",
    )  # fmt: skip
    for name in [name for name in sys.modules if name.startswith("mirrorlake.jobs.workspace")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "databricks", None)
    monkeypatch.setitem(sys.modules, "databricks.sdk", None)
    assert complaint(ask(ws, "runs")) == (2, "sdk-missing", "databricks-sdk is not installed")
    assert ws.asked == []
