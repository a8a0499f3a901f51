"""A short run of ``make fuzz``: damaged logs are decoded or refused; no crash, no hang, no other exception."""

from __future__ import annotations

from tests.fuzz_binlog import run

INPUTS = 2_000


def test_damaged_logs_are_decoded_or_refused(seed):
    counts, findings = run(seed, 0, INPUTS)
    assert findings == {}
    assert counts["log-event"] and counts["REFUSED"] and counts["UPDATE"]
