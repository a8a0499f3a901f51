"""What a lake holds, for somebody who opens it for the first time: its mirrors, first statements, next steps."""

from __future__ import annotations

import pandas as pd

from mirrorlake.core.sql_text import Sql
from mirrorlake.errors import next_step
from mirrorlake.jobs.inspect.history import frame
from mirrorlake.jobs.inspect.status import Status
from mirrorlake.lake.delta.lake import Lake
from mirrorlake.lake.delta.names import named, table_exists
from mirrorlake.lake.gold.control.register import DROPPED, REFUSED, STREAMING, TableRegister

MIRROR_COLUMNS = ["table_name", "state", "rows", "key", "mirror", "code"]


def mirrors(lake: Lake, most: int) -> pd.DataFrame:
    """Each table that the source has: its state, the rows of its mirror, its key, and how statements name the mirror.

    rows: None without a mirror. Shadow tables are left out.
    """
    register, found = TableRegister.read(lake), list[tuple]()
    for entry in register:
        if entry.state == DROPPED or register.is_shadow(entry) or len(found) == most:
            continue
        mirror = lake.names.mirror(entry.mirror_id) if entry.mirror_id else None
        n_rows = lake.spark.table(mirror).count() if mirror and table_exists(lake.spark, mirror) else None
        key = ", ".join(entry.schema.primary_key) if entry.schema else ""
        found.append((str(entry.name), entry.state, n_rows, key, mirror, entry.code))
    return pd.DataFrame(found, columns=MIRROR_COLUMNS).astype({"rows": "Int64"})


def first_statements(lake: Lake) -> dict[str, Sql]:
    """A few statements with the names of this lake, by what their rows are; each gives ten rows at most."""
    register, names = TableRegister.read(lake), lake.names
    streaming = [e for e in register if e.state == STREAMING and e.mirror_id and not register.is_shadow(e)]
    silver, newest = names.silver_changes, "ORDER BY lsn DESC LIMIT 10"
    found: dict[str, Sql] = {}
    for entry in streaming[:1]:
        found[f"rows of {entry.name} as they are now"] = f"SELECT * FROM {names.mirror(entry.mirror_id)} LIMIT 10"
        changes = f"SELECT commit_ts, op, to_json(before) AS before, to_json(after) AS after FROM {silver}"
        found[f"the newest changes of {entry.name}"] = f"{changes} WHERE {named(entry.name)} {newest}"
    transactions = f"SELECT commit_ts, gtid, changes FROM {silver} WHERE op = 'COMMIT'"
    runs = f"SELECT verb, started, ended, outcome, rows, lag_s FROM {names.control_runs}"
    return found | {
        "the newest transactions": f"{transactions} {newest}",
        "the last runs": f"{runs} ORDER BY at DESC LIMIT 10",
    }


def first_rows(lake: Lake) -> pd.DataFrame:
    """What the first of these statements gives."""
    statement, *_ = first_statements(lake).values()
    return frame(lake, statement)


def next_steps(status: Status) -> list[str]:
    """What to do next, the most urgent first."""
    steps = [f"{e.database}.{e.table} is refused ({e.code}): {next_step(e.code)}" for e in status.refused]
    if not status.n_events:
        steps.append("The lake has no event of the log yet: run the replication job.")
    elif (status.gold.lag_bytes or 0) or status.open_epoch:
        steps.append("The lake has log that the mirrors lack: run assemble and apply, or look at their last runs.")
    if not status.tables.get(STREAMING) and not status.tables.get(REFUSED):
        steps.append("No table has a mirror: run `mirrorlake snapshot` for tables that are older than the log.")
    elif not status.refused:
        steps.append("All tables are mirrored. `90_investigate` answers questions about rows, transactions and times.")
    return steps
