"""The text of a logged statement, which stands in the character set of the client that sent it."""

from __future__ import annotations

from mirrorlake.core.schema.charsets import OTHER, charset_of_collation_id, decode_loosely


def decode_statement(statement: bytes, client_collation_id: int | None) -> str:
    """Never fails: a code without a meaning becomes U+FFFD. None = not logged, which the servers take for UTF-8."""
    if client_collation_id is None:
        return statement.decode("utf-8", "replace")
    charset = charset_of_collation_id(client_collation_id, "mysql")
    if charset == OTHER:  # the two flavors' numbers never contradict each other
        charset = charset_of_collation_id(client_collation_id, "mariadb")
    return decode_loosely(statement, charset)
