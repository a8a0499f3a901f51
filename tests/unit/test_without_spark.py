"""An installation without the extra ``spark``: preflight works, and everything else says what to install."""

from __future__ import annotations

import pytest

from mirrorlake.errors import REFUSALS
from tests.support.command_line import without_spark

MISSING = ["spark-missing: PySpark is not installed", REFUSALS["spark-missing"]]


@pytest.mark.parametrize(
    "arguments", [["run", "--source", "files:x", "--lake", "x"], ["demo"], ["status", "--lake", "x"]]
)
def test_a_verb_that_needs_spark_says_what_to_install(arguments):
    ended = without_spark(*arguments)
    assert (ended.returncode, ended.stdout, ended.stderr.splitlines()) == (2, "", MISSING)


def test_preflight_asks_the_server_without_spark():
    ended = without_spark("preflight", "--source", "mysql://root@127.0.0.1:1")
    assert (ended.returncode, ended.stderr.partition(":")[0]) == (4, "server-unreachable")
