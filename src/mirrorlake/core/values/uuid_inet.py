"""MariaDB's UUID, INET6 and INET4: row image -> VARIANT string, as the server shows it.

Logged like BINARY(16) and BINARY(4): bytes in the order of the text, without trailing zero bytes. The server keeps some
UUIDs in another order, which the log does not show (measured on MariaDB 10.11 and 11.8, every version of UUID).
"""

from __future__ import annotations

import numpy as np

from mirrorlake.core.kernels.memory import kernel, peek_u8
from mirrorlake.core.values.digits import write_byte, write_unsigned
from mirrorlake.core.values.kinds import MALFORMED, NO_ROOM
from mirrorlake.core.values.variant import close_string

UUID, INET6, INET4 = range(3)

_BOUND_BYTES = 45
_COLON, _DOT, _HYPHEN = 58, 46, 45


@kernel
def put_uuid_or_inet(p, n_bytes, which, o, room_until):
    """which: UUID, INET6 or INET4. Returns the address after the written bytes, MALFORMED or NO_ROOM."""
    if n_bytes > (4 if which == INET4 else 16):
        return MALFORMED
    if o + 5 + _BOUND_BYTES > room_until:
        return NO_ROOM
    if which == UUID:
        end = _write_uuid(o + 5, p, n_bytes)
    elif which == INET6:
        end = _write_inet6(o + 5, p, n_bytes)
    else:
        end = _write_inet4(o + 5, p, n_bytes, 0)
    return close_string(o, end)


@kernel
def _stored(p, n_bytes, k):
    return np.int64(peek_u8(p + k)) if k < n_bytes else np.int64(0)


@kernel
def _write_hex_digit(o, digit):
    return write_byte(o, 48 + digit if digit < 10 else 87 + digit)


@kernel
def _write_uuid(o, p, n_bytes):
    for k in range(16):
        if k == 4 or k == 6 or k == 8 or k == 10:
            o = write_byte(o, _HYPHEN)
        byte = _stored(p, n_bytes, k)
        o = _write_hex_digit(_write_hex_digit(o, byte >> 4), byte & 15)
    return o


@kernel
def _write_inet4(o, p, n_bytes, first):
    for k in range(first, first + 4):
        if k > first:
            o = write_byte(o, _DOT)
        o = write_unsigned(o, np.uint64(_stored(p, n_bytes, k)))
    return o


@kernel
def _word(p, n_bytes, k):
    return _stored(p, n_bytes, 2 * k) << 8 | _stored(p, n_bytes, 2 * k + 1)


@kernel
def _longest_zeros(p, n_bytes):
    """Return (first, number) of the longest run of zero words, the first of equal ones; a single word counts as
    well."""
    first, length, run = np.int64(-1), np.int64(0), np.int64(0)
    for k in range(8):
        run = run + 1 if _word(p, n_bytes, k) == 0 else np.int64(0)
        if run > length:
            first, length = k - run + 1, run
    return first, length


@kernel
def _write_inet6(o, p, n_bytes):
    """``::`` for the longest run of zeros; after six zero words, or five and ffff, follows an IPv4 address."""
    gap, gap_length = _longest_zeros(p, n_bytes)
    holds_inet4 = gap == 0 and (gap_length == 6 or gap_length == 5 and _word(p, n_bytes, 5) == 0xFFFF)
    k = np.int64(0)
    while k < 8:
        if k == gap:
            if k == 0:
                o = write_byte(o, _COLON)
            o = write_byte(o, _COLON)
            k += gap_length
            continue
        if k == 6 and holds_inet4:
            return _write_inet4(o, p, n_bytes, 12)
        word, is_leading = _word(p, n_bytes, k), True
        for shift in range(12, -4, -4):
            digit = word >> shift & 15
            is_leading &= digit == 0 and shift > 0
            if not is_leading:
                o = _write_hex_digit(o, digit)
        k += 1
        if k < 8:
            o = write_byte(o, _COLON)
    return o
