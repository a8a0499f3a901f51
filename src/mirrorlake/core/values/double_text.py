"""A double as MySQL shows it: the fewest digits that read back as the same number, and the nearest of those.

Digits: the Schubfach algorithm (R. Giulietti, "The Schubfach way to render doubles", 2020). Notation: ``my_gcvt`` of
MySQL's ``strings/dtoa.cc``. Kernels as in ``digits``.
"""

from __future__ import annotations

import numpy as np

from mirrorlake.core.kernels.memory import kernel, peek_u8, peek_u64, poke_u8
from mirrorlake.core.values.digits import count_digits, write_byte, write_signed, write_unsigned

_FIRST_POWER, _LAST_POWER = -292, 324
_LAST_POINT, _FIRST_POINT = 15, -14  # positions of the decimal point that need no exponent


def _powers_of_ten() -> np.ndarray:
    """uint64[n, 2]: 10**k, k from -292 to 324, as its first 128 bits, rounded up; low half first."""
    found = []
    for k in range(_FIRST_POWER, _LAST_POWER + 1):
        numerator, denominator = (10**k, 1) if k >= 0 else (1, 10**-k)
        shift = 128 - (numerator.bit_length() - denominator.bit_length())
        bits = -(-(numerator << shift) // denominator) if shift >= 0 else -(-numerator // (denominator << -shift))
        while bits.bit_length() > 128:
            shift -= 1
            bits = -(-(numerator << shift) // denominator) if shift >= 0 else -(-numerator // (denominator << -shift))
        found.append((bits & 2**64 - 1, bits >> 64))
    return np.array(found, np.uint64)


POWERS_128 = _powers_of_ten()


@kernel
def _multiply_high(x, y):
    """Return (high, low) of the 128-bit product of two uint64."""
    mask, half = np.uint64(0xFFFFFFFF), np.uint64(32)
    x0, x1, y0, y1 = x & mask, x >> half, y & mask, y >> half
    low = x0 * y0
    first = x1 * y0 + (low >> half)
    second = x0 * y1 + (first & mask)
    return x1 * y1 + (first >> half) + (second >> half), second << half | low & mask


@kernel
def _scaled(power, x):
    """x times the 128-bit power, without its last 128 bits; the last bit is set if anything was cut off."""
    lower, _ = _multiply_high(peek_u64(power), x)
    high, low = _multiply_high(peek_u64(power + 8), x)
    total = low + lower
    if total < lower:
        high += np.uint64(1)
    return high | np.uint64(1 if total > np.uint64(1) else 0)


@kernel
def shortest_digits(bits, powers):
    """Return (digits, exponent) of a finite positive double: digits * 10**exponent, digits without trailing zeros."""
    fraction, biased = bits & np.uint64(0xFFFFFFFFFFFFF), np.int64(bits >> np.uint64(52) & np.uint64(0x7FF))
    c, q = (fraction | np.uint64(1 << 52), biased - 1075) if biased else (fraction, np.int64(-1074))
    if -53 < q <= 0 and c & ((np.uint64(1) << np.uint64(-q)) - np.uint64(1)) == 0:
        return _without_zeros(c >> np.uint64(-q), np.int64(0))
    lower_is_closer = fraction == 0 and biased > 1
    k = (q * 1262611 - (524031 if lower_is_closer else 0)) >> 22
    h = np.uint64(q + (-k * 1741647 >> 19) + 1)
    power = powers + 16 * (-k - _FIRST_POWER)
    middle = np.uint64(4) * c
    value = _scaled(power, middle << h)
    is_odd = c & np.uint64(1)
    lower = _scaled(power, (middle - np.uint64(1 if lower_is_closer else 2)) << h) + is_odd
    upper = _scaled(power, (middle + np.uint64(2)) << h) - is_odd
    tenth = value // np.uint64(40)
    if tenth:
        low_fits = lower <= np.uint64(40) * tenth
        if low_fits != (np.uint64(40) * tenth + np.uint64(40) <= upper):
            return _without_zeros(tenth if low_fits else tenth + np.uint64(1), k + 1)
    whole = value >> np.uint64(2)
    low_fits = lower <= np.uint64(4) * whole
    if low_fits != (np.uint64(4) * whole + np.uint64(4) <= upper):
        return _without_zeros(whole if low_fits else whole + np.uint64(1), k)
    half = np.uint64(4) * whole + np.uint64(2)
    rounds_up = value > half or (value == half and whole & np.uint64(1) == np.uint64(1))
    return _without_zeros(whole + np.uint64(1) if rounds_up else whole, k)


@kernel
def _without_zeros(digits, exponent):
    while digits % np.uint64(10) == 0:
        digits //= np.uint64(10)
        exponent += 1
    return digits, exponent


@kernel
def write_double(o, bits, powers):
    """Write a finite double, given by its bits; ``1e15``, ``-0.5``, ``100.0``; at most 34 bytes: sign, ``0.``, 14 zeros
    and 17 digits."""
    if bits >> np.uint64(63):
        o = write_byte(o, 45)
    bits &= np.uint64(0x7FFFFFFFFFFFFFFF)
    if bits == 0:
        return write_byte(write_byte(write_byte(o, 48), 46), 48)
    digits, exponent = shortest_digits(bits, powers)
    n_digits = count_digits(digits)
    point = n_digits + exponent
    if point < _FIRST_POINT or (point > _LAST_POINT and n_digits <= point):
        return _write_with_exponent(o, digits, n_digits, point - 1)
    if point <= 0:
        o = write_byte(write_byte(o, 48), 46)
        for _ in range(-point):
            o = write_byte(o, 48)
        return write_unsigned(o, digits)
    o = write_unsigned(o, digits)
    if exponent < 0:
        return _insert_point(o, -exponent)
    for _ in range(exponent):
        o = write_byte(o, 48)
    return write_byte(write_byte(o, 46), 48)


@kernel
def _write_with_exponent(o, digits, n_digits, exponent):
    o = write_unsigned(o, digits)
    if n_digits > 1:
        o = _insert_point(o, n_digits - 1)
    return write_signed(write_byte(o, 101), exponent)


@kernel
def _insert_point(o, n_behind):
    """Put a point before the last ``n_behind`` written bytes."""
    for i in range(n_behind):
        poke_u8(o - i, peek_u8(o - i - 1))
    poke_u8(o - n_behind, np.uint8(46))
    return o + 1
