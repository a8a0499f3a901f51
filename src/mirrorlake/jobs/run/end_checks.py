"""What may fail a run after all its work went well: refused tables, and a lag above the limit."""

from __future__ import annotations

from mirrorlake.config import Options
from mirrorlake.errors import RefusedError, RetryableError
from mirrorlake.jobs.run.run_log import RunLog, refused_tables
from mirrorlake.lake.delta.lake import Lake

MOST_NAMES = 5


def check_end(lake: Lake, options: Options, log: RunLog) -> None:
    """Raise RefusedError ``tables-refused``, RetryableError ``lag``, if the options ask for it."""
    if options.fail_on == "refused" and (refused := refused_tables(lake)):
        named = [f"{entry.name} ({entry.code})" for entry in refused[:MOST_NAMES]]
        more = f" and {len(refused) - MOST_NAMES} more" if len(refused) > MOST_NAMES else ""
        raise RefusedError("tables-refused", f"{', '.join(named)}{more}")
    check_lag(log.lag_s, options.max_lag)


def check_lag(lag_s: float | None, max_lag: float | None) -> None:
    """lag_s: None: not known. max_lag: seconds, or None. Raises RetryableError ``lag``."""
    if max_lag is not None and (lag_s is None or lag_s > max_lag):
        found = "is not known" if lag_s is None else f"is {lag_s:,.0f} s"
        raise RetryableError("lag", f"the lag {found}, and may be {max_lag:,.0f} s")
