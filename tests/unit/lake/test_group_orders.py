"""A model of the commits by which processes share a lake's mirrors, in every order that is possible.

An old leader continues while a new one and a second group have taken over (the class ``ApplyGroup`` says why they may).
The log changes two mirrors, exchanges what is in them, and changes them again. In every state that any order of the
processes' commits and reads reaches: what the mirrors hold is right, each syncpoint has what the source had there, the
ledger has the exchange once, and a leader that is started there alone reaches the right end. Without any one of the
protocol's conditions some order breaks this, so the model can tell.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

import pytest

A, B = 0, 1
SWAP = 2
LOG = (A, B, SWAP, A, B)
"""A change of a mirror's rows, or the exchange of both."""
BOTH = frozenset((A, B))
CONDITIONS = ("plan follows the log's end", "mirror's transaction id", "pinned versions", "ledger's transaction id")

Rows = tuple[int, ...]
"""Of a mirror: which changes of the log it has, in their order."""


class Plan(NamedTuple):
    """first <= lsn < end."""

    first: int
    end: int

    @property
    def is_ddl(self) -> bool:
        return LOG[self.first] == SWAP

    @property
    def mirrors(self) -> frozenset[int]:
        return BOTH if self.is_ddl else frozenset(LOG[self.first : self.end])


class Lake(NamedTuple):
    """plans: the last one is open while is_open. mirrors: of each its versions, as (transaction id, rows). pins: which
    versions the exchange reads. syncpoints: of each its lsn and what can be read there."""

    plans: tuple[Plan, ...] = ()
    is_open: bool = False
    mirrors: tuple[tuple[tuple[int, Rows], ...], ...] = (((0, ()),), ((0, ()),))
    pins: tuple[int, int] | None = None
    ledger: tuple[int, ...] = ()
    syncpoints: tuple[tuple[int, tuple[Rows, Rows]], ...] = ()

    @property
    def lsn(self) -> int:
        ended = self.plans[:-1] if self.is_open else self.plans
        return ended[-1].end if ended else 0


class Process(NamedTuple):
    """Group ``number`` of ``count``. at: what it does next. seen: how many plans it knows of, and whether the last one
    is open. todo: mirrors of the plan that it has not come to."""

    number: int
    count: int
    at: str = "look"
    seen: tuple[int, bool] = (0, False)
    plan: Plan | None = None
    todo: frozenset[int] = frozenset()

    def owns(self, mirror: int) -> bool:
        return mirror % self.count + 1 == self.number


def source_at(lsn: int) -> tuple[Rows, Rows]:
    rows: list[Rows] = [(), ()]
    for change, what in enumerate(LOG[:lsn]):
        if what == SWAP:
            rows.reverse()
        else:
            rows[what] += (change,)
    return rows[A], rows[B]


def steps(lake: Lake, me: Process, without: str | None) -> Iterator[tuple[Lake, Process]]:
    """What this process may do next; each step is one commit or one read of the lake."""
    if me.at == "look":
        yield from _look(lake, me)
    elif me.at == "plan":
        yield from _plan(lake, me, without)
    elif me.at == "pin":
        versions = len(lake.mirrors[A]) - 1, len(lake.mirrors[B]) - 1
        yield lake._replace(pins=lake.pins or versions), me._replace(at="mirrors")
    elif me.at == "mirrors":
        for mirror in me.todo:
            yield _commit(lake, me.plan, mirror, without), me._replace(todo=me.todo - {mirror})
        if not me.todo:
            yield lake, me._replace(at="wait" if me.number == 1 else "look")
    elif me.at == "wait":
        if all(lake.mirrors[mirror][-1][0] >= me.plan.end for mirror in me.plan.mirrors):
            yield lake, me._replace(at="record")
    elif me.at == "record":
        is_new = me.plan.is_ddl and (me.plan.first not in lake.ledger or without == "ledger's transaction id")
        ledger = (*lake.ledger, me.plan.first) if is_new else lake.ledger
        yield lake._replace(ledger=ledger), me._replace(at="syncpoint")
    elif me.at == "syncpoint":
        yield _with_syncpoint(lake, me.plan.end), me._replace(at="plan")
        yield lake, me._replace(at="plan")


def _look(lake: Lake, me: Process) -> Iterator[tuple[Lake, Process]]:
    """A leader continues with the plan that is open; another group takes its share of one that it does not know."""
    seen, plan = (len(lake.plans), lake.is_open), lake.plans[-1] if lake.is_open else None
    if me.number == 1:
        yield lake, _begin(me._replace(seen=seen, plan=plan)) if plan else me._replace(seen=seen, at="plan")
    elif plan and not plan.is_ddl and seen != me.seen:
        yield lake, _begin(me._replace(seen=seen, plan=plan))


def _begin(me: Process) -> Process:
    if me.plan.is_ddl:
        return me._replace(at="pin", todo=BOTH)
    return me._replace(at="mirrors", todo=frozenset(filter(me.owns, me.plan.mirrors)))


def _plan(lake: Lake, me: Process, without: str | None) -> Iterator[tuple[Lake, Process]]:
    """The end of the last plan and the next plan are one commit; the log's end, too, closes the last plan."""
    if (len(lake.plans), lake.is_open) != me.seen and without != "plan follows the log's end":
        yield lake, me._replace(at="stopped")
        return
    first = me.plan.end if me.plan else lake.lsn
    if first == len(LOG):
        yield lake._replace(is_open=False), me._replace(at="stopped")
    for end in range(first + 1, min(first + 2, len(LOG)) + 1):
        if SWAP not in LOG[first:end] or end == first + 1:
            plan = Plan(first, end)
            now = lake._replace(plans=(*lake.plans, plan), is_open=True)
            yield now, _begin(me._replace(seen=(len(now.plans), True), plan=plan))


def _commit(lake: Lake, plan: Plan, mirror: int, without: str | None) -> Lake:
    """The mirror's version that holds the plan; none where its transaction id says that it is there."""
    transaction, rows = lake.mirrors[mirror][-1]
    if transaction >= plan.end and without != "mirror's transaction id":
        return lake
    if plan.is_ddl:
        other = lake.mirrors[1 - mirror]
        rows = other[-1 if without == "pinned versions" else lake.pins[1 - mirror]][1]
    else:
        rows += tuple(change for change in range(plan.first, plan.end) if LOG[change] == mirror)
    versions = list(lake.mirrors)
    versions[mirror] = (*versions[mirror], (plan.end, rows))
    return lake._replace(mirrors=tuple(versions))


def _with_syncpoint(lake: Lake, lsn: int) -> Lake:
    """The newest version of each mirror that holds nothing beyond; a name is published once."""
    if lsn in dict(lake.syncpoints):
        return lake
    found = tuple([rows for transaction, rows in versions if transaction <= lsn][-1] for versions in lake.mirrors)
    return lake._replace(syncpoints=(*lake.syncpoints, (lsn, found)))


def is_right(lake: Lake) -> bool:
    held = all(
        rows == source_at(transaction)[mirror]
        for mirror, versions in enumerate(lake.mirrors)
        for transaction, rows in versions
    )
    in_order = all(before.end == after.first for before, after in pairwise(lake.plans))
    points = all(rows == source_at(lsn) for lsn, rows in lake.syncpoints)
    return held and in_order and points and lake.ledger in ((), (LOG.index(SWAP),))


def ends_right(lake: Lake, without: str | None) -> bool:
    """With one leader alone, whatever the others have left."""
    me = Process(1, 1)
    while me.at != "stopped":
        lake, me = next(steps(lake, me, without))
    rows = tuple(versions[-1][1] for versions in lake.mirrors)
    return is_right(lake) and rows == source_at(len(LOG)) and lake.ledger == (LOG.index(SWAP),)


def orders(without: str | None = None) -> tuple[int, bool]:
    """How many states there are, up to one that is wrong, and whether all are right."""
    start = Lake(), (Process(1, 1), Process(1, 2), Process(2, 2))
    known, ahead, ends = {start}, [start], {}
    while ahead:
        lake, processes = ahead.pop()
        if lake not in ends:
            ends[lake] = is_right(lake) and ends_right(lake, without)
        if not ends[lake]:
            return len(known), False
        for i, process in enumerate(processes):
            for now, next_process in steps(lake, process, without):
                state = now, (*processes[:i], next_process, *processes[i + 1 :])
                if state not in known:
                    known.add(state)
                    ahead.append(state)
    return len(known), True


def test_every_order_of_the_commits_of_old_and_new_groups_is_right():
    n_states, is_all_right = orders()
    assert is_all_right
    assert n_states > 100_000


@pytest.mark.parametrize("without", CONDITIONS)
def test_some_order_is_wrong_without_one_of_the_conditions(without):
    assert orders(without)[1] is False


def test_the_model_ends_with_what_the_source_has():
    assert source_at(len(LOG)) == ((1, 3), (0, 4))
    assert ends_right(Lake(), None)
