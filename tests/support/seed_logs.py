"""The logs that damage begins with: real ones with every type of column, and written ones with every type of event."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from random import Random

import numpy as np
import pyarrow as pa

from mirrorlake.core.binlog.framing import SLACK_BYTES, EventBlock, index_events
from mirrorlake.core.binlog.log_reader import LogReader
from mirrorlake.core.changes.bronze_events import BRONZE_COLUMNS
from mirrorlake.core.changes.definition_reader import DefinitionReader
from mirrorlake.core.gtid import parse_gtid_set
from mirrorlake.core.lsn_range import LsnRange
from mirrorlake.core.position import FIRST_EVENT_OFFSET
from mirrorlake.core.schema.timeline import Timeline
from tests.support.binlog_spec import Log
from tests.support.binlog_writer import encode_logs
from tests.support.histories import random_history
from tests.support.partial_json import PartialJson

_LOGS = Path(__file__).parents[1] / "cases" / "logs"


@dataclass(frozen=True)
class WholeLog:
    """data: a file, with checksums."""

    flavor: str
    data: bytes

    @cached_property
    def block(self) -> EventBlock:
        buf = np.frombuffer(self.data + bytes(SLACK_BYTES), np.uint8)
        events, _ = index_events(buf, FIRST_EVENT_OFFSET, len(self.data))
        return EventBlock("binlog.000001", FIRST_EVENT_OFFSET, buf, events, True)

    @cached_property
    def events(self) -> list[pa.RecordBatch]:
        """As bronze has them."""
        chunks = LogReader(self.block.position(0), parse_gtid_set(self.flavor, "")).read([self.block])
        return [chunk.batch.select(list(BRONZE_COLUMNS)) for chunk in chunks]

    @cached_property
    def timeline(self) -> Timeline:
        definitions = DefinitionReader(self.flavor)
        definitions.read(self.events)
        return definitions.timeline(LsnRange(-1, 1 << 62))


@cache
def whole_logs() -> list[WholeLog]:
    """Logs of both servers, and written ones: with and without compression, of every type that the writer knows."""
    real = [WholeLog(path.parent.name, path.read_bytes()) for path in sorted(_LOGS.glob("*/binlog.*"))]
    return real + [WholeLog(log.flavor, encoded.data) for log in _written() for encoded in encode_logs(log)]


def _written() -> Iterable[Log]:
    for seed, compression in ((1, False), (2, True)):
        history = random_history(seed, items=60)
        yield history.log("mysql", compression=compression)
        yield Log("mysql", PartialJson(Random(seed)).items, compression=compression)
        yield history.log("mariadb", compression=compression)
        yield history.log("mariadb", compression=compression, fragment_bytes=100)
