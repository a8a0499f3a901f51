"""Cases of ``tests/cases`` on MariaDB 11.8, with its default row metadata: mirrors are what that server shows."""

from __future__ import annotations

import pytest

from mirrorlake.lake.gold.control.register import REFUSED, STREAMING
from tests.record_cases import case_database, case_names, holds_text, play, refused_tables
from tests.support.lake_runs import LakeRun

KINDS = ("types-", "ddl-", "columns-", "refuse-row-image", "refuse-resync")
NOT_ITS_SQL = "types-compressed"
SHORT = 12
"""The short form has every twelfth case."""


@pytest.mark.row_metadata("default")
@pytest.mark.xdist_group("cases118")
@pytest.mark.heavy
def test_cases_on_mariadb_118_are_what_select_shows(mariadb118, spark, tmp_path, is_long):
    names = [name for name in case_names("mariadb") if (name.startswith(KINDS) or is_long) and name != NOT_ITS_SQL]
    names = (
        names
        if is_long
        else sorted({*names[::SHORT], "columns-generated", "refuse-row-image-replace", "refuse-resync"})
    )
    expected = play(mariadb118, names, tmp_path / "log")
    run = LakeRun(spark, tmp_path / "log", tmp_path / "lake")
    run.ingest()
    run.assemble()
    as_text = {f"{case_database(name)}.*": "text" for name in names if holds_text(name)}
    run.apply(invalid_values_of=as_text)
    gold, refused = run.gold(), {entry.name: entry.code for entry in run.register if entry.state == REFUSED}
    for name in names:
        database = case_database(name)
        assert {t: rows for (d, t), rows in gold.items() if d == database} == expected[name], name
        assert {t: code for (d, t), code in refused.items() if d == database} == refused_tables(name), name
    assert sum(entry.state == STREAMING for entry in run.register) == sum(map(len, expected.values()))
    assert sum(map(len, expected.values())) > (20 if is_long else 10)
