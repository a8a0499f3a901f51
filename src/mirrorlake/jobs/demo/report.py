"""Print the demo's report; every figure comes from a query on the lake."""

from __future__ import annotations

from itertools import islice
from typing import Any, TextIO

import pyarrow as pa

from mirrorlake.core.constants import EventType
from mirrorlake.core.schema.table_name import TableName
from mirrorlake.jobs.inspect.sql import Catalog
from mirrorlake.jobs.inspect.trace import written_by
from mirrorlake.jobs.show.output import show_table
from mirrorlake.jobs.show.view import refusal_lines
from mirrorlake.lake.delta.lake import Lake
from mirrorlake.lake.delta.notes import read_commits
from mirrorlake.lake.gold.control.register import REFUSED, STREAMING, TableRegister
from mirrorlake.shown import say

FOLLOWED = TableName("shop", "orders")
QUERY = """SELECT c.country, count(*) AS orders, sum(o.total) AS revenue, max(o.placed_at) AS latest
FROM shop.orders o JOIN shop.customers c USING (customer_id) GROUP BY ALL ORDER BY revenue DESC LIMIT 5"""


def report(lake: Lake, expected: dict[str, Any], out: TextIO) -> None:
    report_counts(lake, expected, out)
    with Catalog(lake) as catalog:
        print(f"\nA query on the mirrors:\n\n{QUERY}\n", file=out)
        _show(catalog.query(QUERY), out)
        _history(lake, out)
        _one_transaction(lake, catalog, out)


def report_counts(lake: Lake, expected: dict[str, Any], out: TextIO) -> None:
    """Print the rows of every hop; for the mirrors also those that the server had when the log was recorded."""
    with Catalog(lake) as catalog:
        events = catalog.query("SELECT count(*) AS n, sum(octet_length(raw)) AS bytes FROM bronze_events").to_pylist()[
            0
        ]
        ops = catalog.query("SELECT op, count(*) AS n FROM silver_changes GROUP BY op ORDER BY op").to_pylist()
    print(f"\nbronze: {events['n']:,} events, {events['bytes']:,} bytes", file=out)
    print("silver: " + ", ".join(f"{row['n']:,} {row['op']}" for row in ops), file=out)
    entries = list(TableRegister.read(lake))
    rows = []
    for entry in entries:
        if entry.state == STREAMING:
            n = lake.spark.table(lake.names.mirror(entry.mirror_id)).count()
            name = str(entry.name)
            rows.append((name, n, expected["tables"].get(name, {}).get("rows")))
    print("gold:", file=out)
    show_table(("mirror", "rows", "rows on the server"), rows, out)
    for entry in entries:
        if entry.state == REFUSED:
            for line in refusal_lines(entry):
                say(line, out)


def _history(lake: Lake, out: TextIO) -> None:
    print("\nThe newest commits of the mirror of shop.orders; each carries how far the mirror is:", file=out)
    mirror = lake.names.mirror(TableRegister.read(lake).get(FOLLOWED).mirror_id)
    rows = []
    for commit in islice(read_commits(lake.spark, mirror), 8):
        note = commit.note or {"lsn": None, "payload": {}}
        rows.append((commit.version, commit.operation, note["lsn"], note["payload"].get("epoch")))
    show_table(("version", "operation", "lsn", "epoch"), rows, out)


def _one_transaction(lake: Lake, catalog: Catalog, out: TextIO) -> None:
    """Follow a row of the mirror to the bytes that the server wrote."""
    newest = catalog.query("SELECT order_id, status, total, _lsn FROM shop.orders ORDER BY _lsn DESC LIMIT 1")
    print("\nOne transaction, from the mirror back to the log.\n1. gold: the order that changed last", file=out)
    _show(newest, out)
    transaction = written_by(lake, newest["_lsn"][0].as_py())
    assert transaction, "the demo copies no table"
    print(f"2. silver: everything in the transaction that wrote it (tx_lsn {transaction.tx_lsn})", file=out)
    _show(transaction.changes.select(["ordinal", "op", "table", "lsn", "commit_ts"]), out)
    print("3. bronze: its events as the server wrote them", file=out)
    events = transaction.events.select(["lsn", "event_type", "log_file", "log_pos", "bytes", "gtid", "begins_with"])
    names = pa.array([_type_name(number) for number in events["event_type"].to_pylist()])
    _show(events.set_column(1, "event_type", names), out)


def _type_name(number: int) -> str:
    return EventType(number).name if number in list(EventType) else str(number)


def _show(rows: pa.Table, out: TextIO) -> None:
    show_table(rows.column_names, [list(row.values()) for row in rows.to_pylist()], out)
