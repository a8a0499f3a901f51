"""A second server that replicates from a first one, and replaces it."""

from __future__ import annotations

from mirrorlake.core.binlog.failover import KnownTransaction, moment_of
from mirrorlake.core.changes.bronze_events import BronzeEvents
from tests.support.servers import Server

CATCH_UP_S = 30
OPTIONS = {
    "mysql": ("--server-id=98", "--replica-parallel-workers=4", "--replica-preserve-commit-order=OFF",
              "--binlog-transaction-compression=ON"),
    "mariadb": ("--server-id=11", "--log-slave-updates=ON", "--replicate-annotate-row-events=OFF",
                "--log-bin-compress=ON", "--log-bin-compress-min-len=10"),
}  # fmt: skip
"""Of a replica whose events have other sizes; MySQL's commits what is independent in another order."""


def replicate(primary: Server, replica: Server) -> None:
    """Both start again, and ``replica`` follows ``primary`` by GTID."""
    primary.reset()
    stop(replica)
    replica.reset()
    if primary.flavor == "mysql":
        replica.execute(
            f"CHANGE REPLICATION SOURCE TO SOURCE_HOST = '{primary.host}', SOURCE_PORT = {primary.port},"
            f" SOURCE_USER = '{primary.user}', SOURCE_AUTO_POSITION = 1, GET_SOURCE_PUBLIC_KEY = 1"
        )
    else:
        replica.execute("SET GLOBAL gtid_slave_pos = ''")
        replica.execute("SET GLOBAL slave_parallel_threads = 0")
        replica.execute(
            f"CHANGE MASTER TO MASTER_HOST = '{primary.host}', MASTER_PORT = {primary.port},"
            f" MASTER_USER = '{primary.user}', MASTER_USE_GTID = slave_pos"
        )
    replica.execute(f"START {_word(replica)}")


def let_domains_overtake(replica: Server) -> None:
    """MariaDB: from here on it may commit the transactions of one domain before those of another."""
    replica.execute("STOP SLAVE")
    replica.execute("SET GLOBAL slave_parallel_threads = 4")
    replica.execute("START SLAVE")


def catch_up(primary: Server, replica: Server) -> None:
    """Return when ``replica`` has all that ``primary`` had committed."""
    if primary.flavor == "mysql":
        executed = primary.query("SELECT @@global.gtid_executed")[0][0].replace("\n", "")
        wait = f"SELECT WAIT_FOR_EXECUTED_GTID_SET('{executed}', {CATCH_UP_S})"
    else:
        wait = f"SELECT MASTER_GTID_WAIT('{primary.query('SELECT @@global.gtid_binlog_pos')[0][0]}', {CATCH_UP_S})"
    assert replica.query(wait) == [(0,)], replica.query(f"SHOW {_word(replica)} STATUS")


def stop(replica: Server) -> None:
    """It follows nobody any more: it may become the primary."""
    replica.execute(f"STOP {_word(replica)}")
    replica.execute(f"RESET {_word(replica)} ALL")


def newest_of(flavor: str, batches: list) -> KnownTransaction:
    """The newest transaction of bronze batches that hold one."""
    seen = [(events, i) for events in map(BronzeEvents, batches) for i in range(len(events.lsn))]
    for (events, i), (following, k) in reversed(list(zip(seen, seen[1:], strict=False))):
        if events.gtid[i].is_valid and events.lsn[i] == events.tx_lsn[i]:
            moment = moment_of(flavor, int(events.event_type[i]), events.body(i), int(following.timestamp[k]))
            return KnownTransaction(events.gtid[i].as_py(), moment)
    raise ValueError("no transaction")


def _word(server: Server) -> str:
    return "REPLICA" if server.flavor == "mysql" else "SLAVE"
