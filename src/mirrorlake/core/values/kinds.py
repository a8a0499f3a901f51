"""Column kinds: how one value of a row image is stored"""

(
    INTEGER, UNSIGNED_LONG, FLOAT, DOUBLE, DECIMAL, BIT, YEAR, DATE, DATETIME, OLD_DATETIME, TIMESTAMP, OLD_TIMESTAMP,
    ENUM, SET, FIRST_VARIABLE, TEXT, BINARY,
) = range(17)  # fmt: skip
"""Those above FIRST_VARIABLE carry their length in the row."""
