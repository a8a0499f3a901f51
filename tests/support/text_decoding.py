"""One text through the kernel that decodes text columns."""

from __future__ import annotations

import numpy as np

from mirrorlake.core.schema.charset_codes import code_table
from mirrorlake.core.values.text import ASCII_TABLE, FORMS, TABLE, put_text


def decoded(data: bytes, charset: str) -> str | bytes:
    """The text as silver holds it, or the bytes themselves when they are invalid."""
    form, parameter = FORMS.get(charset, (ASCII_TABLE, 0))
    table = code_table(charset) if form in (TABLE, ASCII_TABLE) else np.empty(0, np.uint32)
    source = np.frombuffer(data + bytes(1), np.uint8)
    out = np.empty(5 + 4 * len(data), np.uint8)
    start = out.ctypes.data
    end = put_text(source.ctypes.data, len(data), form, parameter, table.ctypes.data, start, start + len(out) + 5)
    written = out[: end - start].tobytes()
    if written[0] & 3 == 1:
        assert written[0] >> 2 == len(written) - 1
        return written[1:].decode()
    assert int.from_bytes(written[1:5], "little") == len(written) - 5
    return written[5:].decode() if written[0] == 16 << 2 else written[5:]
