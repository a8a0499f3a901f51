"""What compression of the log costs assemble: the same transactions with binlog_transaction_compression and without.

    python -m bench.compressed_log [--transactions 5000]

Many short transactions, of a few row changes each; the logs are written by the tests' own writer. Rows of silver per
second of CPU time, decoding alone.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from mirrorlake.core.binlog.framing import SLACK_BYTES, EventBlock, index_events
from mirrorlake.core.binlog.log_reader import LogReader
from mirrorlake.core.changes.assembler import Assembler
from mirrorlake.core.changes.bronze_events import BRONZE_COLUMNS
from mirrorlake.core.gtid import parse_gtid_set
from tests.support.binlog_writer import encode_logs
from tests.support.histories import History
from tests.support.history_generator import Generator

START, REPETITIONS = 4, 3


def short_transactions(count: int) -> History:
    generator = Generator(1, ("shop",))
    generator.create_tables(3)
    for _ in range(count):
        generator._transaction()
    return History(1, tuple(generator.items))


def bronze(data: bytes) -> list:
    """Batches of ``BRONZE_COLUMNS``."""
    buf = np.frombuffer(data + bytes(SLACK_BYTES), np.uint8)
    events, _ = index_events(buf, START, len(data))
    block = EventBlock("binlog.000001", START, buf, events, True)
    reader = LogReader(block.position(0), parse_gtid_set("mysql", ""))
    return [chunk.batch.select(list(BRONZE_COLUMNS)) for chunk in reader.read([block])]


def assembled(batches: list) -> tuple[int, float]:
    """(rows, seconds of CPU time), the best of some repetitions."""
    found = []
    for _ in range(REPETITIONS):
        started = time.process_time()
        rows = sum(batch.num_rows for batch in Assembler("mysql").assemble(batches))
        found.append((rows, time.process_time() - started))
    return min(found, key=lambda one: one[1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--transactions", type=int, default=5000)
    history = short_transactions(parser.parse_args().transactions)
    for compression in (False, True):
        (encoded,) = encode_logs(history.log("mysql", compression=compression))
        rows, seconds = assembled(bronze(encoded.data))
        what = "compressed" if compression else "plain"
        print(f"{what:<12}{len(encoded.data) / 1e6:6.1f} MB {rows:9,} rows {rows / seconds:12,.0f} rows/s")


if __name__ == "__main__":
    main()
