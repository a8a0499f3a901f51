"""reduce: the net effect of a batch, against replaying its changes one at a time."""

from __future__ import annotations

import pickle

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mirrorlake.errors import InternalError
from tests.support.reduce import DELETED, Patch, reduce
from tests.support.row_change import DELETE, INSERT, UPDATE, RowChange, is_key_change, split_key_change

KEY = ("region", "id")


def row(number: int, value: object = None, region: str = "eu") -> dict:
    return {"id": number, "value": value, "region": region}


def change(op: str, before: dict | None, after: dict | None, ordinal: int = 0) -> RowChange:
    return RowChange(op, "shop", "orders", before, after, 77, ordinal)


def inserted(after, ordinal=0):
    return change(INSERT, None, after, ordinal)


def updated(before, after, ordinal=0):
    return change(UPDATE, before, after, ordinal)


def deleted(before, ordinal=0):
    return change(DELETE, before, None, ordinal)


def key_row(number: int) -> dict:
    return {"id": number, "region": "eu"}


ONE = ("eu", 1)


@pytest.mark.parametrize(
    ("changes", "net"),
    [
        ([inserted(row(1, "a"))], {ONE: row(1, "a")}),
        ([updated(row(1, "a"), row(1, "b"))], {ONE: row(1, "b")}),
        ([deleted(row(1, "a"))], {ONE: DELETED}),
        ([inserted(row(1, "a")), updated(row(1, "a"), row(1, "b"))], {ONE: row(1, "b")}),
        ([inserted(row(1, "a")), deleted(row(1, "a"))], {ONE: DELETED}),
        ([updated(row(1, "a"), row(1, "b")), updated(row(1, "b"), row(1, "c"))], {ONE: row(1, "c")}),
        ([updated(row(1, "a"), row(1, "b")), deleted(row(1, "b"))], {ONE: DELETED}),
        ([deleted(row(1, "a")), inserted(row(1, "b"))], {ONE: row(1, "b")}),
        ([], {}),
    ],
)
def test_every_possible_pair_has_the_net_effect_of_the_table(changes, net):
    assert reduce(changes, KEY) == net


@pytest.mark.parametrize(
    "pair",
    [
        [inserted(row(1)), inserted(row(1))],
        [updated(row(1), row(1, "b")), inserted(row(1))],
        [deleted(row(1)), updated(row(1), row(1, "b"))],
        [deleted(row(1)), deleted(row(1))],
        [updated(row(1), row(2)), deleted(row(1))],
        [inserted(row(2)), updated(row(1), row(2))],
    ],
)
def test_an_impossible_pair_is_named_with_both_places_and_no_value(pair):
    earlier, later = pair[0], RowChange(pair[1].op, "shop", "orders", pair[1].before, pair[1].after, 99, 4)
    with pytest.raises(InternalError) as refused:
        reduce([earlier, later], KEY)
    text = str(refused.value)
    assert "tx_lsn 77 ordinal 0" in text and "tx_lsn 99 ordinal 4" in text and "shop.orders" in text
    assert "eu" not in text


def patched(before, after):
    return RowChange(UPDATE, "shop", "orders", before, after, 77, 1, partial=True)


TWO = ("eu", 2)


@pytest.mark.parametrize(
    ("changes", "net"),
    [
        ([patched(key_row(1), {**key_row(1), "value": 2})], {ONE: Patch(ONE, {**key_row(1), "value": 2})}),
        ([inserted(row(1, "a") | {"b": 5}), patched(key_row(1), {**key_row(1), "b": 6})],
         {ONE: row(1, "a") | {"b": 6}}),
        ([patched(key_row(1), {**key_row(1), "b": 6}), patched(key_row(1), {**key_row(2), "value": 1})],
         {ONE: DELETED, TWO: Patch(ONE, {**key_row(2), "b": 6, "value": 1})}),
        ([patched(key_row(1), {**key_row(1), "b": 6}), deleted(key_row(1)), inserted(row(1, "a"))], {ONE: row(1, "a")}),
    ],
)  # fmt: skip
def test_an_update_of_some_columns_leaves_the_others_as_they_were(changes, net):
    assert reduce(changes, KEY) == net


def test_a_key_change_deletes_the_old_key_and_inserts_the_new_one():
    assert reduce([updated(row(1, "a"), row(2, "a"))], KEY) == {ONE: DELETED, ("eu", 2): row(2, "a")}


def test_two_keys_swapped_through_a_third_leave_it_deleted():
    swap = [updated(row(1, "a"), row(9, "a")), updated(row(2, "b"), row(1, "b")), updated(row(9, "a"), row(2, "a"))]
    assert reduce(swap, KEY) == {ONE: row(1, "b"), ("eu", 2): row(2, "a"), ("eu", 9): DELETED}


def test_only_an_update_of_key_columns_is_a_key_change():
    moved = updated(row(1), row(1, region="us"), ordinal=3)
    assert is_key_change(moved, KEY) and not is_key_change(updated(row(1), row(1, "b")), KEY)
    assert split_key_change(moved, KEY) == (deleted(row(1), 3), inserted(row(1, region="us"), 3))


def test_changes_and_net_effects_travel_between_processes():
    assert pickle.loads(pickle.dumps(inserted(row(1)))) == inserted(row(1))
    assert pickle.loads(pickle.dumps(DELETED)) is DELETED


# --- any sequence that a server can write

_keys = st.integers(0, 4)
_steps = st.lists(st.tuples(st.sampled_from((INSERT, UPDATE, "MOVE", DELETE)), _keys, _keys), max_size=40)


_patient = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
"""With a machine that does much else."""


@_patient
@given(present=st.sets(_keys), steps=_steps)
def test_reduce_equals_row_at_a_time_replay(present, steps):
    start, changes, end = possible(present, steps)
    assert applied(start, reduce(changes, KEY)) == end


@_patient
@given(present=st.sets(_keys), steps=_steps, cuts=st.lists(st.integers(0, 40), max_size=4))
def test_any_cut_and_any_repetition_of_a_batch_gives_the_same_rows(present, steps, cuts):
    start, changes, end = possible(present, steps)
    edges = [0, *sorted(cuts), len(changes)]
    rows = start
    for low, high in zip(edges, edges[1:]):  # noqa: B905 - pairs of neighbours
        net = reduce(changes[low:high], KEY)
        rows = applied(applied(rows, net), net)
    assert rows == end


def possible(present: set[int], steps) -> tuple[dict, list[RowChange], dict]:
    """Rows before, changes, rows after: the steps that make sense, one at a time."""
    rows = {("eu", number): row(number, "old") for number in present}
    start, changes = dict(rows), []
    for count, (op, number, other) in enumerate(steps):
        key, target = ("eu", number), ("eu", other)
        if op == INSERT and key not in rows:
            rows[key] = row(number, count)
            changes.append(inserted(rows[key], count))
        elif op == UPDATE and key in rows:
            before, rows[key] = rows[key], row(number, count)
            changes.append(updated(before, rows[key], count))
        elif op == "MOVE" and key in rows and target not in rows:
            before = rows.pop(key)
            rows[target] = row(other, count)
            changes.append(updated(before, rows[target], count))
        elif op == DELETE and key in rows:
            changes.append(deleted(rows.pop(key), count))
    return start, changes, rows


def applied(rows: dict, net: dict) -> dict:
    result = {key: value for key, value in rows.items() if key not in net}
    return result | {key: value for key, value in net.items() if value is not DELETED}
