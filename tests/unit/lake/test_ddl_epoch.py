"""DDL in groups that have no table in common."""

from __future__ import annotations

import pytest

from mirrorlake.core.schema.history import DefinitionChange
from mirrorlake.lake.gold.ddl.barriers import Barrier
from mirrorlake.lake.gold.ddl.epoch import independent


def barrier(lsn: int, names: str) -> Barrier:
    return Barrier(lsn, tuple(DefinitionChange("alter", "shop", name) for name in names))


@pytest.mark.parametrize(
    ("statements", "groups"),
    [
        ([], []),
        (["a", "b", "a"], [[2], [1, 3]]),
        (["a", "b", "c", "bd", "d"], [[1], [3], [2, 4, 5]]),
        (["a", "b", "c", "ca", "b"], [[1, 3, 4], [2, 5]]),
        (["a", "b", "c", "abc"], [[1, 2, 3, 4]]),
    ],
    ids=str,
)
def test_groups_keep_the_order_of_the_log(statements, groups):
    found = independent([barrier(lsn, names) for lsn, names in enumerate(statements, 1)])
    assert [[b.lsn for b in group] for group in found] == groups
