"""The Databricks bundle as a target of it has it: files merged, variables resolved, empty texts dropped.

It follows the documentation of bundles, and gave what the Databricks CLI gives wherever the two were compared by hand.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import yaml
from typer.main import get_command

from mirrorlake.cli import app
from mirrorlake.config import Options, load_options

ROOT = Path(__file__).resolve().parents[2]
KEYS = {"tasks": "task_key", "job_clusters": "job_cluster_key", "environments": "environment_key", "parameters": "name"}
"""Lists whose elements are merged by a key."""
USER = {"userName": "ann@example.org", "short_name": "ann"}
EXAMPLES = ("targets/example.yml", "targets/example-live.yml")


def merged(old: Any, new: Any, name: str = "") -> Any:
    """The second one over the first one; lists are joined."""
    if isinstance(old, dict) and isinstance(new, dict):
        return {key: merged(old.get(key), new.get(key), key) if key in new else old[key] for key in {**old, **new}}
    if isinstance(old, list) and isinstance(new, list):
        key = KEYS.get(name)
        if key is None or not all(isinstance(element, dict) for element in old + new):
            return old + new
        by_key: dict[str, Any] = {}
        for element in old + new:
            by_key[element[key]] = merged(by_key.get(element[key]), element)
        return list(by_key.values())
    return old if new is None else new


def files(root: Path) -> list[Path]:
    """Each YAML file of the bundle, without targets."""
    return [root / "databricks.yml", *sorted((root / "resources").glob("*.yml"))]


def read(root: Path = ROOT, targets: tuple[str, ...] = EXAMPLES[:1]) -> dict[str, Any]:
    """The bundle with these files of targets, nothing resolved."""
    found: dict[str, Any] = {}
    for file in [*files(root), *(root / target for target in targets)]:
        found = merged(found, yaml.safe_load(file.read_text()))
    return found


def target(bundle: dict[str, Any], name: str) -> dict[str, Any]:
    """The bundle of one target, resolved."""
    chosen = bundle["targets"][name]
    variables = {key: one.get("default", one.get("lookup")) for key, one in bundle["variables"].items()}
    variables |= chosen.get("variables", {})
    resources = merged(bundle["resources"], chosen.get("resources", {}))
    whole = {**{key: value for key, value in chosen.items() if key != "variables"}, "resources": resources}

    def value_of(found: str) -> Any:
        kind, _, rest = found.partition(".")
        if kind == "var":
            return resolved(variables[rest])
        if kind == "bundle":
            return {"target": name, "name": bundle["bundle"]["name"]}[rest]
        if kind == "workspace":
            return USER[rest.removeprefix("current_user.")]
        _, of, which, field = found.split(".")
        return resolved(resources[of][which][field])

    def resolved(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: resolved(one) for key, one in value.items()}
        if isinstance(value, list):
            return [resolved(one) for one in value]
        if not isinstance(value, str):
            return value
        if whole_reference := re.fullmatch(r"\$\{([\w.]+)\}", value):
            return value_of(whole_reference[1])
        return re.sub(r"\$\{([\w.]+)\}", lambda found: str(value_of(found[1])), value)

    return _without_empty(resolved(whole))


def _without_empty(value: Any) -> Any:
    """Without the fields whose text is empty; elements of lists stay."""
    if isinstance(value, dict):
        return {key: _without_empty(one) for key, one in value.items() if one != "" or key == "default"}
    return [_without_empty(one) for one in value] if isinstance(value, list) else value


def job_words(job: dict[str, Any], given: dict[str, str] | None = None) -> list[str]:
    """The parameters of the job's one wheel task in a run. given: parameters of the run, others are the defaults."""
    (task,) = job["tasks"]
    values = {one["name"]: one["default"] for one in job.get("parameters", [])} | (given or {})
    return [
        re.sub(r"\{\{job\.parameters\.(\w+)\}\}", lambda found: values[found[1]], word)
        for word in task["python_wheel_task"]["parameters"]
    ]


def options_of(words: list[str]) -> tuple[str, Options]:
    """The verb of a command line, and its options as the verb reads them. Raises what the command line raises."""
    command: Any = get_command(app)
    parents, words = [], list(words)
    while hasattr(command, "commands"):
        parents.append(words.pop(0))
        command = command.commands[parents[-1]]
    given = command.make_context(parents[-1], words).params
    if given.get("patterns"):
        given["tables"] = given["patterns"]
    known = {name: value for name, value in given.items() if name in Options.model_fields and value is not False}
    return " ".join(parents), load_options(None, known)
