"""The maintenance job: compact every table, delete the files that nothing needs any more."""

from __future__ import annotations

from functools import partial

import pandas as pd
from pyspark.sql import Row, SparkSession

from mirrorlake.config import MOST_DAYS, Options
from mirrorlake.core.position import show_lsn
from mirrorlake.core.sql_text import Sql
from mirrorlake.errors import UsageError
from mirrorlake.jobs.old_log import first_kept
from mirrorlake.jobs.old_snapshots import removable_snapshots
from mirrorlake.jobs.run.open import create_tables, open_lake
from mirrorlake.jobs.run.run_log import recorded
from mirrorlake.jobs.run.watcher import Watcher
from mirrorlake.lake.bronze import ingest, snapshots
from mirrorlake.lake.bronze.newest import first_lsn
from mirrorlake.lake.delta.lake import Lake
from mirrorlake.lake.delta.maintenance import (
    REMOVED,
    compact,
    delete_before,
    delete_older,
    drop_feature,
    keep_history,
    remove_mirror,
    remove_snapshot,
    remove_staged,
    size,
)
from mirrorlake.lake.delta.names import SYSTEM_TABLES, table_exists
from mirrorlake.lake.gold.control import retired
from mirrorlake.lake.gold.control.features import read_state, unneeded
from mirrorlake.lake.gold.control.register import DROPPED, TableRegister
from mirrorlake.lake.gold.control.table import mirror_types
from mirrorlake.lake.gold.control.versions import unless_damaged
from mirrorlake.lake.gold.syncpoint import syncpoints
from mirrorlake.lake.silver import assemble

REPLAY_DAYS = 30
"""Shortest retention: recorded Delta versions can be read, and mirrors of dropped tables, for this long."""
STAGED_DAYS = 7
DAMAGED = "damaged"
RUN_DAYS = 90
"""How long ``control_runs`` keeps its rows."""
SHORTEST_DAYS = 7
"""Delta's own shortest retention: files of log that was deleted stay as long, because a reader may still have them."""


def maintain(
    options: Options,
    spark: SparkSession | None = None,
    *,
    retention_days: int = REPLAY_DAYS,
    drop_features: bool = False,
) -> pd.DataFrame:
    """Return one row per table: table, outcome (compacted, unchanged, busy; platform: the catalog compacts it itself;
    linked: a symbolic link is in its folder; damaged: files of the mirror are missing or broken; removed: the mirror of
    a table dropped long ago; left: what this lake's storage, or Delta, keeps).

    drop_features: take features of Delta that mirrors no longer need away from them, with a row for each.

    Bronze loses binlog files older than ``options.bronze_days`` that every hop has passed, and old table snapshots.
    Nothing reads its old versions, so their files go after as many days, but not before ``SHORTEST_DAYS``.
    A mirror keeps its files for as long as a syncpoint pins one of its versions; syncpoints expire after
    ``options.syncpoint_days``.
    Raises UsageError for a retention below ``REPLAY_DAYS`` or above ``MOST_DAYS``; RefusedError ``lake-missing``.
    """
    if not REPLAY_DAYS <= retention_days <= MOST_DAYS:
        raise UsageError("usage", f"the retention is from {REPLAY_DAYS} to {MOST_DAYS:,} days")
    lake = open_lake(options, spark)
    create_tables(lake)
    with recorded(lake, "maintain", Watcher()) as log:
        log.begins()
        outcomes, tables = _maintained(lake, options, retention_days, drop_features)
        whole = {name: table for name, table in tables.items() if outcomes[name] != DAMAGED}
        log.counted([{"table": name, **size(lake.spark, table)} for name, table in whole.items()])
    return pd.DataFrame(list(outcomes.items()), columns=["table", "outcome"])


def _maintained(
    lake: Lake, options: Options, retention_days: int, drop_features: bool
) -> tuple[dict[str, str], dict[str, Sql]]:
    """The outcomes, and the tables that the lake keeps, by name."""
    names = lake.names
    syncpoints.expire(lake, days=options.syncpoint_days)
    pinned = syncpoints.pinned_days(lake)
    kept, removable = retired.mirrors(lake, retention_days=retention_days)
    kept += [mirror_id for mirror_id in removable if mirror_id in pinned]
    for mirror_id in kept:
        mirror = names.mirror(mirror_id)
        unless_damaged(partial(keep_history, lake.spark, mirror, options.syncpoint_days + 1, names.location(mirror)))
    delete_older(lake.spark, names.control_runs, RUN_DAYS)
    tables = {name: names.system_table(name) for name in SYSTEM_TABLES}
    tables |= {mirror_id: names.mirror(mirror_id) for mirror_id in kept}
    outcomes = {} if options.bronze_days is None else _let_go(lake, options.bronze_days)
    outcomes |= _without_features(lake) if drop_features else {}
    retentions = {name: max(retention_days, pinned.get(name, 0)) for name in tables}
    retentions["bronze_events"] = log_retention(retention_days, options.bronze_days)
    for name, table in tables.items():
        work = partial(compact, lake.spark, table, retentions[name], names.location(table))
        outcomes[name] = work() if name in SYSTEM_TABLES else unless_damaged(work) or DAMAGED
    for mirror_id in (m for m in removable if m not in pinned):
        shown = names.location(names.mirror(mirror_id)) or mirror_id
        outcomes[shown] = remove_mirror(lake.spark, names, mirror_id)
    for copy_id in removable_snapshots(lake, left_days=STAGED_DAYS, bronze_days=options.bronze_days):
        shown = names.location(names.snapshot(copy_id)) or f"bronze_copy_{copy_id}"
        outcomes[shown] = remove_snapshot(lake.spark, names, copy_id)
    for hop in (ingest.HOP, assemble.HOP, snapshots.HOP):
        if remove_staged(names, hop, STAGED_DAYS):
            outcomes[f"staging/{hop}"] = REMOVED
    return outcomes, tables


def log_retention(retention_days: int, bronze_days: int | None) -> int:
    """Days for which the files of deleted log stay. bronze_days: how long the log itself does; None: for good."""
    return retention_days if bronze_days is None else min(retention_days, max(bronze_days, SHORTEST_DAYS))


def _without_features(lake: Lake) -> dict[str, str]:
    """Take unneeded features from each mirror; their part of the outcomes."""
    outcomes = {}
    for entry in TableRegister.read(lake):
        mirror = lake.names.mirror(entry.mirror_id) if entry.mirror_id else None
        if mirror is None or entry.state == DROPPED:
            continue
        state = unless_damaged(partial(_state_if_any, lake.spark, mirror))
        for feature in unneeded(state, mirror_types(entry.schema)) if state else ():
            outcomes[f"{entry.mirror_id} {feature.name}"] = drop_feature(
                lake.spark, mirror, feature.name, lake.names.location(mirror)
            )
    return outcomes


def _let_go(lake: Lake, days: int) -> dict[str, str]:
    """Delete old log and snapshots from bronze; its part of the outcomes."""
    kept = first_kept(lake, days)
    if kept is None or kept == first_lsn(lake):
        return {}
    return {f"bronze_events before {show_lsn(kept)}": delete_before(lake.spark, lake.names.bronze_events, kept)}


def _state_if_any(spark: SparkSession, mirror: Sql) -> Row | None:
    return read_state(spark, mirror) if table_exists(spark, mirror) else None
