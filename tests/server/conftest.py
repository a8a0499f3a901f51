"""The server tier: real servers, one of each flavor per session.

Tests share them, so a test either uses a database of its own or calls ``server.reset()`` first. When a server cannot be
had, its tests are skipped and the summary says so; MIRRORLAKE_REQUIRE_SERVERS=1 makes that a failure for the two that
most tests are about.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.servers import (
    FLAVORS,
    LEAST_METADATA,
    Server,
    ServerUnavailable,
    install,
    mariadb_binlog,
    mysqlbinlog,
    running_server,
)

NOT_TESTED = "NOT TESTED against"


def pytest_generate_tests(metafunc):
    """A test of ``server`` runs on both servers, and with FULL row metadata and the servers' default.

    In the short form the seed chooses the row metadata of each test, and one server for a test that needs Spark.
    """
    for fixture in {"server", "lower"} & set(metafunc.fixturenames):
        is_quick = "spark" not in metafunc.fixturenames
        flavors = FLAVORS if is_quick else _chosen(metafunc, FLAVORS, _marked(metafunc, "flavor"))
        metafunc.parametrize(fixture, flavors, indirect=True, scope="module" if fixture == "lower" else None)
    if "server" in metafunc.fixturenames or not LEAST_METADATA.keys().isdisjoint(metafunc.fixturenames):
        wanted = _marked(metafunc, "row_metadata") or metafunc.config.option.row_metadata
        metafunc.parametrize(
            "row_metadata", [wanted] if wanted else _chosen(metafunc, ("full", "default")), indirect=True
        )


def _marked(metafunc, name: str) -> str | None:
    marker = metafunc.definition.get_closest_marker(name)
    return marker.args[0] if marker else None


def _chosen(metafunc, values: tuple[str, ...], wanted: str | None = None) -> list[str]:
    """All in the long form; in the short one the one that is wanted, or one by the seed."""
    if metafunc.config.option.long:
        return list(values)
    if wanted:
        return [wanted]
    shares = "lower" in metafunc.fixturenames  # a server of their own, which the tests of the module share
    test = metafunc.definition.parent if shares else metafunc.definition
    named = f"{metafunc.config.option.seed} {test.nodeid} {values}"
    return [values[zlib.crc32(named.encode()) % len(values)]]


def pytest_terminal_summary(terminalreporter):
    reasons = dict.fromkeys(report.longrepr[2] for report in terminalreporter.stats.get("skipped", ()))
    for reason in reasons:
        if NOT_TESTED in reason:
            terminalreporter.write_line(reason.removeprefix("Skipped: "), red=True, bold=True)


@pytest.fixture(scope="session")
def mariadb() -> Iterator[Server]:
    yield from _session_server("mariadb")


@pytest.fixture(scope="session")
def mysql() -> Iterator[Server]:
    yield from _session_server("mysql")


@pytest.fixture(scope="session")
def mysql56() -> Iterator[Server]:
    """MySQL 5.6, for what only old logs have."""
    yield from _session_server("mysql56")


@pytest.fixture(scope="session")
def mariadb118() -> Iterator[Server]:
    """MariaDB 11.8, for what only newer logs have."""
    yield from _session_server("mariadb118")


@pytest.fixture(autouse=True)
def row_metadata(request) -> Iterator[str]:
    """What the test's servers write about columns in their table maps: full or default."""
    if getattr(request, "param", "full") == "full":
        yield "full"
        return
    names = LEAST_METADATA.keys() & set(request.fixturenames)
    if "server" in request.fixturenames:
        names.add(request.node.callspec.params["server"])
    servers = {name: request.getfixturevalue(name) for name in names}
    for name, server in servers.items():
        server.execute(f"SET GLOBAL binlog_row_metadata = '{LEAST_METADATA[name]}'")
    yield "default"
    for server in servers.values():
        server.execute("SET GLOBAL binlog_row_metadata = 'FULL'")


@pytest.fixture
def server(request) -> Server:
    """Each server in turn, or one of them."""
    return request.getfixturevalue(request.param)


@pytest.fixture(scope="session")
def pt_online_schema_change() -> str:
    """The command."""
    _require("percona_toolkit")
    return "pt-online-schema-change"


@pytest.fixture
def read_with_tool() -> Callable[..., str]:
    """(flavor, *arguments) -> what that server's own binlog tool prints."""

    def read(flavor: str, *arguments: str | Path) -> str:
        _require(flavor)
        return {"mariadb": mariadb_binlog, "mysql": mysqlbinlog}[flavor](*arguments)

    return read


def _session_server(flavor: str) -> Iterator[Server]:
    _require(flavor)
    with running_server(flavor) as server:
        yield server


def _require(flavor: str) -> None:
    try:
        install(flavor)
    except ServerUnavailable as error:
        if os.environ.get("MIRRORLAKE_REQUIRE_SERVERS") == "1" and flavor in FLAVORS:
            pytest.fail(f"MIRRORLAKE_REQUIRE_SERVERS=1, but: {error}")
        pytest.skip(f"{NOT_TESTED} {flavor}: {error}")
