"""A short run of ``make fuzz``: what is damaged is decoded or refused; no crash, no hang, no other exception."""

from __future__ import annotations

from tests.fuzz_binlog import event_fuzzer, log_fuzzer, run


def test_damaged_logs_are_decoded_or_refused(seed):
    counts, findings = run(log_fuzzer(), seed, 0, 2_000)
    assert findings == {}
    assert counts["log-event"] and counts["REFUSED"] and counts["UPDATE"]


def test_damaged_events_are_decoded_or_refused(seed):
    counts, findings = run(event_fuzzer(), seed, 0, 200_000)
    assert findings == {}
    assert min(counts.values()) and sum(counts.values()) == 200_000
