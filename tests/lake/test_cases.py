"""What real servers logged for ``tests/cases``, through the three hops: each case's tables are the server's own.

Recorded by ``python -m tests.record_cases``. A case is a database; all cases of a server go through one lake. Bronze
and silver take all of them. Gold takes all in the long form. In the short form each case that both servers have belongs
to one of them, and gold takes a twentieth of a server's cases: others with each seed.
"""

from __future__ import annotations

import json
from random import Random

import pytest

from mirrorlake.errors import REFUSALS
from mirrorlake.lake.gold.control.register import DROPPED, REFUSED, STREAMING
from tests.record_cases import CASES, LOGS, case_database, case_names, holds_text, refused_tables
from tests.support.lake_runs import LakeRun
from tests.support.servers import FLAVORS

SHORT = 20


@pytest.fixture(scope="module", params=[pytest.param(f, marks=pytest.mark.xdist_group(f)) for f in FLAVORS])
def lake(request, spark, tmp_path_factory, seed, is_long):
    """The cases that its gold has, and (database, table) -> (register entry, canonical rows of its mirror or None)."""
    cases = case_names(request.param) if is_long else _sample(request.param, seed)
    run = LakeRun(spark, LOGS / request.param, tmp_path_factory.mktemp("cases") / "lake")
    run.ingest()
    run.assemble()
    as_text = {f"{case_database(name)}.*": "text" for name in cases if holds_text(name)}
    run.apply(tables=tuple(f"{case_database(name)}.*" for name in cases), invalid_values_of=as_text)
    gold = run.gold()
    return cases, {entry.name: (entry, gold.get(entry.name)) for entry in run.register}


@pytest.mark.parametrize("name", case_names())
def test_case(lake, name):
    cases, tables = lake
    if name not in cases:
        pytest.skip("the other server's lake has it, or another seed's")
    mine = {table: found for (database, table), found in tables.items() if database == case_database(name)}
    mirrored = {table: rows for table, (entry, rows) in mine.items() if entry.state == STREAMING}
    assert mirrored == {table: _lines(rows) for table, rows in _expected(name).items()}
    assert {table: entry.code for table, (entry, _) in mine.items() if entry.state == REFUSED} == refused_tables(name)
    assert {entry.state for entry, _ in mine.values()} <= {STREAMING, REFUSED, DROPPED}
    assert all(entry.reason for entry, _ in mine.values() if entry.state == REFUSED)


def test_every_case_is_mirrored_and_says_what_it_expects():
    assert sorted(name for flavor in FLAVORS for name in _share(flavor)) == case_names()
    assert len(case_names()) >= 30
    for name in case_names():
        assert _expected(name) or refused_tables(name)
        assert name.startswith("refuse-") == bool(refused_tables(name))
        assert set(refused_tables(name).values()) <= REFUSALS.keys()


def _share(flavor: str) -> list[str]:
    """The cases that this server alone has, and its part of those that both have."""
    both = set.intersection(*(set(case_names(each)) for each in FLAVORS))
    own = sorted(both)[FLAVORS.index(flavor) :: len(FLAVORS)]
    return [name for name in case_names(flavor) if name in own or name not in both]


def _sample(flavor: str, seed: int) -> list[str]:
    names = _share(flavor)
    return sorted(Random(seed).sample(names, len(names) // SHORT))


def _expected(name: str) -> dict[str, list[dict]]:
    return json.loads((CASES / name / "expected.json").read_text())


def _lines(rows: list[dict]) -> list[str]:
    return [json.dumps(row, ensure_ascii=False) for row in rows]
