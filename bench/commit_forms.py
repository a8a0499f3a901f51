"""What it costs to append only if the recorded progress is still the one that was read.

Every form appends 1,000 staged rows as one Delta commit, all but the first with a transaction id, to a table of 50 rows
in one commit and to one of a million rows in 50 commits. Printed: median seconds, what happens to two writers that are
in flight together, and to a writer that comes later with progress that has moved.

    python bench/commit_forms.py [--rounds 7]
"""

from __future__ import annotations

import argparse
import re
import shutil
import statistics
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from mirrorlake.lake.delta.creation import create_table
from mirrorlake.lake.delta.names import quote
from mirrorlake.lake.delta.progress import Progress, append_from
from mirrorlake.lake.delta.session import open_session, private_session

COLUMNS = "lsn BIGINT, tx_lsn BIGINT, log_file STRING, raw BINARY"
STAGED_ROWS = 1000
STRICT = "assert_true({condition}, 'progress moved') IS NULL"
MAX_CHECK = STRICT.format(condition="(SELECT max(lsn) FROM {table}) = {expected}")
COUNT_CHECK = STRICT.format(condition="(SELECT count(*) FROM {table} WHERE lsn > {expected}) = 0")
RAISE_CHECK = "(SELECT if(count(*) = 0, true, raise_error('progress moved')) FROM {table} WHERE lsn > {expected})"
EXISTS_CHECK = "NOT EXISTS (SELECT 1 FROM {table} WHERE lsn > {expected})"


class Writer:
    """One writer of a table: what it read (expected, sequence) and the rows it wants to add."""

    def __init__(self, spark: SparkSession, table: str, expected: int, sequence: int, rows: int = STAGED_ROWS):
        self.spark, self.table, self.expected, self.sequence = private_session(spark), table, expected, sequence
        self.new_lsn = expected + rows
        self.delay_ms = 0

    def staged(self) -> DataFrame:
        rows = rows_between(self.spark, self.expected, self.new_lsn)
        return rows.where(f"reflect('java.lang.Thread', 'sleep', {self.delay_ms}L) IS NULL") if self.delay_ms else rows

    def insert(self, check: str, app_id: str, txn_version: int) -> None:
        self.staged().createOrReplaceTempView("staged")
        self.spark.conf.set("spark.databricks.delta.write.txnAppId", app_id)
        self.spark.conf.set("spark.databricks.delta.write.txnVersion", str(txn_version))
        where = check.format(table=self.table, expected=self.expected)
        self.spark.sql(f"INSERT INTO {self.table} SELECT * FROM staged WHERE {where}")

    def append(self, check: str, app_id: str, txn_version: int) -> None:
        rows = self.staged()
        if check != "true":
            rows.createOrReplaceTempView("staged")
            where = check.format(table=self.table, expected=self.expected)
            rows = self.spark.sql(f"SELECT * FROM staged WHERE {where}")
        rows.writeTo(self.table).option("txnAppId", app_id).option("txnVersion", txn_version).append()

    def append_v1(self, app_id: str, txn_version: int) -> None:
        path = self.table.split("`")[3]
        options = {"txnAppId": app_id, "txnVersion": txn_version}
        self.staged().write.format("delta").mode("append").options(**options).save(path)

    def history(self) -> None:
        self.spark.sql(f"DESCRIBE HISTORY {self.table} LIMIT 20").collect()


def with_history(append: Callable[[Writer], None]) -> Callable[[Writer], None]:
    return lambda writer: (append(writer), writer.history())


def from_start(writer: Writer) -> None:
    writer.append("true", f"hop/from/{writer.expected}", 0)


def next_sequence(writer: Writer) -> None:
    writer.append("true", "hop", writer.sequence + 1)


def shipped(writer: Writer) -> None:
    expected = Progress(writer.expected, {}, writer.sequence)
    append_from(writer.spark, writer.table, writer.staged(), expected=expected, new_lsn=writer.new_lsn, payload={})


def without_id(writer: Writer) -> None:
    """Nobody may use it: two writers, or one that is late, both append."""
    writer.staged().writeTo(writer.table).append()


FORMS: dict[str, Callable[[Writer], None]] = {
    "append without an id, writeTo": without_id,
    "blind append, SQL": lambda w: w.insert("true", "hop", w.new_lsn),
    "blind append, writeTo": lambda w: w.append("true", "hop", w.new_lsn),
    "blind append, save(path)": lambda w: w.append_v1("hop", w.new_lsn),
    "assert max(lsn), SQL": lambda w: w.insert(MAX_CHECK, "hop", w.new_lsn),
    "assert count(lsn > expected), SQL": lambda w: w.insert(COUNT_CHECK, "hop", w.new_lsn),
    "raise_error in subquery, SQL": lambda w: w.insert(RAISE_CHECK, "hop", w.new_lsn),
    "NOT EXISTS, SQL": lambda w: w.insert(EXISTS_CHECK, "hop", w.new_lsn),
    "assert count, writeTo": lambda w: w.append(COUNT_CHECK, "hop", w.new_lsn),
    "raise_error, writeTo": lambda w: w.append(RAISE_CHECK, "hop", w.new_lsn),
    "id per start + history": with_history(from_start),
    "version = sequence + 1": next_sequence,
    "version = sequence + 1, + history": with_history(next_sequence),
    "append_from, as shipped": shipped,
}


def rows_between(spark: SparkSession, after: int, last: int) -> DataFrame:
    raw = "CAST(repeat(sha2(CAST(id AS STRING), 256), 2) AS BINARY) AS raw"
    return spark.range(after + 1, last + 1, 1, 1).selectExpr(
        "id AS lsn", "id AS tx_lsn", "'binlog.000001' AS log_file", raw
    )


def new_table(spark: SparkSession, folder: Path, commits: int, rows_each: int) -> str:
    table = quote("delta", str(folder))
    create_table(spark, table, COLUMNS)
    for commit in range(commits):
        rows_between(spark, commit * rows_each, (commit + 1) * rows_each).writeTo(table).append()
    return table


def seconds(spark: SparkSession, table: str, form: Callable[[Writer], None], expected: int, rounds: int) -> float:
    taken = []
    for sequence in range(rounds):
        writer = Writer(spark, table, expected, sequence)
        started = time.perf_counter()
        form(writer)
        taken.append(time.perf_counter() - started)
        expected = writer.new_lsn
    return statistics.median(taken[1:])


def outcome(writer: Writer, form: Callable[[Writer], None], rows_before: int) -> str:
    try:
        form(writer)
        error = ""
    except Exception as failure:  # the kind of failure is the result here
        known = re.search(r"DELTA_CONCURRENT_\w+|progress moved", str(failure))
        error = known.group() if known else type(failure).__name__
    return error or ("wrote" if count(writer) > rows_before else "silent, nothing written")


def count(writer: Writer) -> int:
    return writer.spark.sql(f"SELECT count(*) FROM {writer.table}").first()[0]


def together(spark: SparkSession, table: str, form: Callable[[Writer], None]) -> str:
    """The slow writer is in flight while the quick one, with another end, commits."""
    slow, quick = Writer(spark, table, 50, 0, 80), Writer(spark, table, 50, 0, 60)
    slow.delay_ms = 50
    told: list[str] = []
    thread = threading.Thread(target=lambda: told.append(outcome(slow, form, 110)))
    thread.start()
    time.sleep(2)
    form(quick)
    thread.join()
    return told[0] + ("" if count(quick) == 110 else f", {count(quick) - 110} ROWS DOUBLED")


def later(spark: SparkSession, table: str, form: Callable[[Writer], None], rows: int) -> str:
    """Two commits have continued from 50; a writer that still believes in 50 commits ``rows`` rows."""
    form(Writer(spark, table, 50, 0, 60))
    form(Writer(spark, table, 110, 1, 60))
    return outcome(Writer(spark, table, 50, 0, rows), form, 170)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=7)
    rounds = parser.parse_args().rounds
    spark = open_session("commit-forms")
    root = Path(tempfile.mkdtemp())
    big_template = root / "big"
    new_table(spark, big_template, 50, 20_000)
    seconds(spark, new_table(spark, root / "warm", 1, 50), FORMS["assert max(lsn), SQL"], 50, 3 * rounds)
    head = ("form", "50 rows s", "1 M rows s", "in flight together", "later, shorter range", "later, longer range")
    print("| " + " | ".join(head) + " |\n|" + "---|" * len(head), flush=True)
    for number, (name, form) in enumerate(FORMS.items()):
        folder = root / str(number)
        small = seconds(spark, new_table(spark, folder / "s", 1, 50), form, 50, rounds)
        shutil.copytree(big_template, folder / "b")
        big = seconds(spark, quote("delta", str(folder / "b")), form, 1_000_000, rounds)
        told = together(spark, new_table(spark, folder / "t", 1, 50), form)
        short, long = (later(spark, new_table(spark, folder / f"l{n}", 1, 50), form, n) for n in (30, 200))
        print(f"| {name} | {small:.2f} | {big:.2f} | {told} | {short} | {long} |", flush=True)
    shutil.rmtree(root)


if __name__ == "__main__":
    main()
