"""Every refusal has a code, a line that says what to do next, and a row in docs/refusals.md."""

from __future__ import annotations

import ast
import io
import pickle
import re
from pathlib import Path

import pytest

from mirrorlake import errors
from mirrorlake.errors import REFUSALS, InternalError, MirrorlakeError, RefusedError, RetryableError, UsageError
from mirrorlake.jobs.show.health import show_refused
from mirrorlake.lake.gold.control.health import RefusedTable

CHECKOUT = Path(__file__).resolve().parents[2]
KINDS = (RetryableError, RefusedError, UsageError, InternalError)


def raised_codes() -> dict[str, str]:
    """Code -> a line of the source that raises it."""
    kinds = {kind.__name__ for kind in KINDS}
    codes = {}
    for file in sorted((CHECKOUT / "src").rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] in kinds and node.args:
                first = node.args[0]
                if isinstance(first, ast.Constant):
                    codes[first.value] = f"{file.name}:{node.lineno}"
    return codes


def documented() -> list[tuple[str, str]]:
    """(code, what to do) of every row of docs/refusals.md."""
    rows = re.findall(r"^\| `([a-z-]+)` \|.*\| (.+) \|$", (CHECKOUT / "docs/refusals.md").read_text("utf-8"), re.M)
    return [(code, advice.replace(r"\|", "|")) for code, advice in rows]


@pytest.mark.parametrize("kind", KINDS)
def test_error_survives_a_trip_to_a_worker_process(kind):
    error = kind("log-gap", "file 3 is missing", position="binlog.000003:4", table="shop.orders")
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is kind
    assert (vars(copy), str(copy)) == (vars(error), str(error))


def test_error_names_what_happened_and_where():
    error = RefusedError("log-gap", "file 3 is missing", position="binlog.000003:4", table="shop.orders")
    assert str(error) == "log-gap: file 3 is missing (table shop.orders, at binlog.000003:4)"
    assert error.hint == REFUSALS["log-gap"]


def test_every_kind_has_the_exit_code_of_who_acts_next():
    assert {kind: kind.exit_code for kind in KINDS} == {
        RetryableError: 4,
        RefusedError: 3,
        UsageError: 2,
        InternalError: 1,
    }


def test_the_base_and_an_unknown_code_cannot_be_raised():
    with pytest.raises(TypeError):
        MirrorlakeError("internal", "who acts?")
    with pytest.raises(KeyError):
        RefusedError("no-such-code", "")


@pytest.mark.parametrize("code", REFUSALS)
def test_code_is_spelled_plainly_and_its_hint_is_one_sentence_line(code):
    assert re.fullmatch("[a-z]+(-[a-z]+)*", code)
    assert REFUSALS[code].strip() == REFUSALS[code] and "\n" not in REFUSALS[code]
    assert REFUSALS[code].endswith(".") and len(REFUSALS[code]) > 15


def test_every_code_raised_in_the_source_is_in_the_catalogue():
    assert {code: place for code, place in raised_codes().items() if code not in REFUSALS} == {}


def test_every_code_is_documented_once_with_its_hint():
    rows = documented()
    assert len(rows) == len(dict(rows)), "a code has two rows"
    missing = {code: hint for code, hint in REFUSALS.items() if dict(rows).get(code) != hint}
    assert missing == {}, "docs/refusals.md lacks these codes or words their hint otherwise"
    assert set(dict(rows)) == set(REFUSALS)


def test_a_refusal_that_a_later_version_recorded_has_a_next_step_too():
    assert errors.next_step("usage") == REFUSALS["usage"]
    shown = io.StringIO()
    show_refused([RefusedTable("shop", "orders", "no-such-code", "why")], shown)
    first, second = shown.getvalue().splitlines()
    assert first == "refused shop.orders: no-such-code: why"
    assert second.strip() == errors.next_step("no-such-code") == errors.next_step(None)


def test_exit_codes_are_documented():
    text = (CHECKOUT / "docs/refusals.md").read_text("utf-8")
    assert [int(code) for code in re.findall(r"^\| (\d) \|", text, re.M)] == [0, 1, 2, 3, 4]
    assert errors.__doc__ and all(kind.__name__ in errors.__doc__ for kind in KINDS)
