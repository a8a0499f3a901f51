"""The servers that the other tests of this tier stand on."""

from __future__ import annotations

import pytest


@pytest.mark.row_metadata("full")
def test_server_logs_rows_with_full_metadata_and_image(server):
    settings = server.query("SELECT @@binlog_format, @@binlog_row_metadata, @@binlog_row_image")
    assert settings == [("ROW", "FULL", "FULL")]


def test_reset_leaves_one_log_file_and_no_database(server):
    server.execute("CREATE DATABASE gone_after_reset")
    server.execute("FLUSH BINARY LOGS")
    server.reset()
    assert [path.name for path in server.log_files()] == ["binlog.000001"]
    assert not server.query("SHOW DATABASES LIKE %s", "gone%")


def test_restart_keeps_data_and_opens_the_next_log_file(server):
    server.reset()
    server.execute("CREATE DATABASE kept")
    server.restart()
    assert server.query("SHOW DATABASES LIKE 'kept'") == [("kept",)]
    assert [path.name for path in server.log_files()] == ["binlog.000001", "binlog.000002"]
    assert all(path.exists() for path in server.log_files())
