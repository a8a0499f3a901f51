"""Another server goes on where the lake's ended: bronze's progress in the log of the new one."""

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
    """Nothing is recorded before the first batch of the new log is.

    Raises RefusedError ``lake-source`` where the operator has not asked for it, and what ``find_continuation`` raises.
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
