"""The bundle's YAML against itself and the package it deploys; what a workspace would say is not tested here."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
import yaml
from typer.main import get_command

from mirrorlake.cli import app
from mirrorlake.config import Options
from mirrorlake.lake.delta.names import STAGING_VOLUME
from tests.support.setup_file import setup_arguments

ROOT = Path(__file__).resolve().parents[2]
BUNDLE = yaml.safe_load((ROOT / "databricks.yml").read_text())
FILES = {file.name: file for pattern in BUNDLE["include"] for file in sorted(ROOT.glob(pattern))}
RESOURCES = {name: yaml.safe_load(file.read_text())["resources"] for name, file in FILES.items()}
JOBS = {name: job for resources in RESOURCES.values() for name, job in resources.get("jobs", {}).items()}
TASKS = {(name, task["task_key"]): task for name, job in JOBS.items() for task in job["tasks"]}
WHEEL_TASKS = {key[1]: task["python_wheel_task"] for key, task in TASKS.items() if "python_wheel_task" in task}
WHEEL = "../dist/*.whl"


def named_arguments(parameters: list[str]) -> dict[str, str]:
    """--name, value, --name, value -> dict; fails for anything else."""
    assert all(name.startswith("--") for name in parameters[::2])
    return dict(zip((name[2:] for name in parameters[::2]), parameters[1::2], strict=True))


def test_every_resource_file_is_found():
    assert set(FILES) == {
        "health.alert.yml", "lake.schema.yml", "maintenance.job.yml", "replication.job.yml", "snapshot.job.yml",
    }  # fmt: skip


def test_the_targets_are_development_by_default_and_production():
    assert {name: (target["mode"], target.get("default", False)) for name, target in BUNDLE["targets"].items()} == {
        "dev": ("development", True),
        "prod": ("production", False),
    }
    assert {"run_as", "permissions"} <= BUNDLE["targets"]["prod"].keys()
    assert BUNDLE["targets"]["prod"]["workspace"]["root_path"]


@pytest.mark.parametrize("file", [ROOT / "databricks.yml", *FILES.values()], ids=lambda file: file.name)
def test_every_reference_is_declared_and_every_variable_described(file):
    text = file.read_text()
    assert set(re.findall(r"\$\{var\.(\w+)\}", text)) <= BUNDLE["variables"].keys()
    for kind, name in re.findall(r"\$\{resources\.(\w+)\.(\w+)\.name\}", text):
        assert any(name in resources.get(kind, {}) for resources in RESOURCES.values())
    known = r"\$\{(var\.\w+|workspace\.current_user\.\w+|resources\.\w+\.\w+\.name|bundle\.(name|target))\}"
    assert re.sub(known, "", text).count("${") == 0
    assert all(variable["description"] for variable in BUNDLE["variables"].values())


def test_every_variable_is_used():
    text = "".join(file.read_text() for file in [ROOT / "databricks.yml", *FILES.values()])
    assert [name for name in BUNDLE["variables"] if f"${{var.{name}}}" not in text] == []


def test_the_three_hops_run_in_order():
    tasks = JOBS["replication"]["tasks"]
    after = {task["task_key"]: [other["task_key"] for other in task.get("depends_on", [])] for task in tasks}
    assert after == {"ingest": [], "assemble": ["ingest"], "apply": ["assemble"]}
    assert all(WHEEL_TASKS[key]["parameters"][0] == key for key in after)


@pytest.mark.parametrize("job", JOBS)
def test_a_job_never_runs_beside_itself(job):
    assert JOBS[job]["max_concurrent_runs"] == 1 and JOBS[job]["queue"]["enabled"]


@pytest.mark.parametrize("task", WHEEL_TASKS)
def test_a_task_calls_the_wheels_command_with_options_that_exist(task):
    wheel_task = WHEEL_TASKS[task]
    scripts = ast.literal_eval(setup_arguments()["entry_points"])["console_scripts"]
    assert wheel_task["entry_point"] == "mirrorlake-task"
    assert "mirrorlake-task = mirrorlake.task:main" in scripts
    assert wheel_task["package_name"] == ast.literal_eval(setup_arguments()["name"])
    verb, *rest = wheel_task["parameters"]
    named = named_arguments(rest)
    known = {name for option in get_command(app).commands[verb].params for name in option.opts}
    assert {f"--{name}" for name in named} <= known
    given = {name.replace("-", "_"): value for name, value in named.items()}
    defaults = {name: variable.get("default") for name, variable in BUNDLE["variables"].items()} | {"catalog": "x"}
    values = {
        name: re.sub(r"\$\{(?:var\.)?([^}]*)\}", lambda found: defaults.get(found[1], "x"), value)
        for name, value in given.items()
        if name != "source"
    }
    options = Options(**values)
    assert options.lake == "uc:x.x"
    assert (options.tls_ca, options.tls_cert, options.tls_key, options.server_public_key) == (None,) * 4
    assert options.tls == ("verify" if "source" in given else None)
    assert options.views == ("{database}" if verb == "apply" else None)


@pytest.mark.parametrize("key", TASKS, ids=lambda key: "/".join(key))
def test_every_task_gets_the_wheel_from_compute_that_is_declared(key):
    task, job = TASKS[key], JOBS[key[0]]
    environments = {e["environment_key"]: e["spec"] for e in job.get("environments", [])}
    clusters = {c["job_cluster_key"] for c in job.get("job_clusters", [])}
    if "environment_key" in task:
        assert WHEEL in environments[task["environment_key"]]["dependencies"]
    else:
        assert task["job_cluster_key"] in clusters and {"whl": WHEEL} in task["libraries"]


def test_what_is_a_notebook_with_a_library_runs_on_a_dedicated_cluster():
    assert {key[1] for key, task in TASKS.items() if "job_cluster_key" in task} == {"maintain"}
    assert BUNDLE["variables"]["cluster"]["default"]["data_security_mode"] == "SINGLE_USER"


def test_the_wheel_is_built_where_the_tasks_look_for_it():
    (artifact,) = BUNDLE["artifacts"].values()
    assert artifact["type"] == "whl" and (ROOT / artifact["path"] / "setup.py").exists()
    assert "--no-deps" in artifact["build"] and "--wheel-dir dist" in artifact["build"]


def test_notebook_tasks_name_a_notebook_and_its_widgets():
    notebook_tasks = [task["notebook_task"] for task in TASKS.values() if "notebook_task" in task]
    assert notebook_tasks
    for task in notebook_tasks:
        text = (ROOT / "resources" / task["notebook_path"]).read_text()
        assert set(re.findall(r'widgets\.text\("(\w+)"', text)) == task["base_parameters"].keys()


def test_an_alert_compares_a_column_of_its_query_and_mails_somebody():
    alerts = RESOURCES["health.alert.yml"]["alerts"]
    assert list(alerts) == ["late", "refused", "no_run"]
    for alert in alerts.values():
        evaluation = alert["evaluation"]
        assert f"AS {evaluation['source']['name']}" in alert["query_text"]
        assert evaluation["notification"]["subscriptions"] == [{"user_email": "${var.alerted}"}]
        assert evaluation["empty_result_state"] == "ERROR" and alert["schedule"]["timezone_id"] == "UTC"


def test_the_staging_volume_is_the_one_that_hops_write_to():
    volume = RESOURCES["lake.schema.yml"]["volumes"]["staging"]
    assert volume["name"] == STAGING_VOLUME and volume["schema_name"] == "${resources.schemas.lake.name}"


def test_the_wheel_brings_no_spark():
    requirements = ast.literal_eval(setup_arguments()["install_requires"])
    assert not [name for name in requirements if name.startswith(("pyspark", "delta-spark", "databricks"))]
