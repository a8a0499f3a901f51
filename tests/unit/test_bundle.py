"""The bundle against typed models, the command line and rules of ours; what a workspace would say is not tested."""

from __future__ import annotations

import ast
import importlib
import re
from typing import Any

import pytest
from databricks.bundles.alerts import Alert
from databricks.bundles.dashboards import Dashboard
from databricks.bundles.jobs import Job
from databricks.bundles.schemas import Schema
from databricks.bundles.secret_scopes import SecretScope
from databricks.bundles.volumes import Volume

from mirrorlake.lake.delta.names import STAGING_VOLUME
from mirrorlake.operate import VERBS, command_of
from tests.support import bundle
from tests.support.setup_file import setup_arguments

ROOT = bundle.ROOT
BUNDLE = bundle.read()
SHOP = bundle.target(BUNDLE, "shop")
DEV = bundle.target(BUNDLE, "shop_dev")
LIVE = bundle.target(bundle.read(targets=bundle.EXAMPLES), "shop")
TARGETS = {"shop": SHOP, "shop_dev": DEV, "live": LIVE}
JOBS = ["live", "maintenance", "operate", "scheduled", "snapshot"]
MODELS: dict[str, Any] = {
    "alerts": Alert, "dashboards": Dashboard, "jobs": Job, "schemas": Schema, "secret_scopes": SecretScope,
    "volumes": Volume,
}  # fmt: skip
PRINCIPAL = "00000000-0000-0000-0000-000000000000"
WHEEL = "../dist/*.whl"


@pytest.mark.parametrize("target", TARGETS)
def test_every_resource_is_one_of_the_platforms_models(target):
    resources = TARGETS[target]["resources"]
    assert resources.keys() == MODELS.keys()
    for kind, model in MODELS.items():
        for resource in resources[kind].values():
            assert model.from_dict(resource)


def test_the_models_refuse_a_field_or_a_value_that_they_do_not_have():
    job = SHOP["resources"]["jobs"]["live"]
    for wrong in ({"max_runs": 1}, {"continuous": {"pause_status": "STOPPED"}}):
        with pytest.raises(ValueError):
            Job.from_dict({**job, **wrong})


@pytest.mark.parametrize(
    "file", [*bundle.files(ROOT), *(ROOT / name for name in bundle.EXAMPLES)], ids=lambda f: f.name
)
def test_every_reference_is_declared_and_every_variable_described(file):
    text = file.read_text()
    assert set(re.findall(r"\$\{var\.(\w+)\}", text)) <= BUNDLE["variables"].keys()
    for kind, name in re.findall(r"\$\{resources\.(\w+)\.(\w+)\.name\}", text):
        assert name in BUNDLE["resources"][kind]
    known = r"\$\{(var\.\w+|workspace\.current_user\.\w+|resources\.\w+\.\w+\.name|bundle\.(name|target))\}"
    assert re.sub(known, "", text).count("${") == 0
    assert all(variable["description"] for variable in BUNDLE["variables"].values())


def test_every_variable_is_used_and_a_target_sets_only_variables_that_exist():
    paths = [*bundle.files(ROOT), *(ROOT / name for name in bundle.EXAMPLES)]
    text = "".join(file.read_text() for file in paths)
    assert [name for name in BUNDLE["variables"] if f"${{var.{name}}}" not in text] == []
    for target in bundle.read(targets=bundle.EXAMPLES)["targets"].values():
        assert target["variables"].keys() <= BUNDLE["variables"].keys()


def test_a_file_of_the_repository_is_no_target():
    assert BUNDLE["include"] == ["resources/*.yml", "targets/target.*.yml"] and BUNDLE["sync"] == {
        "paths": ["notebooks"]
    }
    assert sorted(file.name for file in (ROOT / "targets").iterdir()) == ["example-live.yml", "example.yml"]


def test_each_mirror_has_names_of_its_own():
    other = {**BUNDLE, "targets": {"crm": BUNDLE["targets"]["shop"]}}
    names = [
        {
            (kind, one.get("name", one.get("display_name")))
            for kind in MODELS
            for one in found["resources"][kind].values()
        }
        for found in (SHOP, bundle.target(other, "crm"))
    ]
    shared = {("volumes", STAGING_VOLUME), ("schemas", "shop")}  # in the lake's schema; of the database's name
    assert names[0] & names[1] == shared


def test_what_production_keeps_and_grants():
    resources = SHOP["resources"]
    kept = [one for kind in ("schemas", "volumes", "secret_scopes") for one in resources[kind].values()]
    assert [one["lifecycle"] for one in kept] == [{"prevent_destroy": True}] * 5
    schemas = {
        name: {g["principal"]: g["privileges"] for g in one["grants"]} for name, one in resources["schemas"].items()
    }
    assert schemas == {
        "lake": {PRINCIPAL: ["USE_SCHEMA", "CREATE_TABLE", "SELECT", "MODIFY"]},
        "mirrors": {
            PRINCIPAL: ["USE_SCHEMA", "CREATE_TABLE", "SELECT", "MODIFY"],
            "data-readers": ["USE_SCHEMA", "SELECT"],
        },
        "views_shop": {PRINCIPAL: ["USE_SCHEMA", "CREATE_TABLE"], "data-readers": ["USE_SCHEMA", "SELECT"]},
    }
    volume = resources["volumes"]["staging"]
    assert volume["grants"] == [{"principal": PRINCIPAL, "privileges": ["READ_VOLUME", "WRITE_VOLUME"]}]
    assert resources["secret_scopes"]["source"]["permissions"] == [
        {"level": "READ", "service_principal_name": PRINCIPAL}
    ]
    assert (volume["name"], volume["schema_name"]) == (STAGING_VOLUME, resources["schemas"]["lake"]["name"])


def test_production_runs_as_its_principal_from_the_deployers_folder_and_development_keeps_nothing():
    assert (SHOP["mode"], SHOP["run_as"]) == ("production", {"service_principal_name": PRINCIPAL})
    assert SHOP["workspace"]["root_path"] == "/Workspace/Users/ann@example.org/.bundle/mirrorlake/shop"
    assert SHOP["permissions"][0] == {"level": "CAN_MANAGE", "user_name": "ann@example.org"}
    assert DEV["mode"] == "development" and "run_as" not in DEV
    kept = [one for kind in ("schemas", "volumes", "secret_scopes") for one in DEV["resources"][kind].values()]
    assert [one["lifecycle"] for one in kept] == [{"prevent_destroy": False}] * 3


@pytest.mark.parametrize("name", JOBS)
def test_a_job_is_described_bounded_and_reported_and_never_runs_with_itself(name):
    assert list(sorted(SHOP["resources"]["jobs"])) == JOBS
    job = SHOP["resources"]["jobs"][name]
    (task,) = job["tasks"]
    assert job["name"] == f"mirrorlake-{name}-shop" and job["description"] and job["max_concurrent_runs"] == 1
    assert job["tags"] == {"product": "mirrorlake", "mirror": "shop"}
    mail = job["email_notifications"]
    assert mail["on_failure"] == ["ann@example.org"] and task["disable_auto_optimization"]
    if name == "live":  # it has no end, so no bound; a queue and retries of tasks are not for such jobs
        assert job["timeout_seconds"] == 0 and not {"queue", "health"} & job.keys() and "max_retries" not in task
        return
    (rule,) = job["health"]["rules"]
    assert (rule["metric"], rule["op"]) == ("RUN_DURATION_SECONDS", "GREATER_THAN")
    assert 0 < rule["value"] < job["timeout_seconds"]
    assert mail["on_duration_warning_threshold_exceeded"] == ["ann@example.org"]
    assert job["queue"]["enabled"] and task["max_retries"] == 0


def test_of_scheduled_and_live_one_runs():
    jobs = SHOP["resources"]["jobs"]
    assert (
        "pause_status" not in jobs["scheduled"]["schedule"] and jobs["live"]["continuous"]["pause_status"] == "PAUSED"
    )
    jobs = LIVE["resources"]["jobs"]
    assert jobs["scheduled"]["schedule"]["pause_status"] == "PAUSED"
    assert jobs["live"]["continuous"]["pause_status"] == "UNPAUSED"


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", JOBS)
def test_a_task_calls_the_wheels_entry_point_from_compute_that_has_the_wheel(name, target):
    job = TARGETS[target]["resources"]["jobs"][name]
    (task,) = job["tasks"]
    scripts = ast.literal_eval(setup_arguments()["entry_points"])["console_scripts"]
    module, function = dict(re.split(" = ", script) for script in scripts)[
        task["python_wheel_task"]["entry_point"]
    ].split(":")
    assert callable(getattr(importlib.import_module(module), function))
    assert task["python_wheel_task"]["package_name"] == ast.literal_eval(setup_arguments()["name"])
    if (name, target) == ("live", "live"):
        (cluster,) = job["job_clusters"]
        assert (task["job_cluster_key"], task["libraries"]) == (cluster["job_cluster_key"], [{"whl": WHEEL}])
        assert cluster["new_cluster"].items() >= {"num_workers": 0, "is_single_node": True}.items()
        assert "node_type_id" not in cluster["new_cluster"] and "environment_key" not in task
    else:
        (environment,) = job["environments"]
        assert task["environment_key"] == environment["environment_key"]
        assert environment["spec"]["dependencies"] == [WHEEL] and "job_clusters" not in job


def test_the_parameters_of_each_job_are_a_command_line():
    jobs = SHOP["resources"]["jobs"]
    found = {name: bundle.options_of(bundle.job_words(jobs[name])) for name in JOBS if name != "operate"}
    assert {name: verb for name, (verb, _) in found.items()} == {
        "live": "run", "maintenance": "maintain", "scheduled": "run", "snapshot": "snapshot",
    }  # fmt: skip
    options = {name: options for name, (_, options) in found.items()}
    assert {one.lake for one in options.values()} == {"uc:main.mirrorlake_shop"}
    for name in ("live", "scheduled", "snapshot"):
        one = options[name]
        assert one.source == "mysql://replica@shop.example.org:3306"
        assert (one.password_secret, one.tables) == ("mirrorlake-shop/source-password", ("shop.*",))
        assert (one.tls, one.tls_ca, one.tls_cert, one.tls_key, one.server_public_key) == ("verify", *(None,) * 4)
    assert (options["live"].follow, options["scheduled"].follow) == (True, False)
    assert {options[name].views for name in ("live", "scheduled")} == {"{database}"}
    assert {options[name].syncpoint_views for name in ("live", "scheduled")} == {None}
    assert options["maintenance"].bronze_days is None


@pytest.mark.parametrize("target", TARGETS)
def test_every_job_names_the_schema_of_the_mirrors_that_the_target_has(target):
    resources = TARGETS[target]["resources"]
    mirrors = resources["schemas"].get("mirrors")
    assert (mirrors is None) == (target == "shop_dev")
    for name in JOBS:
        given = {"verb": "resync", "arguments": "shop.orders"} if name == "operate" else None
        words = bundle.job_words(resources["jobs"][name], given)
        _, options = bundle.options_of(command_of(words) if name == "operate" else words)
        assert options.mirrors_schema == (mirrors and mirrors["name"])
        assert mirrors is None or options.lake.startswith(f"uc:{mirrors['catalog_name']}.")


def test_every_job_gives_the_location_of_external_tables_which_is_empty_without_the_variable():
    for name in JOBS:
        job = SHOP["resources"]["jobs"][name]
        words = bundle.job_words(job, {"verb": "resync", "arguments": "shop.orders"} if name == "operate" else None)
        assert words[words.index("--tables-location") + 1] == ""


def test_a_run_of_scheduled_takes_another_end_tables_and_policy_for_a_failover():
    given = {"until": "binlog.000007:4", "tables": "shop.orders", "failover": "follow"}
    _, options = bundle.options_of(bundle.job_words(SHOP["resources"]["jobs"]["scheduled"], given))
    assert (options.until, options.tables, options.failover) == ("binlog.000007:4", ("shop.orders",), "follow")


ARGUMENTS = {
    "preflight": "", "status": "", "tables": "", "verify": "", "resync": "shop.orders", "ddl": "list",
    "syncpoint": "nightly", "syncpoints": "", "trace": "shop.orders 7",
}  # fmt: skip


@pytest.mark.parametrize("verb", VERBS)
def test_a_run_of_operate_is_a_command_line(verb):
    words = bundle.job_words(SHOP["resources"]["jobs"]["operate"], {"verb": verb, "arguments": ARGUMENTS[verb]})
    shown, options = bundle.options_of(command_of(words))
    assert shown == ("ddl list" if verb == "ddl" else verb) and options.lake == "uc:main.mirrorlake_shop"
    needs_source = verb in ("preflight", "status", "tables", "verify", "resync")
    assert (options.source is not None, options.password_secret is not None) == (needs_source, needs_source)


def test_the_wheel_is_built_where_the_tasks_look_for_it_and_changes_its_version():
    (artifact,) = BUNDLE["artifacts"].values()
    assert artifact["type"] == "whl" and (ROOT / artifact["path"] / "setup.py").exists() and artifact["dynamic_version"]
    assert "--no-deps" in artifact["build"] and "--wheel-dir dist" in artifact["build"]


def test_an_alert_compares_a_column_of_its_query_and_mails_somebody():
    alerts = SHOP["resources"]["alerts"]
    assert list(alerts) == ["late", "refused", "no_run"]
    for alert in alerts.values():
        evaluation = alert["evaluation"]
        assert (
            f"AS {evaluation['source']['name']}" in alert["query_text"]
            and "main.mirrorlake_shop." in alert["query_text"]
        )
        assert evaluation["notification"]["subscriptions"] == [{"user_email": "ann@example.org"}]
        assert evaluation["empty_result_state"] == "ERROR" and alert["schedule"]["timezone_id"] == "UTC"


def test_the_dashboard_finds_its_file_and_the_tables_of_the_lake():
    (dashboard,) = SHOP["resources"]["dashboards"].values()
    assert (ROOT / "resources" / dashboard["file_path"]).is_file()
    volume = SHOP["resources"]["volumes"]["staging"]
    assert dashboard["dataset_catalog"] == volume["catalog_name"]
    assert dashboard["dataset_schema"] == volume["schema_name"]
    assert dashboard["warehouse_id"] == SHOP["resources"]["alerts"]["refused"]["warehouse_id"]


def test_the_wheel_brings_no_spark():
    requirements = ast.literal_eval(setup_arguments()["install_requires"])
    assert not [name for name in requirements if name.startswith(("pyspark", "delta-spark", "databricks"))]
