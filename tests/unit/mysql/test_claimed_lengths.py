"""Lengths that a file or a server only claims: refused by name, and no memory is taken for them."""

from __future__ import annotations

import os
import resource
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Callable

import numpy as np
import pytest

from mirrorlake.core.binlog.framing import MAX_EVENT_BYTES, index_events
from mirrorlake.core.kernels.memory import reusable_bytes
from mirrorlake.errors import RefusedError
from mirrorlake.mysql.binlog_files import FileSource
from mirrorlake.mysql.dump_stream import DumpStream
from mirrorlake.mysql.receive_buffer import ReceiveBuffer
from tests.support.binlog_spec import Log, RawEvent
from tests.support.binlog_writer import write_logs
from tests.support.peak_memory import peak_bytes

HEADER = struct.Struct("<IBIIIH")
MORE_BYTES = 300 << 20
"""What a refusal may take beside what the process had."""


def in_a_process(work: Callable[..., object], *arguments: object) -> tuple[str, int]:
    """What a refusal by ``work``, a function of this file, says, or how it ended else; and how much the process grew by
    it, in bytes."""
    code = f"from {__name__} import measured, {work.__name__}; measured({work.__name__}, *{arguments!r})"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    grown, said = done.stdout.split(" ", 1)
    return said.strip(), int(grown)


def measured(work: Callable[..., object], *arguments: object) -> None:
    index_events(np.zeros(64, np.uint8), 0, 0)  # compiled, or loaded
    before = peak_bytes()
    try:
        work(*arguments)
        said = "nothing was refused"
    except RefusedError as error:
        said = str(error)
    print(peak_bytes() - before, said, flush=True)
    os._exit(0)


def find_the_end(folder: str) -> None:
    FileSource(folder).current()


def listen_to_a_flood(length: int) -> None:
    ours, theirs = socket.socketpair()
    packet = b"\xff\xff\xff\0" + b"\0" + event(length, 0xFFFFFF - 1)

    def flood():
        while True:
            theirs.sendall(packet)

    threading.Thread(target=flood, daemon=True).start()
    stream = object.__new__(DumpStream)  # one that is connected already
    stream._login, stream._received = "server", ReceiveBuffer(ours, 5, AssertionError)
    stream.read()


def index_900_mb() -> None:
    """In little more address space than the event takes."""
    with open("/proc/self/statm") as statm:
        taken = int(statm.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (taken + (1 << 30), resource.RLIM_INFINITY))
    buf = np.empty(900 << 20, np.uint8)
    buf[:19] = list(event(900 << 20, 19))
    events, stop = index_events(buf, 0, len(buf))
    assert (len(events), stop) == (1, len(buf))


def event(length: int, n_bytes: int) -> bytes:
    """The first bytes of an event that claims to have ``length``."""
    return HEADER.pack(0, 160, 1, length, 0, 0) + bytes(n_bytes - HEADER.size)


def start_of_large(data: bytes) -> int:
    """Offset of the first event of 1,000 bytes or more."""
    start = 4
    while (length := HEADER.unpack_from(data, start)[3]) < 1000:
        start += length
    return start


@pytest.mark.parametrize("length", [MAX_EVENT_BYTES + 1, 0x7FFFFFFF, 0xFFFFFFFF])
def test_a_file_whose_event_claims_more_than_1_gib_is_refused(tmp_path, length):
    path = write_logs(tmp_path, Log("mariadb", [RawEvent(160, bytes(64 << 20)), RawEvent(160, b"after")]))[0]
    with path.open("r+b") as file:
        start = start_of_large(path.read_bytes())
        file.seek(start + 9)
        file.write(struct.pack("<I", length))
        file.truncate(6 << 30)  # the bytes are there, as a hole

    said, grown = in_a_process(find_the_end, str(tmp_path))
    what = f"log-event: by its length field an event is longer than 1 GiB, which no server writes ({length} bytes)"
    assert said == f"{what} (at {path.name}:{start})"
    assert grown < MORE_BYTES


def test_a_claim_of_up_to_1_gib_takes_no_more_than_the_file_has(tmp_path):
    path = write_logs(tmp_path, Log("mysql", [RawEvent(29, bytes(1000))], end="stop"))[0]
    data = bytearray(path.read_bytes())
    struct.pack_into("<I", data, start_of_large(data) + 9, MAX_EVENT_BYTES)
    path.write_bytes(data)
    said, grown = in_a_process(find_the_end, str(tmp_path))
    assert said.startswith("log-truncated: the file ends inside an event") and grown < MORE_BYTES


@pytest.mark.parametrize("length", [MAX_EVENT_BYTES + 1, 0xFFFFFFFF])
def test_a_server_that_claims_more_than_1_gib_is_refused_before_it_is_heard_out(length):
    said, grown = in_a_process(listen_to_a_flood, length)
    assert said.startswith("log-event: by its length field an event is longer than 1 GiB") and grown < MORE_BYTES


def test_the_index_of_a_large_buffer_is_small():
    """An event of nearly 1 GiB is one event; an index with room for 50 million would take 1.5 GB."""
    assert in_a_process(index_900_mb)[0] == "nothing was refused"


def test_more_events_than_an_index_has_room_for_come_with_the_next_call():
    buf = reusable_bytes(19 * 1_500_000 + 64)
    buf[: 19 * 1_500_000].reshape(-1, 19)[:] = list(event(19, 19))
    first, stop = index_events(buf, 0, 19 * 1_500_000)
    rest, end = index_events(buf, stop, 19 * 1_500_000)
    assert (len(first), len(rest), end) == (1 << 20, 1_500_000 - (1 << 20), 19 * 1_500_000)
