"""Real and written logs, damaged at random, through framing, event groups and assembler: what a decoder must survive.

A log is damaged event by event (bits, bytes, length fields, cuts, splices, order), and its headers and checksums are
put right again, so that the damage reaches the decoder. Every buffer that a kernel reads or fills ends at a page that
faults when it is touched.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from random import Random

import numpy as np
import pyarrow as pa

from mirrorlake.core.binlog.framing import SLACK_BYTES, EventBlock, index_events
from mirrorlake.core.binlog.log_reader import LogReader
from mirrorlake.core.binlog.rows import decode
from mirrorlake.core.changes.assembler import Assembler
from mirrorlake.core.changes.bronze_events import BRONZE_COLUMNS
from mirrorlake.core.changes.opened_events import open_events
from mirrorlake.core.changes.undone import Undone
from mirrorlake.core.changes.xa import plan_xa
from mirrorlake.core.gtid import parse_gtid_set
from mirrorlake.core.position import FIRST_EVENT_OFFSET
from mirrorlake.core.schema.timeline import Timeline
from mirrorlake.core.values import variant
from mirrorlake.errors import RefusedError
from tests.support.damage_kernels import EDGES
from tests.support.guarded import Guarded
from tests.support.seed_logs import WholeLog, whole_logs
from tests.support.variant_check import PRIMITIVE_BYTES, first_broken

HEADER = struct.Struct("<IBIIIH")
_TYPES = [2, 3, 4, 5, 9, 13, 14, 15, 16, 17, 18, 19, 23, 24, 25, 26, 29, 30, 31, 32, 33, 34, 35, 38, 39, 40, 42]
_TYPES += [160, 161, 162, 163, 165, 166, 167, 168, 169, 170, 171, 172]
_EDGES = EDGES.tolist()


@dataclass
class Event:
    timestamp: int
    kind: int
    server_id: int
    flags: int
    body: bytes


@dataclass(frozen=True)
class Group:
    """The events of a transaction or a statement, the first at ``start_pos``."""

    start_pos: int
    events: list[Event]


@dataclass(frozen=True)
class SeedLog:
    flavor: str
    groups: list[Group]
    timeline: Timeline


@cache
def seed_logs() -> list[SeedLog]:
    return [log for log in map(_split, whole_logs()) if log.groups]


def logs_with(event: int) -> list[SeedLog]:
    """Of each log the groups that hold an event of this type."""
    chosen = [
        replace(log, groups=[g for g in log.groups if any(e.kind == event for e in g.events)]) for log in seed_logs()
    ]
    return [log for log in chosen if log.groups]


def _split(whole: WholeLog) -> SeedLog:
    groups: list[Group] = []
    offset, data = FIRST_EVENT_OFFSET, whole.data
    while offset < len(data):
        timestamp, kind, server_id, length, _, flags = HEADER.unpack_from(data, offset)
        body = data[offset + HEADER.size : offset + length - 4]
        if kind in (33, 34, 42, 162) or not groups:
            groups.append(Group(offset, []))
        groups[-1].events.append(Event(timestamp, kind, server_id, flags, body))
        offset += length
    return SeedLog(whole.flavor, groups[1:], whole.timeline)


@dataclass(frozen=True)
class DamagedLog:
    """data: contiguous events from ``start_pos`` of the log on. timeline: of the log before it was damaged."""

    flavor: str
    start_pos: int
    data: bytes
    has_checksum: bool
    timeline: Timeline


class Arena:
    """The guarded buffers of one process."""

    def __init__(self, n_bytes: int = 8 << 20, image_bytes: int = 16 << 10):
        self._log, self._raw = Guarded(n_bytes), Guarded(n_bytes)
        self._images = [Guarded(256 * image_bytes) for _ in range(2)]
        self.image_bytes = image_bytes

    def block(self, data: bytes) -> np.ndarray:
        buf = self._log.last(len(data) + SLACK_BYTES)
        buf[: len(data)] = np.frombuffer(data, np.uint8)
        buf[len(data) :] = 0
        return buf

    def guarded_raw(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The batch with the bytes of its events just before the page."""
        raw = batch.column("raw")
        _, offsets, data = raw.buffers()
        target = self._raw.last(data.size)
        target[:] = np.frombuffer(data, np.uint8)
        column = pa.Array.from_buffers(raw.type, len(raw), [None, offsets, pa.py_buffer(target)], offset=raw.offset)
        return batch.set_column(batch.schema.get_field_index("raw"), "raw", column)

    def change_arrays(self, n_rows: int, image_bytes: int) -> decode.ChangeArrays:
        images = {
            name: guard.last(image_bytes) if image_bytes <= 256 * self.image_bytes else np.empty(image_bytes, np.uint8)
            for name, guard in zip(("before", "after"), self._images, strict=True)
        }
        return _plain_empty(n_rows, 0)._replace(**images)


_plain_empty = decode.ChangeArrays.empty


def damaged(random: Random, logs: list[SeedLog], event: int | None = None) -> DamagedLog:
    """A few groups of one log, damaged; mostly in events of type ``event``."""
    log = random.choice(logs)
    first = random.randrange(len(log.groups))
    events = [
        Event(e.timestamp, e.kind, e.server_id, e.flags, e.body)
        for group in log.groups[first : first + random.randint(1, 6)]
        for e in group.events
    ]
    for _ in range(random.choice((1, 1, 1, 2, 3, 8))):
        _damage(random, events, log, event if event is not None and random.random() < 0.8 else None)
    start_pos = log.groups[first].start_pos
    return DamagedLog(log.flavor, start_pos, *_framed(random, events, start_pos), log.timeline)


def _damage(random: Random, events: list[Event], log: SeedLog, event: int | None) -> None:
    places = [i for i, e in enumerate(events) if e.kind == event] or range(len(events))
    i = random.choice(places)
    chosen = events[i]
    kind = random.random()
    if kind < 0.75 and chosen.body:
        chosen.body = _damaged_body(random, chosen.body, log)
    elif kind < 0.80:
        chosen.kind = random.choice(_TYPES) if random.random() < 0.9 else random.randrange(256)
    elif kind < 0.84:
        chosen.flags ^= 1 << random.randrange(16)
    elif kind < 0.88:
        events.insert(random.randrange(len(events) + 1), Event(**vars(chosen)))
    elif kind < 0.92 and len(events) > 1:
        del events[i]
    elif kind < 0.96:
        other = random.randrange(len(events))
        events[i], events[other] = events[other], events[i]
    else:
        events[i:] = [Event(**vars(e)) for e in random.choice(log.groups).events]


def _damaged_body(random: Random, body: bytes, log: SeedLog) -> bytes:
    changed, at, kind = bytearray(body), random.randrange(len(body)), random.random()
    if random.random() < 0.3:
        at = min(at, random.randrange(40))  # most lengths stand near the beginning
    if kind < 0.3:
        changed[at] ^= 1 << random.randrange(8)
    elif kind < 0.5:
        changed[at] = random.choice(_EDGES) & 0xFF
    elif kind < 0.65:
        width = random.choice((2, 3, 4, 8))
        value = random.choice(_EDGES) if random.random() < 0.7 else len(body) - at + random.randint(-3, 3)
        changed[at : at + width] = (value & 256**width - 1).to_bytes(width, "little")
    elif kind < 0.75:
        del changed[at:]
    elif kind < 0.85:
        del changed[at : at + random.randint(1, 9)]
    elif kind < 0.93:
        changed[at:at] = random.randbytes(random.randint(1, 9))
    else:
        other = random.choice(random.choice(log.groups).events).body
        cut = random.randrange(len(other) + 1)
        changed[at:] = other[cut:]
    return bytes(changed)


def _framed(random: Random, events: list[Event], start_pos: int) -> tuple[bytes, bool]:
    """Headers and checksums that fit; the length field of one header may be wrong."""
    has_checksum, wrong = random.random() < 0.5, random.randrange(len(events)) if random.random() < 0.02 else -1
    out = bytearray()
    for i, e in enumerate(events):
        length = HEADER.size + len(e.body) + 4 * has_checksum
        stated = random.choice((*_EDGES, length + random.randint(-30, 30))) & 0xFFFFFFFF if i == wrong else length
        log_pos = random.choice((0, start_pos + len(out) + length))
        raw = HEADER.pack(e.timestamp, e.kind, e.server_id, stated, log_pos, e.flags) + e.body
        out += raw + struct.pack("<I", zlib.crc32(raw)) if has_checksum else raw
    return bytes(out), has_checksum


def outcomes(arena: Arena, log: DamagedLog) -> Iterator[str]:
    """Decode; the code of the refusal, or the op of every row. Any other exception is a defect."""
    decode.ChangeArrays.empty = arena.change_arrays
    try:
        buf = arena.block(log.data)
        events, _ = index_events(buf, 0, len(log.data))
        block = EventBlock("binlog.000001", log.start_pos, buf, events, log.has_checksum)
        reader = LogReader(block.position(0) if len(events) else None, parse_gtid_set(log.flavor, ""))
        chunks = [chunk.batch.select(list(BRONZE_COLUMNS)) for chunk in reader.read([block])]
        undone = Undone.of(list(open_events(chunks)))
        assembler = Assembler(log.flavor, log.timeline, undone, rows_per_batch=256, image_bytes=arena.image_bytes)
        for batch in assembler.assemble(arena.guarded_raw(chunk) for chunk in chunks):
            batch.validate(full=True)
            _check_images(batch)
            yield from batch.column("op").to_pylist()
        plan_xa(open_events(chunks), {})
    except RefusedError as error:
        yield error.code
    finally:
        decode.ChangeArrays.empty = _plain_empty


def _check_images(batch: pa.RecordBatch) -> None:
    for side in ("before", "after"):
        column = batch.column(side)
        value = column.field("value")
        _, offsets, data = value.buffers()
        ends = np.frombuffer(offsets, np.int32)[value.offset : value.offset + len(value) + 1]
        n_names = np.array([_n_names(text) for text in column.field("metadata").to_pylist()], np.int64)
        is_image = column.is_valid().to_numpy(zero_copy_only=False)
        if first_broken(data.address if data else 0, ends, n_names, is_image, PRIMITIVE_BYTES.ctypes.data) >= 0:
            raise AssertionError(f"{side}: an image that is no whole VARIANT")


@cache
def _n_names(metadata: bytes) -> int:
    return len(variant.decode_metadata(metadata)) if metadata else 0


@cache
def compile_kernels() -> None:
    """By decoding undamaged logs: a child that is forked afterwards has them, and its time is that of its inputs."""
    for log in seed_logs():
        events = [event for group in log.groups for event in group.events]
        start_pos = log.groups[0].start_pos
        whole = DamagedLog(log.flavor, start_pos, *_framed(Random(1), events, start_pos), log.timeline)
        list(outcomes(Arena(), whole))
