"""Read paths in JSON documents, in the form that the server logs (``sql-common/json_path.cc``).

``$``, then a leg for each level: ``.name`` of letters, digits, ``_``, ``$`` and all characters beyond ASCII;
``."name"`` with JSON's escapes; ``[3]``; ``[last]`` and ``[last-2]``, counted from the array's end.
"""

from __future__ import annotations

import numpy as np

from mirrorlake.core.kernels.memory import kernel, peek_u8, peek_u32, poke_u8
from mirrorlake.core.values.kinds import MALFORMED

_DOLLAR, _DOT, _OPEN, _CLOSE, _QUOTE, _BACKSLASH, _MINUS = 36, 46, 91, 93, 34, 92, 45
_LAST = np.uint32(0x7473616C)  # "last"
_MAX_CELL = 2**32


@kernel
def first_leg(path, end):
    """The address of the path's first leg, or MALFORMED: a path must have at least one leg."""
    return path + 1 if path + 1 < end and peek_u8(path) == _DOLLAR else MALFORMED


@kernel
def read_leg(p, end, names):
    """Return (address after the leg or MALFORMED; address of its name, 0: a cell of an array; the name's bytes or the
    cell, from the end -1, -2 ..). names: room for ``end - p`` bytes, for a name with escapes."""
    if p + 1 >= end:
        return MALFORMED, np.int64(0), np.int64(0)
    if peek_u8(p) == _OPEN:
        return _read_cell(p + 1, end)
    if peek_u8(p) != _DOT:
        return MALFORMED, np.int64(0), np.int64(0)
    if peek_u8(p + 1) == _QUOTE:
        return _read_quoted(p + 2, end, names)
    name = p + 1
    p = name
    while p < end and _is_plain(np.int64(peek_u8(p))):
        p += 1
    return (p if p > name else MALFORMED), name, p - name


@kernel
def _is_plain(code):
    return 48 <= code <= 57 or 65 <= code <= 90 or 97 <= code <= 122 or code == 95 or code == _DOLLAR or code >= 128


@kernel
def _read_cell(p, end):
    is_from_end, cell = False, np.int64(0)
    if p + 4 <= end and peek_u32(p) == _LAST:
        is_from_end = True
        p += 4
    if not is_from_end or (p < end and peek_u8(p) == _MINUS):
        p, cell = _read_number(p + np.int64(is_from_end), end)
    if p < 0 or p >= end or peek_u8(p) != _CLOSE:
        return MALFORMED, np.int64(0), cell
    return p + 1, np.int64(0), (-1 - cell if is_from_end else cell)


@kernel
def _read_number(p, end):
    found, start = np.int64(0), p
    while p < end and 48 <= peek_u8(p) <= 57 and found < _MAX_CELL:
        found = 10 * found + np.int64(peek_u8(p)) - 48
        p += 1
    return (p if p > start else MALFORMED), found


@kernel
def _read_quoted(p, end, names):
    o = names
    while p < end:
        code = np.int64(peek_u8(p))
        p += 1
        if code == _QUOTE:
            return p, names, o - names
        if code == _BACKSLASH:
            code, p = _read_escape(p, end)
            if code < 0:
                break
        poke_u8(o, np.uint8(code))
        o += 1
    return MALFORMED, names, np.int64(0)


@kernel
def _read_escape(p, end):
    """Return (character, address after it); the server escapes no character beyond ASCII."""
    if p >= end:
        return MALFORMED, p
    letter = np.int64(peek_u8(p))
    if letter == _QUOTE or letter == _BACKSLASH or letter == 47:
        return letter, p + 1
    if letter == 98:
        return np.int64(8), p + 1
    if letter == 102:
        return np.int64(12), p + 1
    if letter == 110:
        return np.int64(10), p + 1
    if letter == 114:
        return np.int64(13), p + 1
    if letter == 116:
        return np.int64(9), p + 1
    if letter != 117 or p + 5 > end:
        return MALFORMED, p
    code = np.int64(0)
    for i in range(1, 5):
        digit = _hex_digit(np.int64(peek_u8(p + i)))
        if digit < 0:
            return MALFORMED, p
        code = code << 4 | digit
    return (code if code < 128 else MALFORMED), p + 5


@kernel
def _hex_digit(letter):
    if 48 <= letter <= 57:
        return letter - 48
    letter |= 32
    return letter - 87 if 97 <= letter <= 102 else np.int64(-1)
