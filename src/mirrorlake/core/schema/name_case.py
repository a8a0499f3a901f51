"""Compare names of columns, keys and partitions as the servers and Spark do: without regard to case."""

from __future__ import annotations

_WITH_LOWER_CASE = (
    (0x41, 0x21E), (0x222, 0x232), (0x386, 0x3AB), (0x3DA, 0x3EE), (0x400, 0x480), (0x48C, 0x4BE), (0x4C1, 0x4C3),
    (0x4C7, 0x4C7), (0x4CB, 0x4CB), (0x4D0, 0x4F4), (0x4F8, 0x4F8), (0x531, 0x556), (0x1E00, 0x1E94), (0x1EA0, 0x1EF8),
    (0x1F08, 0x212B), (0x2160, 0x216F), (0x24B6, 0x24CF), (0xFF21, 0xFF3A),
)  # fmt: skip
"""Ranges of code points in which the servers know the capital letters of Unicode 3.0 and no later ones."""
_LOWER = {
    code: small
    for first, last in _WITH_LOWER_CASE
    for code in range(first, last + 1)
    if (small := chr(code).lower()[0]) != chr(code)
}


def folded(name: str) -> str:
    """Fold a name: equal for two names exactly if they are equal to MySQL, and to MariaDB before 11.5.

    Later MariaDB compares by Unicode 14: ``ſ`` is ``s`` there, ``ı`` is ``i``, and ``İ`` is not. A statement that needs
    this names a column that is not found here, and refuses its table; Spark refuses a table with both ``i`` and ``İ``.
    The rule was asked of MySQL 5.6 and 9.7 and of MariaDB 10.11 (``LOWER`` of utf8mb3_general_ci).
    """
    return name.lower() if name.isascii() else name.translate(_LOWER)


def folded_by_spark(name: str) -> str:
    """Fold a name: equal for two names if they are equal to Spark or Delta, by Java's ``equalsIgnoreCase``."""
    return name.lower() if name.isascii() else "".join(map(_folded_by_java, name))


def _folded_by_java(character: str) -> str:
    capital = character.upper()
    return (capital if len(capital) == 1 else character).lower()[0]
