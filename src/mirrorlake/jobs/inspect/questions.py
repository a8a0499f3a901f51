"""Questions about a lake, each answered by a table: transactions, times, syncpoints, refusals, lag, activity."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime, timedelta

import pandas as pd

from mirrorlake.config import Options
from mirrorlake.core.digits import is_number
from mirrorlake.core.lsn_range import LsnRange
from mirrorlake.core.sql_text import Sql, literal, quote
from mirrorlake.errors import UsageError, next_step
from mirrorlake.jobs.inspect.ddl import list_refused
from mirrorlake.jobs.inspect.history import during, frame, known
from mirrorlake.jobs.inspect.status import read_status
from mirrorlake.jobs.inspect.trace import ROW_CHANGES, Transaction, transaction
from mirrorlake.lake.delta.lake import Lake
from mirrorlake.lake.gold.control.epochs import ANSWER
from mirrorlake.lake.gold.control.register import TableRegister
from mirrorlake.lake.gold.syncpoint.syncpoints import Syncpoint

BUCKETS = (1, 10, 60, 600, 3600, 86_400)
"""Seconds of one bar of activity."""
MOST_BUCKETS = 60


def find_transaction(lake: Lake, asked: str, most: int) -> Transaction:
    """The transaction with this GTID, or this lsn of it or of one of its changes; empty: the newest. At most ``most``
    changes and events. Raises UsageError ``usage`` if silver has none."""
    text, where = asked.strip().lower(), "op = 'COMMIT'"
    if is_number(text):
        where = f"(tx_lsn = {int(text)} OR lsn = {int(text)})"
    elif text:
        where = f"gtid = {literal(text)}"
    newest = f"SELECT max(tx_lsn) AS tx_lsn FROM {lake.names.silver_changes} WHERE {where}"
    (found,) = lake.spark.sql(newest).toArrow()["tx_lsn"].to_pylist()
    if found is None:
        raise UsageError("usage", "silver has no such transaction; `mirrorlake status` says how far it is")
    return transaction(lake, found, most)


def changes_between(lake: Lake, since: datetime | None, until: datetime | None, most: int) -> pd.DataFrame:
    """How many changes each table had in this time of the source, and in how many transactions; None: no bound."""
    return frame(
        lake,
        f"""SELECT concat(database, '.', table) AS table_name, op, count(*) AS changes,
                   count(DISTINCT tx_lsn) AS transactions, min(commit_ts) AS first_at, max(commit_ts) AS last_at,
                   min(lsn) AS first_lsn, max(lsn) AS last_lsn
            FROM {lake.names.silver_changes}
            WHERE {during("commit_ts", since, until)} AND ({ROW_CHANGES} OR op = 'REFUSED')
            GROUP BY ALL ORDER BY changes DESC, table_name, op LIMIT {most}""",
    )


def changes_between_syncpoints(lake: Lake, one: Syncpoint, two: Syncpoint, most: int) -> pd.DataFrame:
    """Each table of either syncpoint: the versions to read, and the changes of the log between them, by kind."""
    versions = [
        (f"{table.database}.{table.table}", column, table.version)
        for column, point in (("version_one", one), ("version_two", two))
        for table in point.tables
    ]
    between = LsnRange(*sorted((one.lsn or 0, two.lsn or 0))).condition
    counted = frame(
        lake,
        f"""SELECT concat(database, '.', table) AS table_name, op, count(*) AS changes
            FROM {lake.names.silver_changes} WHERE {between} AND {ROW_CHANGES} GROUP BY ALL""",
    )
    found = pd.DataFrame({"table_name": sorted({name for name, _, _ in versions} | set(counted.table_name))})
    for column in ("version_one", "version_two"):
        of = {name: version for name, in_column, version in versions if in_column == column}
        found[column] = found.table_name.map(of).astype("Int64")
    for op in ("INSERT", "UPDATE", "DELETE"):
        of = counted[counted.op == op].set_index("table_name").changes
        found[f"{op.lower()}s"] = found.table_name.map(of).fillna(0).astype("int64")
    return found.head(most)


def rows_between_syncpoints(lake: Lake, table: str, one: Syncpoint, two: Syncpoint, most: int) -> pd.DataFrame:
    """The rows of a mirror that only one of the two syncpoints has, by the columns that both have; ``only_at`` names
    it. Raises UsageError ``usage`` if one does not have the table."""
    name = str(known(lake, table)[1].name)
    sides = {point.name: _at(lake, name, point) for point in (one, two)}
    columns = [set(lake.spark.sql(f"{side} LIMIT 0").columns) for side in sides.values()]
    listed = ", ".join(quote(column) for column in sorted(columns[0] & columns[-1]))
    first, second = (f"SELECT {listed} FROM ({side})" for side in (_at(lake, name, one), _at(lake, name, two)))
    return frame(
        lake,
        f"""SELECT {literal(one.name)} AS only_at, * FROM ({first} EXCEPT ALL {second})
            UNION ALL SELECT {literal(two.name)}, * FROM ({second} EXCEPT ALL {first}) LIMIT {most}""",
    )


def refusals(lake: Lake) -> pd.DataFrame:
    """Each refused table: why, since which statement of the log if it was one, and what to do next."""
    statements = {f"{found['database']}.{found['table']}": found for found in list_refused(lake)}
    rows = []
    for entry in TableRegister.read(lake):
        if entry.is_refused:
            found = statements.get(str(entry.name), {})
            about = {"committed": found.get("at"), "position": found.get("position")}
            rows.append({
                "table_name": str(entry.name), "code": entry.code, "reason": entry.reason, **about,
                "statement": found.get("statement"), "next_step": next_step(entry.code), "lsn": entry.lsn,
            })  # fmt: skip
    columns = ["table_name", "code", "reason", "committed", "position", "statement", "next_step", "lsn"]
    return pd.DataFrame(rows, columns=columns)


def lags(lake: Lake, options: Options) -> pd.DataFrame:
    """A row for each hop, see ``HopStatus``; that of bronze only if the options have a source."""
    status = read_status(lake, options)
    hops = {"ingest": status.bronze, "assemble": status.silver, "apply": status.gold}
    return pd.DataFrame([{"hop": hop, **asdict(reached)} for hop, reached in hops.items()])


def epoch_lags(lake: Lake, most: int) -> pd.DataFrame:
    """Of the newest epochs: seconds from the commit on the source of their last transaction to their own end."""
    return frame(
        lake,
        f"""SELECT e.epoch, e.at AS applied_at, max(c.commit_ts) AS source_time,
                   CAST(e.at AS DOUBLE) - CAST(max(c.commit_ts) AS DOUBLE) AS lag_s
            FROM (SELECT * FROM {lake.names.control_epochs} WHERE phase = 'done' AND kind <> '{ANSWER}'
                  ORDER BY epoch DESC LIMIT {most}) e
            JOIN {lake.names.silver_changes} c ON c.op IN ('COMMIT', 'DDL') AND c.lsn > e.lsn_from AND c.lsn <= e.lsn_to
            GROUP BY ALL ORDER BY e.epoch""",
    )


def activity(lake: Lake, since: datetime | None, until: datetime | None) -> pd.DataFrame:
    """Row changes of each table in each interval of the source's clock: ``at``, ``table_name``, ``changes``,
    ``seconds`` (of the interval, so that there are few). Without bounds: of the last day that has changes."""
    silver = lake.names.silver_changes
    (ends,) = lake.spark.sql(
        f"""SELECT min(commit_ts) AS first, max(commit_ts) AS last FROM {silver}
            WHERE op = 'COMMIT' AND {during("commit_ts", since, until)}"""
    ).toArrow().to_pylist()  # fmt: skip
    if ends["last"] is None:
        return pd.DataFrame(columns=["at", "table_name", "changes", "seconds"])
    is_bounded = since is not None or until is not None
    begins = ends["first"] if is_bounded else max(ends["first"], ends["last"] - timedelta(days=1))
    span_s = (ends["last"] - begins).total_seconds()
    seconds = next((bucket for bucket in BUCKETS if span_s < bucket * MOST_BUCKETS), BUCKETS[-1])
    return frame(
        lake,
        f"""SELECT timestamp_seconds({seconds} * floor(unix_seconds(commit_ts) / {seconds})) AS at,
                   concat(database, '.', table) AS table_name, count(*) AS changes, {seconds} AS seconds
            FROM {silver} WHERE {ROW_CHANGES} AND {during("commit_ts", begins, until)}
            GROUP BY ALL ORDER BY at, table_name""",
    )


def _at(lake: Lake, name: str, point: Syncpoint) -> Sql:
    """The rows of a mirror at a syncpoint."""
    for table in point.tables:
        if f"{table.database}.{table.table}" == name:
            return f"SELECT * FROM {lake.names.mirror(table.mirror_id)} VERSION AS OF {table.version}"
    raise UsageError("usage", f"syncpoint {point.name} does not have this table", table=name)
