"""An epoch of DDL: statement by statement its commits on the mirrors, then the register, then the ledger.

DDL on independent tables is executed in parallel.

    1. plan row          control_epochs, before anything else
    2. prepared row      for EXCHANGE and CONVERT PARTITION: pins the Delta versions that both outputs are computed from
    3. mirror commits    each carries the DDL's lsn and its step; existing ones are not made again
    4. register commit   every table's next entry, all names of a RENAME at once; once for the epoch
    5. executed rows     for all its DDL, one commit
    6. done row          with the next plan

A process may be killed between any two steps. The next one starts from the plan row with the register as it was before
the epoch, decides the same outcomes, and makes the missing commits.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from pyspark.sql import SparkSession

from mirrorlake.core.schema.table_name import TableName
from mirrorlake.lake.delta.lake import Lake
from mirrorlake.lake.gold.control.epochs import EpochTable
from mirrorlake.lake.gold.control.register import TableEntry, TableRegister
from mirrorlake.lake.gold.control.rules import TableRules
from mirrorlake.lake.gold.control.versions import readable_version
from mirrorlake.lake.gold.ddl import barriers
from mirrorlake.lake.gold.ddl.barriers import Barrier, LedgerRow
from mirrorlake.lake.gold.ddl.classes import DdlClass, strongest
from mirrorlake.lake.gold.ddl.outcomes import Outcome, outcomes
from mirrorlake.lake.gold.ddl.steps import Stop, carry_out

MAX_THREADS = 4


def with_effect(
    ahead: list[Barrier], register: TableRegister, rules: TableRules, changed: Collection[TableName]
) -> list[Barrier]:
    """The barriers that change a mirror or the register. The others split no epoch and cost no commit.

    changed: tables with rows ahead; a wanted one that the register does not know will have an entry at its DDL.
    """
    register, found = register.copy(), []
    for barrier in ahead:
        effect = outcomes(barrier.lsn, barrier.changes, register, rules)
        is_open = any(
            name in changed and register.get(name) is None and rules.is_wanted(*name) for name in barrier.names
        )
        register.put(outcome.entry for outcome in effect if outcome.entry)
        if effect or is_open:
            found.append(barrier)
    return found


@dataclass(slots=True)
class DdlWork:
    """entries: new ones for the register. executed: lsn, class and names of each DDL. touched: mirrors changed.
    invalid: by table, how many values of a snapshot became NULL."""

    entries: list[TableEntry] = field(default_factory=list)
    executed: list[tuple[int, DdlClass, list[TableName]]] = field(default_factory=list)
    touched: set[str] = field(default_factory=set)
    invalid: Counter[str] = field(default_factory=Counter)


def carry_out_epoch(
    session: Callable[[], SparkSession], lake: Lake, ahead: list[Barrier], register: TableRegister, rules: TableRules
) -> DdlWork:
    """Take steps 2 and 3. session: the calling thread's own. register: the one before the epoch; it is not changed."""

    def carry_out_group(group: list[Barrier]) -> DdlWork:
        return carry_out_barriers(session(), lake, group, register.copy(), rules)

    with ThreadPoolExecutor(MAX_THREADS) as pool:
        works = list(pool.map(carry_out_group, independent(ahead)))
    return DdlWork(
        entries=sorted((entry for work in works for entry in work.entries), key=lambda entry: entry.lsn),
        executed=sorted((ddl for work in works for ddl in work.executed), key=lambda ddl: ddl[0]),
        touched={mirror_id for work in works for mirror_id in work.touched},
        invalid=sum((work.invalid for work in works), Counter[str]()),
    )


def independent(ahead: list[Barrier]) -> list[list[Barrier]]:
    """Split barriers into groups that name no table in common, each in the order of the log."""
    groups: list[tuple[set[TableName], list[Barrier]]] = []
    for barrier in ahead:
        names = set(barrier.names)
        meets = [group for group in groups if not names.isdisjoint(group[0])]
        groups = [group for group in groups if names.isdisjoint(group[0])]
        joined = sorted((b for _, group in meets for b in group), key=lambda b: b.lsn)
        groups.append((names.union(*(known for known, _ in meets)), [*joined, barrier]))
    return [group for _, group in groups]


def carry_out_barriers(
    session: SparkSession, lake: Lake, ahead: list[Barrier], now: TableRegister, rules: TableRules
) -> DdlWork:
    """Execute barriers one after another. now: the register before the first of them; it is updated."""
    done = DdlWork()
    for barrier in ahead:
        effect = outcomes(barrier.lsn, barrier.changes, now, rules)
        ignored = [outcome.mirrored.name for outcome in effect if outcome.is_ignored and outcome.mirrored]
        if ignored:
            done.executed.append((barrier.lsn, DdlClass.IGNORED, ignored))
        entries = [outcome.entry for outcome in effect if outcome.is_ignored and outcome.entry]
        effect = [outcome for outcome in effect if not outcome.is_ignored]
        if effect:
            ddl_class = strongest(outcome.ddl_class for outcome in effect)
            pinned = _pin(session, lake, barrier, now) if ddl_class is DdlClass.SELF_INVERSE else {}
            for outcome in effect:
                entry, n_invalid = _execute(session, lake, barrier, outcome, pinned)
                entries += [entry] if entry else []
                if entry and n_invalid:
                    done.invalid[str(entry.name)] += n_invalid
            done.executed.append((barrier.lsn, ddl_class, [name for name in barrier.names if name not in ignored]))
            done.touched |= {outcome.work.mirror_id for outcome in effect if outcome.work}
        now.put(entries)
        done.entries += entries
    return done


def _execute(
    session: SparkSession, lake: Lake, barrier: Barrier, outcome: Outcome, pinned: dict[str, int | None]
) -> tuple[TableEntry | None, int]:
    """Return (the table's next entry, number of values that became NULL)."""
    found = carry_out(session, lake, barrier.lsn, outcome.work, pinned) if outcome.work else 0
    return (outcome.stopped(barrier.lsn, found), 0) if isinstance(found, Stop) else (outcome.entry, found)


def _pin(session: SparkSession, lake: Lake, barrier: Barrier, now: TableRegister) -> dict[str, int | None]:
    tables = []
    for name in barrier.names:
        entry = now.get(name)
        if entry and entry.mirror_id:
            version = readable_version(session, lake.names.mirror(entry.mirror_id))
            tables.append(EpochTable(*name, entry.mirror_id, version))
    return barriers.pin(lake, LedgerRow(barrier.lsn, DdlClass.SELF_INVERSE, tuple(tables)))
