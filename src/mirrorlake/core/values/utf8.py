"""Check whether bytes are UTF-8."""

from __future__ import annotations

import numpy as np

from mirrorlake.core.kernels.memory import kernel, peek_u8, peek_u64

_DONE, _WRONG, _ONE, _TWO, _THREE, _E0, _ED, _F0, _F4 = range(0, 54, 6)
"""States within UTF-8: between characters, invalid for good, number of bytes still expected, and after those first
bytes that restrict the second one."""
_STEPS = (
    (_DONE, 0x00, 0x7F, _DONE), (_DONE, 0xC2, 0xDF, _ONE), (_DONE, 0xE0, 0xE0, _E0), (_DONE, 0xE1, 0xEC, _TWO),
    (_DONE, 0xED, 0xED, _ED), (_DONE, 0xEE, 0xEF, _TWO), (_DONE, 0xF0, 0xF0, _F0), (_DONE, 0xF1, 0xF3, _THREE),
    (_DONE, 0xF4, 0xF4, _F4), (_ONE, 0x80, 0xBF, _DONE), (_TWO, 0x80, 0xBF, _ONE), (_THREE, 0x80, 0xBF, _TWO),
    (_E0, 0xA0, 0xBF, _ONE), (_ED, 0x80, 0x9F, _ONE), (_F0, 0x90, 0xBF, _TWO), (_F4, 0x80, 0x8F, _TWO),
)  # fmt: skip


def _transitions() -> np.ndarray:
    """uint64[256]: for each byte the next state of every state, 6 bits each, at the bit that is the state's number."""
    found = [sum(_WRONG << state for state in range(0, 54, 6))] * 256
    for state, first, last, then in _STEPS:
        for byte in range(first, last + 1):
            found[byte] += (then - _WRONG) << state
    return np.array(found, np.uint64)


_TRANSITIONS = _transitions()
HIGH_BITS = np.uint64(0x8080808080808080)


@kernel
def is_ascii(p, n_bytes):
    if n_bytes < 8:
        bits = np.uint8(0)
        for i in range(n_bytes):
            bits |= peek_u8(p + i)
        return bits < np.uint8(0x80)
    word = peek_u64(p + n_bytes - 8)  # what the words from the start leave over, and some of them again
    for i in range(n_bytes >> 3):
        word |= peek_u64(p + 8 * i)
    return word & HIGH_BITS == 0


@kernel
def is_utf8(p, n_bytes, longest):
    """Are these whole characters of at most ``longest`` bytes in their shortest form, and no surrogates?"""
    if is_ascii(p, n_bytes):
        return True
    state, highest = np.uint64(_DONE), np.uint8(0)
    for i in range(n_bytes):
        byte = peek_u8(p + i)
        state = _TRANSITIONS[byte] >> state & np.uint64(63)
        highest = max(highest, byte)
    return state == np.uint64(_DONE) and (longest == 4 or longest == 3 and highest < np.uint8(0xF0))
