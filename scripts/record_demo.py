"""Records the demo's binlogs from real servers into src/mirrorlake/demo_data; run it in the checkout's root.

    python -m scripts.record_demo [--flavor mariadb]

Next to each server's files is expected.json: what the source's tables held when it stopped, what the log holds
by the count of the server's own reader, and which tables are refused by name.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
from collections import Counter
from dataclasses import asdict
from pathlib import Path

from scripts.demo_shop import Shop
from tests.support import canonical
from tests.support.servers import FLAVORS, Server, mariadb_binlog, mysqlbinlog, running_server

DEMO_DATA = Path(__file__).resolve().parents[1] / "src/mirrorlake/demo_data"
REFUSED = {"shop.visits": "needs-resync"}
SEED = 20240301
MAX_BYTES = 5_000_000  # all flavors together

_OPTIONS = ("--character-set-server=utf8mb4", "--binlog-checksum=CRC32", "--binlog-row-image=FULL")
_ROW = re.compile(r"^### (INSERT|UPDATE|DELETE)(?: INTO| FROM)? `(.+?)`\.`(.+?)`$", re.MULTILINE)


def main() -> None:
    parser = argparse.ArgumentParser(description="Record the demo's binlogs from real servers.")
    parser.add_argument("--flavor", choices=FLAVORS, action="append", help="only this one (may be repeated)")
    for flavor in parser.parse_args().flavor or FLAVORS:
        record(flavor)
    size = sum(file.stat().st_size for file in DEMO_DATA.glob("*/binlog.0*"))
    if size > MAX_BYTES:
        raise SystemExit(f"the logs hold {size:,} bytes, more than {MAX_BYTES:,}; let the shop trade less")


def record(flavor: str) -> None:
    folder = DEMO_DATA / flavor
    with running_server(flavor, *_OPTIONS) as server:
        server.reset()
        run_shop(server)
        expected = {"flavor": flavor, "server_version": server.query("SELECT VERSION()")[0][0]}
        expected["tables"] = describe_tables(server)
        server.stop()  # a file that its server closed has no in-use flag and ends with ROTATE or STOP
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        for file in sorted(server.datadir.glob("binlog.0*")):
            shutil.copyfile(file, folder / file.name)
    files = sorted(folder.glob("binlog.0*"))
    expected |= describe_log(flavor, files)
    (folder / "expected.json").write_text(json.dumps(expected, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    size = sum(file.stat().st_size for file in files)
    print(f"{flavor}: {len(files)} files, {size:,} bytes, {expected['row_changes']:,} row changes")


def run_shop(server: Server) -> None:
    with server.connect(autocommit=False) as connection:
        shop = Shop(connection, SEED)
        shop.open(customers=600, products=240)
        shop.trade(265)
        server.execute("FLUSH BINARY LOGS")
        shop.introduce_coupons()
        shop.try_carts()
        shop.count_stock()
        shop.trade(265)
        server.execute("FLUSH BINARY LOGS")
        shop.renumber_customers(60)
        shop.swap_lines(25)
        shop.change_mind(20)
        shop.replace_customers(40)
        server.execute("FLUSH BINARY LOGS")
        shop.remove_shelves()
        shop.number_visits()
        shop.change_hours()
        shop.count_stock()
        shop.trade(285)


def describe_tables(server: Server) -> dict[str, dict]:
    """Row count and content checksum of every table of the shop, by ``tests.support.canonical``."""
    with server.connect() as connection:
        return {
            f"shop.{table}": asdict(canonical.TableDigest.of(canonical.source_rows(connection, "shop", table)))
            for table in canonical.source_tables(connection, "shop")
            if f"shop.{table}" not in REFUSED
        }


def describe_log(flavor: str, files: list[Path]) -> dict:
    """The log's row changes and transactions as the server's own mysqlbinlog shows them."""
    read = mariadb_binlog if flavor == "mariadb" else mysqlbinlog
    text = read("-v", "--base64-output=DECODE-ROWS", *files)
    changes = Counter((f"{database}.{table}", kind) for kind, database, table in _ROW.findall(text))
    tables = sorted({table for table, _ in changes})
    return {
        "refused": REFUSED,
        "log_files": {file.name: file.stat().st_size for file in files},
        "transactions": text.count("\nCOMMIT/*!*/;\n"),
        "row_changes": sum(changes.values()),
        "changes": {table: {kind: changes[table, kind] for kind in ("INSERT", "UPDATE", "DELETE")} for table in tables},
    }


if __name__ == "__main__":
    main()
