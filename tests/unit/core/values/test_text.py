"""Text of every family of character sets, valid and invalid; the tables are those measured on real servers."""

from __future__ import annotations

from hashlib import sha256

import pytest

from mirrorlake.core.schema.charset_codes import code_table
from mirrorlake.core.schema.charsets import SUPPORTED, decode_text
from mirrorlake.core.values.text import FORMS
from tests.support.text_decoding import decoded

TABLES = "7b2a20aee74e80ae8ba2d9fa0f75e7f0ddef188977b597bcbd7f01cb03cb3718"
"""All tables, as ``tests/server/test_charsets.py`` found them right."""

VALID = [
    ("utf8mb4", "aé€😀\ud7ff\ue000\U0010ffff".encode(), "aé€😀\ud7ff\ue000\U0010ffff"),
    ("utf8mb3", "é€\uffff😀".encode(), "é€\uffff😀"),
    ("ascii", b"plain\x7f", "plain\x7f"),
    ("latin1", b"\x80\x81\xe9" + b"sixteen letters:" * 5, "€\x81é" + "sixteen letters:" * 5),
    ("swe7", b"sm|rg}sbord \\l", "smörgåsbord Öl"),
    ("koi8r", b"\xe4\xc1", "Да"),
    ("sjis", b"\x95\x5c\xb1a", "表ｱa"),
    ("cp932", b"\x87\x40\xfa\x5b\xf0\x40", "①∵\ue000"),
    ("ujis", b"\xa1\xc0\x8f\xb0\xa1\x8e\xb1", "\\丂ｱ"),
    ("eucjpms", b"\xa1\xc1\xad\xa1\x8f\xf4\xfe\xf5\xa1\x8f\xf5\xa1", "～①黑\ue000\ue3ac"),
    ("big5", b"\xa5\x5c\xf9\xd6", "功碁"),
    ("gbk", b"ascii and \xd6\xd0\xfe\x4f", "ascii and 中\ufa29"),
    ("gb2312", b"\xd6\xd0", "中"),
    ("euckr", b"\xb0\xa1\x81\x41", "가갂"),
    ("gb18030", b"\xa8\xbc\x81\x35\xf4\x37\x81\x30\x81\x30\x90\x30\x81\x30\xe3\x32\x9a\x35",
     "ḿ\ue7c7\x80\U00010000\U0010ffff"),
    ("ucs2", b"\x00a\x20\xac", "a€"),
    ("utf16", b"\x00a\xd8\x3d\xde\x00", "a😀"),
    ("utf16le", b"a\x00\x3d\xd8\x00\xde", "a😀"),
    ("utf32", b"\x00\x01\xf6\x00\x00\x10\xff\xff", "😀\U0010ffff"),
]  # fmt: skip

INVALID = [
    *(("utf8mb4", data) for data in (
        b"\x80", b"\xc1\xbf", b"\xe0\x9f\xbf", b"\xed\xa0\x80", b"\xf0\x8f\xbf\xbf",
        b"\xf4\x90\x80\x80", b"\xf5\x80\x80",
        b"\xc3", b"ok \xe2\x82", b"\xf0\x9f\x98", b"\xe2\x82a", b"a" * 100 + b"\xff", b"\xff" + b"a" * 100)),
    ("utf8mb3", b"\xf5\x80\x80"), ("ascii", b"\x80"), ("cp1256", b"a\x8a"), ("tis620", b"\xff"), ("swe7", b"\x80"),
    ("sjis", b"\x95"), ("sjis", b"\x80"), ("big5", b"\xa1\x5a"), ("gbk", b"\x80"), ("gbk", b"\xfe\xfe"),
    ("ujis", b"\x8f\xa1"), ("ujis", b"\x8e\xe0"), ("gb18030", b"\x81\x30\x81"), ("gb18030", b"\x81\x30\x81\x40"),
    ("gb18030", b"\xe3\x32\x9a\x36"), ("gb18030", b"\xfe\x39\xfe\x39"), ("ucs2", b"\x00"),
    ("ucs2", b"\xd8\x3d\xde\x00"),
    ("utf16", b"\xde\x00\xd8\x3d"), ("utf16", b"\xd8\x3d"), ("utf16", b"\xd8\x3d\x00a"), ("utf16le", b"a\x00b"),
    ("utf32", b"\x00\x11\x00\x00"), ("utf32", b"\x00\x00\xd8\x00"), ("utf32", b"\x00\x00\x00"),
]  # fmt: skip


@pytest.mark.parametrize(("charset", "data", "text"), VALID)
def test_text_becomes_utf8(charset, data, text):
    assert decoded(data, charset) == decode_text(data, charset) == text
    assert decoded(b"", charset) == decode_text(b"", charset) == ""


@pytest.mark.parametrize(("charset", "data"), INVALID)
def test_invalid_text_stays_as_it_is(charset, data):
    assert decoded(data, charset) == data and decode_text(data, charset) is None


@pytest.mark.parametrize(
    "data", [b"", b"abc", b"seven..", b"eight...", b"0123456789abcde", "0123456é789abcde".encode()]
)
def test_every_cut_of_a_text_is_whole_or_invalid(data):
    for end in range(len(data) + 1):
        assert decoded(data[:end], "utf8mb4") == (decode_text(data[:end], "utf8mb4") or data[:end] or "")


def test_the_tables_are_those_of_the_servers_whatever_python_has():
    tables = b"".join(code_table(name).tobytes() for name in sorted(SUPPORTED - {"binary"} - (FORMS.keys() - {"swe7"})))
    assert sha256(tables).hexdigest() == TABLES
