"""What it costs to find the rows that a foreign key deletes: an epoch that deletes parents, on a real MariaDB.

    python -m bench.cascades [--children 500000] [--parents 10000] [--deleted 100] [--rounds 3]

Beside it the same deletes where there is no foreign key and the children's are logged, in the same lake and run: gold
alone, wall and CPU seconds, and the change of the parent alone, which both have.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
from pathlib import Path

from rich.console import Console
from rich.table import Table

from bench.process_tree import Stopwatch
from mirrorlake.lake.delta.session import open_session
from tests.support.lake_runs import LakeRun
from tests.support.servers import Server, running_server

KINDS = ("derived", "logged", "parent alone")
_CASCADE = ", FOREIGN KEY (p) REFERENCES p (id) ON DELETE CASCADE"


def fill(server: Server, parents: int, children: int) -> None:
    for database in map(_database, KINDS):
        server.execute(f"CREATE DATABASE {database}")
        server.execute(f"CREATE TABLE {database}.p (id INT PRIMARY KEY, v INT)")
        cascade = _CASCADE.replace("p (id)", f"{database}.p (id)") if database == "derived" else ", KEY (p)"
        server.execute(f"CREATE TABLE {database}.c (id INT PRIMARY KEY, p INT, t VARCHAR(40){cascade})")
        server.execute(f"INSERT INTO {database}.p SELECT seq, seq FROM {database}.seq_1_to_{parents}")
        values = f"SELECT seq, 1 + seq % {parents}, REPEAT('x', 30) FROM {database}.seq_1_to_{children}"
        server.execute(f"INSERT INTO {database}.c {values}")


def delete(server: Server, kind: str, first: int, last: int) -> None:
    database, rows = _database(kind), f"BETWEEN {first} AND {last}"
    if kind == "logged":
        server.execute(f"DELETE FROM {database}.c WHERE p {rows}")
    server.execute(f"DELETE FROM {database}.p WHERE id {rows}")


def _database(kind: str) -> str:
    return kind.replace(" ", "_")


def copy_log(server: Server, folder: Path) -> None:
    server.execute("FLUSH BINARY LOGS")
    folder.mkdir(exist_ok=True)
    for path in server.log_files()[:-1]:
        shutil.copy(path, folder)


def n_children(run: LakeRun, kind: str) -> int:
    entry = run.register.get((_database(kind), "c"))
    return run.spark.table(run.lake.names.mirror(entry.mirror_id)).count()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--children", type=int, default=500_000)
    parser.add_argument("--parents", type=int, default=10_000)
    parser.add_argument("--deleted", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    spark = open_session("mirrorlake-bench-cascades")
    table = Table("round", "kind", "seconds", "CPU s", title=f"{given.deleted} of {given.parents:,} parents deleted")
    with running_server("mariadb") as server, tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        fill(server, given.parents, given.children)
        copy_log(server, folder / "logs")
        run = LakeRun(spark, folder / "logs", folder / "lake")
        run.all_hops()
        for number in range(given.rounds):
            for kind in KINDS:
                delete(server, kind, number * given.deleted + 1, (number + 1) * given.deleted)
                copy_log(server, run.logs)
                run.ingest()
                run.assemble()
                watch = Stopwatch()
                run.apply()
                wall, cpu = watch.read()
                table.add_row(str(number + 1), kind, f"{wall:.2f}", f"{cpu:.2f}")
        assert n_children(run, "derived") == n_children(run, "logged")
    Console().print(table)


if __name__ == "__main__":
    main()
