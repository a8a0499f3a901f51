"""Settings of which the log does not tell that something is missing: servers that have them."""

from __future__ import annotations

import pytest

from mirrorlake.errors import RefusedError
from mirrorlake.mysql.connection import ServerConnection
from mirrorlake.mysql.login import ServerLogin
from mirrorlake.mysql.preflight import CHECKS, refuse_failed, run_preflight
from tests.support.servers import Server, free_port, running_server

FILTERS = ("--replicate-do-db=shop", "--replicate-wild-ignore-table=shop.tmp%")
GALERA = "/usr/lib/galera/libgalera_smm.so"  # comes with Debian's mariadb-server
CHANNEL = {
    "mysql": ("CHANGE REPLICATION SOURCE TO SOURCE_HOST = '127.0.0.1', SOURCE_PORT = 1, SOURCE_USER = 'x'",),
    "mariadb": ("CHANGE MASTER TO MASTER_HOST = '127.0.0.1', MASTER_PORT = 1, MASTER_USER = 'x'", "START SLAVE"),
}


def not_ok(server: Server, user: str = "reader") -> dict[str, tuple[str, str | None]]:
    """Check -> what was found and the code, of those that failed, for a user with just what a run needs."""
    server.execute(f"CREATE USER IF NOT EXISTS {user} IDENTIFIED BY 'r3ader'")
    server.execute(f"GRANT REPLICATION SLAVE, REPLICATION CLIENT ON *.* TO {user}")
    connection = ServerConnection(ServerLogin("127.0.0.1", server.port, user, "r3ader"))
    try:
        checks = run_preflight(connection)
    finally:
        connection.close()
    assert len(checks) == len(CHECKS) and all(check.fix for check in checks if not check.ok)
    codes = [check.code for check in checks if not check.ok and check.code]
    if codes:
        with pytest.raises(RefusedError) as refused:
            refuse_failed(checks)
        assert refused.value.code == codes[0]
    return {check.name: (check.found, check.code) for check in checks if not check.ok}


@pytest.mark.parametrize("flavor", ["mariadb", "mysql"])
def test_filters_and_a_replica_that_does_not_log_are_named(flavor):
    """Before it is a replica, a server without log_slave_updates is right."""
    ignored = ("--binlog-ignore-db=adm", "--binlog-ignore-db=mysql")
    updates = "log_slave_updates" if flavor == "mariadb" else "log_replica_updates"
    with running_server(flavor, *ignored, *FILTERS, f"--{updates}=OFF") as server:
        found = {"binlog filters": ("binlog_ignore_db = adm,mysql", "binlog-filter")}
        replicated = {
            "replication filters": ("replicate_do_db = shop, replicate_wild_ignore_table = shop.tmp%", None),
        }
        assert not_ok(server) == (found | replicated if flavor == "mariadb" else found)
        for sql in CHANNEL[flavor]:
            server.execute(sql)
        replica = {updates: ("OFF, and this server is a replica", "replica-log")}
        assert not_ok(server) == found | replica | replicated


def test_a_filter_of_system_databases_alone_and_another_default_engine_stop_no_run():
    ignored = ("--binlog-ignore-db=mysql", "--binlog-ignore-db=sys")
    with running_server("mariadb", *ignored, "--default-storage-engine=MyISAM") as server:
        assert not_ok(server) == {
            "binlog filters": ("binlog_ignore_db = mysql,sys", None),
            "default_storage_engine": ("MyISAM", None),
        }


def test_a_node_of_a_cluster_that_does_not_log_the_others_changes_is_named():
    listens = f"base_port={free_port()};gmcast.listen_addr=tcp://127.0.0.1:{free_port()}"
    cluster = ("--wsrep-on=ON", f"--wsrep-provider={GALERA}", "--wsrep-cluster-address=gcomm://",
               f"--wsrep-provider-options={listens}", "--wsrep-node-address=127.0.0.1")  # fmt: skip
    with running_server("mariadb", *cluster, "--binlog-do-db=shop") as server:
        assert not_ok(server) == {
            "binlog filters": ("binlog_do_db = shop", "binlog-filter"),
            "log_slave_updates": ("OFF, and this server is a node of a Galera cluster", "replica-log"),
        }
