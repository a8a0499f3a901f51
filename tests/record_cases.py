"""Records ``tests/cases``: runs every ``source.sql`` on the real servers, keeps their binlogs and what they then hold.

    python -m tests.record_cases [FLAVOR ...]

A case has a database of its own, ``case_`` and its name; ``@db`` means it. All cases of a server are in one log,
``logs/<flavor>/``. ``expected.json`` is what SELECT gives at the end, table by table, and must be the same on both
servers; ``refused.json`` is written by hand: the tables that must be refused, with the code.

The cases take turns: first the definitions of all, then the rows of all, and so on. So gold has few epochs to apply.
"""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterable
from contextlib import ExitStack
from itertools import groupby, zip_longest
from pathlib import Path

from tests.support.canonical import source_rows, source_tables
from tests.support.servers import FLAVORS, Server, running_server

CASES = Path(__file__).parent / "cases"
LOGS = CASES / "logs"
OPTIONS = {
    "mysql": ("--binlog-row-metadata=MINIMAL", "--binlog-format=ROW", "--innodb-native-foreign-keys=ON"),
    "mariadb": ("--binlog-row-metadata=NO_LOG", "--binlog-format=ROW"),
}
"""What servers log by default, but for MariaDB's format, and for MySQL's foreign keys, which change
rows without a row event as they did before MySQL 9.6. Other tests have FULL metadata."""


def case_names(flavor: str | None = None) -> list[str]:
    """Of all cases, or of those of one server: ``-- only: mysql`` in a first line of source.sql."""
    names = sorted(path.parent.name for path in CASES.glob("*/source.sql"))
    others = [f"-- only: {other}\n" for other in FLAVORS if flavor not in (None, other)]
    return [name for name in names if not (CASES / name / "source.sql").read_text().startswith(tuple(others))]


def holds_text(name: str) -> bool:
    """Whether gold is to have its invalid values as text: ``-- invalid values: text`` in the first line."""
    return (CASES / name / "source.sql").read_text().startswith("-- invalid values: text\n")


def case_database(name: str) -> str:
    return "case_" + name.replace("-", "_")


def statements(name: str) -> list[str]:
    text = (CASES / name / "source.sql").read_text().replace("@db", case_database(name))
    text = "".join(line for line in text.splitlines(keepends=True) if not line.startswith("--"))
    return [part for part in (piece.strip() for piece in text.split(";\n")) if part]


def refused_tables(name: str) -> dict[str, str]:
    path = CASES / name / "refused.json"
    return json.loads(path.read_text()) if path.exists() else {}


def record(server: Server) -> dict[str, dict]:
    """Runs the cases on an empty server; what each holds at its end. The log is copied to ``logs/``."""
    target = LOGS / server.flavor
    shutil.rmtree(target, ignore_errors=True)
    return play(server, case_names(server.flavor), target)


def play(server: Server, names: Iterable[str], logs: Path) -> dict[str, dict]:
    """Runs cases on an empty server; what each holds at its end. logs: a new folder for the log."""
    server.reset()
    with ExitStack() as stack:
        sessions = {name: stack.enter_context(_Session(server, name)) for name in names}
        for turn in zip_longest(*(session.turns() for session in sessions.values())):
            for session, texts in zip(sessions.values(), turn, strict=True):
                session.run(texts or ())
        found = {name: session.tables() for name, session in sessions.items()}
    server.execute("FLUSH BINARY LOGS")
    logs.mkdir(parents=True)
    for path in server.log_files()[:-1]:
        shutil.copyfile(path, logs / path.name)
    return found


class _Session:
    """A case's connection, in a database of its own."""

    def __init__(self, server: Server, name: str):
        self.name, self.database = name, case_database(name)
        self.connection = server.connect()
        created = f"CREATE DATABASE `{self.database}` CHARACTER SET utf8mb4"
        self.run(["SET time_zone = '+00:00'", created, f"USE `{self.database}`"])

    def __enter__(self) -> _Session:
        return self

    def __exit__(self, *_) -> None:
        self.connection.close()

    def turns(self) -> list[list[str]]:
        """Runs of definitions and runs of other statements, by turns; a definition comes first."""
        runs = [list(texts) for _, texts in groupby(statements(self.name), _is_definition)]
        return runs if _is_definition(runs[0][0]) else [[], *runs]

    def run(self, texts: Iterable[str]) -> None:
        with self.connection.cursor() as cursor:
            for text in texts:
                cursor.execute(text)

    def tables(self) -> dict[str, list[str]]:
        """The rows of every table that must be mirrored."""
        kept = set(source_tables(self.connection, self.database)) - set(refused_tables(self.name))
        shown = holds_text(self.name)
        rows = {table: source_rows(self.connection, self.database, table, dates_as_text=shown) for table in kept}
        return {table: sorted(rows[table]) for table in sorted(rows)}


def _is_definition(text: str) -> bool:
    return text.startswith(("CREATE", "ALTER", "DROP", "USE", "RENAME", "TRUNCATE"))


def main(flavors: list[str]) -> None:
    known: dict[str, dict] = {}
    for flavor in flavors or FLAVORS:
        with running_server(flavor, *OPTIONS[flavor]) as server:
            for name, tables in record(server).items():
                if known.setdefault(name, tables) != tables:
                    raise SystemExit(f"{name}: the servers differ")
    for name, tables in known.items():
        rows = {table: [json.loads(line) for line in lines] for table, lines in tables.items()}
        (CASES / name / "expected.json").write_text(json.dumps(rows, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
