"""Check what a source must have before a job begins."""

from __future__ import annotations

from mirrorlake.core.binlog.source import BinlogSource
from mirrorlake.mysql.binlog_dump import LiveSource
from mirrorlake.mysql.preflight import require_source


def check_source(source: BinlogSource) -> None:
    """Raise RefusedError with the code of the first thing that a server lacks; files are not checked."""
    if isinstance(source, LiveSource):
        require_source(source.control)
