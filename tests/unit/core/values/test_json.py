"""Binary JSON against the same documents in plain Python."""

from __future__ import annotations

import struct
from random import Random

import pytest

from mirrorlake.core.values.kinds import JSON
from tests.support.json_encoding import Opaque, double_text, encode_json, json_text
from tests.support.one_value import MALFORMED, NO_ROOM, decoded

COLUMN = (JSON, 4, 0, 0, 0)
DECIMAL = Opaque(246, bytes.fromhex("04028c22"), "12.34")


def shown(document: bytes, room: int = 1 << 16):
    return decoded(COLUMN, len(document).to_bytes(4, "little") + document, room)


def nested(depth: int, is_object: bool):
    value: object = 7
    for _ in range(depth):
        value = {"k": value} if is_object else [value]
    return value


@pytest.mark.parametrize("is_large", [False, True])
@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({}, "{}"), ([], "[]"), (None, "null"), (True, "true"), (False, "false"), ("", '""'),
        ([0, -1, 32767, -32768, 65535, -32769, 2**32 - 1, -(2**31), 2**63 - 1, -(2**63), 2**64 - 1],
         "[0, -1, 32767, -32768, 65535, -32769, 4294967295, -2147483648, 9223372036854775807, -9223372036854775808,"
         " 18446744073709551615]"),
        ({"b": 1, "aa": [None, {"": "x"}]}, '{"b": 1, "aa": [null, {"": "x"}]}'),
        (["é😀\x7f", '"\\/\b\f\n\r\t\x00\x1f'], '["é😀\x7f", "\\"\\\\/\\b\\f\\n\\r\\t\\u0000\\u001f"]'),
        ([1.0, -0.0, 1e15, 1e14, 1e-15, 1e-16, 1234567890123456.5, 5e-324, 1.7976931348623157e308, 100.0, 0.1],
         "[1.0, -0.0, 1e15, 100000000000000.0, 0.000000000000001, 1e-16, 1234567890123456.5, 5e-324,"
         " 1.7976931348623157e308, 100.0, 0.1]"),
        ([DECIMAL, Opaque(246, bytes.fromhex("03037ffe"), "-0.001")], None),
        ([Opaque(10, struct.pack("<q", (2020 * 13 + 2) << 46 | 29 << 41), '"2020-02-29"'),
          Opaque(12, struct.pack("<q", ((9999 * 13 + 12) << 22 | 31 << 17 | 23 << 12 | 59 << 6 | 59) << 24 | 999999),
                 '"9999-12-31 23:59:59.999999"'),
          Opaque(11, struct.pack("<q", -((838 << 12 | 59 << 6 | 59) << 24)), '"-838:59:59.000000"'),
          Opaque(7, struct.pack("<q", 0), '"0000-00-00 00:00:00.000000"'),
          Opaque(15, b"\xff\x00", '"base64:type15:/wA="'), Opaque(252, b"", '"base64:type252:"'),
          Opaque(16, bytes(60), '"base64:type16:' + "A" * 76 + '\\nAAAA"')], None),
    ],
)  # fmt: skip
def test_a_document_is_shown_as_the_server_shows_it(value, text, is_large):
    if text is None:
        text = "[" + ", ".join(item.text for item in value) + "]"
    document = encode_json(value, is_large)
    assert shown(document) == text == json_text(value)


def random_document(random: Random, depth: int = 0):
    if depth < 5 and random.random() < 0.5:
        count = random.choice((0, 1, 2, 3, 6, 40))
        members = [random_document(random, depth + (1 if count < 10 else 9)) for _ in range(count)]
        return (
            members if random.random() < 0.5 else {f"{n}\n"[: random.randint(0, 9)]: v for n, v in enumerate(members)}
        )
    return random.choice((
        lambda: random.choice((None, True, False, DECIMAL)),
        lambda: random.choice((1, -1)) * random.getrandbits(random.randint(1, 63)),
        lambda: struct.unpack("<d", random.randbytes(7) + bytes([random.randrange(0x7F)]))[0],
        lambda: "".join(random.choices('ab"\\\x01é😀', k=random.choice((0, 3, 130)))),
    ))()  # fmt: skip


def test_random_documents(seed):
    random = Random(seed)
    for _ in range(300):
        value, is_large = random_document(random), random.random() < 0.5
        assert shown(encode_json(value, is_large), 1 << 20) == json_text(value)


def test_every_power_of_two_and_its_neighbours_have_the_shortest_digits():
    doubles = [struct.unpack("<d", (bits + k).to_bytes(8, "little"))[0]
               for bits in range(0, 0x7FF << 52, 1 << 52) for k in (-1, 0, 1) if bits + k > 0]  # fmt: skip
    assert shown(encode_json(doubles), 1 << 20) == "[" + ", ".join(map(double_text, doubles)) + "]"


def test_an_empty_document_is_null():
    assert shown(b"") == "null"


def test_a_large_container():
    value = {f"key {n}": "x" * 40 for n in range(2000)}
    assert encode_json(value)[0] == 1
    assert shown(encode_json(value), 1 << 20) == json_text(value)


@pytest.mark.parametrize("is_object", [False, True])
def test_depth_ends_at_100_containers(is_object):
    assert shown(encode_json(nested(100, is_object))) == json_text(nested(100, is_object))
    assert shown(encode_json(nested(101, is_object))) == MALFORMED


@pytest.mark.parametrize("value", [{"ab": [1, "xy", 1.5, DECIMAL]}, "text", 1.5, 2**40, DECIMAL, [1] * 9], ids=str)
def test_a_document_that_is_cut_is_malformed(value):
    document = encode_json(value)
    assert [shown(document[:n]) for n in range(1, len(document))] == [MALFORMED] * (len(document) - 1)


def test_any_damage_is_shown_as_something_or_malformed_but_reads_and_writes_within_bounds(seed):
    random, document = Random(seed), bytearray(encode_json([{"a": "b" * 9, "c": [1, 2.5, DECIMAL]}, [[]], "z"]))
    for _ in range(3000):
        damaged = bytearray(document)
        for _ in range(random.randint(1, 4)):
            damaged[random.randrange(len(damaged))] = random.choice(
                (0, 1, 2, 3, 12, 15, 127, 255, random.randrange(256))
            )
        assert shown(bytes(damaged)) not in ("", NO_ROOM)


@pytest.mark.parametrize("text", [b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xc0\x80", b"aaaaaaaaa\x80"], ids=bytes.hex)
@pytest.mark.parametrize("is_key", [False, True])
def test_a_string_that_is_no_utf8_is_malformed(text, is_key):
    whole = "x" * len(text)
    document = encode_json({whole: 1} if is_key else [whole])
    assert shown(document.replace(whole.encode(), text)) == MALFORMED


def test_bytes_that_only_some_versions_show_as_a_string_are_malformed():
    assert shown(encode_json([Opaque(253, "xy".encode("utf-16-be"), "")])) == MALFORMED


def test_members_that_share_a_value_cannot_grow_without_limit():
    inner = encode_json([1] * 30)[1:]
    document = bytearray(b"\x02" + (30).to_bytes(2, "little"))
    tail = 4 + 30 * 3
    document += (tail + len(inner)).to_bytes(2, "little") + (b"\x02" + tail.to_bytes(2, "little")) * 30 + inner
    assert shown(bytes(document)) == MALFORMED


@pytest.mark.parametrize("room", [0, 8, 2400, 2500])
def test_a_full_output_is_said(room):
    assert shown(encode_json(["x" * 100, 1.5, DECIMAL]), room) == NO_ROOM
