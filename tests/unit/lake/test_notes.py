"""The notes of commits: one of ours has the fields that we write, whatever others put into a lake's history."""

from __future__ import annotations

import json

import pytest

from mirrorlake.core.binlog.event_mark import EventMark
from mirrorlake.core.position import BinlogPosition
from mirrorlake.errors import RefusedError
from mirrorlake.lake.delta.notes import Payload, _parse, new_note
from mirrorlake.lake.delta.progress import parsing

PAYLOAD = {"epoch": 3, "applied_lsn": -1, "is_open": False, "answers": 0, "resume": "binlog.000001:4", "gtids": ""}


def test_a_note_of_ours_is_read_as_it_was_written():
    note = new_note(PAYLOAD | {"another": [None]}, (1 << 63) - 1, "mirror/chain", 7)
    assert _parse(json.dumps(note), "t") == note


@pytest.mark.parametrize(
    "fields",
    [
        {"applied_lsn": "0) OR reflect('java.lang.System', 'exit', 0"},
        {"applied_lsn": None}, {"applied_lsn": 1 << 63}, {"epoch": "1"}, {"epoch": True}, {"is_open": 1},
        {"answers": "x"}, {"resume": 5}, {"gtids": [1]}, {"step": 1.5}, {"last": {}},
        {"source": None}, {"flavor": []}, {"server": 5}, {"skip": None}, {"knows_before": "x"}, {"prepared": "x"},
        {"prepared": {"a": "b"}},
    ],
)  # fmt: skip
def test_a_payload_with_a_field_of_another_type_is_damaged(fields):
    with pytest.raises(RefusedError, match="a note that is not as mirrorlake writes it") as refused:
        _parse(json.dumps(new_note(PAYLOAD | fields, 5)), "t")
    assert refused.value.code == "lake-damaged"


@pytest.mark.parametrize("lsn", [1 << 63, -(1 << 63) - 1, 10**30, "5", 1.0, True])
def test_an_lsn_that_no_column_holds_is_damaged(lsn):
    with pytest.raises(RefusedError, match="a note that is not as mirrorlake writes it"):
        _parse(json.dumps(new_note(PAYLOAD, 5) | {"lsn": lsn}), "t")


def test_a_payload_without_a_field_that_is_needed_is_damaged():
    payload = Payload(PAYLOAD, "`bronze`.`events`")
    assert payload["epoch"] == 3 and payload.get("last") is None
    with pytest.raises(RefusedError, match="lake-damaged: the note of its newest commit lacks last"):
        payload["last"]


@pytest.mark.parametrize("parse", [BinlogPosition.parse, EventMark.parse])
def test_a_text_of_a_note_that_cannot_be_parsed_is_damaged(parse):
    with pytest.raises(RefusedError, match="lake-damaged: .* a text that mirrorlake does not write"), parsing("t"):
        parse("x")
