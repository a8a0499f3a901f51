"""Differences applied to binary JSON against the same in plain Python."""

from __future__ import annotations

import json
from random import Random

import numpy as np
import pytest

from mirrorlake.core.values.json_patch import patched_bound, put_patched
from mirrorlake.core.values.json_tree import tree_bound
from mirrorlake.core.values.kinds import JSON
from tests.support.json_differences import (
    INSERT,
    REMOVE,
    REPLACE,
    Difference,
    applied,
    encode_differences,
    random_differences,
    random_value,
    sorted_value,
)
from tests.support.json_encoding import encode_json, json_text
from tests.support.linear_time import assert_linear
from tests.support.one_value import MALFORMED, NO_ROOM, decoded

COLUMN = (JSON, 4, 0, 0, 0)
_EDGE, _MARGIN = 0xA5, 64
BOOK = sorted_value({"title": "x" * 300, "tags": ["a", ["b", 70_000], {"c": None}], "größe": -1.5, "n": {}})


def after(document: bytes, differences: bytes, room: int | None = None):
    """The text of the document with the differences, MALFORMED or NO_ROOM. Nothing beyond the room is touched.

    room: bytes; if not told, as many as these differences may need.
    """
    bound = patched_bound(len(document), len(differences))
    room = bound + tree_bound(len(document), len(differences)) if room is None else room
    stored = np.frombuffer(document + differences, np.uint8).copy()
    out = np.full(room + _MARGIN, _EDGE, np.uint8)
    p, o = stored.ctypes.data, out.ctypes.data
    behind = put_patched(p, len(document), p + len(document), p + len(stored), o, o + room)
    assert (out[room:] == _EDGE).all() and stored.tobytes() == document + differences
    if behind < 0:
        return int(behind)
    found = out[: behind - o].tobytes()
    assert len(found) <= bound
    return decoded(COLUMN, len(found).to_bytes(4, "little") + found, 1 << 23)


@pytest.mark.parametrize("is_large", [False, True])
@pytest.mark.parametrize(
    ("value", "differences", "text"),
    [
        ({"a": 1}, [], '{"a": 1}'),
        ([1, 2], [Difference(REPLACE, (1,), "b"), Difference(REPLACE, (-2,), None)], '[null, "b"]'),
        ([1], [Difference(INSERT, (9,), 2), Difference(INSERT, (0,), 0), Difference(INSERT, (1,), [])],
         "[0, [], 1, 2]"),
        ([], [Difference(INSERT, (-1,), {})], "[{}]"),
        ([1, 2, 3], [Difference(REMOVE, (-1,)), Difference(REMOVE, (0,))], "[2]"),
        ({"b": 1, "aa": 2},
         [Difference(INSERT, ("c",), 3), Difference(INSERT, ("",), 4), Difference(INSERT, ("ab",), 5)],
         '{"": 4, "b": 1, "c": 3, "aa": 2, "ab": 5}'),
        ({"": 1, 'q"\\\n\x01é': [2]}, [Difference(REMOVE, ("",)), Difference(REPLACE, ('q"\\\n\x01é', 0), -(2**31))],
         '{"q\\"\\\\\\n\\u0001é": [-2147483648]}'),
        ({"a": {"b": {"c": [1, {"d": 2}]}}}, [Difference(REPLACE, ("a", "b", "c", 1, "d"), {"e": "f" * 200})],
         '{"a": {"b": {"c": [1, {"d": {"e": "' + "f" * 200 + '"}}]}}}'),
        ({"a": [1]},
         [Difference(REMOVE, ("a",)), Difference(INSERT, ("a",), {"b": 1}), Difference(INSERT, ("a", "a"), 2)],
         '{"a": {"a": 2, "b": 1}}'),
    ],
)  # fmt: skip
def test_differences_are_applied_one_after_another(value, differences, text, is_large):
    assert json_text(applied(value, differences)) == text
    assert after(encode_json(value, is_large), encode_differences(differences, is_large)) == text


def test_random_differences(seed):
    random = Random(seed)
    for _ in range(300):
        value, is_large = random_value(random), random.random() < 0.5
        differences = random_differences(random, value, random.choice((1, 1, 2, 5, 30)))
        found = after(encode_json(value, is_large), encode_differences(differences, random.random() < 0.5))
        assert found == json_text(applied(value, differences)), (value, differences)


def test_a_document_that_grows_beyond_64_kib():
    value = {"list": [70_000 + n for n in range(9000)], "text": "y" * 60_000}
    differences = [Difference(INSERT, ("list", 9000), "z" * 60_000), Difference(REMOVE, ("text",))]
    differences += [Difference(REPLACE, ("list", n), {"n": n}) for n in range(0, 9000, 999)]
    text = after(encode_json(value), encode_differences(differences))
    assert text == json_text(applied(value, differences)) and len(text) > 100_000


def many(operation: int, n: int, is_object: bool) -> tuple[bytes, bytes]:
    """A document of n members, and a difference for each of them, from the last one on."""
    names = [f"{i:06d}" if is_object else i for i in range(n)]
    value = dict.fromkeys(names, 70_000) if is_object else [70_000] * n
    legs = [(f"{name}x",) if is_object and operation == INSERT else (name,) for name in reversed(names)]
    return encode_json(value), encode_differences([Difference(operation, leg, [0]) for leg in legs])


@pytest.mark.parametrize("operation", [REPLACE, INSERT, REMOVE])
@pytest.mark.parametrize("is_object", [False, True])
def test_many_differences_take_time_that_grows_with_their_bytes(operation, is_object):
    n_left = {REPLACE: 1_000, INSERT: 2_000, REMOVE: 0}[operation]
    assert len(json.loads(after(*many(operation, 1_000, is_object)))) == n_left
    assert_linear(lambda encoded: after(*encoded), lambda n: many(operation, n, is_object), 1_000)


def test_a_document_that_was_changed_in_place_has_unused_bytes():
    stored = bytes.fromhex("02 04 00 13 00 05 0800 05 0700 05 0800 05 0800 05 0900")  # MySQL 9.7: the last was removed
    assert after(stored, encode_differences([Difference(INSERT, (4,), "new"), Difference(REMOVE, (-2,))])) == (
        '[8, 7, 8, "new"]'
    )


@pytest.mark.parametrize(
    "path",
    ["", "$", "a", "$a", "$.", "$[]", "$[x]", "$[0", "$[0]x", "$.a.", "$.a b", '$."a', '$."\\x"', '$."\\u00e9"',
     '$."\\u00"', "$[last", "$[last-]", "$[last+1]", "$[-1]", "$[99999999999999999999]", "$.*", "$[*]", "$**.a",
     "$.b", "$.a[1]", "$.a.c", "$.a[0].c", "$[0]", "$.a[last-1]"],
)  # fmt: skip
def test_a_path_that_is_none_or_leads_nowhere_is_malformed(path):
    difference = bytes((REPLACE, len(path.encode()))) + path.encode() + b"\x03\x05\x01\x00"
    assert after(encode_json({"a": [1]}), difference) == MALFORMED


@pytest.mark.parametrize(
    "difference",
    [bytes((3, 3)) + b"$.a\x03\x05\x01\x00", bytes((0, 251)), bytes((0, 255)) + b"$.a",
     b"\0\xfe" + b"\xff" * 8 + b"$.a",
     b"\1\3$.a\x03\x05\x01\x00", b"\0\3$.a\0", b"\0\3$.a\x04\x05\x01\x00\x00", b"\0\3$.a\x02\x05\x01",
     b"\0\3$.a\x01\x0c", b"\0\3$.a\x06\x02\x00\x00\x09\x00\x00", b"\2\3$.b"],
)  # fmt: skip
def test_what_does_not_add_up_is_malformed(difference):
    assert after(encode_json({"a": 1}), difference) == MALFORMED


@pytest.mark.parametrize("value", [7, "text", None, [], {}])
def test_a_document_without_the_place_is_malformed(value):
    document = b"" if value is None else encode_json(value)
    assert after(document, encode_differences([Difference(REMOVE, ("a",))])) == MALFORMED
    assert after(document, encode_differences([Difference(REPLACE, (0,), 1)])) == MALFORMED


def test_differences_that_are_cut_are_malformed():
    differences = [
        Difference(REPLACE, ("title",), ["x", 1.5]),
        Difference(REMOVE, ("tags", 0)),
        Difference(INSERT, ("z",), 1),
    ]
    encoded = [bytes(encode_differences([each])) for each in differences]
    edges = {0: 0, len(encoded[0]): 1, len(encoded[0] + encoded[1]): 2}
    whole = b"".join(encoded)
    for n in range(len(whole)):
        wanted = json_text(applied(BOOK, differences[: edges[n]])) if n in edges else MALFORMED
        assert after(encode_json(BOOK), whole[:n]) == wanted


def test_members_that_share_a_value_cannot_grow_without_limit():
    inner = encode_json([1] * 30)[1:]
    document = bytearray(b"\x02" + (30).to_bytes(2, "little"))
    tail = 4 + 30 * 3
    document += (tail + len(inner)).to_bytes(2, "little") + (b"\x02" + tail.to_bytes(2, "little")) * 30 + inner
    assert after(bytes(document), encode_differences([Difference(REMOVE, (0,))])) == MALFORMED


def test_any_damage_gives_something_or_is_malformed_but_reads_and_writes_within_bounds(seed):
    random = Random(seed)
    document = encode_json(BOOK)
    differences = encode_differences(random_differences(random, BOOK, 4))
    for _ in range(3000):
        damaged = bytearray(document + differences)
        for _ in range(random.randint(1, 4)):
            damaged[random.randrange(len(damaged))] = random.choice((0, 1, 2, 3, 12, 127, 255, random.randrange(256)))
        try:
            assert after(bytes(damaged[: len(document)]), bytes(damaged[len(document) :])) not in ("", NO_ROOM)
        except UnicodeDecodeError:
            pass


@pytest.mark.parametrize("room", [0, 64, 850, 1000])
def test_a_full_output_is_said(room):
    assert after(encode_json(BOOK), encode_differences([Difference(REMOVE, ("n",))]), room) == NO_ROOM
