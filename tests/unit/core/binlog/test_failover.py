"""Another server's log continues where a former one's was left: what is found, what is left out, what is refused."""

from __future__ import annotations

import random
import zlib

import pytest

from mirrorlake.core.binlog.failover import find_continuation
from mirrorlake.core.binlog.gtid_search import gtids_at
from mirrorlake.core.binlog.log_reader import LogReader
from mirrorlake.core.gtid import parse_gtid_set, parse_gtid_state
from mirrorlake.core.mariadb_gtid import MariadbGtidSet
from mirrorlake.core.mysql_gtid import MysqlGtidSet
from mirrorlake.core.position import unpack_lsn
from mirrorlake.core.schema.tables import Column, TableSchema
from mirrorlake.core.schema.types import ColumnType
from mirrorlake.errors import RefusedError
from mirrorlake.mysql.binlog_files import FileSource
from tests.support.binlog_spec import Insert, Log, Rotate, Transaction
from tests.support.binlog_writer import write_logs
from tests.support.replicas import newest_of

T = TableSchema("d", "t", (Column("id", ColumnType("int"), False),), ("id",))
A, B, C = (f"{letter * 8}-0000-0000-0000-000000000000" for letter in "abc")
FLAVORS = pytest.mark.parametrize("flavor", ["mysql", "mariadb"])


def at(gtid: str, timestamp: int | None = None) -> Transaction:
    """A transaction that is the same wherever it is logged."""
    seconds = timestamp or 1_700_000_000 + zlib.crc32(gtid.encode()) % 1_000_000
    if ":" in gtid:
        origin, _, number = gtid.partition(":")
        return Transaction([Insert(T, [{"id": 1}])], gtid_number=int(number), origin=origin, timestamp=seconds)
    domain, server, number = map(int, gtid.split("-"))
    insert = Insert(T, [{"id": 1}])
    return Transaction([insert], gtid_number=number, domain=domain, origin=server, timestamp=seconds)


def log_of(folder, flavor, gtids, **options) -> FileSource:
    """ "/" begins a new file."""
    items = [Rotate() if gtid == "/" else at(gtid) for gtid in gtids]
    write_logs(folder, Log(flavor, items, **options))
    return FileSource(folder)


def read(source, start, gtids, **options) -> list:
    return list(LogReader(start, gtids, **options).read(source.read(start, source.current())))


def gtids_of(chunks) -> list[str]:
    return list(dict.fromkeys(gtid for chunk in chunks for gtid in chunk.batch["gtid"].to_pylist() if gtid))


def read_first(folder, flavor, gtids):
    """What a lake knows that has read these transactions: (all, the newest)."""
    source = log_of(folder, flavor, gtids)
    chunks = read(source, source.earliest(), parse_gtid_set(flavor, ""))
    return parse_gtid_state(flavor, chunks[-1].resume.gtids), newest_of(flavor, [c.batch for c in chunks])


def go_on(folder, flavor, former, log) -> list[str]:
    """The transactions taken from the new server's log, in order."""
    known, newest = read_first(folder / "former", flavor, former)
    source = log_of(folder / "new", flavor, log)
    found = find_continuation(source, known, newest)
    return gtids_of(read(source, found.start, known, skip=found.skip, incarnation=1))


def refusal(folder, flavor, former, log) -> RefusedError:
    with pytest.raises(RefusedError) as refused:
        go_on(folder, flavor, former, log)
    return refused.value


def mysql(text: str) -> list[str]:
    """ "a1 a2 / b1": numbers of servers A, B, C."""
    servers = {"a": A, "b": B, "c": C}
    return [word if word == "/" else f"{servers[word[0]]}:{word[1:]}" for word in text.split()]


# --- what continues


@pytest.mark.parametrize(
    ("former", "log", "taken"),
    [
        ("a1 a2 a3", "a1 a2 a3 a4 b1", "a4 b1"),
        ("a1 a2 a3", "a1 / a2 / a3 / a4 / b1", "a4 b1"),
        ("a1 / a2 / a3", "a1 a2 a3 b1", "b1"),
        ("a1 a2 a3", "a1 a2 a3", ""),
        ("a1 a2 a3", "a1 a2 a3 /", ""),
        ("a1 a2 a4", "a2 a1 a3 a4 a5", "a3 a5"),  # committed in another order, as replicas with several workers do
        ("a1 / a2 a5", "a1 a4 / a3 a2 a5 / a6 b1", "a4 a3 a6 b1"),
        ("b1 a1 a2", "b1 a1 a2 a3 b2", "a3 b2"),  # back to a former server
    ],
)
def test_mysql_takes_what_is_not_known_and_leaves_out_the_rest(tmp_path, former, log, taken):
    assert go_on(tmp_path, "mysql", mysql(former), mysql(log)) == mysql(taken)


@pytest.mark.parametrize(
    ("former", "log", "taken"),
    [
        ("0-1-1 0-1-2", "0-1-1 0-1-2 0-1-3 0-2-4", "0-1-3 0-2-4"),
        ("0-1-1 0-1-2", "0-1-1 / 0-1-2 / 0-1-3 / 0-2-4", "0-1-3 0-2-4"),
        ("0-1-1 0-1-2", "0-1-1 0-1-2", ""),
        ("0-1-5 0-1-3", "0-1-5 / 0-1-3 0-1-4 / 0-1-2", "0-1-4 0-1-2"),  # numbers that go back
        ("0-1-1 7-1-1 0-1-2", "7-1-1 7-1-2 / 0-1-1 0-1-2 0-1-3", "7-1-2 0-1-3"),  # domains interleave otherwise
        ("0-1-1 7-1-9 0-1-2", "0-1-1 7-1-9 / 0-1-2 / 7-1-4 8-1-1", "7-1-4 8-1-1"),
        ("0-1-1 0-2-2", "0-1-1 0-2-2 0-1-3 0-2-4", "0-1-3 0-2-4"),
    ],
)
def test_mariadb_takes_what_is_not_known_and_leaves_out_the_rest(tmp_path, former, log, taken):
    assert go_on(tmp_path, "mariadb", former.split(), log.split()) == taken.split()


@FLAVORS
def test_any_cut_of_any_history_goes_on_in_any_replica_of_it(tmp_path, seed, flavor):
    """Also a reader that stops at any boundary and continues from there."""
    rng = random.Random(seed)
    for number in range(6):
        history = _history(rng, flavor)
        replica = _reordered(rng, flavor, history)
        cut = rng.randrange(1, len(history))
        known, newest = read_first(tmp_path / f"former{number}", flavor, _in_files(rng, history[:cut]))
        source = log_of(tmp_path / f"new{number}", flavor, _in_files(rng, replica), end="open")
        found = find_continuation(source, known, newest)
        chunks = read(source, found.start, known, skip=found.skip, incarnation=1)
        assert gtids_of(chunks) == [gtid for gtid in replica if gtid not in history[:cut]]
        lsns = [lsn for chunk in chunks for lsn in chunk.batch["lsn"].to_pylist()]
        assert lsns == sorted(lsns) and all(unpack_lsn(lsn)[0] == 1 for lsn in lsns)
        whole = [row for chunk in chunks for row in chunk.batch.to_pylist()]
        seen = 0
        for chunk in chunks:
            seen += len(chunk.batch)
            gtids, skip = (parse_gtid_state(flavor, text) for text in (chunk.resume.gtids, chunk.resume.skip))
            rest = read(source, chunk.resume.position, gtids, skip=skip, incarnation=1)
            assert [row for chunk in rest for row in chunk.batch.to_pylist()] == whole[seen:]
        assert not chunks[-1].resume.skip


def _history(rng, flavor) -> list[str]:
    if flavor == "mysql":
        return [f"{A}:{number}" for number in range(1, rng.randrange(4, 20))]
    numbers = {domain: rng.sample(range(1, 100), 20) for domain in (0, 7)}
    return [f"{domain}-1-{numbers[domain].pop()}" for domain in rng.choices((0, 7), k=rng.randrange(4, 20))]


def _reordered(rng, flavor, history: list[str]) -> list[str]:
    """As a replica may commit it: MySQL in any order, MariaDB within a domain in this one."""
    if flavor == "mysql":
        return rng.sample(history, len(history))
    queues = {domain: [gtid for gtid in history if gtid.startswith(f"{domain}-")] for domain in (0, 7)}
    order = rng.sample([gtid.partition("-")[0] for gtid in history], len(history))
    return [queues[int(domain)].pop(0) for domain in order]


def _in_files(rng, gtids: list[str]) -> list[str]:
    return [part for gtid in gtids for part in ((gtid, "/") if rng.random() < 0.3 else (gtid,))]


@FLAVORS
@pytest.mark.parametrize("block_bytes", [60, 8 << 20])
def test_what_is_left_out_moves_the_resume_position(tmp_path, flavor, block_bytes):
    words = mysql("a1 a2 a3") if flavor == "mysql" else ["0-1-1", "0-1-2", "0-1-3"]
    known, newest = read_first(tmp_path / "former", flavor, words)
    log_of(tmp_path / "new", flavor, words, end="open")
    source = FileSource(tmp_path / "new", block_bytes)
    found = find_continuation(source, known, newest)
    chunks = read(source, found.start, known, skip=found.skip)
    assert gtids_of(chunks) == [] and chunks[-1].resume.position == source.current()
    assert chunks[-1].resume.gtids == known.state and chunks[-1].resume.skip == ""


# --- what is refused


@pytest.mark.parametrize(
    ("former", "log", "code"),
    [
        ("a1 a2 a3", "a1 a2", "failover-diverged"),  # the former server's last one was lost with it
        ("a1 a2 a3", "a1 a2 b1 b2", "failover-diverged"),
        ("a1 a2 a3", "b1 b2 b3", "failover-diverged"),  # another server
        ("a1 a2 a3", "a1 b1 a2 a3 a4", "failover-diverged"),  # somebody wrote to the replica
    ],
)
def test_mysql_refuses_another_history(tmp_path, former, log, code):
    assert refusal(tmp_path, "mysql", mysql(former), mysql(log)).code == code


@pytest.mark.parametrize(
    ("former", "log", "code"),
    [
        ("0-1-1 0-1-2", "0-1-1 0-2-2", "failover-diverged"),
        ("0-1-1 0-1-2", "0-3-1 0-3-2", "failover-diverged"),
        ("0-1-1 0-1-2", "0-1-1 0-2-2 0-1-2 0-1-3", "failover-diverged"),  # somebody wrote to the replica
        ("0-1-1 / 0-1-2", "0-1-1 0-2-2 / 0-1-2", "failover-diverged"),
        ("0-1-1 7-1-1", "0-1-1 0-1-2", "failover-diverged"),
        ("0-1-1 0-1-2", "0-1-1 0-1-2 0-1-2", "failover-unproven"),
    ],
)
def test_mariadb_refuses_another_history(tmp_path, former, log, code):
    assert refusal(tmp_path, "mariadb", former.split(), log.split()).code == code


@FLAVORS
def test_new_transactions_that_are_gone_are_a_gap(tmp_path, flavor):
    text = {"mysql": mysql("a1 a2 / a3 / a4"), "mariadb": "0-1-1 0-1-2 / 0-1-3 / 0-1-4".split()}[flavor]
    known, newest = read_first(tmp_path / "former", flavor, text[:2])
    source = log_of(tmp_path / "new", flavor, text)
    (tmp_path / "new/binlog.000001").unlink()
    (tmp_path / "new/binlog.000002").unlink()
    with pytest.raises(RefusedError) as refused:
        find_continuation(source, known, newest)
    assert refused.value.code == "failover-gap"


def test_without_the_newest_known_transaction_only_mysql_goes_on(tmp_path):
    for flavor, text in {"mysql": mysql("a1 a2 / a3"), "mariadb": "0-1-1 0-1-2 / 0-1-3".split()}.items():
        known, newest = read_first(tmp_path / flavor, flavor, text[:2])
        source = log_of(tmp_path / f"new-{flavor}", flavor, text)
        (tmp_path / f"new-{flavor}/binlog.000001").unlink()
        if flavor == "mysql":
            assert find_continuation(source, known, newest).start == source.heads()[0]
            continue
        with pytest.raises(RefusedError) as refused:
            find_continuation(source, known, newest)
        assert refused.value.code == "failover-unproven"


@FLAVORS
def test_a_gtid_that_was_used_anew_is_noticed(tmp_path, flavor):
    """After a RESET, or by a server that has nothing to do with the former one."""
    gtids = mysql("a1 a2 a3") if flavor == "mysql" else ["0-1-1", "0-1-2", "0-1-3"]
    known, newest = read_first(tmp_path / "former", flavor, gtids[:2])
    write_logs(tmp_path / "new", Log(flavor, [at(gtid, 1_800_000_000 + i) for i, gtid in enumerate(gtids)]))
    with pytest.raises(RefusedError) as refused:
        find_continuation(FileSource(tmp_path / "new"), known, newest)
    assert refused.value.code == "failover-diverged"


def test_a_log_without_gtids_proves_nothing(tmp_path):
    known, newest = read_first(tmp_path / "former", "mysql", mysql("a1 a2"))
    write_logs(tmp_path / "new", Log("mysql", [at(gtid) for gtid in mysql("a1 a2")], gtid_mode=False))
    with pytest.raises(RefusedError) as refused:
        find_continuation(FileSource(tmp_path / "new"), known, newest)
    assert refused.value.code == "failover-unproven"


# --- sets


def test_transactions_that_are_struck_leave_the_set():
    gtids = MysqlGtidSet.parse(f"{A}:1-5,{B}:7")
    for gtid in (f"{A}:3", f"{A}:1", f"{B}:7"):
        assert gtids.holds(gtid)
        gtids.strike(gtid)
        assert not gtids.holds(gtid)
    assert str(gtids) == f"{A}:2:4-5"
    gtids.strike(f"{A}:2")
    gtids.strike(f"{A}:4")
    gtids.strike(f"{A}:5")
    assert not gtids


def test_the_difference_of_mysql_sets():
    gtids = MysqlGtidSet.parse(f"{A}:1-9:20-30,{B}:7")
    assert str(gtids.minus(MysqlGtidSet.parse(f"{A}:2-3:9-25,{B}:1-9,{C}:1"))) == f"{A}:1:4-8:26-30"
    assert gtids.minus(MysqlGtidSet()) == gtids and not gtids.minus(gtids)


def test_a_mariadb_set_keeps_the_last_transaction_of_every_server():
    gtids = MariadbGtidSet.parse_state("0-1-5,0-2-3,7-1-1")
    assert (str(gtids), gtids.state) == ("0-2-3,7-1-1", "0-1-5,0-2-3,7-1-1")
    gtids.add_one("0-1-6")
    assert (str(gtids), gtids.state) == ("0-1-6,7-1-1", "0-2-3,0-1-6,7-1-1")
    assert MariadbGtidSet.parse_state(gtids.state).state == gtids.copy().state == gtids.state


@FLAVORS
def test_what_lies_before_a_place_in_the_middle_of_a_log(tmp_path, flavor):
    text = {"mysql": mysql("a1 b1 / a2 a3"), "mariadb": "0-1-1 0-2-2 / 7-1-1 0-1-3".split()}[flavor]
    source = log_of(tmp_path, flavor, text)
    chunks = read(source, source.earliest(), parse_gtid_set(flavor, ""))
    for chunk in chunks:
        if chunk.resume.position <= source.current():
            assert gtids_at(source, chunk.resume.position).state == chunk.resume.gtids
