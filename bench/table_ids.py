"""Decoding a log whose server opens its tables again for each statement: every table map has an id of its own.

    python -m bench.make_logs                 # once: a real server's log of row changes
    python -m bench.table_ids [--logs .cache/bench-logs/mariadb/oltp] [--batches 4]

The log's first batches of events, as they are and with other ids; row changes and markers per second of CPU time, best
of three.
"""

from __future__ import annotations

import argparse
import time
from itertools import count, islice
from pathlib import Path

import numpy as np
import pyarrow as pa

from bench.decoders.to_arrow import read_events
from mirrorlake.core.binlog.framing import HEADER_BYTES
from mirrorlake.core.changes.assembler import Assembler
from mirrorlake.core.changes.bronze_events import BronzeEvents, replaced
from mirrorlake.core.constants import EventType, one_of
from mirrorlake.mysql.binlog_files import FileSource

ID_BYTES = 6
_OF_TABLES = one_of(EventType.TABLE_MAP, *range(EventType.WRITE_ROWS_V1, EventType.DELETE_ROWS_V1 + 1))


def with_new_ids(batches: list[pa.RecordBatch]) -> list[pa.RecordBatch]:
    ids, newest = count(1), dict[bytes, bytes]()
    return [_with_new_ids(batch, ids, newest) for batch in batches]


def _with_new_ids(batch: pa.RecordBatch, ids: count, newest: dict[bytes, bytes]) -> pa.RecordBatch:
    events = BronzeEvents(batch)
    buf = events.buf.copy()
    for i in np.flatnonzero(_OF_TABLES[events.event_type]).tolist():
        start = int(events.offset[i]) + HEADER_BYTES
        table_id = buf[start : start + ID_BYTES].tobytes()
        if events.event_type[i] == EventType.TABLE_MAP:
            newest[table_id] = next(ids).to_bytes(ID_BYTES, "little")
        buf[start : start + ID_BYTES] = np.frombuffer(newest[table_id], np.uint8)
    raw = batch.column("raw")
    buffers = [None, raw.buffers()[1], pa.py_buffer(buf)]
    return replaced(batch, raw=pa.Array.from_buffers(pa.binary(), len(raw), buffers, offset=raw.offset))


def rows_per_cpu_second(flavor: str, batches: list[pa.RecordBatch]) -> float:
    rates = []
    for _ in range(3):
        cpu = time.process_time()
        n_rows = sum(map(len, Assembler(flavor).assemble(batches)))
        rates.append(n_rows / (time.process_time() - cpu))
    return max(rates)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--logs", type=Path, default=Path(".cache/bench-logs/mariadb/oltp"))
    parser.add_argument("--batches", type=int, default=4)
    options = parser.parse_args()
    source = FileSource(options.logs)
    batches = list(islice(read_events(source), options.batches))
    for name, log in (("as they are", batches), ("each map its own", with_new_ids(batches))):
        n_maps = sum(int((BronzeEvents(batch).event_type == EventType.TABLE_MAP).sum()) for batch in log)
        print(f"table ids {name:17} {n_maps:9,} table maps {rows_per_cpu_second(source.flavor, log):12,.0f} rows/CPU s")


if __name__ == "__main__":
    main()
