"""Many row changes of one table -> the net effect on each key. The oracle of ``images`` and ``partial_images``."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

from mirrorlake.errors import InternalError
from tests.support.row_change import DELETE, INSERT, UPDATE, Key, Row, RowChange, identity, split_key_change


class NetEffect(Enum):
    DELETED = "DELETED"


DELETED = NetEffect.DELETED
"""The key exists no more, if it ever did."""


@dataclass(frozen=True, slots=True)
class Patch:
    """The row that had the key ``base`` before the batch, with some columns changed."""

    base: Key
    changed: Row


Effect = Row | Patch | NetEffect

# A key change counts as DELETE of the old key, then INSERT of the new one.
#
#   earlier  later    net effect on the key
#   INSERT   INSERT   impossible: the key is taken
#   INSERT   UPDATE   the later row; columns that it lacks are the earlier's
#   INSERT   DELETE   DELETED, so that a repeated batch removes what an earlier run of it put there
#   UPDATE   INSERT   impossible: the key is taken
#   UPDATE   UPDATE   the later row; columns that it lacks are the earlier's
#   UPDATE   DELETE   DELETED
#   DELETE   INSERT   the later row: a REPLACE
#   DELETE   UPDATE   impossible: there is no such row
#   DELETE   DELETE   impossible: there is no such row
#
# As the first change of a key, each op is possible: what was there before the batch is not known here.
_IMPOSSIBLE = {(INSERT, INSERT), (UPDATE, INSERT), (DELETE, UPDATE), (DELETE, DELETE)}


def reduce(changes: Iterable[RowChange], primary_key: tuple[str, ...]) -> dict[Key, Effect]:
    """The last row of every key touched, or what changed of it, or DELETED. changes: of one table, in order.

    Raises InternalError, naming both changes, for a pair that no server can have written in this order.
    """
    last: dict[Key, RowChange] = {}
    effects: dict[Key, Effect] = {}
    for change in changes:
        row = _updated(change, effects, primary_key) if change.partial else change.after
        for part in split_key_change(change, primary_key):
            key = identity(primary_key, part.before if part.op == DELETE else part.after)
            _refuse_impossible(last.get(key), part)
            last[key], effects[key] = part, DELETED if part.op == DELETE else row
    return effects


def _updated(change: RowChange, effects: dict[Key, Effect], primary_key: tuple[str, ...]) -> Row | Patch:
    key = identity(primary_key, change.before)
    earlier = effects.get(key)
    if isinstance(earlier, Patch):
        return Patch(earlier.base, {**earlier.changed, **change.after})
    if earlier is None or earlier is DELETED:
        return Patch(key, change.after)
    return {**earlier, **change.after}


def _refuse_impossible(earlier: RowChange | None, later: RowChange) -> None:
    if earlier and (earlier.op, later.op) in _IMPOSSIBLE:
        raise InternalError(
            "internal",
            f"{later.op} at {later.place} cannot follow {earlier.op} of the same key at {earlier.place}",
            table=f"{later.database}.{later.table}",
        )
