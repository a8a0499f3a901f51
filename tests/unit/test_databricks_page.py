"""Each command of docs/databricks.md names jobs, parameters, targets, verbs and resources that exist."""

from __future__ import annotations

import json
import re
import shlex

import pytest

from mirrorlake.operate import command_of
from tests.support import bundle

PAGE = (bundle.ROOT / "docs/databricks.md").read_text()
BLOCKS = [text for language, text in re.findall(r"^```(\w*)\n(.*?)^```$", PAGE, re.M | re.S) if not language]
INLINE = re.findall(r"(?<!`)`([^`\n]+)`(?!`)", PAGE)
LINES = [line for text in BLOCKS for line in text.splitlines()] + INLINE
COMMANDS = [line for line in LINES if re.match(r"(databricks|dbx) (?!0\.)", line)]
WHOLE = bundle.read(targets=bundle.EXAMPLES)
SHOP = bundle.target(WHOLE, "shop")["resources"]
FLAGS = ("--", "--restart")
OPTIONS = {"--host", "-t", "--params", "--output-dir", "--verb", "--arguments", *FLAGS}
VERBS = {
    "auth login", "bundle init", "bundle validate", "bundle deploy", "bundle destroy", "bundle run",
    "secrets put-secret", "bundle deployment bind",
}  # fmt: skip


def parts(command: str) -> tuple[str, list[str], dict[str, str]]:
    """The verb of the Databricks CLI, its arguments and its options."""
    words = shlex.split(command)[1:]
    verb = next(verb for verb in sorted(VERBS, key=len, reverse=True) if words[: len(verb.split())] == verb.split())
    rest, arguments, options = words[len(verb.split()) :], [], {}
    while rest:
        word = rest.pop(0)
        if word.startswith("-"):
            assert word in OPTIONS
            options[word] = "" if word in FLAGS else rest.pop(0)
        else:
            arguments.append(word)
    return verb, arguments, options


def test_the_page_has_commands():
    assert len(COMMANDS) > 15


@pytest.mark.parametrize("command", [command for command in COMMANDS if command.startswith("databricks ")])
def test_a_command_names_what_exists(command):
    verb, arguments, options = parts(command)
    if target := options.get("-t"):
        assert target in WHOLE["targets"]
    else:
        assert verb in ("auth login", "bundle init")
    if verb == "bundle init":
        assert arguments == ["mirrorlake/templates/mirrorlake"] and options == {"--output-dir": "mirrorlake"}
    elif verb == "secrets put-secret":
        scope = SHOP["secret_scopes"]["source"]["name"]
        assert arguments == [scope, WHOLE["variables"]["secret_key"]["default"]]
    elif verb == "bundle run":
        check_run(arguments, options)
    elif verb == "bundle deployment bind":
        resource, bound = arguments
        schema = "main.mirrorlake_shop"
        assert bound == {"lake": schema, "staging": f"{schema}.staging", "source": "mirrorlake-shop"}[resource]
        assert any(resource in SHOP[kind] for kind in ("schemas", "volumes", "secret_scopes"))
    else:
        assert arguments == []


def check_run(arguments: list[str], options: dict[str, str]) -> None:
    """The parameters are the job's, and the command line that the task gets is one."""
    (name,) = arguments
    job = SHOP["jobs"][name]
    given = dict(pair.split("=", 1) for pair in options.get("--params", "").split(",") if pair)
    given |= {key.lstrip("-"): options[key] for key in ("--verb", "--arguments") if key in options}
    assert given.keys() <= {parameter["name"] for parameter in job.get("parameters", [])}
    words = bundle.job_words(job, given)
    bundle.options_of(command_of(words) if name == "operate" else words)


@pytest.mark.parametrize("command", [command for command in COMMANDS if command.startswith("dbx ")])
def test_a_command_of_dbx_names_a_job(command):
    verb, *names = shlex.split(command.partition(" --")[0])[1:]
    assert verb in ("deploy", "launch", "execute", "destroy")
    jobs = [SHOP["jobs"][name.removeprefix("mirrorlake-").removesuffix("-shop")] for name in names]
    words = shlex.split(command)
    if "--parameters" in words:
        assert words[words.index("--task") + 1] in [task["task_key"] for task in jobs[0]["tasks"]]
        bundle.options_of(json.loads(words[words.index("--parameters") + 1])["parameters"])


def test_the_page_lists_each_job():
    section = PAGE.split("## Jobs\n")[1].split("\n## ")[0]
    assert sorted(re.findall(r"^\| `(\w+)` \|", section, re.M)) == sorted(SHOP["jobs"])


def test_a_variable_that_the_page_names_exists():
    named = set(re.findall(r"variables? `(\w+)`", PAGE)) | set(re.findall(r"`(\w+): [^`]+` under `variables`", PAGE))
    assert named and named <= WHOLE["variables"].keys()
