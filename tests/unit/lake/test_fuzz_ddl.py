"""A short run of ``make fuzz-ddl``."""

from __future__ import annotations

from tests.fuzz_ddl import run
from tests.support.mutated_ddl import statements


def test_damaged_statements_are_understood_or_refused(seed):
    counts, findings = run(seed, 0, 6_000, statements())
    assert findings == {}
    assert sum(counts.values()) == 6_000
    assert min(counts[outcome] for outcome in ("create", "alter", "drop", "refuse", "nothing")) > 0
