"""The newest commit in memory is handed on once, and only to a reader that continues exactly there."""

import pyarrow as pa

from mirrorlake.core.lsn_range import LsnRange
from mirrorlake.lake.delta.recent import Recent, RecentCommit

ROWS = [pa.record_batch({"lsn": [11, 12]})]


def test_the_reader_that_continues_there_gets_the_rows_once():
    recent = Recent(10)
    recent.put(RecentCommit(LsnRange(10, 12), ROWS))
    assert recent.take(10) == RecentCommit(LsnRange(10, 12), ROWS)
    assert recent.take(10) is None
    assert recent.lsn == 12


def test_a_reader_that_lacks_more_or_follows_other_answers_reads_the_table():
    recent = Recent(10, 1)
    recent.put(RecentCommit(LsnRange(10, 12), ROWS, answers=1))
    assert [recent.take(9, 1), recent.take(12, 1), recent.take(10, 0), recent.take(10, 2)] == [None] * 4
    assert recent.take(10, 1).batches == ROWS


def test_a_commit_replaces_the_one_before():
    recent = Recent(-1)
    assert (recent.lsn, recent.take(-1)) == (-1, None)
    recent.put(RecentCommit(LsnRange(-1, 10), ROWS))
    recent.put(RecentCommit(LsnRange(10, 12), None))
    assert [recent.take(-1), recent.take(10)] == [None, None]
    assert (recent.lsn, recent.answers) == (12, 0)


def test_a_commit_without_rows_is_known_as_such():
    recent = Recent(10)
    recent.put(RecentCommit(LsnRange(10, 12), []))
    assert recent.take(10).batches == []
