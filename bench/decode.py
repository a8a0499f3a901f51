"""Decoding alone, compared with common decoders: row images per second on the same binlog files, in one run.

    python -m bench.decode [--logs .cache/bench-logs/mariadb] [--passes 3] [--only NAME]

The others are fetched when first asked for, each with its own package manager (pip, mvn, go), into .cache/decoders; one
whose tools are missing is left out by name. Every program decodes every value of every row image, with checksums
verified where it can (mariadb-binlog and the Java connector read files without). Seconds are those of the best pass
within a running program: start-up and warm-up do not count. python-mysql-replication reads from a server that was
given the files; the server's own CPU time does not count.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from tests.support.servers import CHECKOUT, running_server

SOURCES = CHECKOUT / "bench/decoders"
TOOLS = CHECKOUT / ".cache/decoders"
JAVA_CONNECTOR = "com.zendesk:mysql-binlog-connector-java:0.30.1"
GO_MYSQL = "github.com/go-mysql-org/go-mysql@v1.16.0"
PYTHON_REPLICATION = "mysql-replication==1.0.17"


@dataclass(frozen=True, slots=True)
class Pass:
    images: int
    wall_s: float
    cpu_s: float


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure decoders of binlogs side by side.")
    parser.add_argument("--logs", type=Path, default=CHECKOUT / ".cache/bench-logs/mariadb")
    parser.add_argument("--passes", type=int, default=3)
    parser.add_argument("--only", action="append", choices=list(DECODERS))
    options = parser.parse_args()
    table = Table("log", "decoder", "row images", "images/s", "images/CPU s")
    for kind in ("bulk", "oltp"):
        for name in options.only or DECODERS:
            try:
                best = min(DECODERS[name](options.logs / kind, options.passes), key=lambda done: done.cpu_s)
            except (OSError, subprocess.CalledProcessError) as error:
                table.add_row(kind, name, "", "", f"not to be had: {error}")
                continue
            rates = (f"{best.images / best.wall_s:,.0f}", f"{best.images / best.cpu_s:,.0f}")
            table.add_row(kind, name, f"{best.images:,}", *rates)
    Console(width=120).print(table)


def _files(folder: Path) -> list[str]:
    return sorted(map(str, folder.glob("*.0*")))


def _passes(*command: str | Path, **options) -> list[Pass]:
    done = subprocess.run([*map(str, command)], check=True, stdout=subprocess.PIPE, text=True, **options)
    rows = (line.split() for line in done.stdout.splitlines())
    return [Pass(int(images), float(wall), float(cpu)) for images, wall, cpu in rows]


def to_variant(folder: Path, passes: int) -> list[Pass]:
    return _mirrorlake(folder, passes, "variant")


def to_columns(folder: Path, passes: int) -> list[Pass]:
    return _mirrorlake(folder, passes, "columns")


def _mirrorlake(folder: Path, passes: int, form: str) -> list[Pass]:
    return _passes(sys.executable, SOURCES / "to_arrow.py", passes + 1, folder, form)  # the first compiles


def java_connector(folder: Path, passes: int) -> list[Pass]:
    home = TOOLS / "java"
    if not (home / "Decode.class").exists():
        home.mkdir(parents=True, exist_ok=True)
        copy = ["mvn", "-q", "dependency:copy", f"-Dartifact={JAVA_CONNECTOR}", f"-DoutputDirectory={home}"]
        subprocess.run(copy, check=True, cwd=home)
        subprocess.run(["javac", "-cp", f"{home}/*", "-d", home, SOURCES / "Decode.java"], check=True)
    return _passes("java", "-cp", f"{home}:{home}/*", "Decode", passes, *_files(folder))


def go_mysql(folder: Path, passes: int) -> list[Pass]:
    home = TOOLS / "go"
    if not (home / "decode").exists():
        home.mkdir(parents=True, exist_ok=True)
        shutil.copy(SOURCES / "main.go", home)
        for command in (["mod", "init", "decode"], ["get", GO_MYSQL], ["mod", "tidy"], ["build", "-o", "decode", "."]):
            subprocess.run(["go", *command], check=True, cwd=home, env=os.environ | {"GOFLAGS": "-mod=mod"})
    return _passes(home / "decode", passes, *_files(folder))


def python_replication(folder: Path, passes: int) -> list[Pass]:
    home = TOOLS / "python"
    if not home.exists():
        install = [sys.executable, "-m", "pip", "install", "-q", "--target", home, PYTHON_REPLICATION]
        subprocess.run(install, check=True)
    manifest = json.loads((folder / "manifest.json").read_text())
    rows = manifest["base_rows"] + manifest["row_changes"]
    with _server_with(folder) as (port, first_file):
        env = os.environ | {"PYTHONPATH": str(home)}
        return _passes(sys.executable, SOURCES / "python_replication.py", 1, port, first_file, rows, env=env)


@contextmanager
def _server_with(folder: Path) -> Iterator[tuple[int, str]]:
    """A MariaDB whose log is made of the files."""
    with running_server("mariadb") as server:
        server.stop()
        index = next(server.datadir.glob("*.index"))
        stem = index.name.removesuffix(".index")
        for old in server.datadir.glob(f"{stem}.0*"):
            old.unlink()
        names = [f"{stem}.{Path(file).name.rpartition('.')[2]}" for file in _files(folder)]
        for file, name in zip(_files(folder), names, strict=True):
            shutil.copy(file, server.datadir / name)
        index.write_text("".join(f"./{name}\n" for name in names))
        server.start()
        yield server.port, names[0]


def mariadb_binlog(folder: Path, passes: int) -> list[Pass]:
    command = ["mariadb-binlog", "--verbose", "--base64-output=decode-rows", *_files(folder)]
    shown = subprocess.Popen(command, stdout=subprocess.PIPE)
    counted = subprocess.run(
        ["grep", "-cE", "^### (WHERE|SET)$"], stdin=shown.stdout, stdout=subprocess.PIPE, text=True
    )
    images = int(counted.stdout)
    return [_timed(command, images) for _ in range(passes)]


def _timed(command: list[str], images: int) -> Pass:
    before, wall = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    wall, after = time.perf_counter() - wall, resource.getrusage(resource.RUSAGE_CHILDREN)
    return Pass(images, wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


DECODERS: dict[str, Callable[[Path, int], list[Pass]]] = {
    "mirrorlake": to_variant,
    "mirrorlake, and then columns": to_columns,
    "mysql-binlog-connector-java": java_connector,
    "go-mysql": go_mysql,
    "mariadb-binlog -v": mariadb_binlog,
    "python-mysql-replication": python_replication,
}


if __name__ == "__main__":
    main()
