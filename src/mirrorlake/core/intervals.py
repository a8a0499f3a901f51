"""Sets of whole numbers as sorted half-open intervals (first, after the last) that neither overlap nor touch."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from operator import itemgetter

import numpy as np

Intervals = list[tuple[int, int]]
_first_of, _end_of = itemgetter(0), itemgetter(1)


def cut(spans: Intervals, gone: Intervals) -> Intervals:
    """The parts of the spans outside of those that are gone; both are sorted, and no two of one overlap."""
    left, passed = Intervals(), 0
    for first, stop in spans:
        while passed < len(gone) and gone[passed][1] <= first:
            passed += 1
        at = passed
        while at < len(gone) and gone[at][0] < stop:
            if first < gone[at][0]:
                left.append((first, gone[at][0]))
            first, at = max(first, gone[at][1]), at + 1
        if first < stop:
            left.append((first, stop))
    return left


def covers(spans: Intervals, start: int, end: int) -> bool:
    """Is start..end-1 within one of the sorted spans?"""
    i = bisect_right(spans, start, key=_first_of) - 1
    return i >= 0 and end <= spans[i][1]


def insert(spans: Intervals, added: Intervals) -> None:
    """Add to sorted spans others that are sorted, and put those together that touch."""
    low = bisect_left(spans, added[0][0], key=_end_of)
    high = bisect_right(spans, added[-1][1], key=_first_of)
    spans[low:high] = merge([*spans[low:high], *added])


def remove(spans: Intervals, number: int) -> None:
    """Remove a number from sorted spans."""
    i = bisect_right(spans, number, key=_first_of) - 1
    if i >= 0 and number < spans[i][1]:
        parts = (spans[i][0], number), (number + 1, spans[i][1])
        spans[i : i + 1] = [(first, stop) for first, stop in parts if first < stop]


def merge(spans: Intervals) -> Intervals:
    """Put intervals in order, and those together that overlap or touch."""
    merged: Intervals = []
    for first, stop in sorted(spans):
        if merged and first <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(stop, merged[-1][1])
        else:
            merged.append((first, stop))
    return merged


def runs(numbers: np.ndarray) -> Intervals:
    """The intervals of numbers in any order. numbers: int64[n], n > 0."""
    ordered = np.unique(numbers)
    breaks = np.flatnonzero(np.diff(ordered) != 1)
    firsts, lasts = ordered[np.r_[0, breaks + 1]], ordered[np.r_[breaks, len(ordered) - 1]]
    return list(zip(firsts.tolist(), (lasts + 1).tolist(), strict=True))
