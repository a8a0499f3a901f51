"""Damage to a group of events at random, in machine code.

``work``: the events, back to back, and room after them; ``ends[e]``: where event e ends in it. ``random``: the
state of the generator, one number.
"""

from __future__ import annotations

import numpy as np

from mirrorlake.core.kernels.memory import kernel

EDGES = np.array([0, 1, 0x7F, 0x80, 0xFA, 0xFB, 0xFC, 0xFD, 0xFE, 0xFF, 0x7FFF, 0xFFFF, 0x7FFFFFFF, 0xFFFFFFFF])
TYPES = np.array([2, 16, 19, 23, 24, 25, 29, 30, 31, 32, 33, 34, 38, 39, 42, 160, 162], np.int64)
MOST_BYTES = 40
"""By which one call makes a group longer at most."""


@kernel
def seed_random(random, seed, k):
    """Another sequence of numbers for each seed and k."""
    random[0] = np.uint64(seed) << np.uint64(40) ^ np.uint64(k)


@kernel
def below(random, n):
    """A number from 0 to n - 1, by SplitMix64 (Steele, Lea, Flood 2014)."""
    random[0] += np.uint64(0x9E3779B97F4A7C15)
    z = random[0]
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.int64((z ^ (z >> np.uint64(31))) >> np.uint64(1)) % np.int64(n)


@kernel
def damage(work, ends, n_events, random, others, edges, types):
    """One event is changed, mostly in its body, and mostly one with rows. others: bytes to splice in."""
    e = below(random, n_events)
    for _ in range(3):
        if is_rows_event(work[_start(ends, e) + 4]):
            break
        e = below(random, n_events)
    start, how = _start(ends, e), below(random, 100)
    if how < 90:
        _damage_body(work, ends, n_events, e, random, others, edges)
    elif how < 97:
        work[start + 4] = np.uint8(types[below(random, len(types))])
    elif how < 99:
        work[start + 17 + below(random, 2)] ^= np.uint8(1 << below(random, 8))
    else:
        _put_number(work, start + 9, start + 13, edges[below(random, len(edges))], 4)


@kernel
def is_rows_event(kind):
    return 23 <= kind <= 25 or 30 <= kind <= 32 or kind == 39


@kernel
def _start(ends, e):
    return ends[e - 1] if e > 0 else np.int64(0)


@kernel
def _damage_body(work, ends, n_events, e, random, others, edges):
    start, end = _start(ends, e) + 19, ends[e]
    if end <= start:
        return
    at = start + below(random, end - start)
    if below(random, 10) < 3:  # most lengths stand near the beginning
        at = min(at, start + below(random, 40))
    how = below(random, 100)
    if how < 30:
        work[at] ^= np.uint8(1 << below(random, 8))
    elif how < 50:
        work[at] = np.uint8(edges[below(random, len(edges))] & 255)
    elif how < 65:
        value = edges[below(random, len(edges))] if below(random, 10) < 7 else end - at + below(random, 7) - 3
        _put_number(work, at, end, value, 1 << below(random, 4))
    elif how < 72:
        _resize(work, ends, n_events, e, end, at - end)
    elif how < 82:
        removed = min(end - at, 1 + below(random, 9))
        _resize(work, ends, n_events, e, at + removed, -removed)
    elif how < 92:
        added = 1 + below(random, 9)
        _resize(work, ends, n_events, e, at, added)
        for k in range(at, at + added):
            work[k] = np.uint8(below(random, 256))
    else:
        n_bytes = min(end - at, 1 + below(random, 200))
        source = below(random, len(others) - n_bytes)
        for k in range(n_bytes):
            work[at + k] = others[source + k]


@kernel
def _put_number(work, at, end, value, n_bytes):
    for k in range(min(n_bytes, end - at)):
        work[at + k] = np.uint8(value >> (8 * k) & 255)


@kernel
def _resize(work, ends, n_events, e, at, change):
    """What stands at ``at``, in event e or after it, moves by so many bytes; the header of e has its new length."""
    end = ends[n_events - 1]
    if change < 0:
        for k in range(at, end):
            work[k + change] = work[k]
    else:
        for k in range(end - 1, at - 1, -1):
            work[k + change] = work[k]
    for k in range(e, n_events):
        ends[k] += change
    start = _start(ends, e)
    _put_number(work, start + 9, start + 13, ends[e] - start, 4)
