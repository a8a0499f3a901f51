"""``bronze_events``: one row per binlog event, append only; a binlog file can be rebuilt from it byte for byte."""

from __future__ import annotations

from pyspark.sql import SparkSession

from mirrorlake.core.position import BinlogPosition, pack_lsn, unpack_lsn
from mirrorlake.lake.delta.creation import create_table, log_table_properties, read_properties
from mirrorlake.lake.delta.names import PROPERTY, LakeNames, kept_in
from mirrorlake.lake.delta.progress import Progress

COLUMNS = """
    lsn BIGINT, tx_lsn BIGINT, log_file STRING, log_pos BIGINT, end_log_pos BIGINT, event_type SMALLINT,
    event_ts TIMESTAMP, server_id BIGINT, flags INT, gtid STRING, crc_ok BOOLEAN, raw BINARY
"""
READ_BY = ("lsn", "tx_lsn", "log_file", "log_pos", "event_type")


def create(spark: SparkSession, names: LakeNames) -> None:
    """The first table of a lake: its properties have what the lake keeps, before there is any note."""
    kept = {f"{PROPERTY}{key}": value for key, value in names.kept.items()}
    properties = log_table_properties(names, *READ_BY) | kept
    create_table(spark, names.bronze_events, COLUMNS, properties, names.location(names.bronze_events))


def read_kept(spark: SparkSession, names: LakeNames) -> dict[str, str]:
    """What the properties of a lake's first table say; see ``LakeNames.kept``."""
    return kept_in(read_properties(spark, names.bronze_events))


def end_lsn(recorded: Progress) -> int:
    """The lsn of the next event, if it comes in the same file."""
    position, (incarnation, *_) = BinlogPosition.parse(recorded.payload["resume"]), unpack_lsn(recorded.lsn)
    return pack_lsn(incarnation, position.file_number, position.offset)
