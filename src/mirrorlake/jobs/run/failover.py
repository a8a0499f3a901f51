"""Continue in the log of the server that took over: bronze's progress as a position in that log."""

from __future__ import annotations

from dataclasses import replace

from mirrorlake.config import Options
from mirrorlake.core.binlog.failover import find_continuation
from mirrorlake.core.binlog.source import BinlogSource
from mirrorlake.errors import RefusedError
from mirrorlake.lake.bronze.ingest import IngestProgress
from mirrorlake.lake.bronze.newest import begins_with_file, newest_transaction
from mirrorlake.lake.delta.lake import Lake


def follow_failover(lake: Lake, source: BinlogSource, progress: IngestProgress, options: Options) -> IngestProgress:
    """Find where the new log continues. The first batch of the new log records it, nothing before.

    Raises RefusedError ``lake-source`` if the operator has not asked for it, and what ``find_continuation`` raises.
    """
    if options.failover != "follow" or source.flavor != lake.flavor:
        raise RefusedError("lake-source", f"the lake follows {progress.server}, not {source.identity}")
    newest = newest_transaction(lake)
    if newest is None:
        raise _unproven("the lake's last transaction has no GTID", progress)
    if not (progress.knows_before or begins_with_file(lake)):
        raise _unproven("the lake begins inside a log file, and what came before is not known", progress)
    found = find_continuation(source, progress.gtids, newest)
    return replace(
        progress, server=source.identity, position=found.start, skip=found.skip, incarnation=progress.incarnation + 1
    )


def _unproven(what: str, progress: IngestProgress) -> RefusedError:
    return RefusedError("failover-unproven", what, position=str(progress.position))
