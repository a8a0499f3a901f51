"""A replica becomes the primary, with other files, other event sizes and another order of what is independent."""

from __future__ import annotations

import random
import time

import pyarrow as pa
import pytest

from mirrorlake.config import Options
from mirrorlake.core.binlog.failover import find_continuation
from mirrorlake.core.binlog.log_reader import LogReader, ResumePoint
from mirrorlake.core.changes.assembler import Assembler
from mirrorlake.core.gtid import parse_gtid_set, parse_gtid_state
from mirrorlake.core.position import unpack_lsn
from mirrorlake.core.schema.table_name import TableName
from mirrorlake.errors import RefusedError, RetryableError
from mirrorlake.jobs.inspect.status import read_status
from mirrorlake.jobs.run import hops
from mirrorlake.jobs.run.open import open_lake
from mirrorlake.jobs.run.watcher import Watcher
from mirrorlake.lake.gold.syncpoint import syncpoints
from mirrorlake.mysql.binlog_dump import LiveSource
from mirrorlake.mysql.consistent_read import ConsistentRead, CurrentRead
from mirrorlake.mysql.login import ServerLogin
from mirrorlake.mysql.preflight import check_replication_privilege
from mirrorlake.mysql.source_tables import ask_engine
from tests.support.canonical import TableDigest, source_rows, source_tables
from tests.support.every_form import write_every_form
from tests.support.live import changes_in_silver, mirrors
from tests.support.proxy import Proxy
from tests.support.replicas import OPTIONS, catch_up, let_domains_overtake, newest_of, replicate, stop
from tests.support.servers import Server, running_server

CUTS, CUTS_LONG = 6, 60
_SHOWN = ["gtid", "op", "database", "table", "before", "after", "statement", "changes", "checksum"]
pytestmark = pytest.mark.xdist_group("failover")


@pytest.fixture(scope="module")
def primary_and_replica(request, server_of) -> tuple[Server, Server]:
    """(primary, replica)"""
    primary = server_of(request.param)
    with running_server(request.param, *OPTIONS[primary.flavor]) as replica:
        yield primary, replica


@pytest.fixture
def servers(primary_and_replica) -> tuple[Server, Server]:
    """Both from an empty state; the replica follows."""
    replicate(*primary_and_replica)
    return primary_and_replica


class Follower:
    """Reads as ingest does, from one server and then from another."""

    def __init__(self, flavor: str):
        self.flavor, self.batches, self.incarnation = flavor, [], 0
        self.resume: ResumePoint | None = None

    def read(self, server: Server) -> None:
        self._read(LiveSource(ServerLogin.parse(server.url)), None, None)

    def go_on(self, server: Server) -> None:
        source = LiveSource(ServerLogin.parse(server.url))
        try:
            known = parse_gtid_state(self.flavor, self.resume.gtids)
            found = find_continuation(source, known, newest_of(self.flavor, self.batches))
        except RefusedError:
            source.close()
            raise
        self.incarnation += 1
        self._read(source, found.start, found.skip)

    def _read(self, source, start, skip) -> None:
        gtids = parse_gtid_state(self.flavor, self.resume.gtids if self.resume else "")
        start, held = start or source.earliest(), []
        reader = LogReader(start, gtids, skip=skip, incarnation=self.incarnation)
        for chunk in reader.read(source.read(start, source.current())):
            held.append(chunk.batch)
            if chunk.resume:
                self.batches, self.resume, held = self.batches + held, chunk.resume, []
        source.close()

    def cut(self, lsn: int) -> Follower:
        """One that has read up to a boundary of this one."""
        cut, whole = Follower(self.flavor), pa.Table.from_batches(self.batches)
        gtids, first = parse_gtid_set(self.flavor, ""), whole.filter(pa.compute.less_equal(whole["lsn"], lsn))
        for gtid in dict.fromkeys(filter(None, first["gtid"].to_pylist())):
            gtids.add_one(gtid)
        cut.batches, cut.resume = first.to_batches(), ResumePoint(self.resume.position, gtids.state, lsn)
        return cut

    def transactions(self) -> dict[str, list[dict]]:
        """Silver's rows by GTID, in log order; each GTID once."""
        found: dict[str, list[dict]] = {}
        last = None
        for row in pa.Table.from_batches(Assembler(self.flavor).assemble(self.batches)).select(_SHOWN).to_pylist():
            assert row["gtid"] == last or row["gtid"] not in found
            row["statement"] = row["statement"] if row["op"] == "DDL" else None  # of rows only where it is logged
            found.setdefault(row["gtid"], []).append(row)
            last = row["gtid"]
        return found


def write_in_another_order(primary: Server, replica: Server) -> None:
    """The replica commits the second transaction before the first one, which waits for a lock."""
    catch_up(primary, replica)
    if replica.flavor == "mariadb":
        let_domains_overtake(replica)
    with primary.connect() as first, replica.connect() as blocker:
        with blocker.cursor() as lock, first.cursor() as cursor:
            lock.execute("BEGIN")
            lock.execute("SELECT * FROM shop.item WHERE id = 2 FOR UPDATE")
            cursor.execute("UPDATE shop.item SET name = 'late' WHERE id = 2")
            if primary.flavor == "mariadb":
                cursor.execute("SET SESSION gtid_domain_id = 7")
            cursor.execute("UPDATE shop.item SET name = 'early' WHERE id = 3")
            give_up = time.monotonic() + 20
            while replica.query("SELECT name FROM shop.item WHERE id = 3") != [("early",)]:
                assert time.monotonic() < give_up
                time.sleep(0.05)
            lock.execute("COMMIT")
    catch_up(primary, replica)


def purge(server: Server) -> None:
    """All files but a new one. MariaDB keeps a file until InnoDB has noted its transactions."""
    server.execute("FLUSH BINARY LOGS")
    give_up = time.monotonic() + 20
    while len(server.log_files()) > 1:
        assert time.monotonic() < give_up
        server.execute(f"PURGE BINARY LOGS TO '{server.log_files()[-1].name}'")


def refusal_code(call) -> str:
    with pytest.raises(RefusedError) as refused:
        call()
    return refused.value.code


# --- the log


def test_a_cut_anywhere_goes_on_in_the_replica_with_every_transaction_once(servers, seed, is_long):
    primary, replica = servers
    write_every_form(primary)
    write_in_another_order(primary, replica)
    stop(replica)
    replica.execute("FLUSH BINARY LOGS")
    replica.execute("DELETE FROM shop.item WHERE id = 5")
    whole, other = Follower(primary.flavor), Follower(primary.flavor)
    whole.read(primary)
    other.read(replica)
    wanted = other.transactions()
    assert list(whole.transactions()) != list(wanted)[:-1] and whole.transactions().keys() == set(list(wanted)[:-1])
    ends = sorted({max(lsns) for lsns in _groups(whole)})
    for lsn in [ends[1], ends[-1], *random.Random(seed).sample(ends[1:], CUTS_LONG if is_long else CUTS)]:
        follower = whole.cut(lsn)
        follower.go_on(replica)
        assert follower.transactions() == wanted
        lsns = [value for batch in follower.batches for value in batch["lsn"].to_pylist()]
        assert lsns == sorted(set(lsns)) and unpack_lsn(lsns[-1])[0] == 1


def _groups(follower: Follower) -> list[list[int]]:
    """lsns of each transaction."""
    groups: dict[int, list[int]] = {}
    for batch in follower.batches:
        for lsn, tx_lsn, gtid in zip(*(batch[name].to_pylist() for name in ("lsn", "tx_lsn", "gtid")), strict=True):
            if gtid:
                groups.setdefault(tx_lsn, []).append(lsn)
    return list(groups.values())


def test_a_replica_that_somebody_wrote_to_is_refused(servers):
    primary, replica = servers
    write_every_form(primary)
    catch_up(primary, replica)
    replica.execute("INSERT INTO shop.item (id) VALUES (7777)")
    primary.execute("INSERT INTO shop.item (id) VALUES (8888)")
    catch_up(primary, replica)
    stop(replica)
    follower = Follower(primary.flavor)
    follower.read(primary)
    assert refusal_code(lambda: follower.go_on(replica)) == "failover-diverged"


def test_a_transaction_that_was_lost_with_the_primary_is_refused(servers):
    primary, replica = servers
    write_every_form(primary)
    catch_up(primary, replica)
    stop(replica)
    primary.execute("INSERT INTO shop.item (id) VALUES (8888)")
    follower = Follower(primary.flavor)
    follower.read(primary)
    replica.execute("INSERT INTO shop.item (id) VALUES (7777)")
    assert refusal_code(lambda: follower.go_on(replica)) == "failover-diverged"


def test_a_replica_that_has_purged_what_is_missing_is_refused(servers):
    primary, replica = servers
    write_every_form(primary)
    follower = Follower(primary.flavor)
    follower.read(primary)
    primary.execute("INSERT INTO shop.item (id) VALUES (8888)")
    catch_up(primary, replica)
    stop(replica)
    purge(replica)
    replica.execute("INSERT INTO shop.item (id) VALUES (9999)")
    assert refusal_code(lambda: follower.go_on(replica)) == "failover-gap"


def test_a_server_that_has_nothing_to_do_with_it_is_refused(servers):
    primary, replica = servers
    write_every_form(primary)
    follower = Follower(primary.flavor)
    follower.read(primary)
    stop(replica)
    replica.reset()
    time.sleep(1)  # MariaDB: the very same transactions in the very same second are the same
    if replica.flavor == "mariadb":
        replica.execute("SET SESSION server_id = 10")  # a server id used twice
    write_every_form(replica)
    assert refusal_code(lambda: follower.go_on(replica)) == "failover-diverged"


# --- an address that leads to several servers


def test_no_connection_is_with_another_server_than_the_first_one(servers):
    """Such as those of a balancer: their rows, positions and definitions would be mixed."""
    primary, replica = servers
    primary.play(("CREATE DATABASE shop", "CREATE TABLE shop.t (id INT PRIMARY KEY)"))
    catch_up(primary, replica)
    one, other = (primary.host, primary.port), (replica.host, replica.port)
    with Proxy(*one) as proxy:
        login = ServerLogin(proxy.host, proxy.port, "root", "")
        source = LiveSource(login)
        start, end = source.earliest(), source.current()
        asks = (
            lambda: CurrentRead(login), lambda: ConsistentRead(login), lambda: ask_engine(login, "shop", "t"),
            lambda: check_replication_privilege(source.control), lambda: next(source.read(start, end)),
        )  # fmt: skip
        for ask in asks:
            proxy.next_targets = [other]
            assert lost_to_another(ask)
        proxy.next_targets = [one, other]
        assert lost_to_another(lambda: ConsistentRead(login, holding=[TableName("shop", "t")]))
        source.control.close()  # as after a minute without a question
        proxy.next_targets = [other]
        assert lost_to_another(source.current)
        assert source.current() == end and source.identity != LiveSource(ServerLogin.parse(replica.url)).identity
        source.close()


def lost_to_another(call) -> bool:
    """Is the error about another server?"""
    with pytest.raises(RetryableError, match="another server answers") as raised:
        call()
    return raised.value.code == "server-lost"


# --- the lake


@pytest.mark.timeout(600)
@pytest.mark.heavy
def test_every_mirror_equals_the_new_primary_behind_a_failover(servers, lake_dir, spark):
    primary, replica = servers
    write_every_form(primary)
    run(lake_dir, spark, primary)
    write_in_another_order(primary, replica)
    primary.execute("CREATE TABLE shop.late (id INT PRIMARY KEY, place INT)")
    primary.execute("ALTER TABLE shop.item ADD COLUMN note VARCHAR(10) DEFAULT 'x'")
    primary.execute("INSERT INTO shop.item (id, note) VALUES (3000, 'first')")
    catch_up(primary, replica)
    stop(replica)
    replica.execute("UPDATE shop.item SET note = 'second' WHERE id = 3000")
    replica.execute("INSERT INTO shop.late (id) VALUES (1)")
    assert replica.log_files()[-1].name < primary.log_files()[-1].name
    assert refusal_code(lambda: run(lake_dir, spark, replica)) == "lake-source"
    told = Told()
    run(lake_dir, spark, replica, told, failover="follow")
    assert told.servers == [LiveSource(ServerLogin.parse(replica.url)).identity]
    lake = open_lake(Options(lake=str(lake_dir)), spark)
    assert mirrors(lake) == digests(replica)
    everything = Follower(replica.flavor)
    everything.read(replica)
    with_rows = {gtid for gtid, rows in everything.transactions().items() if any(row["changes"] for row in rows)}
    assert changes_in_silver(lake).keys() == with_rows
    status = read_status(lake, Options(lake=str(lake_dir), source=replica.url))
    assert (status.server, status.bronze.lag_bytes) == (told.servers[0], 0) and status.source != status.server
    reached = parse_gtid_set(replica.flavor, status.gtids)
    assert reached == parse_gtid_set(replica.flavor, executed(replica))
    point = syncpoints.take(lake, status.gold.lsn)
    assert parse_gtid_set(replica.flavor, point.gtids) == reached
    assert refusal_code(lambda: run(lake_dir, spark, primary, failover="follow")) == "failover-diverged"


class Told(Watcher):
    def __init__(self):
        self.servers: list[str] = []

    def took_over(self, server, position):
        self.servers.append(server)


def run(lake_dir, spark, server: Server, watcher: Watcher | None = None, **given) -> None:
    options = Options(source=server.url, lake=str(lake_dir), tables="shop.*", **given)
    hops.run(options, watcher or Watcher(), spark)


def digests(server: Server) -> dict[str, TableDigest]:
    with server.connect() as connection:
        names = source_tables(connection, "shop")
        return {f"shop.{name}": TableDigest.of(source_rows(connection, "shop", name)) for name in names}


def executed(server: Server) -> str:
    variable = "gtid_executed" if server.flavor == "mysql" else "gtid_binlog_pos"
    return server.query(f"SELECT @@global.{variable}")[0][0].replace("\n", "")
