"""Mirrors whose source table was dropped, or dropped and created again: time travel still reads them for a while."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby
from operator import attrgetter

from mirrorlake.core.schema.table_name import TableName
from mirrorlake.lake.delta.damaged_rows import own_rows
from mirrorlake.lake.delta.lake import Lake
from mirrorlake.lake.gold.control.epochs import DONE
from mirrorlake.lake.gold.control.register import TableEntry
from mirrorlake.lake.gold.control.table import EPOCHS_COLUMNS, TABLES_COLUMNS


def mirrors(lake: Lake, *, retention_days: int) -> tuple[list[str], list[str]]:
    """Ids of the mirrors to keep, and of those that ended more than ``retention_days`` ago."""
    register = own_rows(lake, "control_tables", TABLES_COLUMNS).collect()
    ended = _ends(TableEntry.from_row(row) for row in sorted(register, key=attrgetter("lsn", "epoch")))
    done = own_rows(lake, "control_epochs", EPOCHS_COLUMNS).where(f"phase = '{DONE}'")
    old = done.where(f"at < current_timestamp() - INTERVAL {int(retention_days)} DAYS")
    long_ago = {row.epoch for row in old.select("epoch").collect()}
    removable = [mirror_id for mirror_id, epoch in ended.items() if epoch in long_ago]
    return [mirror_id for mirror_id in ended if mirror_id not in removable], removable


def _ends(entries: Iterable[TableEntry]) -> dict[str, int | None]:
    """Return mirror id -> the epoch that ended it, None while it continues. entries: of the register, in log order.

    A mirror continues as long as any name has it: a RENAME moves it from one name to another.
    """
    ends: dict[str, int | None] = {}
    newest: dict[TableName, str | None] = {}
    for (_, epoch), together in groupby(entries, key=attrgetter("lsn", "epoch")):
        now = {entry.name: entry.mirror_id for entry in together}
        before = {newest[name] for name in now if newest.get(name)}
        newest |= now
        ends |= dict.fromkeys(filter(None, now.values()))
        ends |= dict.fromkeys(before.difference(newest.values()), epoch)
    return ends
