"""The log of MySQL 5.6: no GTID events, rows in either version, no column names, statements where a session says so."""

from __future__ import annotations

import pytest

from tests.support.server_logs import bring, bronze, logged, silver

STATEMENTS = """
CREATE DATABASE old
CREATE TABLE old.t (id INT PRIMARY KEY, v VARCHAR(300), at DATETIME(3))
INSERT INTO old.t VALUES (1, 'one', '2015-01-01 00:00:00.125'), (2, NULL, NULL)
BEGIN
UPDATE old.t SET v = 'two'
INSERT INTO old.t (id) VALUES (3)
COMMIT
DELETE FROM old.t WHERE id = 3
""".strip().split("\n")


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("checksum", ["NONE", "CRC32"])
def test_every_event_of_an_old_log_is_read(mysql56, tmp_path, checksum, version):
    form = {"binlog_checksum": checksum, "log_bin_use_v1_row_events": str(2 - version)}
    source = bring(tmp_path / "logs", logged(mysql56, form, STATEMENTS))
    events = bronze(source)
    first_rows = {1: 23, 2: 30}[version]
    kinds = [kind for kind in events["event_type"].to_pylist() if kind not in (15, 4)]
    insert, update, delete = ([19, first_rows + k] for k in range(3))
    assert kinds == [2, 2, 2, *insert, 16, 2, *update, *insert, 16, 2, *delete, 16]
    assert set(events["gtid"].to_pylist()) == {None}
    table = silver(source).to_pylist()
    assert [row["op"] for row in table] == [
        "DDL",
        "DDL",
        *["BEGIN", "REFUSED", "COMMIT"],
        "BEGIN",
        *["REFUSED"] * 2,
        "COMMIT",
        "BEGIN",
        "REFUSED",
        "COMMIT",
    ]
    assert {row["refusal"].split(":")[0] for row in table if row["op"] == "REFUSED"} == {"needs-first-copy"}
    assert {row["lsn"] == row["tx_lsn"] for row in table if row["op"] == "REFUSED"} == {True}


def test_an_old_log_in_statement_format_names_its_table(mysql56, tmp_path):
    load = tmp_path / "rows.txt"
    load.write_text("9\tnine\t\\N\n")
    load.chmod(0o644)
    tmp_path.chmod(0o755)
    statements = [
        *STATEMENTS[:2], "SET SESSION binlog_format = 'STATEMENT'", "INSERT INTO old.t (id, v) VALUES (3, RAND())",
        "SET @a = 3", "DELETE FROM old.t WHERE id = @a", f"LOAD DATA INFILE '{load}' INTO TABLE old.t",
        "CREATE TABLE old.c (id INT PRIMARY KEY) SELECT ROUND(RAND()) AS id",
    ]  # fmt: skip
    source = bring(tmp_path / "logs", logged(mysql56, {}, statements))
    assert {13, 14, 17, 18} <= set(bronze(source)["event_type"].to_pylist())
    refused = [row for row in silver(source).to_pylist() if row["op"] == "REFUSED"]
    causes = ["INSERT was logged as a statement", "DELETE was logged as a statement", "LOAD was logged as a statement"]
    assert [row["refusal"] for row in refused] == [f"statement-dml: {cause}" for cause in causes]
    assert {(row["database"], row["table"]) for row in refused} == {("old", "t")}
