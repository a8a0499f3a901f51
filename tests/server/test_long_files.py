"""A binlog file of more than 4 GiB on a real server: an event's header and a request for a dump hold 32 bits.

A server writes such a file when one transaction is that long.
"""

from __future__ import annotations

import pytest

from mirrorlake.core.binlog.log_reader import LogReader
from mirrorlake.core.constants import EventType
from mirrorlake.core.gtid import GtidSet, parse_gtid_set
from mirrorlake.core.position import FIRST_EVENT_OFFSET, BinlogPosition
from mirrorlake.errors import RefusedError
from mirrorlake.mysql.binlog_dump import LiveSource
from mirrorlake.mysql.binlog_files import FileSource
from mirrorlake.mysql.login import ServerLogin
from tests.support.servers import FLAVORS, Server, running_server

ROW_BYTES, ROWS = 60 << 20, 70
LONG = f"""INSERT INTO shop.docs SELECT i, REPEAT('x', {ROW_BYTES}) FROM (
    WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < {ROWS}) SELECT i FROM n) AS series"""
BEYOND = 1 << 32
BEFORE_IT_A_BOUNDARY = (EventType.ROTATE, EventType.GTID, EventType.MARIADB_GTID)

Events = list[tuple[str, int, int, int]]
"""(file, first byte, byte after, type) of each."""


@pytest.mark.long
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("flavor", FLAVORS)
def test_a_file_beyond_4_gib_is_read_on_from_any_boundary(flavor):
    with running_server(flavor, "--max-allowed-packet=1G") as server:
        server.execute("CREATE DATABASE shop")
        server.execute("CREATE TABLE shop.docs (id INT PRIMARY KEY, body LONGBLOB) ENGINE = MyISAM")  # writes no log
        server.execute("INSERT INTO shop.docs VALUES (-1, 'before')")
        before = gtids_of(server)
        server.execute(LONG)
        behind = gtids_of(server)
        server.execute("INSERT INTO shop.docs VALUES (-2, 'behind')")
        live, files = LiveSource(ServerLogin(server.host, server.port, server.user, server.password)), FileSource(
            server.datadir
        )  # fmt: skip

        events = read_on(live, live.earliest())
        assert events == read_on(files, files.earliest())
        assert sum(end - start > ROW_BYTES for _, start, end, _ in events) == ROWS
        assert [start for _, start, _, _ in events[1:]] == [
            FIRST_EVENT_OFFSET if kind == EventType.ROTATE else end for _, _, end, kind in events[:-1]
        ]
        boundaries = [BinlogPosition(file, start) for file, start, _, kind in events if kind in BEFORE_IT_A_BOUNDARY]
        (beyond,) = (position for position in boundaries if position.offset > BEYOND)
        for start in boundaries[boundaries.index(beyond) - 1 :]:
            rest = [event for event in events if event[:2] >= (start.log_file, start.offset)]
            assert read_on(live, start) == rest == read_on(files, start)

        assert live.locate(behind).log_file > beyond.log_file
        with pytest.raises(RefusedError, match="longer than 4 GiB") as refusal:
            live.locate(before)
        assert refusal.value.code == "log-range"
        live.close()


def read_on(source: LiveSource | FileSource, start: BinlogPosition) -> Events:
    """From a boundary to the end, as ingest does."""
    names = ("log_file", "log_pos", "end_log_pos", "event_type")
    chunks = LogReader(start, parse_gtid_set(source.flavor, "")).read(source.read(start, source.current()))
    return [event for chunk in chunks for event in zip(*(chunk.batch[n].to_pylist() for n in names), strict=True)]


def gtids_of(server: Server) -> GtidSet:
    """All that the server has executed."""
    variable = "@@gtid_executed" if server.flavor == "mysql" else "@@gtid_current_pos"
    return parse_gtid_set(server.flavor, server.query(f"SELECT {variable}")[0][0])
