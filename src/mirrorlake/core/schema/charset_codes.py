"""The character of each code of a character set: a table per character set, made when it is first needed.

The tables are Python's codecs with the few codes that MySQL 9.7 and MariaDB 10.11 convert differently; the two servers
never contradict each other. ``tests/server/test_charsets.py`` asks both for every code. A code that a server shows as
``?`` or U+FFFD has no character: the text with it is not known, so it is ``UNASSIGNED`` here.

A table is uint32[256 * rows]. Row 0 is entered with the first byte of a code; the entry of a byte is

    below 0x110000      the code point; the code ends here
    LINEAR + n          a four-byte code of GB18030, n its number if the two bytes that follow were 0x81 0x30. The
                        first LINEAR_POINTS of them have their code points in rows 1 and up; see ``linear_number``
    NEXT + r            continue in row r with the next byte
    UNASSIGNED          a code without a character
    INVALID             no code begins with this
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from itertools import product
from types import MappingProxyType

import numpy as np

LINEAR, NEXT, UNASSIGNED, INVALID = 0x4000_0000, 0x8000_0000, 0xFFFF_FFFE, 0xFFFF_FFFF
LINEAR_POINTS = 39420
"""Number of four-byte codes of GB18030 for the first 65536 code points, besides its two-byte codes."""
SUPPLEMENTARY_LINEAR = 189000
"""The number of 0x90308130, which is U+10000; those after it continue from there."""
_NO_CHARACTER = "\ufffd"

_CODECS = {
    "ascii": "ascii", "armscii8": "latin_1", "cp1250": "cp1250", "cp1251": "cp1251", "cp1256": "cp1256",
    "cp1257": "cp1257", "cp850": "cp850", "cp852": "cp852", "cp866": "cp866", "dec8": "latin_1", "geostd8": "cp1252",
    "greek": "iso8859_7", "hebrew": "iso8859_8", "hp8": "hp_roman8", "keybcs2": "cp437", "koi8r": "koi8_r",
    "koi8u": "koi8_u", "latin1": "cp1252", "latin2": "iso8859_2", "latin5": "iso8859_9", "latin7": "iso8859_13",
    "macce": "mac_latin2", "macroman": "mac_roman", "swe7": "ascii", "tis620": "tis_620",
    "big5": "big5", "cp932": "cp932", "eucjpms": "euc_jp", "euckr": "cp949", "gb18030": "gb18030", "gb2312": "gb2312",
    "gbk": "gbk", "sjis": "shift_jis", "ujis": "euc_jp",
}  # fmt: skip

_FROM_A1 = ((0xA1, 0xFE),)
_JAPANESE_PC = (((0x81, 0x9F), (0xE0, 0xFC)), ((0x40, 0x7E), (0x80, 0xFC)))
_GBK = (((0x81, 0xFE),), ((0x40, 0x7E), (0x80, 0xFE)))
_GB18030_OF_4 = (((0x81, 0xFE),), ((0x30, 0x39),)) * 2
_EUC_JP = ((((0x8E, 0x8E),), ((0xA1, 0xDF),)), (_FROM_A1, _FROM_A1), (((0x8F, 0x8F),), _FROM_A1, _FROM_A1))
_WELL_FORMED = {
    "big5": ((((0xA1, 0xF9),), ((0x40, 0x7E), (0xA1, 0xFE))),),
    "cp932": (_JAPANESE_PC,),
    "eucjpms": _EUC_JP,
    "euckr": ((((0x81, 0xFE),), ((0x41, 0x5A), (0x61, 0x7A), (0x81, 0xFE))),),
    "gb18030": (_GBK,),
    "gb2312": ((((0xA1, 0xF7),), _FROM_A1),),
    "gbk": (_GBK,),
    "sjis": (_JAPANESE_PC,),
    "ujis": _EUC_JP,
}
"""Multi-byte codes: per form, the ranges of each of its bytes. The servers read these as one code, assigned or not."""
_SINGLE_BYTES = {"cp932": ((0x00, 0x7F), (0xA1, 0xDF)), "sjis": ((0x00, 0x7F), (0xA1, 0xDF))}

_EXCEPTIONS: dict[str, dict[int, str]] = {
    "armscii8": {
        0xA1: "❁§։)(»«—.՝,-՟…՜՛՞"
        "ԱաԲբԳգԴդԵեԶզԷէԸըԹթԺժԻիԼլԽխԾծԿկՀհՁձՂղՃճՄմՅյՆնՇշՈոՉչՊպՋջՌռՍսՎվՏտՐրՑցՒւՓփՔքՕօՖֆ’'",
    },
    "cp1256": {code: _NO_CHARACTER for code in (0x8A, 0x8F, 0x98, 0x9A, 0x9F, 0xAA, 0xC0, 0xFF)},
    "cp866": {0xFC: "ⁿ²"},
    "dec8": {
        **{code: _NO_CHARACTER for code in (0xA4, 0xA6, *range(0xAC, 0xB0), 0xB4, 0xB8, 0xBE, 0xD0, 0xDE, 0xF0)},
        0xA8: "\xa4", 0xD7: "Œ", 0xDD: "Ÿ", 0xF7: "œ", 0xFD: "ÿ\ufffd\ufffd",
    },
    "geostd8": {
        **{
            code: _NO_CHARACTER
            for code in (0x83, 0x88, 0x8A, *range(0x8C, 0x90), *range(0x98, 0x9B), *range(0x9C, 0xA0))
        },
        0xC0: "აბგდევზჱთიკლმნჲოპჟრსტჳუფქღყშჩცძწჭხჴჯჰჵ".ljust(64, _NO_CHARACTER), 0xFD: "№",
    },
    "greek": {0xA1: "ʽʼ£\ufffd\ufffd", 0xAA: _NO_CHARACTER},
    "hebrew": {0xAF: "‾"},
    "keybcs2": {0x80: "ČüéďäĎŤčěĚĹÍľĺÄÁÉžŽôöÓůÚýÖÜŠĽÝŘť", 0xA4: "ňŇŮÔšřŕŔ"},
    "koi8u": {0x95: "•"},
    "latin1": {code: chr(code) for code in (0x81, 0x8D, 0x8F, 0x90, 0x9D)},  # Windows-1252, its holes as C1 controls
    "swe7": {0x40: "É", 0x5B: "ÄÖÅÜ_é", 0x7B: "äöåü\ufffd"},
    "big5": {
        **{code: _NO_CHARACTER for code in (0xA15A, 0xA1C3, 0xA1C5, 0xA1FE, 0xA240, 0xA2CC, 0xA2CE)},
        0xF9D6: "碁銹裏墻恒粧嫺",
    },
    "gb18030": {0xA8BC: "\u1e3f", 0x8135F437: "\ue7c7"},  # the edition of 2005 changed these two codes
    "sjis": {0x815F: "\\"},
    "ujis": {0xA1C0: "\\"},
    "eucjpms": {  # the variants of Windows, its row 13, and IBM's additions where codes of JIS X 0212 are free
        0xA1C1: "\uff5e\u2225", 0xA1DD: "\uff0d", 0xA1F1: "\uffe0\uffe1", 0xA2CC: "\uffe2",
        0x8FA2B7: "\uff5e", 0x8FA2C3: "\uffe4",
        0xADA1: "①②③④⑤⑥⑦⑧⑨⑩⑪⑫⑬⑭⑮⑯⑰⑱⑲⑳ⅠⅡⅢⅣⅤⅥⅦⅧⅨⅩ", 0xADC0: "㍉㌔㌢㍍㌘㌧㌃㌶㍑㍗㌍㌦㌣㌫㍊㌻㎜㎝㎞㎎㎏㏄㎡",
        0xADDF: "㍻〝〟№㏍℡㊤㊥㊦㊧㊨㈱㈲㈹㍾㍽㍼≒≡∫∮∑√⊥∠∟⊿∵∩∪",
        0x8FF3F3: "ⅰⅱⅲⅳⅴⅵⅶⅷⅸⅹⅠⅡ",
        0x8FF4A1: "ⅢⅣⅤⅥⅦⅧⅨⅩ＇＂㈱№℡炻仼僴凬匇匤﨎咊坙﨏塚增寬峵嵓﨑德悅愠敎昻晥晴朗栁﨓﨔橫櫢淸淲瀨凞猪"
        "甁皂皞益礰礼神祥福竧靖精綠緖羽荢﨟薰蘒﨡蠇諸譿賴赶﨣﨤逸郞都鄕﨧﨨閒隆﨩霻靍靑飯飼館馞髙魲鶴黑",
    },
}  # fmt: skip
"""Differences of the servers from the codec: the characters of successive codes from the given one on."""
_PRIVATE_USE = {"eucjpms", "ujis"}
"""Rows 0xF5 to 0xFE of both planes of EUC-JP are for the user's own characters: U+E000 and up, without a gap."""


@cache
def code_table(charset: str) -> np.ndarray:
    """The table of a single-byte or multi-byte character set. Raises KeyError for one without a table."""
    rows = _Rows(_CODECS[charset], _exceptions(charset), 1 + (_linear_rows() if charset == "gb18030" else 0))
    for first, last in _SINGLE_BYTES.get(charset, ((0x00, 0x7F),) if charset in _WELL_FORMED else ((0x00, 0xFF),)):
        for byte in range(first, last + 1):
            rows.add(bytes([byte]))
    for form in _WELL_FORMED.get(charset, ()):
        for code in product(*([byte for first, last in place for byte in range(first, last + 1)] for place in form)):
            rows.add(bytes(code))
    if charset == "gb18030":
        _add_linear(rows)
    return np.array(rows.entries, np.uint32)


class _Rows:
    def __init__(self, codec: str, exceptions: dict[bytes, str], n_rows: int):
        self.entries = [INVALID] * (256 * n_rows)
        self._codec, self._exceptions = codec, exceptions

    def add(self, code: bytes) -> None:
        row = 0
        for byte in code[:-1]:
            row = self.next_row(row, byte)
        self.entries[256 * row + code[-1]] = self.point(code)

    def next_row(self, row: int, byte: int) -> int:
        at = 256 * row + byte
        if self.entries[at] == INVALID:
            self.entries[at] = NEXT + len(self.entries) // 256
            self.entries += [INVALID] * 256
        return self.entries[at] - NEXT

    def point(self, code: bytes) -> int:
        character = self._exceptions.get(code)
        if character is None:
            try:
                character = code.decode(self._codec)
            except UnicodeDecodeError:
                return UNASSIGNED
        return UNASSIGNED if character == _NO_CHARACTER or len(character) != 1 else ord(character)


def _exceptions(charset: str) -> dict[bytes, str]:
    found = dict(_private_use() if charset in _PRIVATE_USE else ())
    for first, characters in _EXCEPTIONS.get(charset, {}).items():
        for number, character in enumerate(characters, first):
            found[number.to_bytes((number.bit_length() + 7) // 8, "big")] = character
    return found


def _private_use() -> Iterator[tuple[bytes, str]]:
    cells = product((b"", b"\x8f"), range(0xF5, 0xFF), range(0xA1, 0xFF))
    for number, (plane, row, cell) in enumerate(cells):
        yield plane + bytes([row, cell]), chr(0xE000 + number)


def _linear_rows() -> int:
    return -(-LINEAR_POINTS // 256)


def _add_linear(rows: _Rows) -> None:
    for lead in range(0x81, 0xFF):
        row = rows.next_row(0, lead)
        for digit in range(10):
            rows.entries[256 * row + 0x30 + digit] = LINEAR + 1260 * (10 * (lead - 0x81) + digit)
    for number in range(LINEAR_POINTS):
        rest, last = divmod(number, 10)
        rest, third = divmod(rest, 126)
        lead, second = divmod(rest, 10)
        rows.entries[256 + number] = rows.point(bytes([0x81 + lead, 0x30 + second, 0x81 + third, 0x30 + last]))


def linear_number(entry: int, third: int, fourth: int) -> int:
    """Number of a four-byte code of GB18030 from the entry of its second byte and the bytes after that; -1 none."""
    if not (0x81 <= third <= 0xFE and 0x30 <= fourth <= 0x39):
        return -1
    return entry - LINEAR + 10 * (third - 0x81) + fourth - 0x30


def code_pattern(charset: str) -> bytes:
    """A regular expression for the bytes of a code of several bytes, assigned or not."""
    forms = (*_WELL_FORMED[charset], *((_GB18030_OF_4,) if charset == "gb18030" else ()))
    return b"|".join(b"".join(map(_one_of, form)) for form in forms)


def _one_of(ranges: Iterable[tuple[int, int]]) -> bytes:
    return b"[" + b"".join(re.escape(bytes([low])) + b"-" + re.escape(bytes([high])) for low, high in ranges) + b"]"


def decode_by_table(
    data: bytes, table: np.ndarray, wide: Mapping[int, int] = MappingProxyType({})
) -> Iterator[int | None]:
    """The code points of a text; None for each code without a character and each byte that begins no code. wide: code
    points instead of those that codes of several bytes have."""
    at = 0
    while at < len(data):
        point, n_bytes = _code_at(data, at, table)
        yield point if n_bytes == 1 or point is None else wide.get(point, point)
        at += n_bytes


def decode_single_bytes(data: bytes, table: np.ndarray) -> str:
    """Decode a text in a single-byte character set; U+FFFD for each byte without one."""
    entries = table[np.frombuffer(data, np.uint8)]
    return np.where(entries < LINEAR, entries, 0xFFFD).astype("<u4").tobytes().decode("utf-32-le")


def _code_at(data: bytes, start: int, table: np.ndarray) -> tuple[int | None, int]:
    row = 0
    for at in range(start, len(data)):
        entry = int(table[256 * row + data[at]])
        if entry < LINEAR:
            return entry, at + 1 - start
        if entry == UNASSIGNED:
            return None, at + 1 - start
        if entry == INVALID:
            break
        if entry < NEXT:
            return _four_byte_code(data[start : start + 4], entry, table)
        row = entry - NEXT
    return None, 1


def _four_byte_code(code: bytes, entry: int, table: np.ndarray) -> tuple[int | None, int]:
    number = linear_number(entry, code[2], code[3]) if len(code) == 4 else -1
    if number < 0:
        return None, 1
    if number < LINEAR_POINTS:
        point = int(table[256 + number])
        return (point if point < LINEAR else None), 4
    point = 0x10000 + number - SUPPLEMENTARY_LINEAR
    return (point if 0x10000 <= point <= 0x10FFFF else None), 4
