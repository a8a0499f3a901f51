"""Find snapshots of source tables that nothing needs any more."""

from __future__ import annotations

import datetime as dt

from mirrorlake.lake.delta.lake import Lake
from mirrorlake.lake.delta.notes import read_history
from mirrorlake.lake.gold.control.epochs import EpochLog
from mirrorlake.lake.silver.overrides import read_given


def removable_snapshots(lake: Lake, *, left_days: int, bronze_days: int | None) -> list[str]:
    """Ids of snapshots that may be deleted.

    These are the ones a killed run left more than ``left_days`` ago, and those that mirrors applied more than
    ``bronze_days`` ago. None keeps the second kind, which a replay needs."""
    now, n_done = dt.datetime.now(dt.timezone.utc), EpochLog(lake).answers
    given = {(each.answer.copy_id or "").lower(): each for each in read_given(lake)}  # a catalog shows it in lower case
    found = []
    for copy_id in lake.names.find_snapshots(lake.spark):
        answered = given.get(copy_id.lower())
        if answered is None:
            history = list(read_history(lake.spark, lake.names.snapshot(copy_id)))
            if not history:  # a run was killed before its first commit
                continue
            begun = history[-1].timestamp.astimezone(dt.timezone.utc)
            is_old = now - begun > dt.timedelta(days=left_days)
        else:
            is_done = bronze_days is not None and answered.answer.number <= n_done
            is_old = is_done and now - answered.at > dt.timedelta(days=bronze_days or 0)
        if is_old:
            found.append(copy_id)
    return found
