"""Random histories of DDL and DML on a real server, and what a lake made of them.

Every history has two databases of its own. All histories of a log take turns: some DDL of each, then some transactions
of each, and so on; so gold has few epochs to apply.
"""

from __future__ import annotations

import shutil
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

import pymysql
from pytest import MonkeyPatch

from mirrorlake.lake.gold.control.register import DROPPED, REFUSED, STREAMING
from tests.support.canonical import source_rows
from tests.support.crash import SimulatedCrash, crash_at_random
from tests.support.lake_runs import LakeRun
from tests.support.random_ddl import Source, random_changes, random_ddl
from tests.support.random_tables import quoted
from tests.support.servers import Server
from tests.support.session_settings import random_settings
from tests.support.source_schema import read_tables

DDL_IN_A_TURN = 5
COMMITS = tuple(
    f"mirrorlake.lake.delta.progress.{name}"
    for name in ("append_from", "append_once", "replace_once", "run_statement", "run_ddl")
)
CRASH_SHARE = 1 / 30  # of some 50 commits that a history makes
_SQL_MODES = {
    "mariadb": ("STRICT_TRANS_TABLES", "STRICT_TRANS_TABLES", "", "NO_BACKSLASH_ESCAPES,STRICT_ALL_TABLES",
                "STRICT_TRANS_TABLES,TIME_ROUND_FRACTIONAL", "ANSI_QUOTES"),
    "mysql": ("STRICT_TRANS_TABLES", "STRICT_TRANS_TABLES", "", "NO_BACKSLASH_ESCAPES,STRICT_ALL_TABLES",
              "STRICT_TRANS_TABLES,TIME_TRUNCATE_FRACTIONAL", "ANSI_QUOTES"),
}  # fmt: skip
_TIME_ZONES = ("+00:00", "+05:30", "-08:00")


class DdlHistory:
    """One history; the same seed gives the same statements as long as the server gives the same answers.

    statements: those that the server carried out, in order. ddl: how many of them are DDL.
    """

    def __init__(self, server: Server, name: str, seed: str):
        self.random, self.flavor, self.databases = Random(f"{seed} {name}"), server.flavor, (name, f"{name}_2")
        self.statements: list[str] = []
        self.ddl = 0
        self._connection = server.connect(read_timeout=60)
        self._cursor = self._connection.cursor()
        self._run("SET system_versioning_alter_history = KEEP")  # MariaDB; else an ALTER of such a table fails
        self.statements.clear()
        for database in self.databases:
            self._run(f"CREATE DATABASE {quoted(database)} CHARACTER SET utf8mb4")
        self._run(f"USE {quoted(name)}")

    def close(self) -> None:
        self._connection.close()

    def define(self, count: int) -> None:
        """At least so many DDLs."""
        enough = self.ddl + count
        self._run(f"SET sql_mode = '{self.random.choice(_SQL_MODES[self.flavor])}'")
        self._run(f"SET time_zone = '{self.random.choice(_TIME_ZONES)}'")
        for text in random_settings(self.random):
            self._run(text)
        while self.ddl < enough:
            for text in random_ddl(self._source()):
                self.ddl += self._run(text)

    def change(self, transactions: int) -> None:
        for _ in range(transactions):
            source = self._source()
            if source.tables:
                texts = random_changes(source, self.random.randint(1, 4))
                for text in ("BEGIN", *texts, self.random.choice(("COMMIT", "COMMIT", "COMMIT", "ROLLBACK"))):
                    self._run(text)

    def tables(self) -> list[tuple[str, str]]:
        return [(table.database, table.name) for table in self._source().tables]

    def rows(self, database: str, table: str) -> list[str]:
        return sorted(source_rows(self._connection, database, table))

    def _source(self) -> Source:
        return Source(self.random, self.flavor, self.databases, read_tables(self._cursor, list(self.databases)))

    def _run(self, text: str) -> bool:
        """Whether the server did it."""
        try:
            self._cursor.execute(text)
        except pymysql.MySQLError as error:
            if isinstance(error, pymysql.OperationalError) and error.args[0] in (2006, 2013):
                raise
            return False
        self.statements.append(text)
        return True


def write_histories(server: Server, seed: str, names: list[str], ddls: int, logs: Path) -> list[DdlHistory]:
    """The histories, still connected; the server's log is copied to ``logs``."""
    server.reset()
    histories = [DdlHistory(server, name, seed) for name in names]
    for _ in range(0, ddls, DDL_IN_A_TURN):
        for history in histories:
            history.define(DDL_IN_A_TURN)
        for history in histories:
            history.change(3)
    server.execute("FLUSH BINARY LOGS")
    logs.mkdir(parents=True)
    for path in server.log_files()[:-1]:
        shutil.copyfile(path, logs / path.name)
    return histories


def keep_statements(folder: Path, histories: list[DdlHistory]) -> None:
    """A script for each history; ends their connections."""
    for history in histories:
        (folder / f"{history.databases[0]}.sql").write_text("".join(f"{text};\n" for text in history.statements))
        history.close()


def apply_with_crashes(run: LakeRun, random: Random) -> int:
    """All hops, begun again after each crash. How often the process died."""
    kills = 0
    with MonkeyPatch.context() as monkeypatch:
        crash_at_random(monkeypatch, COMMITS, random, CRASH_SHARE)
        while True:
            try:
                run.all_hops()
                return kills
            except SimulatedCrash:
                kills += 1


@dataclass
class Comparison:
    """equal: tables whose mirror has the rows of the source. refused: name -> code and reason. wrong: name -> what."""

    ddl: int = 0
    equal: int = 0
    refused: dict[tuple[str, str], str] = field(default_factory=dict)
    wrong: dict[tuple[str, str], str] = field(default_factory=dict)

    @property
    def tables(self) -> int:
        return self.equal + len(self.refused) + len(self.wrong)

    def add(self, other: Comparison) -> None:
        self.ddl, self.equal = self.ddl + other.ddl, self.equal + other.equal
        self.refused |= other.refused
        self.wrong |= other.wrong

    def lines(self) -> list[str]:
        share = 100 * len(self.refused) / max(1, self.tables)
        found = [f"{self.ddl} DDL; {self.tables} tables: {self.equal} equal, {len(self.refused)} refused"
                 f" ({share:.1f} %), {len(self.wrong)} wrong"]  # fmt: skip
        found += [f"{count:5} x {reason}" for reason, count in Counter(self.refused.values()).most_common()]
        return found + [f"WRONG {'.'.join(name)}: {what}" for name, what in self.wrong.items()]


def compare(run: LakeRun, histories: list[DdlHistory]) -> Comparison:
    """Every table of the source with its mirror."""
    found = Comparison(ddl=sum(history.ddl for history in histories))
    entries = {entry.name: entry for entry in run.register if entry.state != DROPPED}
    for history in histories:
        for name in history.tables():
            entry = entries.pop(name, None)
            if entry is None:
                found.wrong[name] = "no entry"
            elif entry.state == REFUSED:
                found.refused[name] = f"{entry.code}: {entry.reason}"
            elif difference := _difference(run.mirror(entry.mirror_id), history.rows(*name)):
                found.wrong[name] = difference
            else:
                found.equal += 1
    found.wrong |= {name: "not on the source" for name, entry in entries.items() if entry.state == STREAMING}
    return found


def _difference(mirror: list[str], source: list[str]) -> str | None:
    missing, surplus = Counter(source) - Counter(mirror), Counter(mirror) - Counter(source)
    if not missing and not surplus:
        return None
    return f"source only {list(missing)[:2]}, mirror only {list(surplus)[:2]}"
