"""Random DDL and DML on real servers, killed at random steps: every mirror equals SELECT, or is refused with a reason.

``make ddl-histories`` is the long form.
"""

from __future__ import annotations

from random import Random

import pytest

from tests.support.ddl_histories import apply_with_crashes, compare, keep_statements, write_histories
from tests.support.lake_runs import LakeRun, count_as_large

DDL, DDL_LONG = 12, 30


@pytest.mark.long
def test_every_mirror_equals_its_source_after_random_ddl_and_kills(server, spark, seed, is_long, tmp_path, monkeypatch):
    if Random(seed).random() < 0.5:
        count_as_large(monkeypatch)
    histories = write_histories(server, str(seed), ["h"], DDL_LONG if is_long else DDL, tmp_path / "logs")
    run = LakeRun(spark, tmp_path / "logs", tmp_path / "lake")
    apply_with_crashes(run, Random(seed))
    found = compare(run, histories)
    keep_statements(tmp_path, histories)
    assert found.wrong == {}
    assert found.tables > 0
