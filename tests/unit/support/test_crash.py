"""Named crash points."""

from __future__ import annotations

import pytest

from tests.support import crash
from tests.support.crash import SimulatedCrash, crash_at

log: list[str] = []


def commit(name: str) -> str:
    log.append(name)
    return name


class Writer:
    def commit(self) -> None:
        log.append("method")


@pytest.fixture(autouse=True)
def empty_log():
    log.clear()


@pytest.mark.parametrize(("when", "done"), [("before", ["a"]), ("after", ["a", "b"])])
def test_the_chosen_call_crashes_before_or_after_its_work(monkeypatch, when, done):
    point = crash_at(monkeypatch, f"{__name__}.commit", when=when, call_number=2)
    assert commit("a") == "a" and not point.has_crashed
    with pytest.raises(SimulatedCrash):
        commit("b")
    assert log == done and point.has_crashed
    assert commit("c") == "c"


def test_a_method_crashes_too(monkeypatch):
    crash_at(monkeypatch, f"{__name__}.Writer.commit", when="after")
    with pytest.raises(SimulatedCrash):
        Writer().commit()
    assert log == ["method"]


def test_a_name_imported_elsewhere_crashes_too(monkeypatch):
    monkeypatch.setattr(crash, "borrowed", commit, raising=False)
    point = crash_at(monkeypatch, f"{__name__}.commit", when="before")
    with pytest.raises(SimulatedCrash):
        crash.borrowed("a")
    assert point.calls == 1


def test_a_crash_is_not_taken_for_an_error(monkeypatch):
    crash_at(monkeypatch, f"{__name__}.commit", when="before")
    with pytest.raises(SimulatedCrash):
        try:
            commit("a")
        except Exception:
            pytest.fail("swallowed")


def test_undo_takes_the_crash_point_away(monkeypatch):
    crash_at(monkeypatch, f"{__name__}.commit", when="before")
    monkeypatch.undo()
    assert commit("a") == "a"


@pytest.mark.parametrize("name", [f"{__name__}.unknown", f"{__name__}.Unknown.commit"])
def test_an_unknown_name_is_an_error(monkeypatch, name):
    with pytest.raises(AttributeError):
        crash_at(monkeypatch, name, when="before")
