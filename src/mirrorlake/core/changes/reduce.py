"""Many row changes of one table -> the net effect on each key. The oracle of images.net_effect."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum

from mirrorlake.core.changes.row_change import DELETE, INSERT, UPDATE, Key, Row, RowChange, identity, split_key_change
from mirrorlake.errors import InternalError


class NetEffect(Enum):
    DELETED = "DELETED"


DELETED = NetEffect.DELETED
"""The key exists no more, if it ever did."""

# A key change counts as DELETE of the old key, then INSERT of the new one.
#
#   earlier  later    net effect on the key
#   INSERT   INSERT   impossible: the key is taken
#   INSERT   UPDATE   the later row
#   INSERT   DELETE   DELETED, so that a repeated batch removes what an earlier run of it put there
#   UPDATE   INSERT   impossible: the key is taken
#   UPDATE   UPDATE   the later row
#   UPDATE   DELETE   DELETED
#   DELETE   INSERT   the later row: a REPLACE
#   DELETE   UPDATE   impossible: there is no such row
#   DELETE   DELETE   impossible: there is no such row
#
# As the first change of a key, each op is possible: what was there before the batch is not known here.
_IMPOSSIBLE = {(INSERT, INSERT), (UPDATE, INSERT), (DELETE, UPDATE), (DELETE, DELETE)}


def reduce(changes: Iterable[RowChange], primary_key: tuple[str, ...]) -> dict[Key, Row | NetEffect]:
    """The last row of every key touched, or DELETED. changes: of one table, in order; their images are full.

    Raises InternalError, naming both changes, for a pair that no server can have written in this order.
    """
    last: dict[Key, RowChange] = {}
    for change in changes:
        for part in split_key_change(change, primary_key):
            key = identity(primary_key, part.before if part.op == DELETE else part.after)
            _refuse_impossible(last.get(key), part)
            last[key] = part
    return {key: DELETED if change.op == DELETE else change.after for key, change in last.items()}


def _refuse_impossible(earlier: RowChange | None, later: RowChange) -> None:
    if earlier and (earlier.op, later.op) in _IMPOSSIBLE:
        raise InternalError(
            "internal",
            f"{later.op} at {later.place} cannot follow {earlier.op} of the same key at {earlier.place}",
            table=f"{later.database}.{later.table}",
        )
