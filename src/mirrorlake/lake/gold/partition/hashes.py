"""The servers' own hash of a row's key, which PARTITION BY KEY uses, as a Spark expression.

The hash is over the bytes of each column as the servers store it, without spaces at the end:

    h = h ^ ((((h & 63) + k) * weight(byte) + (h << 8)), k = k + 3        of a byte; h is 1 and k is 4 at the start
    h = h ^ ((h << 1) | 1)                                                of a column that is NULL

weight: of the collation latin1_swedish_ci, for numbers too. Only the lower 32 bits of h are used. The columns come in
the order that they have in the table. Measured on MariaDB 10.11 and 11.8 and MySQL 9.7, which agree; text uses its own
collation and is not supported.
"""

from __future__ import annotations

from collections.abc import Sequence

from mirrorlake.core.schema.tables import Column
from mirrorlake.core.schema.types import INTEGER_BYTES
from mirrorlake.core.sql_text import Sql, quote

_SPACE, _NULL, _ALL = 32, -1, 2**32 - 1
_WEIGHTS_FROM_192 = (
    65, 65, 65, 65, 92, 91, 92, 67, 69, 69, 69, 69, 73, 73, 73, 73, 68, 78, 79, 79, 79, 79, 93, 215, 216, 85, 85, 85,
    89, 89, 222, 223, 65, 65, 65, 65, 92, 91, 92, 67, 69, 69, 69, 69, 73, 73, 73, 73, 68, 78, 79, 79, 79, 79, 93, 247,
    216, 85, 85, 85, 89, 89, 222, 255,
)  # fmt: skip
_WEIGHT = (
    "CASE WHEN b BETWEEN 97 AND 122 THEN b - 32"
    f" WHEN b >= 192 THEN element_at(array{_WEIGHTS_FROM_192}, CAST(b - 191 AS int)) ELSE b END"
)


def key_hash(columns: Sequence[Sql]) -> Sql:
    """A bigint, never NULL. columns: arrays of bytes; no lambda names a column, for its parameter would hide it."""
    start = "named_struct('h', CAST(1 AS bigint), 'k', CAST(4 AS bigint))"
    of_null = f"(s.h ^ (shiftleft(s.h, 1) | 1)) & {_ALL}"
    of_byte = f"(s.h ^ (((s.h & 63) + s.k) * ({_WEIGHT}) + shiftleft(s.h, 8))) & {_ALL}"
    after = f"named_struct('h', IF(b = {_NULL}, {of_null}, {of_byte}), 'k', s.k + IF(b = {_NULL}, 0, 3))"
    everything = f"concat({', '.join(columns)})"
    return f"aggregate({everything}, {start}, (s, b) -> {after}, s -> s.h)"


def moment_bytes(seconds: int, microseconds: int) -> Sql:
    """A TIMESTAMP(6), as an array of bigints: the highest byte first. seconds: since 1970, UTC."""
    stored = seconds.to_bytes(4, "big") + microseconds.to_bytes(3, "big")
    return f"array({', '.join(f'CAST({int(byte)} AS bigint)' for byte in stored.rstrip(b' '))})"


def integer_bytes(column: Column) -> Sql:
    """An array of bigints, the lowest byte first."""
    name, width = quote(column.name), INTEGER_BYTES[column.type.name]
    number = f"CAST({name} AS bigint)"
    if width == 8 and column.type.unsigned:
        number = f"CAST(IF({name} >= {2**63}, {name} - {2**64}, {name}) AS bigint)"
    stored = [f"shiftright({number}, {8 * i}) & 255" for i in range(width)]
    lengths = [f"WHEN {stored[i]} <> {_SPACE} THEN {i + 1}" for i in reversed(range(width))]
    counted = f"slice(array({', '.join(stored)}), 1, CASE {' '.join(lengths)} ELSE 0 END)"
    return f"IF({name} IS NULL, array(CAST({_NULL} AS bigint)), {counted})"
