"""What a FORMAT_DESCRIPTION event says of checksums counts only if the event is whole, in files and from a server."""

from __future__ import annotations

import struct
import zlib

import numpy as np
import pytest

from mirrorlake.core.binlog.checksums import verify_checksums
from mirrorlake.core.binlog.description_event import read_format_description
from mirrorlake.core.binlog.framing import SLACK_BYTES, index_events
from mirrorlake.errors import RefusedError
from mirrorlake.mysql.binlog_dump import LogCursor
from mirrorlake.mysql.binlog_files import FileSource
from tests.support import binlog_events as events
from tests.support.binlog_spec import Ddl, Log
from tests.support.binlog_writer import write_logs

VERSIONS = [("mysql", "9.7.4"), ("mariadb", "10.11.19-MariaDB-log")]
STARTED = 1_700_000_000
LOG_POS, CREATED = slice(13, 17), slice(19 + 52, 19 + 56)
ROTATE = events.frame(4, events.rotate("binlog.000003"), timestamp=0, server_id=1, start=None, flags=32, checksum=True)


def described(flavor: str, version: str, created: int, checksum: bool) -> bytes:
    """The event as it is in a file."""
    body = events.format_description(flavor, version, created, checksum)
    return events.frame(15, body, timestamp=STARTED, server_id=1, start=4, flags=0, checksum=True)


def artificial(event: bytes) -> bytes:
    """As servers send it for a start within a file: only in a log with checksums do they compute the CRC32 anew."""
    sent = bytearray(event)
    sent[LOG_POS] = sent[CREATED] = bytes(4)
    return with_crc(bytes(sent)) if event[-5] else bytes(sent)


def with_crc(event: bytes) -> bytes:
    return event[:-4] + struct.pack("<I", zlib.crc32(event[:-4]))


def algorithm(event: bytes, number: int) -> bytes:
    return event[:-5] + bytes((number,)) + event[-4:]


def row_events(checksum: bool) -> bytes:
    made = b""
    for body in (b"one", b"another"):
        place = {"timestamp": STARTED, "server_id": 1, "start": 300 + len(made), "flags": 0}
        made += events.frame(2, body, **place, checksum=checksum)
    return made


def streamed(*pieces: bytes) -> None:
    """Read these events as those that a server sends."""
    data = b"".join(pieces)
    buf = np.frombuffer(data + bytes(SLACK_BYTES), np.uint8).copy()
    for block in LogCursor().blocks(buf, index_events(buf, 0, len(data))[0]):
        verify_checksums(block)


def code_of(call, *args) -> str:
    with pytest.raises(RefusedError) as refused:
        call(*args)
    return refused.value.code


@pytest.mark.parametrize(("flavor", "version"), VERSIONS)
@pytest.mark.parametrize("created", [0, STARTED])
@pytest.mark.parametrize("checksum", [True, False])
def test_an_event_is_whole_in_the_file_and_as_servers_send_it(flavor, version, created, checksum):
    event = described(flavor, version, created, checksum)
    for sent in (event, artificial(event)):
        assert read_format_description(sent, "binlog.000003").checksum_algorithm == int(checksum)
        streamed(ROTATE, sent, row_events(checksum))


@pytest.mark.parametrize(("flavor", "version"), VERSIONS)
@pytest.mark.parametrize("is_artificial", [True, False])
def test_another_algorithm_is_refused(flavor, version, is_artificial):
    event = described(flavor, version, 0, True)
    sent = artificial(event) if is_artificial else event
    for number, code in {0: "log-checksum", 2: "log-event", 3: "log-event", 129: "log-event", 255: "log-event"}.items():
        changed = algorithm(sent, number)
        assert code_of(streamed, ROTATE, changed, row_events(True)) == code
        assert code_of(streamed, ROTATE, with_crc(changed), row_events(True)) == code


@pytest.mark.parametrize(("flavor", "version"), VERSIONS)
@pytest.mark.parametrize("checksum", [True, False])
def test_each_changed_byte_is_refused(flavor, version, checksum):
    event = described(flavor, version, STARTED, checksum)
    for sent in (event, artificial(event)):
        for i in (0, 5, 21, 40, 75, len(sent) - 6, len(sent) - 5, len(sent) - 4, len(sent) - 1):
            changed = sent[:i] + bytes((sent[i] ^ 2,)) + sent[i + 1 :]
            assert code_of(read_format_description, changed, "binlog.000003") in ("log-checksum", "log-event")


def test_a_server_that_knows_no_checksums_ends_the_event_before_them():
    body = struct.pack("<H50sIB", 4, b"5.5.62-log", 0, 19) + bytes(14) + bytes([57 + 27]) + bytes(12)
    event = events.frame(15, body, timestamp=STARTED, server_id=1, start=4, flags=0, checksum=False)
    streamed(ROTATE, event, row_events(False))
    assert code_of(streamed, ROTATE, event, row_events(True)) == "log-checksum"


def test_the_description_of_a_file_is_verified_when_it_is_opened(tmp_path):
    (path,) = write_logs(tmp_path, Log("mariadb", [Ddl("CREATE TABLE t (id INT PRIMARY KEY)", "shop")]))
    data = path.read_bytes()
    event = data[4 : 4 + int.from_bytes(data[13:17], "little")]
    path.write_bytes(data.replace(event, algorithm(event, 0)))
    with pytest.raises(RefusedError, match="the CRC32 of FORMAT_DESCRIPTION does not match its bytes") as refused:
        FileSource(tmp_path)
    assert (refused.value.code, refused.value.position) == ("log-checksum", f"{path.name}:4")
