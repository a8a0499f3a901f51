"""A short run of ``make fuzz-ddl``."""

from __future__ import annotations

import pytest

from tests.fuzz_ddl import run
from tests.support.mutated_ddl import statements

PART, PARTS = 6_000, 6
"""Half a minute of CPU time."""


@pytest.mark.parametrize("part", range(PARTS))
def test_damaged_statements_are_understood_or_refused(seed, part):
    counts, findings = run(seed, part * PART, PART, statements())
    assert findings == {}
    assert sum(counts.values()) == PART
    assert min(counts[outcome] for outcome in ("create", "alter", "drop", "refuse", "nothing")) > 0
