"""The demo, once for all tests that look at its lakes; they run in one process."""

from __future__ import annotations

import io
from dataclasses import dataclass
from pathlib import Path

import pytest


@dataclass(frozen=True)
class Demo:
    """lakes: folder by flavor. report: what a person reads on stdout; progress: on stderr."""

    lakes: dict[str, Path]
    report: str
    progress: str


@pytest.hookimpl(tryfirst=True)  # xdist reads the marks in this hook
def pytest_collection_modifyitems(items):
    for item in items:
        if "demo" in item.fixturenames:
            item.add_marker(pytest.mark.xdist_group("demo"))


@pytest.fixture(scope="session")
def demo(spark, tmp_path_factory) -> Demo:
    from mirrorlake.jobs.demo.run import run_demo

    report, progress = io.StringIO(), io.StringIO()
    folder = tmp_path_factory.mktemp("demo") / "demo-lake"
    lakes = run_demo(str(folder), "both", report, progress, spark)
    return Demo(lakes, report.getvalue(), progress.getvalue())
