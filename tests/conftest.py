"""What every tier shares: a marker by folder, one Spark session, a fresh lake folder, the run's seed."""

from __future__ import annotations

import random
from importlib.metadata import version
from pathlib import Path

import pytest

from mirrorlake.jobs.run import password
from tests.support.spark_settings import HUNDREDS_OF_LAKES

TIERS = {"lake": "lake", "server": "server"}  # folder below tests/ -> marker
HERE = Path(__file__).parent
ON_DATABRICKS_SPARK = version("pyspark").startswith("4.0.")


def pytest_addoption(parser):
    parser.addoption("--seed", type=int, default=None, help="seed of the random histories; a new one in every run")
    parser.addoption("--histories", type=int, default=None, help="how many random histories a test takes")
    parser.addoption(
        "--crashes", type=int, default=None, help="how many crashes tests/server/test_torture.py makes on each server"
    )
    parser.addoption(
        "--row-metadata", choices=("full", "default"), help="of every test in tests/server; otherwise by the seed"
    )
    parser.addoption("--long", action="store_true", help="the long form: more kills, more histories")


def pytest_configure(config):
    if config.option.seed is None:
        told = getattr(config, "workerinput", {})  # a process of pytest-xdist
        config.option.seed = told.get("seed", random.SystemRandom().randrange(2**31))


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node):
    node.workerinput["seed"] = node.config.option.seed


def pytest_report_header(config):
    return _seed_line(config)


def pytest_terminal_summary(terminalreporter, exitstatus, config):
    if exitstatus:  # the header is far away, or not shown at all
        terminalreporter.write_line(_seed_line(config))


def pytest_collection_modifyitems(config, items):
    heavy = [item for item in items if item.get_closest_marker("heavy")]
    if not config.option.long and any(Path(given).is_dir() for given in config.args):  # else it is asked for by name
        for item in heavy[config.option.seed % 2 :: 2]:
            item.add_marker(pytest.mark.skip(reason="with every other seed, or make test-long"))
    for item in items:
        if item.get_closest_marker("long") and not config.option.long:
            item.add_marker(pytest.mark.skip(reason="takes long: make test-long"))
        if item.get_closest_marker("databricks") and not (config.option.long or ON_DATABRICKS_SPARK):
            item.add_marker(pytest.mark.skip(reason="on the Spark of Databricks Runtime: make test-spark40"))
        folder = item.path.relative_to(HERE).parts[0]
        if folder in TIERS:
            item.add_marker(TIERS[folder])


def pytest_generate_tests(metafunc):
    """``history_number`` counts to the module's HISTORIES, ten times as far with --long, or to --histories N."""
    if "history_number" in metafunc.fixturenames:
        options = metafunc.config.option
        count = options.histories or metafunc.module.HISTORIES * (10 if options.long else 1)
        metafunc.parametrize("history_number", range(count))


@pytest.fixture(scope="session")
def seed(request) -> int:
    """The run's seed: the same one again with --seed N."""
    return request.config.option.seed


@pytest.fixture(scope="session")
def is_long(request) -> bool:
    """Whether the long form is asked for (make test-long)."""
    return request.config.option.long


@pytest.fixture(scope="session")
def spark():
    from mirrorlake.lake.delta.session import open_session

    session = open_session("mirrorlake-tests", settings=HUNDREDS_OF_LAKES)
    yield session
    session.stop()


@pytest.fixture(autouse=True)
def no_password_taken(monkeypatch):
    """A password that a test takes from the environment is gone after it."""
    monkeypatch.setattr(password, "_taken", None)


@pytest.fixture
def lake_dir(tmp_path) -> Path:
    """Where a test's lake goes; nothing is there yet."""
    return tmp_path / "lake"


def _seed_line(config) -> str:
    return f"random histories: --seed {config.option.seed}"
