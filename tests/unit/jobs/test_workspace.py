"""``mirrorlake workspace`` with the real SDK, against a stand-in workspace on loopback."""

from __future__ import annotations

import json
import re
import sys
from datetime import datetime, timezone

import pytest

from mirrorlake import __version__
from tests.support.command_line import complaint, mirrorlake_cli
from tests.support.databricks_sdk import with_sdk
from tests.support.workspace import NOBODY, TOKEN, Fault, stand_in

pytestmark = pytest.mark.xdist_group("workspace")  # one process installs the SDK
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


def test_runs_are_a_table_for_a_person(with_jobs):
    lines = ask(with_jobs, "runs").stdout.splitlines()
    assert lines[1].split() == ["started", "(UTC)", "job", "state", "duration", "error"]
    failed = next(line for line in lines if "failed" in line)
    assert failed.split() == [
        "2026-01-02", "03:24:05", "replication", "failed", "12", "s", "TaskFailed:", "server-unreachable:", "db:3306",
        "refuses",
    ]  # fmt: skip


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
