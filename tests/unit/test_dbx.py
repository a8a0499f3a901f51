"""The jobs for dbx are those of the bundle, on a cluster and paused."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from databricks.bundles.jobs import Job

from mirrorlake import __version__
from tests.support import bundle
from tests.support.dbx_workspace import TOKEN, DbxWorkspace

ENVIRONMENT = {
    "MIRRORLAKE_NAME": "shop", "MIRRORLAKE_SOURCE": "mysql://replica@shop.example.org:3306",
    "MIRRORLAKE_TABLES": "shop.*", "MIRRORLAKE_LAKE": "uc:main.mirrorlake_shop", "MIRRORLAKE_TLS_CA": "",
    "MIRRORLAKE_SECRET": "mirrorlake-shop/source-password", "MIRRORLAKE_NODE_TYPE": "n2-standard-4",
    "MIRRORLAKE_ALERTED": "ann@example.org", "MIRRORLAKE_MIRRORS_SCHEMA": "mirrorlake_shop_mirrors",
    "MIRRORLAKE_TABLES_LOCATION": "",
}  # fmt: skip
TEXT = (bundle.ROOT / "conf/deployment.yml").read_text()
SHOP = bundle.target(bundle.read(), "shop")["resources"]["jobs"]


def rendered() -> dict[str, Any]:
    """What dbx makes of the file: Jinja with values of the environment and texts, no more."""
    text = re.sub(r"\{\{ '(\{\{[\w.]+\}\})' \}\}", lambda found: found[1], TEXT)
    text = re.sub(r"\{\{ env\['(\w+)'\] \}\}", lambda found: ENVIRONMENT[found[1]], text)
    assert re.sub(r"\{\{job\.parameters\.\w+\}\}", "", text).count("{{") == 0
    (environment,) = yaml.safe_load(text)["environments"].values()
    return {job["name"]: job for job in environment["workflows"]}


DBX = rendered()


def test_every_value_of_the_environment_is_used_and_in_the_docs():
    assert set(re.findall(r"MIRRORLAKE_\w+", TEXT)) == ENVIRONMENT.keys()
    section = (bundle.ROOT / "docs/databricks.md").read_text().split("## With dbx")[1]
    assert set(re.findall(r"MIRRORLAKE_\w+", section)) == ENVIRONMENT.keys()


@pytest.mark.parametrize("name", SHOP)
def test_each_job_is_the_bundles_on_a_cluster_and_paused(name):
    job, ours = DBX[SHOP[name]["name"]], SHOP[name]
    assert Job.from_dict(job)
    assert bundle.job_words(job) == bundle.job_words(ours)
    assert job["tasks"][0]["python_wheel_task"]["entry_point"] == ours["tasks"][0]["python_wheel_task"]["entry_point"]
    same = (
        "description",
        "timeout_seconds",
        "tags",
        "health",
        "parameters",
        "max_concurrent_runs",
        "notification_settings",
    )
    assert {key: job.get(key) for key in same} == {key: ours.get(key) for key in same}
    assert job["email_notifications"].items() >= ours["email_notifications"].items()
    assert job["queue"]["enabled"] == ("queue" in ours)
    for starts in ("schedule", "continuous"):
        expected = {**ours[starts], "pause_status": "PAUSED"} if starts in ours else None
        assert job.get(starts) == expected
    (cluster,) = job["job_clusters"]
    assert job["tasks"][0]["job_cluster_key"] == cluster["job_cluster_key"]
    assert cluster["new_cluster"]["node_type_id"] == "n2-standard-4"


def test_there_are_no_other_jobs_and_artifacts_go_to_a_volume():
    assert list(DBX) == [
        f"mirrorlake-{name}-shop" for name in ("scheduled", "live", "snapshot", "maintenance", "operate")
    ]
    project = json.loads((bundle.ROOT / ".dbx/project.json").read_text())
    assert project["inplace_jinja_support"] is True
    (environment,) = project["environments"].values()
    assert environment["properties"]["artifact_location"].startswith("dbfs:/Volumes/")


@pytest.mark.long
@pytest.mark.skipif(sys.version_info >= (3, 12), reason="dbx 0.8 needs Python 3.11 or earlier")
def test_dbx_deploys_launches_executes_and_destroys_a_job(tmp_path: Path):
    dbx = subprocess.run([bundle.ROOT / "scripts/dbx.sh"], check=True, capture_output=True, text=True).stdout.strip()
    (library,) = Path(dbx).parents[1].glob("lib/python*/site-packages")
    for name in ("conf", ".dbx"):
        shutil.copytree(bundle.ROOT / name, tmp_path / name)
    (tmp_path / "dist").mkdir()
    (tmp_path / "dist/mirrorlake-0.1.0-py3-none-any.whl").write_bytes(b"wheel")
    job = "mirrorlake-scheduled-shop"
    with DbxWorkspace(str(library)) as workspace:
        environment = ENVIRONMENT | {
            "DATABRICKS_HOST": workspace.url, "DATABRICKS_TOKEN": TOKEN, "DBX_CLI_PROFILE": "DEFAULT",
            "DATABRICKS_JOBS_API_VERSION": "2.1", "HOME": str(tmp_path),
            "PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8",
        }  # fmt: skip
        for words in (["deploy", job, "--no-rebuild"], ["launch", job], ["destroy", job, "--confirm"]):
            done = subprocess.run([dbx, *words], cwd=tmp_path, env=environment, capture_output=True, text=True)
            assert done.returncode == 0, done.stdout + done.stderr
        executed = {}
        for verb, more in {"--version": [], "preflight": ["--source", "mysql://u@127.0.0.1:1"]}.items():
            words = ["--task", "run", "--cluster-name", "mine", "--no-rebuild", "--upload-via-context"]
            words += ["--parameters", json.dumps({"parameters": [verb, *more]})]
            executed[verb] = subprocess.run(
                [dbx, "execute", job, *words], cwd=tmp_path, env=environment, capture_output=True, text=True
            )
    assert executed["--version"].returncode == 0 and __version__ in executed["--version"].stdout
    failed = executed["preflight"]
    assert failed.returncode == 1 and "TaskFailed: server-unreachable: " in failed.stdout
    assert workspace.installed == [b"wheel"] * 2
    (created,) = workspace.created
    uploaded = "dbfs:/Volumes/main/mirrorlake/dbx/1/r1/artifacts/dist/mirrorlake-0.1.0-py3-none-any.whl"
    assert created["tasks"][0].pop("libraries") == [{"whl": uploaded}]
    created["tasks"][0]["python_wheel_task"].pop("named_parameters", None)
    deployed = {key: value for key, value in created.items() if key in DBX[job]}
    assert deployed == DBX[job]
    assert workspace.files[uploaded.removeprefix("dbfs:")] == b"wheel"
    assert (workspace.launched, workspace.deleted) == ([{"job_id": 1}], [{"job_id": 1}])
