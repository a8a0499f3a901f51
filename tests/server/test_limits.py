"""Limits that a server sets for its clients, on real servers."""

from __future__ import annotations

import pytest

from mirrorlake.errors import RetryableError
from mirrorlake.mysql.consistent_read import ConsistentRead, CurrentRead
from mirrorlake.mysql.login import ServerLogin
from mirrorlake.mysql.session import Session

LONG_QUERY = (
    "SELECT COUNT(*) FROM information_schema.COLLATIONS a, information_schema.COLLATIONS b,"
    " (SELECT 1 FROM information_schema.COLLATIONS LIMIT 30) c"
)


@pytest.mark.parametrize(
    ("program", "limit", "least"),
    [("mysql", "max_execution_time", "50"), ("mariadb", "max_statement_time", "0.05")],
)
def test_a_query_over_a_whole_table_has_no_limit_of_the_server(program, limit, least, server_of):
    server = server_of(program)
    server.execute(f"SET GLOBAL {limit} = {least}")
    try:
        login = ServerLogin(server.host, server.port, server.user)
        for kind in (CurrentRead, ConsistentRead):
            read = kind(login)
            assert read.rows_of_scan(LONG_QUERY)[0][0] > 1_000_000
            read.close()
    finally:
        server.execute(f"SET GLOBAL {limit} = 0")


@pytest.mark.parametrize("program", ["mysql", "mariadb"])
def test_an_account_that_may_connect_no_more_for_now_is_tried_again(program, server_of):
    server = server_of(program)
    server.execute("CREATE USER few WITH MAX_USER_CONNECTIONS 1")
    login = ServerLogin(server.host, server.port, "few")
    first = Session(login)
    try:
        with pytest.raises(RetryableError) as raised:
            Session(login)
        assert raised.value.code == "server-unreachable"
    finally:
        first.hang_up()
        server.execute("DROP USER few")
