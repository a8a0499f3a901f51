"""`mirrorlake` as processes of their own on a live server, and what must be true of the lake afterwards."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from mirrorlake.lake.gold.control.register import STREAMING, TableRegister
from tests.support.canonical import TableDigest, mirror_rows, source_rows, source_tables
from tests.support.every_step import check_every_step_once
from tests.support.logged_changes import count_logged_changes

START_S = 180


class Running:
    """A command as a process group of its own; what it says goes to the end of ``log``. environment: besides ours."""

    def __init__(self, log: Path, *arguments: str, **environment: str):
        command = [sys.executable, "-m", "mirrorlake", *arguments]
        with log.open("ab") as out:
            self.process = subprocess.Popen(
                command, stdout=out, stderr=out, start_new_session=True, env=os.environ | environment
            )

    def has_committed(self, log: Path) -> bool:
        """Wait for the first commit it reports."""
        before, ends_at = log.stat().st_size, time.monotonic() + START_S
        while is_alive_for(self.process, 0.2) and time.monotonic() < ends_at:
            if log.stat().st_size > before:
                return True
        return False

    def kill(self, whole_group: bool) -> None:
        """SIGKILL; without the group, Spark's JVM lives on for a moment and may still commit."""
        if whole_group:
            with suppress(ProcessLookupError):  # it has ended by itself
                os.killpg(self.process.pid, signal.SIGKILL)
        else:
            self.process.kill()
        self.process.wait()


def is_alive_for(process: subprocess.Popen, seconds: float) -> bool:
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        return True
    return False


@contextmanager
def workload(server, seed: int, databases: int, rate: int, ddl_every_s: int) -> Iterator[None]:
    """Changes the server's tables meanwhile; rate: transactions per second."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.support.workload", "--url", server.url, "--seed", str(seed), "--rate", str(rate),
         "--seconds", "3600", "--databases", str(databases), "--ddl-every", str(rate * ddl_every_s)],
    )  # fmt: skip
    try:
        yield
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)


def check_lake_is_source(lake, server, databases: int, read_with_tool: Callable[..., str]) -> None:
    """Every mirror equals SELECT, silver has each transaction of the log once, gold has made each commit once."""
    check_mirrors_are_source(lake, server, databases)
    text = read_with_tool(server.flavor, "-v", "--base64-output=decode-rows", *server.log_files())
    assert changes_in_silver(lake) == count_logged_changes(text)
    check_every_step_once(lake)


def check_mirrors_are_source(lake, server, databases: int, after: object = "") -> None:
    """Every table of the workload is mirrored, and every mirror equals SELECT. after: what was done, for the error."""
    assert mirrors(lake) == sources(server, databases), f"{_differences(lake, server, databases)}\n{after}"


def mirrors(lake) -> dict[str, TableDigest]:
    return {name: TableDigest.of(rows) for name, rows in _mirror_rows(lake)}


def sources(server, databases: int) -> dict[str, TableDigest]:
    """Of the workload's databases."""
    return {name: TableDigest.of(rows) for name, rows in _source_rows(server, databases)}


def _differences(lake, server, databases: int) -> str:
    """Tables that are not mirrored, and of the others the first rows that only one side has."""
    found = [f"{e.database}.{e.table}: {e.state}, {e.reason}" for e in TableRegister.read(lake) if e.state != STREAMING]
    mirrored, present = dict(_mirror_rows(lake)), dict(_source_rows(server, databases))
    for name in sorted(mirrored.keys() | present.keys()):
        ours, theirs = Counter(mirrored.get(name, ())), Counter(present.get(name, ()))
        for side, rows in (("mirror", ours - theirs), ("source", theirs - ours)):
            found += [f"{name}: {rows.total()} rows only in the {side}, as", *sorted(rows)[:3]] if rows else []
    return "\n".join(found)


def _mirror_rows(lake) -> Iterator[tuple[str, list[str]]]:
    for entry in TableRegister.read(lake):
        if entry.state == STREAMING:
            table = lake.spark.table(lake.names.mirror(entry.mirror_id)).toArrow()
            yield f"{entry.database}.{entry.table}", mirror_rows(table)


def _source_rows(server, databases: int) -> Iterator[tuple[str, list[str]]]:
    with server.connect() as connection:
        for database in (f"live_{n}" for n in range(databases)):
            for table in source_tables(connection, database):
                yield f"{database}.{table}", source_rows(connection, database, table)


def changes_in_silver(lake) -> dict[str, Counter]:
    """{gtid: {(database, table, op): changes}}; every transaction must be whole and there once."""
    silver = lake.spark.table(lake.names.silver_changes)
    counts = silver.groupBy("tx_lsn", "gtid", "database", "table", "op").count().collect()
    commits = {row.tx_lsn: row.changes for row in silver.where("op = 'COMMIT'").select("tx_lsn", "changes").collect()}
    found: dict[int, tuple[str, Counter]] = {}
    for row in counts:
        changes = found.setdefault(row.tx_lsn, (row.gtid, Counter()))[1]
        if row.op in ("INSERT", "UPDATE", "DELETE"):
            changes[row.database, row.table, row.op] += row["count"]
        else:
            assert row["count"] == 1, f"{row['count']} {row.op} markers in transaction {row.gtid}"
    assert {tx: sum(changes.values()) for tx, (_, changes) in found.items() if tx in commits} == commits
    gtids = [gtid for gtid, _ in found.values()]
    assert len(gtids) == len(set(gtids))
    return {gtid: changes for gtid, changes in found.values() if changes}
