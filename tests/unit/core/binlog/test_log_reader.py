"""The reader on files that a real server might have left: where it resumes, where it stops, what it refuses."""

from __future__ import annotations

from datetime import datetime, timezone
from uuid import UUID

import pyarrow as pa
import pytest

from mirrorlake.core.binlog import transactions
from mirrorlake.core.binlog.gtid_search import gtids_at
from mirrorlake.core.binlog.log_reader import LogReader
from mirrorlake.core.gtid import GtidSet, parse_gtid_set
from mirrorlake.core.position import BinlogPosition, unpack_lsn
from mirrorlake.core.schema.tables import Column, TableSchema
from mirrorlake.core.schema.types import ColumnType
from mirrorlake.errors import RefusedError
from mirrorlake.mysql.binlog_files import FileSource
from tests.support.binlog_spec import Ddl, Incident, Insert, Log, RawEvent, Restart, Rotate, Transaction
from tests.support.binlog_writer import encode_logs, write_logs
from tests.support.damage import cut, flip_byte
from tests.support.histories import random_history
from tests.support.linear_time import assert_linear

FLAVORS = pytest.mark.parametrize("flavor", ["mysql", "mariadb"])
T = TableSchema("d", "t", (Column("id", ColumnType("int"), False),), ("id",))
GTID = {"mysql": "6c1f7e0a-11d2-11ef-9a3b-0242ac120002:1-{}", "mariadb": "0-7-{}"}
XID = 16
FIRST_SECOND = 1_700_000_000


def insert(number, **options):
    return Transaction([Insert(T, [{"id": number}])], **options)


def source_of(folder, log, max_file_bytes=None, block_bytes=8 << 20):
    write_logs(folder, log, max_file_bytes)
    return FileSource(folder, block_bytes)


def read(source, start=None, gtids="", until=None, end=None):
    """(chunks, whether the reader says it is finished)"""
    start = start or source.earliest()
    reader = LogReader(start, parse_gtid_set(source.flavor, gtids), until=until)
    chunks = list(reader.read(source.read(start, end or source.current())))
    return chunks, reader.is_finished


def events(chunks) -> list[tuple]:
    return [tuple(row.values()) for chunk in chunks for row in chunk.batch.to_pylist()]


def gtids(chunks) -> list[str]:
    """Those of whole transactions, in order."""
    whole = [chunk.batch["gtid"].to_pylist() for chunk in chunks if chunk.resume]
    return list(dict.fromkeys(gtid for batch in whole for gtid in batch if gtid))


def refusal(source, **options) -> RefusedError:
    with pytest.raises(RefusedError) as refused:
        read(source, **options)
    return refused.value


# --- resuming


@FLAVORS
@pytest.mark.parametrize("block_bytes", [100, 700, 8 << 20])
def test_resuming_at_any_resume_position_gives_the_rest_of_the_same_events(tmp_path, seed, flavor, block_bytes):
    source = source_of(tmp_path, random_history(seed, items=30).log(flavor), 10_000, block_bytes)
    chunks, _ = read(source)
    whole, seen = events(chunks), 0
    for chunk in chunks:
        seen += len(chunk.batch)
        if chunk.resume and chunk.resume.position <= source.current():
            rest, _ = read(source, chunk.resume.position, chunk.resume.gtids)
            assert events(rest) == whole[seen:]
            assert not rest or rest[-1].resume.gtids == chunks[-1].resume.gtids


@FLAVORS
def test_a_resume_position_is_never_inside_a_transaction(tmp_path, seed, flavor):
    source = source_of(tmp_path, random_history(seed, items=30).log(flavor), 10_000, block_bytes=200)
    chunks, _ = read(source)
    last_of_group = {tx_lsn: lsn for lsn, tx_lsn, *_ in events(chunks)}
    assert any(chunk.resume is None for chunk in chunks)
    for chunk in chunks:
        if chunk.resume:
            lsn, tx_lsn = (chunk.batch[name][-1].as_py() for name in ("lsn", "tx_lsn"))
            assert lsn == last_of_group[tx_lsn] == chunk.resume.lsn


@FLAVORS
def test_chunks_name_every_event_and_where_it_is(tmp_path, seed, flavor):
    paths = write_logs(tmp_path, random_history(seed, items=30).log(flavor), 10_000)
    table = pa.Table.from_batches([chunk.batch for chunk in read(FileSource(tmp_path, 500))[0]])
    assert table["lsn"].to_pylist() == sorted(set(table["lsn"].to_pylist()))
    for path in paths:
        mine = [row for row in table.to_pylist() if row["log_file"] == path.name]
        assert b"\xfebin" + b"".join(row["raw"] for row in mine) == path.read_bytes()
        for row in mine:
            assert unpack_lsn(row["lsn"]) == (0, int(path.suffix[1:]), row["log_pos"])
            assert row["end_log_pos"] == row["log_pos"] + len(row["raw"])


@FLAVORS
@pytest.mark.parametrize("end", ["rotate", "stop"])
def test_behind_a_files_last_event_the_next_file_comes(tmp_path, flavor, end):
    items = [insert(1), Rotate() if end == "rotate" else Restart(), insert(2)]
    chunks, _ = read(source_of(tmp_path, Log(flavor, items)))
    assert [str(chunk.resume.position) for chunk in chunks] == ["binlog.000002:4", "binlog.000003:4"]


# --- where to stop


@FLAVORS
@pytest.mark.parametrize("block_bytes", [60, 8 << 20])
@pytest.mark.parametrize("last", [1, 2, 5])
def test_until_a_gtid_set_ends_behind_its_last_transaction(tmp_path, flavor, last, block_bytes):
    source = source_of(tmp_path, Log(flavor, [insert(n) for n in range(1, 6)]), block_bytes=block_bytes)
    until = parse_gtid_set(flavor, GTID[flavor].format(last))
    chunks, is_finished = read(source, until=until)
    assert is_finished
    assert len(gtids(chunks)) == last
    assert parse_gtid_set(flavor, chunks[-1].resume.gtids) == until


@FLAVORS
@pytest.mark.parametrize("block_bytes", [60, 8 << 20])
def test_until_a_gtid_set_that_is_reached_reads_nothing(tmp_path, flavor, block_bytes):
    source = source_of(tmp_path, Log(flavor, [insert(n) for n in range(1, 6)]), block_bytes=block_bytes)
    until = parse_gtid_set(flavor, GTID[flavor].format(3))
    done, _ = read(source, until=until)
    again, is_finished = read(source, done[-1].resume.position, done[-1].resume.gtids, until)
    assert (gtids(again), is_finished) == ([], True)


def test_until_a_gtid_set_of_many_servers_reads_in_linear_time(tmp_path):
    def log_of(n: int) -> tuple[FileSource, str, GtidSet]:
        source = source_of(tmp_path / str(n), Log("mysql", [insert(k) for k in range(n)]))
        known = ",".join(f"{UUID(int=k)}:1" for k in range(10 * n))
        return source, known, parse_gtid_set("mysql", f"{known},{GTID['mysql'].format(n)}")

    def read_all(log: tuple[FileSource, str, GtidSet]) -> None:
        source, known, until = log
        _, is_finished = read(source, gtids=known, until=until)
        assert is_finished

    assert_linear(read_all, log_of, 100)


@pytest.mark.parametrize(
    ("flavor", "options"),
    [
        ("mysql", lambda k: {"gtid_number": 2 * k}), ("mysql", lambda k: {"origin": str(UUID(int=k))}),
        ("mariadb", lambda k: {"domain": k}), ("mariadb", lambda k: {"origin": k}),
    ],
)  # fmt: skip
def test_a_set_of_gtids_that_grows_too_large_is_refused(tmp_path, flavor, options, monkeypatch):
    source = source_of(tmp_path, Log(flavor, [insert(k, **options(k)) for k in range(1, 21)]))
    monkeypatch.setattr(transactions, "MOST_GTID_PARTS", 20)
    chunks, _ = read(source)
    assert gtids_at(source, source.current()).state == chunks[-1].resume.gtids
    monkeypatch.setattr(transactions, "MOST_GTID_PARTS", 19)
    assert refusal(source).code == "log-event"
    with pytest.raises(RefusedError, match="the log has GTIDs with more than 19 gaps"):
        gtids_at(source, source.current())


@FLAVORS
def test_reading_leaves_the_callers_gtid_set_alone(tmp_path, flavor):
    source = source_of(tmp_path, Log(flavor, [insert(1)]))
    mine = parse_gtid_set(flavor, "")
    list(LogReader(source.earliest(), mine).read(source.read(source.earliest(), source.current())))
    assert not mine


@FLAVORS
@pytest.mark.parametrize("block_bytes", [60, 8 << 20])
def test_until_a_time_ends_before_the_first_later_transaction(tmp_path, flavor, block_bytes):
    items = [insert(n, timestamp=FIRST_SECOND + 10 * n) for n in range(1, 6)]
    source = source_of(tmp_path, Log(flavor, items), block_bytes=block_bytes)
    until = datetime.fromtimestamp(FIRST_SECOND + 30, timezone.utc)
    chunks, is_finished = read(source, until=until)
    assert (len(gtids(chunks)), is_finished) == (3, True)
    assert chunks[-1].resume is not None


@FLAVORS
def test_until_a_position_inside_a_transaction_resumes_before_it(tmp_path, flavor):
    source = source_of(tmp_path, Log(flavor, [insert(1), insert(2)]))
    rows = [row for chunk in read(source)[0] for row in chunk.batch.to_pylist()]
    second = [row for row in rows if row["gtid"] and row["gtid"].endswith("2")]
    chunks, _ = read(source, end=BinlogPosition("binlog.000001", second[1]["end_log_pos"]))
    resumes = [chunk.resume and str(chunk.resume.position) for chunk in chunks]
    assert resumes == [f"binlog.000001:{second[0]['log_pos']}", None]


# --- a crash of MariaDB while it wrote a transaction

TORN = Log("mariadb", [insert(1), insert(2, end=""), Restart(after_crash=True), insert(3)])


@pytest.mark.parametrize("block_bytes", [50, 8 << 20])
@pytest.mark.parametrize("cut_bytes", [0, 1, 60])
def test_what_a_crash_tore_is_left_out(tmp_path, cut_bytes, block_bytes):
    source = source_of(tmp_path, TORN, block_bytes=block_bytes)
    path = tmp_path / "binlog.000001"
    cut(path, path.stat().st_size - cut_bytes)
    chunks, _ = read(source)
    torn = [i for i, chunk in enumerate(chunks) if chunk.torn_at]
    before = [chunk.resume for chunk in chunks[: torn[0]] if chunk.resume]
    assert [chunks[i].torn_at for i in torn] == [before[-1].position]
    assert (before[-1].gtids, chunks[-1].resume.gtids) == ("0-7-1", "0-7-2")
    assert gtids([chunk for chunk in chunks if chunk.resume]) == ["0-7-1", "0-7-2"]  # the server gives the number again


def test_the_first_transaction_of_a_log_may_be_torn(tmp_path):
    source = source_of(tmp_path, Log("mariadb", [insert(1, end="", domain=3), Restart(after_crash=True), insert(2)]))
    chunks, _ = read(source)
    assert gtids(chunks) == ["0-7-1"]
    assert chunks[-1].resume.gtids == "0-7-1"


def test_a_known_transaction_that_is_torn_comes_again(tmp_path):
    """After a failover: transaction 2 came by the server before, and is skipped here, both times."""
    again = [Restart(after_crash=True), insert(2, gtid_number=2), insert(3)]
    log = Log("mariadb", [insert(1), insert(2, end=""), *again])
    source = source_of(tmp_path, log, block_bytes=50)
    known = parse_gtid_set("mariadb", "0-7-2")
    reader = LogReader(source.earliest(), known, skip=known)
    chunks = list(reader.read(source.read(source.earliest(), source.current())))
    assert gtids(chunks) == ["0-7-3"] and chunks[-1].resume.gtids == "0-7-3"


def test_sequence_numbers_of_mariadb_have_64_bits(tmp_path):
    source = source_of(
        tmp_path, Log("mariadb", [insert(1, gtid_number=2**64 - 1), insert(2, gtid_number=2**63, domain=1)])
    )
    chunks, _ = read(source)
    assert chunks[-1].resume.gtids == f"0-7-{2**64 - 1},1-7-{2**63}"
    assert parse_gtid_set("mariadb", chunks[-1].resume.gtids)


def test_a_reader_that_begins_after_the_crash_sees_none(tmp_path):
    source = source_of(tmp_path, TORN)
    chunks, _ = read(source, start=BinlogPosition("binlog.000002", 4))
    assert (gtids(chunks), [chunk.torn_at for chunk in chunks]) == (["0-7-2"], [None])


@pytest.mark.parametrize("number", [2**63 - 1, 2**63, 2**64 - 1])
def test_a_number_that_no_transaction_gets_is_refused_before_it_is_noted(tmp_path, number):
    """MySQL's numbers end at 2^63 - 2: noted as text, a greater one could not be read again."""
    log = Log("mysql", [insert(1), insert(2, gtid_number=number)])
    [(_, _), (_, offset)] = encode_logs(log)[0].item_offsets
    found = refusal(source_of(tmp_path, log))
    assert (found.code, found.position) == ("log-event", f"binlog.000001:{offset}")


@pytest.mark.parametrize(
    ("gtid_mode", "refused"),
    [(True, ("log-truncated", "binlog.000001:{}")), (False, ("torn-transaction", "binlog.000002:4"))],
)
def test_a_transaction_torn_by_a_crash_of_mysql_is_refused(tmp_path, gtid_mode, refused):
    """MySQL cuts it off its log when it starts again."""
    log = Log("mysql", [insert(1, end=""), Restart(after_crash=True), insert(2)], gtid_mode=gtid_mode)
    error = refusal(source_of(tmp_path, log))
    size = (tmp_path / "binlog.000001").stat().st_size
    assert (error.code, error.position) == (refused[0], refused[1].format(size))


@FLAVORS
def test_a_start_inside_a_transaction_is_refused(tmp_path, flavor):
    source = source_of(tmp_path, Log(flavor, [insert(1)]))
    table_map = next(row for row in events(read(source)[0]) if row[5] == 19)
    error = refusal(source, start=BinlogPosition("binlog.000001", table_map[3]))
    assert error.code == "log-starts-inside-transaction"
    assert error.position == f"binlog.000001:{table_map[3]}"


@FLAVORS
def test_an_incident_is_refused(tmp_path, flavor):
    assert refusal(source_of(tmp_path, Log(flavor, [insert(1), Incident()]))).code == "log-incident"


@FLAVORS
@pytest.mark.parametrize("event_type", [1, 20, 99, 164, 200])
def test_an_event_that_is_not_known_is_refused(tmp_path, flavor, event_type):
    error = refusal(source_of(tmp_path, Log(flavor, [insert(1), RawEvent(event_type, bytes(30))])))
    assert error.code == "log-event"


@pytest.mark.parametrize(("flavor", "event_type"), [("mysql", 2), ("mysql", 33), ("mariadb", 2), ("mariadb", 162)])
def test_an_event_that_is_shorter_than_its_fields_is_refused_at_its_place(tmp_path, flavor, event_type):
    place = source_of(tmp_path, Log(flavor, [insert(1)], end="open")).current()
    error = refusal(source_of(tmp_path, Log(flavor, [insert(1), RawEvent(event_type, bytes(3))])))
    assert (error.code, error.position) == ("log-event", str(place))
    assert error.message == f"an event of type {event_type} is shorter than its fields"


@FLAVORS
def test_an_unknown_event_that_says_it_may_be_ignored_is_read_over(tmp_path, flavor):
    chunks, _ = read(source_of(tmp_path, Log(flavor, [insert(1), RawEvent(99, bytes(30), flags=0x80), insert(2)])))
    assert len(gtids(chunks)) == 2


@FLAVORS
def test_a_block_that_does_not_continue_the_log_is_refused(tmp_path, flavor):
    source = source_of(tmp_path, Log(flavor, [insert(n) for n in range(5)]), block_bytes=100)
    blocks = list(source.read(source.earliest(), source.current()))
    reader = LogReader(source.earliest(), parse_gtid_set(flavor, ""))
    with pytest.raises(RefusedError) as refused:
        list(reader.read(blocks[:1] + blocks[2:]))
    assert refused.value.code == "log-gap"


@FLAVORS
def test_an_event_that_does_not_end_where_its_header_says_is_refused(tmp_path, flavor):
    source = source_of(tmp_path, Log(flavor, [insert(1)], checksum=False))
    query = events(read(source)[0])[-2]
    flip_byte(tmp_path / "binlog.000001", query[3] + 13, 1)
    error = refusal(FileSource(tmp_path))
    assert (error.code, error.position) == ("log-gap", f"binlog.000001:{query[3]}")


@FLAVORS
def test_a_flipped_bit_anywhere_in_an_event_is_refused_at_that_event(tmp_path, flavor):
    log = Log(flavor, [Ddl("CREATE DATABASE d", "d"), insert(1)])
    rows = events(read(source_of(tmp_path, log))[0])
    path = tmp_path / "binlog.000001"
    whole = path.read_bytes()
    for row in rows[1:-1]:  # the first and the last are looked at when the folder is opened
        for offset in {row[3], row[3] + 13, row[3] + 18, *range(row[3] + 19, row[4])}:
            path.write_bytes(whole)
            flip_byte(path, offset, 1 << offset % 8)
            error = refusal(FileSource(tmp_path))
            assert (error.code, error.position) == ("log-checksum", f"binlog.000001:{row[3]}")


@FLAVORS
def test_the_format_descriptions_in_use_flag_does_not_break_its_checksum(tmp_path, flavor):
    chunks, _ = read(source_of(tmp_path, Log(flavor, [insert(1)], end="open")))
    assert len(gtids(chunks)) == 1
