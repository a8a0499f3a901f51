"""A second server that replicates from a first one, and takes its place."""

from __future__ import annotations

from tests.support.servers import Server

CATCH_UP_S = 30


def replicate(primary: Server, replica: Server) -> None:
    """Let ``replica`` follow ``primary`` by GTID, from its own state on."""
    if primary.flavor == "mysql":
        replica.execute(
            f"CHANGE REPLICATION SOURCE TO SOURCE_HOST = '{primary.host}', SOURCE_PORT = {primary.port},"
            f" SOURCE_USER = '{primary.user}', SOURCE_AUTO_POSITION = 1, SOURCE_CONNECT_RETRY = 1,"
            " GET_SOURCE_PUBLIC_KEY = 1"
        )
        replica.execute("START REPLICA")
        return
    replica.execute(
        f"CHANGE MASTER TO MASTER_HOST = '{primary.host}', MASTER_PORT = {primary.port},"
        f" MASTER_USER = '{primary.user}', MASTER_CONNECT_RETRY = 1, MASTER_USE_GTID = slave_pos"
    )
    replica.execute("START SLAVE")


def catch_up(primary: Server, replica: Server) -> None:
    """Return when ``replica`` has all that ``primary`` had committed."""
    if primary.flavor == "mysql":
        executed = primary.query("SELECT @@global.gtid_executed")[0][0].replace("\n", "")
        wait, done = f"SELECT WAIT_FOR_EXECUTED_GTID_SET('{executed}', {CATCH_UP_S})", 0
    else:
        position = primary.query("SELECT @@global.gtid_binlog_pos")[0][0]
        wait, done = f"SELECT MASTER_GTID_WAIT('{position}', {CATCH_UP_S})", 0
    assert replica.query(wait)[0][0] == done, status(replica)


def promote(replica: Server) -> None:
    """It follows nobody any more."""
    word = "REPLICA" if replica.flavor == "mysql" else "SLAVE"
    replica.execute(f"STOP {word}")
    replica.execute(f"RESET {word} ALL")


def status(replica: Server) -> str:
    rows = replica.query("SHOW REPLICA STATUS")
    return str([cell for cell in rows[0] if cell not in ("", 0, None)]) if rows else "no replica"
