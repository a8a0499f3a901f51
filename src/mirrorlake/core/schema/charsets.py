"""Character sets as the two servers number and spell them.

Ids are what information_schema.COLLATIONS of MySQL 9.7 and MariaDB 10.11 list; both families kept the ids of MySQL 5.5
for everything below 248. Only the character sets a mirror can hold are told apart; every other one is ``OTHER``.
"""

from __future__ import annotations

OTHER = "other"
BINARY = "binary"
MAX_BYTES = {"utf8mb4": 4, "utf8mb3": 3, "ascii": 1, "latin1": 1, BINARY: 1}  # per character
SUPPORTED = frozenset(MAX_BYTES)

_SHARED = {
    "latin1": (5, 8, 15, 31, 47, 48, 49, 94),
    "ascii": (11, 65),
    BINARY: (63,),
    "utf8mb3": (33, 76, 83, *range(192, 216), 223),
    "utf8mb4": (45, 46, *range(224, 248)),
}
_MYSQL = {"utf8mb4": range(255, 324)}  # the 0900 family
_MARIADB = {
    "utf8mb3": (*range(576, 579), *range(2048, 2304)),  # 2048 and up: UCA 14.0.0, 256 ids per character set
    "utf8mb4": (*range(608, 611), *range(2304, 2560)),
}
_MARIADB_NOPAD = 1024  # a NO PAD collation has the id of its PAD SPACE twin plus this


def _number(*families: dict) -> dict[int, str]:
    return {number: charset for family in families for charset, numbers in family.items() for number in numbers}


_CHARSET_OF = {
    "mysql": _number(_SHARED, _MYSQL),
    "mariadb": _number(_SHARED, _MARIADB)
    | {number + _MARIADB_NOPAD: charset for number, charset in _number(_SHARED).items() if charset != BINARY},
}


def charset_of_collation_id(collation_id: int, flavor: str) -> str:
    """The character set of a collation number in the log; ``OTHER`` when a mirror cannot hold it."""
    return _CHARSET_OF[flavor].get(collation_id, OTHER)


def canonical_charset(name: str) -> str:
    """A character set as SQL spells it -> the one name we use (utf8 is the three-byte one, the default of both)."""
    name = name.lower()
    return "utf8mb3" if name == "utf8" else name


def charset_of_collation_name(name: str) -> str | None:
    """``latin1_bin`` -> ``latin1``. None: the name fits several character sets (MariaDB's short ``uca1400_...``)."""
    family = name.lower().partition("_")[0]
    return None if family == "uca1400" else canonical_charset(family)


def max_bytes(charset: str | None) -> int:
    """Bytes of the widest character; 1 for a character set we do not know."""
    return MAX_BYTES.get(charset or "", 1)


def decode_text(data: bytes, charset: str) -> str | None:
    """Bytes in a character set of ``SUPPORTED`` -> text; None when they have no meaning in it.

    The servers' latin1 is Windows-1252 with its five holes kept as C1 controls; binary is shown as UTF-8.
    """
    if charset == "latin1":
        return "".join(_LATIN1[byte] for byte in data)
    if charset not in SUPPORTED:
        return None
    try:
        return data.decode("ascii" if charset == "ascii" else "utf-8")
    except UnicodeDecodeError:
        return None


_LATIN1 = [bytes([byte]).decode("cp1252", "ignore") or chr(byte) for byte in range(256)]
