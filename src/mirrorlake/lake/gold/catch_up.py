"""A table that continues after a refused statement, because of an override, or that begins with a snapshot.

Row changes and DDL of this table alone are applied, from that lsn up to the lsn of the other mirrors. Its mirror has
the state of the refusal, or is created. Each commit on it carries its lsn, so a repeated epoch finds the commits that
are done; the cuts of the range follow from the table's own changes and DDL.
"""

from __future__ import annotations

from dataclasses import replace

from pyspark.sql import functions as F

from mirrorlake.lake.delta.damaged_rows import own_rows
from mirrorlake.lake.delta.lake import Lake
from mirrorlake.lake.gold.control.epochs import ROWS, Epoch
from mirrorlake.lake.gold.control.register import DDL_IGNORED, STREAMING, TableEntry, TableRegister
from mirrorlake.lake.gold.control.rules import TableRules
from mirrorlake.lake.gold.control.table import TABLES_COLUMNS
from mirrorlake.lake.gold.ddl import barriers
from mirrorlake.lake.gold.ddl.epoch import DdlWork, carry_out_barriers
from mirrorlake.lake.gold.merge.changes import ChangeReader
from mirrorlake.lake.gold.row_epoch import RowEpochs


def catch_up(
    rows: RowEpochs, lake: Lake, epoch: Epoch, register: TableRegister, rules: TableRules, *, answers: int,
    epoch_changes: int,
) -> tuple[int, int, DdlWork]:  # fmt: skip
    """Apply the epoch; return numbers of row changes and invalid values, and the work, with the table's final entry.
    A snapshot of a table that the rules leave out has no effect and makes no entry.

    epoch: of one table, which the register has as refused, or which begins with a snapshot.
    """
    (table,) = epoch.tables
    name = table.name
    ahead = barriers.read(lake, epoch.lsns, answers, only=name)
    was = None if ahead and ahead[0].begins_snapshot else register.get(name)
    now = TableRegister([_as_it_was(lake, was)] if was and was.mirror_id else [])
    done, n_changes, n_invalid, rest = DdlWork(), 0, 0, epoch.lsns
    reader = ChangeReader(lake, only=name)
    for barrier in [*ahead, None]:
        before = rest.until(barrier.lsn - 1) if barrier else rest
        while not before.is_empty:
            lsns = reader.cut(before, epoch_changes)
            found = rows.carry_out(replace(epoch, kind=ROWS, lsns=lsns, tables=()), reader, now)
            now.put(found.refused)
            n_changes, n_invalid = n_changes + found.n_changes, n_invalid + sum(count for _, count in found.invalid)
            before = before.since(lsns.to)
        if barrier:
            work = carry_out_barriers(rows.session(), lake, [barrier], now, rules)
            done.executed += work.executed
            n_invalid += work.invalid.total()
            rest = rest.since(barrier.lsn)
    last = now.get(name) or was
    if last is None:
        return n_changes, n_invalid, done
    if last.state == STREAMING:
        last = replace(last, lsn=epoch.lsns.to)  # between its refusal and here it was never at the lsn of the others
    done.entries, done.touched = [last], {last.mirror_id or ""}
    return n_changes, n_invalid, done


def _as_it_was(lake: Lake, refused: TableEntry) -> TableEntry:
    """The entry before the refusal; rows that it had kept then are still there."""
    of_mirror = (F.col("mirror_id") == refused.mirror_id) & (F.col("code") == DDL_IGNORED)
    kept = own_rows(lake, "control_tables", TABLES_COLUMNS).where(of_mirror).select("code", "reason").first()
    code, reason = kept or (None, None)
    return replace(refused, state=STREAMING, code=code, reason=reason, epoch=0)
