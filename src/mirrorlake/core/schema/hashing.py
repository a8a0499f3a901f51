"""What digests of hashed columns are in a mirror, and which ALTERs leave them right."""

from __future__ import annotations

from dataclasses import dataclass, field

from mirrorlake.core.schema.types import BLOBS, INTEGER_BYTES, INTEGERS, LARGEST_BYTES, STRINGS, TEXTS, ColumnType

DIGEST = ColumnType("varchar", length=64, charset="ascii")
"""The type of a hashed column in a mirror."""


@dataclass(frozen=True, slots=True)
class DigestKey:
    """The key of hashed columns. states: those of HMAC-SHA-256 that have taken in the secret.
    check: the digest of a fixed text, by which a lake notices another secret."""

    states: tuple[int, ...] = field(repr=False)
    check: str


def keeps_digests(old: ColumnType, new: ColumnType) -> bool:
    """Has each value of the old type the same digest as one of the new type, whatever the server's settings?"""
    if old == new:
        return True
    if old.name in INTEGERS and new.name in INTEGERS:
        is_wider = INTEGER_BYTES[new.name] > INTEGER_BYTES[old.name]
        return is_wider and (old.unsigned or not new.unsigned)
    if old.name in STRINGS and new.name in STRINGS:
        return _keeps_text(old, new) and (new.name != "char" or old.name == "char") and _is_as_long(old, new)
    if old.name == new.name == "decimal":
        has_sign = old.unsigned or not new.unsigned
        return has_sign and old.scale == new.scale and (old.precision or 0) <= (new.precision or 0)
    if old.name == new.name == "bit":
        return (old.length or 1) <= (new.length or 1)
    if old.name == new.name == "enum":
        return _keeps_text(old, new) and set(old.labels) <= set(new.labels)
    if old.name == new.name == "set":
        return _keeps_text(old, new) and new.labels[: len(old.labels)] == old.labels
    of_bytes = ("varbinary", *BLOBS)
    return old.name in of_bytes and new.name in of_bytes and _is_as_long(old, new)


def _keeps_text(old: ColumnType, new: ColumnType) -> bool:
    return old.charset is not None and new.charset in (old.charset, "utf8mb4")


def _is_as_long(old: ColumnType, new: ColumnType) -> bool:
    lengths = old.length, new.length
    if new.name in LARGEST_BYTES:
        of_old = LARGEST_BYTES.get(old.name) or (old.length or 0) * (4 if old.name in STRINGS else 1)
        is_recoded = old.name in TEXTS and old.charset != new.charset
        return not is_recoded and LARGEST_BYTES[new.name] >= of_old
    return None not in lengths and lengths[0] <= lengths[1]
