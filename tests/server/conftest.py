"""The server tier: real servers, one of each flavor per session.

Tests share them, so a test either uses a database of its own or calls ``server.reset()`` first. When a server cannot be
had, its tests are skipped and the summary says so; MIRRORLAKE_REQUIRE_SERVERS=1 makes that a failure for the two that
most tests are about.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import cache
from pathlib import Path

import pytest

from tests.support.servers import (
    FLAVORS,
    LEAST_METADATA,
    PROGRAMS,
    Server,
    ServerUnavailable,
    install,
    mariadb_binlog,
    mysqlbinlog,
    running_server,
)

NOT_TESTED = "NOT TESTED against"
_SERVERS = ("server", "mysql", "mariadb", "mariadb118")
_OF_A_MODULE = ("lower", "primary_and_replica")


def pytest_generate_tests(metafunc):
    """A test of ``server`` runs on each program, and with FULL row metadata and the servers' default.

    In the short form the seed chooses the row metadata of each test, the program of a test that needs Spark, and
    MariaDB's release where a test takes ``mariadb``.
    """
    names = set(metafunc.fixturenames)
    for fixture in names & {"server", "lower", "mariadb", "primary_and_replica"}:
        programs = _programs(metafunc, fixture)
        metafunc.parametrize(fixture, programs, indirect=True, scope="module" if fixture in _OF_A_MODULE else None)
    if not names.isdisjoint(_SERVERS):
        wanted = _marked(metafunc, "row_metadata") or metafunc.config.option.row_metadata
        metafunc.parametrize(
            "row_metadata", [wanted] if wanted else _chosen(metafunc, ("full", "default")), indirect=True
        )


def _programs(metafunc, fixture: str) -> list[str]:
    of_mariadb = _chosen(metafunc, tuple(program for program in PROGRAMS if program != "mysql"))
    if fixture == "mariadb":
        return of_mariadb
    if fixture == "primary_and_replica":
        return ["mysql", *of_mariadb]
    flavor = _marked(metafunc, "flavor")
    programs = tuple(program for program in PROGRAMS if program.startswith(flavor or ""))
    return _chosen(metafunc, programs) if "spark" in metafunc.fixturenames else list(programs)


def _marked(metafunc, name: str) -> str | None:
    marker = metafunc.definition.get_closest_marker(name)
    return marker.args[0] if marker else None


def _chosen(metafunc, values: tuple[str, ...]) -> list[str]:
    """All in the long form; in the short one the one of the seed."""
    if metafunc.config.option.long:
        return list(values)
    shares = any(name in metafunc.fixturenames for name in _OF_A_MODULE)  # their own servers
    test = metafunc.definition.parent if shares else metafunc.definition
    named = f"{metafunc.config.option.seed} {test.nodeid} {values}"
    return [values[zlib.crc32(named.encode()) % len(values)]]


def pytest_terminal_summary(terminalreporter):
    reasons = dict.fromkeys(report.longrepr[2] for report in terminalreporter.stats.get("skipped", ()))
    for reason in reasons:
        if NOT_TESTED in reason:
            terminalreporter.write_line(reason.removeprefix("Skipped: "), red=True, bold=True)


@pytest.fixture(scope="session")
def server_of() -> Iterator[Callable[[str], Server]]:
    """program -> the session's server, which starts when a test first asks for it."""
    with ExitStack() as stack:

        @cache
        def start(program: str) -> Server:
            _require(program)
            return stack.enter_context(running_server(program))

        yield start


@pytest.fixture(scope="session")
def mysql(server_of) -> Server:
    return server_of("mysql")


@pytest.fixture(scope="session")
def mysql56(server_of) -> Server:
    """MySQL 5.6, for what only old logs have."""
    return server_of("mysql56")


@pytest.fixture(scope="session")
def mariadb118(server_of) -> Server:
    """MariaDB 11.8, for what only newer logs have."""
    return server_of("mariadb118")


@pytest.fixture
def mariadb(request, server_of) -> Server:
    """MariaDB 10.11 or 11.8."""
    return server_of(getattr(request, "param", "mariadb"))


@pytest.fixture
def server(request, server_of) -> Server:
    """Each server in turn, or one of them."""
    return server_of(request.param)


@pytest.fixture(autouse=True)
def row_metadata(request) -> Iterator[str]:
    """What the test's servers write about columns in their table maps: full or default."""
    if getattr(request, "param", "full") == "full":
        yield "full"
        return
    servers = [request.getfixturevalue(name) for name in _SERVERS if name in request.fixturenames]
    for server in servers:
        server.execute(f"SET GLOBAL binlog_row_metadata = '{LEAST_METADATA[server.flavor]}'")
    yield "default"
    for server in servers:
        server.execute("SET GLOBAL binlog_row_metadata = 'FULL'")


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


def _require(program: str) -> None:
    try:
        install(program)
    except ServerUnavailable as error:
        if os.environ.get("MIRRORLAKE_REQUIRE_SERVERS") == "1" and program in FLAVORS:
            pytest.fail(f"MIRRORLAKE_REQUIRE_SERVERS=1, but: {error}")
        pytest.skip(f"{NOT_TESTED} {program}: {error}")
