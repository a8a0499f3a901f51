"""Letters and decimal digits. Kernels write at address ``o`` and return the address after; they check no room."""

from __future__ import annotations

import numpy as np

from mirrorlake.core.kernels.memory import kernel, poke_u8


@kernel
def write_byte(o, code):
    poke_u8(o, np.uint8(code))
    return o + 1


@kernel
def write_letters(o, letters):
    """Write up to 8 ASCII letters, the first in the low byte of a uint64."""
    while letters:
        poke_u8(o, np.uint8(letters & np.uint64(0xFF)))
        letters >>= np.uint64(8)
        o += 1
    return o


@kernel
def write_padded(o, value, width):
    """Write the last ``width`` digits of an int64 that is not negative."""
    for i in range(width - 1, -1, -1):
        poke_u8(o + i, np.uint8(48 + value % 10))
        value //= 10
    return o + width


@kernel
def count_digits(value):
    """Number of digits of a uint64; 1 for 0."""
    n = np.int64(1)
    while value >= np.uint64(10):
        value //= np.uint64(10)
        n += 1
    return n


@kernel
def write_unsigned(o, value):
    """Write a uint64; at most 20 bytes."""
    n = count_digits(value)
    for i in range(n - 1, -1, -1):
        poke_u8(o + i, np.uint8(np.uint64(48) + value % np.uint64(10)))
        value //= np.uint64(10)
    return o + n


@kernel
def write_signed(o, value):
    """Write an int64; at most 20 bytes."""
    if value >= 0:
        return write_unsigned(o, np.uint64(value))
    return write_unsigned(write_byte(o, 45), np.uint64(0) - np.uint64(value))
