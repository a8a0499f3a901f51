"""MySQL column types as values, in one canonical form.

The same column described by a DDL text and by a table map gives equal values: properties that only one of the two
has (display width, ZEROFILL, the default, FLOAT's digits) are left out, synonyms have one name.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

INTEGER_BYTES = {"tinyint": 1, "smallint": 2, "mediumint": 3, "int": 4, "bigint": 8}
INTEGERS = tuple(INTEGER_BYTES)
TEXTS = ("tinytext", "text", "mediumtext", "longtext")
BLOBS = ("tinyblob", "blob", "mediumblob", "longblob")
STRINGS = ("char", "varchar", *TEXTS)  # hold characters; the binary twin of each is below
LABELLED = ("enum", "set")
DATED = ("date", "datetime", "timestamp")
MAY_BE_INVALID = (*DATED, *STRINGS)
"""Types with invalid values: dates that no calendar has, bytes that are no text."""
TEMPORALS_WITH_FRACTION = ("datetime", "timestamp", "time")
BINARY_TWIN = {"char": "binary", "varchar": "varbinary", **dict(zip(TEXTS, BLOBS, strict=True))}

MIRRORED = frozenset(
    (*INTEGERS, "decimal", "float", "double", "bit", "year", "date", *TEMPORALS_WITH_FRACTION, *LABELLED)
    + ("json", "geometry", "vector", "uuid", "inet6", "inet4", *BINARY_TWIN, *BINARY_TWIN.values())
)
MAX_DECIMAL_DIGITS = 38  # Spark's and Arrow's decimal128; a wider one is mirrored as text
MAX_VARCHAR_BYTES = {"mysql": 65535, "mariadb": 65532}  # a longer VARCHAR becomes a TEXT outside strict mode
_LARGEST = (255, 65535, 2**24 - 1, 2**32 - 1)  # bytes, in the order of TEXTS and BLOBS
LARGEST_BYTES = dict(zip(TEXTS, _LARGEST, strict=True)) | dict(zip(BLOBS, _LARGEST, strict=True))


@dataclass(frozen=True, slots=True)
class ColumnType:
    """length: characters of char/varchar, bytes of binary/varbinary, bits of bit. charset None on a character type: not
    known from the log's text (the table map has it). fraction_digits: 0-6, of datetime, timestamp and time."""

    name: str
    unsigned: bool = False
    length: int | None = None
    precision: int | None = None
    scale: int | None = None
    fraction_digits: int | None = None
    charset: str | None = None
    labels: tuple[str, ...] = ()

    @property
    def has_charset(self) -> bool:
        return self.name in STRINGS or self.name in LABELLED

    @property
    def is_wide(self) -> bool:
        """Is it a DECIMAL that a mirror holds as text?"""
        return self.name == "decimal" and (self.precision or 0) > MAX_DECIMAL_DIGITS

    def sql(self) -> str:
        """The type in MySQL's SQL, without character set: ``decimal(10,2) unsigned``, ``enum('a','b')``."""
        return self.name + self._arguments() + (" unsigned" if self.unsigned else "")

    def _arguments(self) -> str:
        if self.labels:
            return "(" + ",".join("'" + label.replace("'", "''") + "'" for label in self.labels) + ")"
        if self.precision is not None:
            return f"({self.precision},{self.scale})"
        number = self.length if self.length is not None else self.fraction_digits or None
        return "" if number is None else f"({number})"

    def to_dict(self) -> dict:
        """The values that differ from the defaults, for JSON."""
        found = {f.name: getattr(self, f.name) for f in fields(self)}
        found["labels"] = list(self.labels)
        return {name: value for name, value in found.items() if value not in (None, [], "") and value is not False}


def text_type(length_bytes: int) -> str:
    """The smallest *TEXT type for ``length_bytes`` bytes."""
    return TEXTS[_smallest(length_bytes)]


def blob_type(length_bytes: int) -> str:
    """The smallest *BLOB type for ``length_bytes`` bytes."""
    return BLOBS[_smallest(length_bytes)]


def _smallest(length_bytes: int) -> int:
    return next((i for i, largest in enumerate(_LARGEST) if length_bytes <= largest), len(_LARGEST) - 1)


def label_bytes(name: str, n_labels: int) -> int:
    """Stored bytes of an ENUM or SET (its type's name) with ``n_labels`` labels."""
    if name == "enum":
        return 1 if n_labels < 256 else 2
    n_bytes = (n_labels + 7) // 8
    return 8 if n_bytes > 4 else n_bytes


def integer_range(kind: ColumnType) -> tuple[int, int] | None:
    """The least and the largest value of an integer type; None for another type."""
    if kind.name not in INTEGER_BYTES:
        return None
    bits = 8 * INTEGER_BYTES[kind.name]
    return (0, 2**bits - 1) if kind.unsigned else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
