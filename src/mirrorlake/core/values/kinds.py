"""Column kinds: the storage forms of one value in a row image."""

import numpy as np

(
    INTEGER, UNSIGNED_LONG, FLOAT, DOUBLE, DECIMAL, BIT, YEAR, DATE, DATETIME, OLD_DATETIME, OLD_FINE_DATETIME,
    TIMESTAMP, OLD_FINE_TIMESTAMP, OLD_TIMESTAMP, ENUM, SET, TIME, OLD_TIME, OLD_FINE_TIME, DECIMAL_TEXT, UTF8_TEXT,
    TEXT, COMPRESSED_TEXT, BINARY, COMPRESSED_BINARY, JSON, UUID_INET, HASHED,
) = range(28)  # fmt: skip
"""OLD_FINE: MariaDB's before 10.1, with a fraction. Those from UTF8_TEXT on have their length in the row. Dates are
DATE to OLD_TIMESTAMP, texts UTF8_TEXT to COMPRESSED_TEXT. HASHED: a value of another kind, of which only the digest
is written."""

MALFORMED, NO_ROOM = np.int64(-1), np.int64(-2)
"""Instead of an address: the bytes are no value of the column; the output is full."""
