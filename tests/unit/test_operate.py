"""The entry point of the job for operators: a run gives verb and arguments, the job what the password depends on."""

from __future__ import annotations

import pytest

from mirrorlake.errors import REFUSALS
from mirrorlake.operate import VERBS, command_of, main
from mirrorlake.task import TaskFailed

JOB = ["--lake", "uc:main.shop", "--source", "mysql://u@h:3306", "--password-secret", "mirrorlake-shop/source-password"]


@pytest.mark.parametrize(
    ("verb", "arguments", "words"),
    [
        ("preflight", "", ["preflight", *JOB]),
        ("resync", "shop.orders,crm.*", ["resync", *JOB, "shop.orders,crm.*"]),
        ("status", "--max-lag 10m", ["status", *JOB, "--max-lag", "10m"]),
        ("trace", "shop.orders 7", ["trace", *JOB[:2], "shop.orders", "7"]),
        ("ddl", "skip shop.orders --at 5", ["ddl", "skip", *JOB[:2], "shop.orders", "--at", "5"]),
        (
            "ddl", "replace shop.orders 'ALTER TABLE orders ADD c INT'",
            ["ddl", "replace", *JOB[:2], "shop.orders", "ALTER TABLE orders ADD c INT"],
        ),
    ],
)  # fmt: skip
def test_a_verb_gets_the_options_of_the_job_that_it_knows(verb, arguments, words):
    assert command_of([verb, arguments, *JOB]) == words


@pytest.mark.parametrize(
    ("verb", "arguments", "reason"),
    [
        ("run", "", f"the verb is one of {', '.join(VERBS)}"),
        ("sql", "'SELECT 1'", f"the verb is one of {', '.join(VERBS)}"),
        ("status", "--source mysql://other", "--source is the job's: the arguments cannot give it"),
        ("status", "--lake=/tmp/other", "--lake is the job's: the arguments cannot give it"),
        ("verify", "--config /tmp/x", "--config is the job's: the arguments cannot give it"),
        ("ddl", "", "ddl is followed by one of list, skip, replace"),
        ("ddl", "drop", "ddl is followed by one of list, skip, replace"),
        ("resync", "'shop", "the arguments are not words of a shell: No closing quotation"),
    ],
)
def test_other_verbs_and_the_options_of_the_job_are_refused(verb, arguments, reason):
    with pytest.raises(TaskFailed) as caught:
        main([verb, arguments, *JOB])
    assert str(caught.value) == f"usage: {reason}\n{REFUSALS['usage']}"
    assert (caught.value.__cause__, caught.value.__suppress_context__) == (None, True)


def test_the_verb_runs_as_a_task():
    with pytest.raises(TaskFailed) as caught:
        main(["preflight", "--json", "--source", "files:/no/such/folder", "--lake", "/no/such/lake"])
    assert caught.value.reason == "--source must name a server: mysql://user@host:port"
