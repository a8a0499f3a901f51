"""The same transactions in every form in which a server can log them: silver does not tell the forms apart.

The list of events, positions and GTIDs is held against the server's own tool.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import product

import pyarrow as pa
import pytest

from mirrorlake.core.gtid import parse_gtid_set
from mirrorlake.core.position import BinlogPosition
from mirrorlake.mysql.binlog_dump import LiveSource
from mirrorlake.mysql.login import ServerLogin
from tests.support.server_logs import bring, bronze, logged, setting, silver
from tests.support.servers import Server

STATEMENTS = """
CREATE DATABASE forms
CREATE TABLE forms.t (id INT PRIMARY KEY, v VARCHAR(300), b BLOB, n DECIMAL(20,4))
CREATE TABLE forms.u (id INT PRIMARY KEY AUTO_INCREMENT, v TEXT)
INSERT INTO forms.t VALUES (1, 'one', NULL, 1.5), (2, REPEAT('two ', 70), x'00ff', -2.25)
BEGIN
INSERT INTO forms.u (v) SELECT REPEAT(v, 40) FROM forms.t
SAVEPOINT a
UPDATE forms.t SET v = CONCAT(v, '!'), n = n * 2
DELETE FROM forms.t WHERE id = 1
COMMIT
INSERT INTO forms.u (v) SELECT REPEAT(CHAR(65 + a.id), 2000) FROM forms.u a, forms.u b, forms.u c, forms.u d
UPDATE forms.u SET v = NULL WHERE id % 2
XA START 'one'
INSERT INTO forms.t VALUES (9, 'xa', NULL, 9)
XA END 'one'
XA COMMIT 'one' ONE PHASE
ALTER TABLE forms.t ADD COLUMN w INT
UPDATE forms.t SET w = id, v = 'after'
DROP TABLE forms.u
""".strip().split("\n")
N_GROUPS = 11
"""Transactions and DDLs."""

# What changes the form of the log, as (variable, values). Partial row images and metadata belong here when they are
# decoded: binlog_row_image MINIMAL, NOBLOB; binlog_row_metadata MINIMAL.
FORMS = {
    "mysql": {
        "binlog_checksum": ("CRC32", "NONE"),
        "binlog_transaction_compression": ("OFF", "ON"),
        "binlog_rows_query_log_events": ("OFF", "ON"),
    },
    "mariadb": {
        "binlog_checksum": ("CRC32", "NONE"),
        "log_bin_compress": ("OFF", "ON"),
        "log_bin_compress_min_len": ("10",),
        "binlog_annotate_row_events": ("OFF", "ON"),
    },
}
_SHOWN = ["ordinal", "op", "database", "table", "schema_id", "before", "after", "changes", "checksum", "refusal"]


@pytest.fixture
def log_server(server) -> Iterator[Server]:
    """Each server in turn; its settings are as before after the test."""
    before = dict(server.query("SHOW GLOBAL VARIABLES WHERE Variable_name REGEXP 'binlog|log_bin'"))
    server.execute("SET GLOBAL binlog_format = 'ROW'")
    yield server
    for variable in ("binlog_format", *FORMS[server.flavor]):
        server.execute(f"SET GLOBAL {variable} = {setting(before[variable])}")


def test_the_form_of_the_log_does_not_show_in_silver(log_server, tmp_path):
    server, found = log_server, {}
    forms = FORMS[server.flavor]
    for k, values in enumerate(product(*forms.values())):
        paths = logged(server, dict(zip(forms, values, strict=True)), STATEMENTS)
        table = silver(bring(tmp_path / str(k), paths))
        found[values] = table.select(_SHOWN).to_pylist()
        noted = [row["statement"] for row in table.to_pylist() if row["op"] != "DDL" and row["statement"]]
        wanted = [text for text in STATEMENTS if text.startswith(("INSERT", "UPDATE", "DELETE"))]
        assert noted == (wanted if values[-1] == "ON" else [])
    first = next(iter(found.values()))
    assert [row["op"] for row in first].count("INSERT") == 2 + 2 + 16 + 1
    assert {values for values, rows in found.items() if rows != first} == set()


@pytest.mark.parametrize("tag", ["", ":a_tag"])
def test_events_positions_and_gtids_are_those_of_the_servers_tool(log_server, tmp_path, read_with_tool, tag):
    server = log_server
    if tag and server.flavor != "mysql":
        pytest.skip("MariaDB's GTIDs have no tags")
    form = {variable: values[-1] for variable, values in FORMS[server.flavor].items()}
    paths = logged(server, form, STATEMENTS, f"AUTOMATIC{tag}" if tag else None)
    source = bring(tmp_path / "logs", paths)
    events = bronze(source)
    gtids = []
    for path in paths:
        text = read_with_tool(source.flavor, path)
        mine = [row for row in events.to_pylist() if row["log_file"] == path.name]
        shown = [int(n) for n in re.findall(r"^# at (\d+)$", text, re.MULTILINE)]
        assert [row["log_pos"] for row in mine] == sorted(set(shown) & {row["log_pos"] for row in mine})
        assert set(shown) <= {row["log_pos"] for row in mine} | {row["end_log_pos"] for row in mine}
        gtid = r"GTID_NEXT= '([^']+)'/" if server.flavor == "mysql" else r"\tGTID (\S+)"
        opening = [row["gtid"] for row in mine if row["lsn"] == row["tx_lsn"] and row["gtid"]]
        assert opening == re.findall(gtid, text)
        gtids += opening
    assert len(gtids) == N_GROUPS and all((tag in gtid) for gtid in gtids)


def next_group(events: pa.Table, gtid: str) -> BinlogPosition:
    """Where the transaction after this one begins."""
    opening = [row for row in events.to_pylist() if row["lsn"] == row["tx_lsn"] and row["gtid"]]
    after = [row["gtid"] for row in opening].index(gtid) + 1
    return BinlogPosition(opening[after]["log_file"], opening[after]["log_pos"])


def test_a_live_stream_brings_the_bytes_of_the_files(log_server, tmp_path):
    server = log_server
    paths = logged(server, {variable: values[-1] for variable, values in FORMS[server.flavor].items()}, STATEMENTS)
    files, live = bring(tmp_path / "logs", paths), LiveSource(ServerLogin.parse(server.url))
    try:
        expected, found = bronze(files), bronze(live, files.current())
        for seen in (expected["gtid"].drop_null()[k].as_py() for k in (0, len(expected) // 3)):
            gtids = parse_gtid_set(files.flavor, re.sub(r":(\d+)$", r":1-\1", seen))
            assert live.locate(gtids) == next_group(expected, seen)
    finally:
        live.close()
    assert found == expected
    inside = [int.from_bytes(raw[13:17], "little") for raw in expected["raw"].to_pylist() if raw[4] in (19, 23, 166)]
    assert {end == 0 for end in inside} == ({server.program == "mariadb118"} if files.flavor == "mariadb" else set())
