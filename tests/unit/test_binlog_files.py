from __future__ import annotations

import os
import socket
import struct
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from mirrorlake.core.binlog.framing import EventBlock
from mirrorlake.core.binlog.log_reader import LogReader
from mirrorlake.core.constants import IS_GTID
from mirrorlake.core.position import BinlogPosition, parse_gtid_set, unpack_lsn
from mirrorlake.errors import MirrorlakeError, RefusedError
from mirrorlake.mysql.binlog_files import FileSource
from mirrorlake.mysql.log_file import LogFile
from tests.support import binlog_events as events
from tests.support.binlog_spec import Ddl, Log, Query, RawEvent, Restart, Rotate, Transaction
from tests.support.binlog_writer import encode_logs, write_logs
from tests.support.log_bytes import read_files
from tests.support.log_names import LOG_NAMES, NO_LOG_NAMES, TOO_LONG

FLAVORS = ("mysql", "mariadb")
DDL = Ddl("CREATE TABLE t (id INT PRIMARY KEY)", "shop")
TRANSACTION = Transaction([Query("SAVEPOINT a", "shop")])


def log(flavor: str, **options) -> Log:
    items = [DDL, TRANSACTION, TRANSACTION, Rotate(), TRANSACTION, Restart(), TRANSACTION, DDL]
    return Log(flavor, items, **options)


def refusal_of(call) -> MirrorlakeError:
    with pytest.raises(RefusedError) as refusal:
        call()
    return refusal.value


def read_all(folder: Path) -> dict[str, bytes]:
    source = FileSource(folder)
    return read_files(source, source.earliest(), source.current())


def cut(path: Path, n_bytes: int) -> None:
    path.write_bytes(path.read_bytes()[:-n_bytes])


def event_starts(path: Path) -> list[int]:
    data, starts = path.read_bytes(), [4]
    while starts[-1] < len(data):
        starts.append(starts[-1] + struct.unpack_from("<I", data, starts[-1] + 9)[0])
    return starts


@pytest.mark.parametrize("flavor", FLAVORS)
@pytest.mark.parametrize("checksum", [True, False])
@pytest.mark.parametrize("end", ["open", "stop"])
@pytest.mark.parametrize("block_bytes", [1, 64, 300, 8 << 20])
def test_every_byte_comes_back_whatever_the_block_size(tmp_path, flavor, checksum, end, block_bytes):
    paths = write_logs(tmp_path, log(flavor, checksum=checksum, end=end))
    source = FileSource(tmp_path, block_bytes)
    assert source.flavor == flavor and source.earliest() == BinlogPosition(paths[0].name, 4)
    assert source.current() == BinlogPosition(paths[-1].name, paths[-1].stat().st_size)
    found = read_files(source, source.earliest(), source.current())
    assert found == {path.name: path.read_bytes()[4:] for path in paths}


def test_identity_names_flavor_server_and_log(tmp_path):
    write_logs(tmp_path, log("mysql"))
    spec = log("mysql")
    assert FileSource(tmp_path).identity == f"files:mysql:{spec.server_id}:{spec.basename}"


def test_any_start_and_end_at_events_gives_exactly_the_bytes_between(tmp_path):
    path = write_logs(tmp_path, Log("mysql", [DDL, TRANSACTION]))[0]
    source, data, starts = FileSource(tmp_path), path.read_bytes(), event_starts(path)
    for k, start in enumerate(starts):
        for end in starts[k:]:
            found = read_files(source, BinlogPosition(path.name, start), BinlogPosition(path.name, end))
            assert found.get(path.name, b"") == data[start:end]


def test_an_end_inside_an_event_stops_before_it(tmp_path):
    path = write_logs(tmp_path, Log("mysql", [DDL, TRANSACTION]))[0]
    starts = event_starts(path)
    found = read_files(FileSource(tmp_path), BinlogPosition(path.name, 4), BinlogPosition(path.name, starts[3] + 1))
    assert found[path.name] == path.read_bytes()[4 : starts[3]]


def test_an_event_larger_than_a_block_comes_whole(tmp_path):
    write_logs(tmp_path, Log("mariadb", [RawEvent(160, bytes(100_000)), RawEvent(160, b"after")]))
    source = FileSource(tmp_path, 4096)
    lengths = np.concatenate([block.events.length for block in source.read(source.earliest(), source.current())])
    assert lengths.max() == 100_000 + 19 + 4


def test_missing_folder_and_folder_without_log_are_refused(tmp_path):
    assert refusal_of(lambda: FileSource(tmp_path / "nowhere")).code == "log-missing"
    assert refusal_of(lambda: FileSource(tmp_path)).code == "log-missing"
    (tmp_path / "notes.txt").write_text("no log")
    assert refusal_of(lambda: FileSource(tmp_path)).code == "log-missing"


def test_other_files_of_a_data_folder_are_left_alone(tmp_path):
    paths = write_logs(tmp_path, log("mariadb"))
    (tmp_path / "aria_log.00000001").write_bytes(b"\xfe\xfe\x0b" + bytes(100))
    (tmp_path / f"{paths[0].name.split('.')[0]}.index").write_text("./" + paths[0].name)
    assert len(read_all(tmp_path)) == len(paths)


def test_two_logs_in_one_folder_are_refused(tmp_path):
    path = write_logs(tmp_path, log("mysql"))[0]
    (tmp_path / "relay.000001").write_bytes(path.read_bytes())
    assert refusal_of(lambda: FileSource(tmp_path)).code == "log-event"


@pytest.mark.parametrize("magic", [b"\xfdbin", b"#sql", b"\0\0\0\0"])
def test_encrypted_or_foreign_file_is_refused(tmp_path, magic):
    paths = write_logs(tmp_path, log("mysql"))
    paths[1].write_bytes(magic + paths[1].read_bytes()[4:])
    refused = refusal_of(lambda: read_all(tmp_path))
    assert refused.code == "log-event" and paths[1].name in refused.message


def test_mariadb_encrypted_file_is_refused(tmp_path):
    path = write_logs(tmp_path, Log("mariadb", []))[0]
    head = path.read_bytes()[: event_starts(path)[1]]
    start_encryption = events.frame(164, bytes(17), timestamp=0, server_id=1, start=len(head), flags=0, checksum=True)
    path.write_bytes(head + start_encryption + b"\x93" * 200)
    assert "encrypted" in refusal_of(lambda: FileSource(tmp_path)).message


@pytest.mark.parametrize("event_type", [2, 33, 164])
def test_a_file_that_begins_with_another_event_is_refused(tmp_path, event_type):
    path = write_logs(tmp_path, Log("mysql", [DDL]))[0]
    data = bytearray(path.read_bytes())
    data[8] = event_type
    path.write_bytes(data)
    refused = refusal_of(lambda: FileSource(tmp_path))
    assert (refused.code, refused.position) == ("log-event", f"{path.name}:4")
    assert refused.message == "the file does not begin with FORMAT_DESCRIPTION"


def test_a_file_named_like_a_log_that_is_none_is_refused(tmp_path):
    (tmp_path / "binlog.000001").write_bytes(b"#!/bin/sh\n")
    refused = refusal_of(lambda: FileSource(tmp_path))
    assert refused.code == "log-event" and "binlog.000001 is named like a binlog file" in refused.message


def test_a_file_that_cannot_be_read_is_missing(tmp_path):
    path = write_logs(tmp_path, Log("mysql", [DDL]))[0]
    source = FileSource(tmp_path)
    path.unlink()
    assert refusal_of(source.current).code == "log-missing"


def test_missing_file_between_two_is_a_gap(tmp_path):
    paths = write_logs(tmp_path, log("mysql"))
    paths[1].unlink()
    source = FileSource(tmp_path)
    refused = refusal_of(lambda: next(source.read(source.earliest(), source.current())))
    assert refused.code == "log-gap" and refused.position == f"{paths[0].name}:{paths[0].stat().st_size}"
    start = BinlogPosition(paths[2].name, 4)
    assert read_files(source, start, source.current()) == {paths[2].name: paths[2].read_bytes()[4:]}


def test_start_in_a_file_that_is_gone_is_missing(tmp_path):
    paths = write_logs(tmp_path, log("mysql"))
    paths[0].unlink()
    source = FileSource(tmp_path)
    refused = refusal_of(lambda: next(source.read(BinlogPosition(paths[0].name, 4), source.current())))
    assert refused.code == "log-missing"


@pytest.mark.parametrize("flavor", FLAVORS)
def test_rotated_file_cut_anywhere_is_refused_before_its_first_event(tmp_path, flavor):
    path = write_logs(tmp_path, log(flavor))[0]
    whole = path.read_bytes()
    for n_bytes in range(len(whole)):
        path.write_bytes(whole[:n_bytes])

        def read_first(folder=tmp_path):
            source = FileSource(folder)
            return next(source.read(BinlogPosition(path.name, 4), source.current()))

        assert refusal_of(read_first).code == "log-truncated"


def test_file_before_a_restart_may_end_after_any_event_but_not_inside_one(tmp_path):
    paths = write_logs(tmp_path, log("mysql"))
    whole, starts = paths[1].read_bytes(), event_starts(paths[1])
    paths[1].write_bytes(whole[: starts[-2]])  # a crash leaves no STOP
    assert read_all(tmp_path)[paths[1].name] == whole[4 : starts[-2]]
    paths[1].write_bytes(whole[: starts[-2] - 1])
    refused = refusal_of(lambda: read_all(tmp_path))
    assert (refused.code, refused.position) == ("log-truncated", f"{paths[1].name}:{starts[-3]}")


@pytest.mark.parametrize("after_crash", [False, True])
@pytest.mark.parametrize("kept", [0, 1, 2])
@pytest.mark.parametrize("flavor", FLAVORS)
def test_an_incomplete_copy_of_a_file_before_a_restart_is_refused(tmp_path, flavor, kept, after_crash):
    """It ends like a file that a crash cut short, but the next file lists what it lacks; also of another domain."""
    groups = [replace(TRANSACTION, domain=n if flavor == "mariadb" else 0) for n in range(3)]
    paths = write_logs(tmp_path, Log(flavor, [*groups, Restart(after_crash=after_crash), TRANSACTION]))
    whole = paths[0].read_bytes()
    starts = [at for at in event_starts(paths[0])[:-1] if IS_GTID[whole[at + 4]]]
    for end in (starts[kept], starts[kept] + 5, starts[kept] + 45, event_starts(paths[0])[-3] - 1):
        paths[0].write_bytes(whole[:end])
        assert refusal_of(lambda: read_all(tmp_path)).code == "log-truncated"
    paths[0].write_bytes(whole)
    read_all(tmp_path)


def test_an_incomplete_copy_is_known_by_every_server_of_a_domain(tmp_path):
    """The last transaction of the domain has a lower number, because another server wrote it."""
    groups = [replace(TRANSACTION, gtid_number=n, origin=origin) for n, origin in ((10, None), (11, None), (2, 9))]
    paths = write_logs(tmp_path, Log("mariadb", [*groups, Restart(), TRANSACTION]))
    whole = paths[0].read_bytes()
    starts = [at for at in event_starts(paths[0])[:-1] if IS_GTID[whole[at + 4]]]
    paths[0].write_bytes(whole[: starts[1]])
    assert refusal_of(lambda: read_all(tmp_path)).code == "log-truncated"


@pytest.mark.parametrize("flavor", FLAVORS)
def test_files_of_two_servers_are_refused(tmp_path, flavor):
    """Each begins and ends as the other's neighbour would."""
    origin = {"mysql": "6c1f7e0a-11d2-11ef-9a3b-0242ac120099", "mariadb": 99}[flavor]
    groups = [replace(TRANSACTION, domain=7 if flavor == "mariadb" else 0, origin=origin), Restart(), TRANSACTION]
    write_logs(tmp_path, Log(flavor, groups))
    first = write_logs(tmp_path / "other", Log(flavor, [TRANSACTION, Restart(), TRANSACTION]))[0]
    (tmp_path / first.name).write_bytes(first.read_bytes())
    assert refusal_of(lambda: read_all(tmp_path)).code == "log-gap"


def rotated(flavor: str, **options) -> Log:
    return Log(flavor, [TRANSACTION, Rotate(), TRANSACTION, Rotate(), TRANSACTION, Rotate(), TRANSACTION], **options)


@pytest.mark.parametrize("order", [(0, 2, 1, 3), (0, 1, 1, 3), (0, 1, 2, 1), (0, 1, 2, 2)])
@pytest.mark.parametrize("flavor", FLAVORS)
def test_files_under_the_names_of_others_are_refused_before_the_first_event(tmp_path, flavor, order):
    paths = write_logs(tmp_path, rotated(flavor))
    files = [path.read_bytes() for path in paths]
    for path, number in zip(paths, order, strict=True):
        path.write_bytes(files[number])
    source = FileSource(tmp_path)
    assert refusal_of(lambda: next(source.read(source.earliest(), source.current()))).code == "log-gap"


@pytest.mark.parametrize("flavor", FLAVORS)
def test_a_file_of_another_server_after_a_rotate_is_refused(tmp_path, flavor):
    origin = {"mysql": "6c1f7e0a-11d2-11ef-9a3b-0242ac120099", "mariadb": 99}[flavor]
    groups = [replace(TRANSACTION, origin=origin), Rotate(), TRANSACTION]
    write_logs(tmp_path, Log(flavor, groups))
    second = write_logs(tmp_path / "other", Log(flavor, [TRANSACTION, Rotate(), TRANSACTION]))[1]
    (tmp_path / second.name).write_bytes(second.read_bytes())
    assert refusal_of(lambda: read_all(tmp_path)).code == "log-gap"


@pytest.mark.parametrize("flavor", FLAVORS)
def test_a_file_that_takes_the_name_of_another_while_it_is_read_is_refused(tmp_path, flavor):
    paths = write_logs(tmp_path, rotated(flavor))
    source = FileSource(tmp_path)
    blocks = source.read(source.earliest(), source.current())
    next(blocks)
    paths[2].replace(paths[1])
    assert refusal_of(lambda: list(blocks)).code == "log-gap"


@pytest.mark.parametrize("flavor", FLAVORS)
def test_an_archive_may_name_the_files_of_a_log_anew_and_copy_them_again(tmp_path, flavor):
    for path in write_logs(tmp_path, rotated(flavor)):
        path.rename(path.with_stem("backup"))
    source = FileSource(tmp_path)
    blocks = source.read(source.earliest(), source.current())
    next(blocks)
    for path in sorted(tmp_path.iterdir()):
        (tmp_path / "copy").write_bytes(path.read_bytes())
        (tmp_path / "copy").replace(path)
    assert len({block.log_file for block in blocks}) == 3


def test_files_of_mysql_and_mariadb_are_no_log(tmp_path):
    write_logs(tmp_path, Log("mysql", [TRANSACTION, Restart(), TRANSACTION]))
    second = write_logs(tmp_path / "other", Log("mariadb", [TRANSACTION, Restart(), TRANSACTION]))[1]
    (tmp_path / second.name).write_bytes(second.read_bytes())
    assert refusal_of(lambda: read_all(tmp_path)).code == "log-event"


def test_a_name_that_is_not_utf_8_is_refused(tmp_path):
    path = write_logs(tmp_path, Log("mysql", [TRANSACTION]))[0]
    path.rename(os.fsdecode(os.fsencode(tmp_path) + b"/\xff.000001"))
    assert refusal_of(lambda: FileSource(tmp_path)).code == "log-event"


@pytest.mark.parametrize("flavor", FLAVORS)
def test_last_file_in_use_is_read_up_to_its_last_complete_event(tmp_path, flavor):
    path = write_logs(tmp_path, Log(flavor, [DDL, TRANSACTION], end="open"))[-1]
    starts = event_starts(path)
    cut(path, 1)
    assert FileSource(tmp_path).current() == BinlogPosition(path.name, starts[-2])
    assert read_all(tmp_path)[path.name] == path.read_bytes()[4 : starts[-2]]


def test_last_file_closed_and_cut_is_refused(tmp_path):
    path = write_logs(tmp_path, Log("mysql", [DDL, TRANSACTION], end="stop"))[-1]
    cut(path, 1)
    assert refusal_of(lambda: FileSource(tmp_path).current()).code == "log-truncated"


def test_position_behind_the_end_of_a_file_is_refused(tmp_path):
    path = write_logs(tmp_path, Log("mysql", [DDL]))[0]
    behind = BinlogPosition(path.name, path.stat().st_size + 1)
    source = FileSource(tmp_path)
    assert refusal_of(lambda: list(source.read(behind, behind))).code == "log-truncated"
    assert refusal_of(lambda: list(source.read(source.earliest(), behind))).code == "log-truncated"


def test_a_file_that_grows_and_its_successor_are_seen_by_current(tmp_path):
    encoded = encode_logs(log("mysql"))
    first = tmp_path / encoded[0].name
    in_use = bytearray(encoded[0].data[: event_starts_of(encoded[0].data)[4]])
    in_use[4 + 17] |= 1
    first.write_bytes(in_use)
    source = FileSource(tmp_path)
    before = source.current()
    for each in encoded:
        (tmp_path / each.name).write_bytes(each.data)
    found = read_files(source, before, source.current())
    assert found[encoded[0].name] == encoded[0].data[before.offset :] and len(found) == 3


def event_starts_of(data: bytes) -> list[int]:
    starts = [4]
    while starts[-1] < len(data):
        starts.append(starts[-1] + struct.unpack_from("<I", data, starts[-1] + 9)[0])
    return starts


@pytest.mark.parametrize("flavor", FLAVORS)
def test_locate_finds_the_first_transaction_not_in_the_set(tmp_path, flavor):
    spec = log(flavor)
    encoded = encode_logs(spec)
    write_logs(tmp_path, spec)
    source = FileSource(tmp_path)
    groups = [(each.name, offset) for each in encoded for k, offset in each.item_offsets if k not in (3, 5)]
    assert len(groups) == 6
    for n_done in range(1, 7):
        text = f"0-{spec.server_id}-{n_done}" if flavor == "mariadb" else f"{spec.server_uuid}:1-{n_done}"
        expected = BinlogPosition(*groups[n_done]) if n_done < 6 else source.current()
        assert source.locate(parse_gtid_set(flavor, text)) == expected


def test_locate_before_the_first_file_is_refused(tmp_path):
    spec = log("mysql")
    write_logs(tmp_path, spec)[0].unlink()
    gtids = parse_gtid_set("mysql", f"{spec.server_uuid}:1-2")
    assert refusal_of(lambda: FileSource(tmp_path).locate(gtids)).code == "log-missing"


def test_bytes_that_are_no_events_are_refused(tmp_path):
    path = write_logs(tmp_path, Log("mysql", [DDL], end="stop"))[0]
    path.write_bytes(path.read_bytes() + bytes(64))
    assert refusal_of(lambda: read_all(tmp_path)).code == "log-event"


def test_file_numbers_go_on_behind_999999(tmp_path):
    items = [DDL, Rotate(), TRANSACTION, Rotate(), TRANSACTION]
    written = write_logs(tmp_path, Log("mysql", items, first_number=999_999))
    assert [path.name for path in written] == ["binlog.999999", "binlog.1000000", "binlog.1000001"]
    source = FileSource(tmp_path)
    chunks = list(LogReader(None, parse_gtid_set("mysql", "")).read(source.read(source.earliest(), source.current())))
    lsns = [lsn for chunk in chunks for lsn in chunk.batch["lsn"].to_pylist()]
    assert lsns == sorted(lsns) and [unpack_lsn(chunk.batch["lsn"][0].as_py())[1] for chunk in chunks] == [
        999_999, 1_000_000, 1_000_001
    ]  # fmt: skip
    assert read_all(tmp_path) == {path.name: path.read_bytes()[4:] for path in written}


@pytest.mark.parametrize("flavor", FLAVORS)
def test_offsets_beyond_4_gib_are_resume_positions_like_others(tmp_path, flavor):
    """An event's header holds 32 bits of its end; the rest is counted."""
    far = 1 << 32
    write_logs(tmp_path, Log(flavor, [DDL, TRANSACTION, TRANSACTION], end="open"))
    source = FileSource(tmp_path)
    (block,) = source.read(source.earliest(), source.current())
    first = int(np.flatnonzero(np.isin(block.events.event_type, (33, 162)))[1])
    near = block.part(first, len(block.events))
    there = EventBlock(near.log_file, near.start_pos + far, near.buf, near.events, near.has_checksum)
    start = BinlogPosition(near.log_file, near.start_pos + far)
    (chunk,) = LogReader(start, parse_gtid_set(flavor, "")).read([there])
    assert chunk.resume.position == BinlogPosition(near.log_file, near.end_pos + far)
    assert unpack_lsn(chunk.resume.lsn)[2] == int(near.start_positions[-1]) + far
    assert chunk.batch["log_pos"].to_pylist() == [int(position) + far for position in near.start_positions]


@pytest.mark.parametrize("name", LOG_NAMES)
def test_a_log_may_have_any_base(tmp_path, name):
    base, _, number = name.rpartition(".")
    write_logs(tmp_path, log("mysql", basename=base, first_number=int(number)))
    source = FileSource(tmp_path)
    assert source.earliest() == BinlogPosition(name, 4)
    chunks = list(
        LogReader(source.earliest(), parse_gtid_set("mysql", "")).read(source.read(source.earliest(), source.current()))
    )
    assert chunks[-1].resume.position.log_file.rpartition(".")[0] == base


@pytest.mark.parametrize(
    "name",
    [name for name in NO_LOG_NAMES if "/" not in name and name[-1] != "\n" and name[0] != "." and name != TOO_LONG],
)
def test_a_log_with_a_name_that_controls_a_terminal_is_refused(tmp_path, name):
    path = write_logs(tmp_path, log("mysql"))[0]
    for other in tmp_path.iterdir():
        other.rename(tmp_path / name) if other == path else other.unlink()
    refused = refusal_of(lambda: FileSource(tmp_path))
    assert (
        refused.code == "log-event" and refused.message.startswith("a binlog file in") and name not in refused.message
    )


def test_two_files_of_one_number_are_refused(tmp_path):
    path = write_logs(tmp_path, log("mysql"))[0]
    (tmp_path / "binlog.0000001").write_bytes(path.read_bytes())
    refused = refusal_of(lambda: FileSource(tmp_path))
    assert (refused.code, refused.message) == ("log-event", "binlog.0000001 and binlog.000001 have the same number")


@pytest.mark.parametrize("kind", ["fifo", "folder", "device", "socket"])
@pytest.mark.parametrize("name", ["binlog.000001", "binlog.000002", "binlog.000004"])
def test_what_is_named_like_a_file_of_the_log_and_is_none_is_refused_at_once(tmp_path, kind, name):
    write_logs(tmp_path, log("mysql"))
    path = tmp_path / name
    path.unlink(missing_ok=True)
    make_other_than_file(path, kind)
    refused = refusal_of(lambda: read_all(tmp_path))
    assert (refused.code, refused.message) == ("log-event", f"{name} is named like a binlog file, but it is no file")


@pytest.mark.parametrize("kind", ["fifo", "folder", "device", "socket"])
def test_what_is_named_like_another_log_and_is_no_file_is_left_alone(tmp_path, kind):
    make_other_than_file(tmp_path / "relay.000001", kind)
    refused = refusal_of(lambda: FileSource(tmp_path))
    assert (refused.code, refused.message) == (
        "log-event",
        "relay.000001 is named like a binlog file, but it is none",
    )
    write_logs(tmp_path, log("mysql"))
    assert len(read_all(tmp_path)) == 3


def test_a_file_that_cannot_be_read_is_missing_log_and_no_fault_of_the_lake(tmp_path):
    (tmp_path / "binlog.000001").symlink_to("/proc/self/mem")  # a regular file, whose first page is unreadable
    assert refusal_of(lambda: LogFile.open(tmp_path / "binlog.000001")).code == "log-missing"


def make_other_than_file(path: Path, kind: str) -> None:
    match kind:
        case "fifo":
            os.mkfifo(path)
        case "folder":
            path.mkdir()
        case "device":
            path.symlink_to("/dev/zero")
        case "socket":
            with socket.socket(socket.AF_UNIX) as bound:
                bound.bind(f"/proc/self/fd/{os.open(path.parent, os.O_PATH)}/{path.name}")


def test_digits_of_other_scripts_are_no_file_number(tmp_path):
    path = write_logs(tmp_path, log("mysql"))[0]
    (tmp_path / "binlog.٠٠٠٠٠٩").write_bytes(path.read_bytes())
    assert FileSource(tmp_path).heads()[-1].log_file == "binlog.000003"
