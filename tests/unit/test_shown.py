"""Text of others on a terminal and in files that programs read: nothing in it steers anything."""

from __future__ import annotations

import csv
import io
import json
import sys
import unicodedata

import pyarrow as pa
import pytest

from mirrorlake.cli import tell
from mirrorlake.errors import RefusedError, RetryableError, UsageError
from mirrorlake.jobs.show.output import show_list, show_table, write_rows
from mirrorlake.jobs.show.view import LineView, open_view, refusal_lines
from mirrorlake.lake.gold.control.register import TableEntry
from mirrorlake.shown import MOST, as_line, escape_what_it_lacks, json_text, say, shown

STEERING = [chr(n) for n in range(0x20) if chr(n) not in "\n\t"] + [chr(n) for n in range(0x7F, 0xA0)]
STEERING += [*"\u061c\u200e\u200f\u2028\u2029\u202a\u202e\u2066\u2069", "\ud800", "\udfff"]
HOSTILE = "a\x1b]0;title\x07\x1b[2J\x9b31m\u202eb\x00\r"
AS_SHOWN = r"a\x1b]0;title\x07\x1b[2J\x9b31m\u202eb\x00\x0d"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def steers(text: str) -> list[str]:
    kinds = ("Cc", "Cs", "Zl", "Zp")
    return [c for c in text if c not in "\n\t" and (unicodedata.category(c) in kinds or c in STEERING)]


@pytest.mark.parametrize("sign", STEERING)
def test_every_character_that_steers_is_shown_by_its_number(sign):
    number = f"x{ord(sign):02x}" if ord(sign) < 256 else f"u{ord(sign):04x}"
    assert shown(f"a{sign}b") == f"a\\{number}b"
    assert json.loads(json_text({sign: [sign]})) == {sign: [sign]} and not steers(json_text({sign: [sign]}))


def test_a_long_text_is_cut_and_other_text_stays():
    assert shown("x" * (MOST + 1)) == "x" * MOST + "..." and shown("x" * MOST) == "x" * MOST
    assert shown("\x1b" * 9, 2) == r"\x1b\x1b..." and shown("x" * 9999, None) == "x" * 9999
    assert shown("Grüße, 日本 👩‍👩‍👧 \\x1b\n\tx") == "Grüße, 日本 👩‍👩‍👧 \\x1b\n\tx"


def test_no_name_begins_a_line_of_its_own(capsys):
    table = "shop.a\ndone: nothing new\tx"
    say(f"streaming {table}: 3 rows", sys.stdout)
    assert capsys.readouterr().out == "streaming shop.a\\x0adone: nothing new\\x09x: 3 rows\n"
    stream = io.StringIO()
    with open_view(stream) as view:
        view.say(f"invalid   {table}: 1 became NULL")
    assert len(stream.getvalue().splitlines()) == 1
    lines = refusal_lines(TableEntry(4, "shop", "a\ndone", "refused").refused(4, "needs-resync", "b\nc"))
    assert [len(as_line(line).splitlines()) for line in lines] == [1, 1]


@pytest.mark.parametrize("verbose", [False, True])
def test_an_error_with_text_of_a_server_is_two_short_lines(capsys, verbose):
    error = RetryableError("server-lost", HOSTILE + "x" * 5000 + "\nsecond", position=HOSTILE, table=HOSTILE)
    assert tell(error, verbose) == 4
    told = capsys.readouterr()
    assert not steers(told.err) and told.out == ""
    what, hint = told.err.splitlines()[-2:]
    assert what == f"server-lost: {AS_SHOWN}{'x' * (MOST - len(HOSTILE))}... (table {AS_SHOWN}, at {AS_SHOWN})"
    assert hint == error.hint


def test_a_table_shows_names_and_values_of_others_escaped_and_cut():
    stream = io.StringIO()
    show_table([HOSTILE], [[HOSTILE], ["x" * 5000]], stream, HOSTILE)
    assert not steers(stream.getvalue()) and stream.getvalue().count(AS_SHOWN) == 3
    assert "x" * MOST + "..." in stream.getvalue() and "x" * (MOST + 1) not in stream.getvalue()


def test_json_keeps_every_value_and_has_no_such_character():
    rows, stream = pa.table({HOSTILE: [HOSTILE, "x" * 5000]}), io.StringIO()
    write_rows(rows, "json", stream)
    assert not steers(stream.getvalue()) and json.loads(stream.getvalue()) == rows.to_pylist()
    show_list([{HOSTILE: HOSTILE}], (), (), True, stream := io.StringIO())
    assert not steers(stream.getvalue()) and json.loads(stream.getvalue()) == [{HOSTILE: HOSTILE}]


def test_csv_keeps_every_value_for_programs_and_escapes_it_on_a_terminal():
    rows, program, terminal = pa.table({HOSTILE: [HOSTILE]}), io.StringIO(newline=""), Terminal(newline="")
    write_rows(rows, "csv", program)
    write_rows(rows, "csv", terminal)
    assert list(csv.reader(io.StringIO(program.getvalue(), newline=""))) == [[HOSTILE], [HOSTILE]]
    assert not steers(terminal.getvalue()) and terminal.getvalue() == f"{AS_SHOWN}\n{AS_SHOWN}\n"


def test_the_view_of_a_run_escapes_what_it_says():
    stream = io.StringIO()
    with open_view(stream) as view:
        assert isinstance(view, LineView)
        view.retrying(RetryableError("server-lost", HOSTILE), 1)
        view.say(HOSTILE)
    assert not steers(stream.getvalue()) and stream.getvalue().count(AS_SHOWN) == 2


def test_the_error_itself_keeps_what_was_said():
    assert RefusedError("log-event", HOSTILE).message == HOSTILE


def test_an_output_of_another_encoding_gets_escapes_of_json():
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    escape_what_it_lacks(stream)
    print(json_text(["é😀"]), file=stream, flush=True)
    assert stream.buffer.getvalue() == b'[\n "\\u00e9\\ud83d\\ude00"\n]\n'
    assert json.loads(stream.buffer.getvalue()) == ["é😀"]


def _invalid_text() -> pa.Array:
    return pa.StringArray.from_buffers(1, pa.py_buffer(b"\0\0\0\0\1\0\0\0"), pa.py_buffer(b"\xff"))


@pytest.mark.parametrize("form", ["table", "json", "csv"])
@pytest.mark.parametrize(
    "values",
    [
        _invalid_text(),
        pa.array([40_000_000], pa.date32()),
        pa.array([-800_000], pa.date32()),
        pa.array([10**18], pa.timestamp("us")),
        pa.array([10**18], pa.timestamp("us", "UTC")),
        pa.ListArray.from_arrays([0, 1], _invalid_text()),
    ],
    ids=["text", "late date", "early date", "late time", "late moment", "list"],
)
def test_a_value_that_only_spark_can_hold_is_named_by_its_column(values, form):
    stream = io.StringIO()
    with pytest.raises(UsageError, match="column seen has") as refused:
        write_rows(pa.table({"id": [1], "seen": values}), form, stream)
    assert (refused.value.code, stream.getvalue()) == ("sql", "")


def test_a_name_with_a_line_end_makes_no_row_of_a_list():
    stream = io.StringIO()
    show_list([], ("table", "state"), [("d.a", "equal"), ("d.b\n  d.c   equal", "different")], False, stream)
    assert [line.split()[0] for line in stream.getvalue().splitlines() if line.strip()][2:] == ["d.a", "d.b\\x0a"]
