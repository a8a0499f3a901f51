"""Decode the text of a logged statement, which is in the character set of the client that sent it."""

from __future__ import annotations

import pyarrow as pa

from mirrorlake.core.schema.charsets import OTHER, charset_of_collation_id, decode_loosely


def decode_statement(statement: bytes, client_collation_id: int | None) -> str:
    """Decode a statement. Never fails: an invalid code becomes U+FFFD. None = not logged, which servers read as
    UTF-8."""
    if client_collation_id is None:
        return statement.decode("utf-8", "replace")
    charset = charset_of_collation_id(client_collation_id, "mysql")
    if charset == OTHER:  # the two flavors' numbers never contradict each other
        charset = charset_of_collation_id(client_collation_id, "mariadb")
    return decode_loosely(statement, charset)


def as_text(statements: pa.BinaryArray) -> pa.StringArray:
    """Decode statements whose character set the log does not have: as UTF-8, with U+FFFD for invalid bytes."""
    try:
        return statements.cast(pa.string())
    except pa.ArrowInvalid:
        return pa.array([text.decode("utf-8", "replace") for text in statements.to_pylist()], pa.string())
