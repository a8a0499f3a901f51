"""A range has the lsns after its begin, and its end; so two that follow each other share none."""

from mirrorlake.core.lsn_range import LsnRange


def test_the_begin_is_outside_and_the_end_inside():
    assert [lsn for lsn in range(8) if lsn in LsnRange(2, 5)] == [3, 4, 5]
    assert LsnRange(2, 5).condition == "lsn > 2 AND lsn <= 5"
    assert LsnRange(-1, 0).to_json() == {"lsn_from": -1, "lsn_to": 0}


def test_a_range_without_any_lsn_is_empty():
    assert [LsnRange(4, to).is_empty for to in (3, 4, 5)] == [True, True, False]


def test_a_part_is_inside_the_range():
    whole = LsnRange(2, 5)
    assert [whole.since(lsn) for lsn in (1, 2, 4)] == [whole, whole, LsnRange(4, 5)]
    assert [whole.until(lsn) for lsn in (4, 5, 6)] == [LsnRange(2, 4), whole, whole]


def test_the_parts_of_a_split_follow_each_other():
    assert LsnRange(2, 9).split([4, 7]) == [LsnRange(2, 4), LsnRange(4, 7), LsnRange(7, 9)]
    assert LsnRange(2, 9).split([]) == [LsnRange(2, 9)]
