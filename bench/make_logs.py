"""Makes the two benchmark logs on a real server; run it in the checkout's root.

    python -m bench.make_logs [--flavor mariadb|mysql] [--kind bulk|oltp|transaction] [--changes 1000000] [--out DIR]

bulk   multi-row statements (row events of 8 KB) on two tables, 10,000 row changes per transaction
oltp   transactions of one to three row changes on three tables; file 1 holds the CREATEs and 150,000 rows loaded
       before, the changes that count begin with file 2
transaction  the statements of bulk in one transaction; only made when asked for

Servers run with their defaults but for syncing; MariaDB writes no Annotate_rows events for multi-row statements (they
would repeat every inserted row as text). DIR/KIND holds the binlog files and manifest.json.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import time
from collections.abc import Iterable
from itertools import chain
from pathlib import Path

from bench.log_statements import CREATE, USE, Statements
from tests.support.servers import CHECKOUT, FLAVORS, Server, running_server

KINDS = ("bulk", "oltp")
OLTP_BASE = {"sbtest1": 60_000, "orders": 60_000, "accounts": 30_000}
SEED = 3

_OPTIONS = ("--character-set-server=utf8mb4", "--max-binlog-size=256M", "--innodb-buffer-pool-size=1G")
_WITHOUT_TEXT = {"mariadb": ["SET SESSION binlog_annotate_row_events = OFF"], "mysql": []}


def main() -> None:
    parser = argparse.ArgumentParser(description="Make the benchmark logs on a real server.")
    parser.add_argument("--flavor", choices=FLAVORS, default="mariadb")
    parser.add_argument(
        "--kind", choices=(*KINDS, "transaction"), action="append", help="only this one (may be repeated)"
    )
    parser.add_argument("--changes", type=int, default=1_000_000)
    parser.add_argument("--out", type=Path, help="default: .cache/bench-logs/FLAVOR")
    options = parser.parse_args()
    out = options.out or CHECKOUT / ".cache/bench-logs" / options.flavor
    for kind in options.kind or KINDS:
        make_log(options.flavor, kind, options.changes, out / kind)


def make_log(flavor: str, kind: str, changes: int, folder: Path) -> dict:
    """Writes one log into folder, replacing what is there; returns its manifest."""
    started = time.monotonic()
    with running_server(flavor, *_OPTIONS) as server:
        server.reset()
        statements = Statements(SEED)
        server.execute("CREATE DATABASE bench")
        load(server, CREATE)
        base_rows = 0
        if kind == "bulk":
            load(server, _WITHOUT_TEXT[flavor], statements.bulk(changes))
        elif kind == "transaction":
            one = (each for each in statements.bulk(changes) if each not in ("BEGIN", "COMMIT"))
            load(server, _WITHOUT_TEXT[flavor], ["BEGIN"], one, ["COMMIT"])
        else:
            load(server, _WITHOUT_TEXT[flavor], statements.load(OLTP_BASE), ["FLUSH BINARY LOGS"])
            base_rows = statements.row_changes
            load(server, statements.oltp(changes))
        tables = {table: server.query(f"SELECT COUNT(*) FROM bench.{table}")[0][0] for table in statements.live}
        assert tables == {table: len(keys) for table, keys in statements.live.items()}, tables
        version = server.query("SELECT VERSION()")[0][0]
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        for file in sorted(server.datadir.glob("binlog.0*")):
            shutil.move(file, folder / file.name)
    files = {file.name: file.stat().st_size for file in sorted(folder.glob("binlog.0*"))}
    manifest = {
        "flavor": flavor,
        "server_version": version,
        "kind": kind,
        "base_rows": base_rows,
        "row_changes": statements.row_changes - base_rows,
        "first_counted_file": sorted(files)[1 if kind == "oltp" else 0],
        "tables": {f"bench.{table}": rows for table, rows in tables.items()},
        "log_files": files,
    }
    (folder / "manifest.json").write_text(json.dumps(manifest, indent=1) + "\n")
    print(
        f"{flavor} {kind}: {manifest['row_changes']:,} row changes (and {base_rows:,} before), {len(files)} files,"
        f" {sum(files.values()) / 1e6:,.0f} MB, {time.monotonic() - started:.0f} s -> {folder}"
    )
    return manifest


def load(server: Server, *statements: Iterable[str]) -> None:
    """Feeds the statements to the server's own client, in one session. Raises RuntimeError when it fails."""
    script = CHECKOUT / f"scripts/servers/{server.flavor}.sh"
    command = [str(script), "client", str(server.folder), "--default-character-set=utf8mb4", "--binary-mode"]
    client = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
    with client.stdin as pipe:
        for statement in chain(USE, *statements):
            pipe.write(statement.encode() + b";\n")
    if client.wait():
        raise RuntimeError(f"the {server.flavor} client ended with code {client.returncode}")


if __name__ == "__main__":
    main()
