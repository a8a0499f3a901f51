"""Read an expression in parentheses whose text is read again later, without the session of its statement."""

from __future__ import annotations

import re

from mirrorlake.core.ddl.parse.lexer import NO_BACKSLASH_ESCAPES
from mirrorlake.core.ddl.parse.tokens import Tokens
from mirrorlake.core.schema.charsets import UTF8, as_converted, canonical_charset, keeps_ascii

SESSION = "mirrorlake_session"
"""``mirrorlake_session.(...)`` has another value than the expression alone."""
EMPTY_STRING_IS_NULL = 1 << 32
_OTHER_FUNCTIONS = 1 << 9 | EMPTY_STRING_IS_NULL
"""MariaDB's sql_modes ORACLE and EMPTY_STRING_IS_NULL: CONCAT(NULL, 'a') is 'a' there, and '' is NULL."""
_OF_BYTES = re.compile(r"\b(?:OCTET_)?LENGTH\b|\b(?:MD5|SHA[12]?|CRC32)\b", re.IGNORECASE)
_INTRODUCED = re.compile(r"\b_[a-z0-9]+\s*'", re.IGNORECASE)


def read_expression(tokens: Tokens) -> str:
    """Read it with its parentheses: its text, marked if the session gives it another value."""
    return in_its_session(tokens.parenthesised(), tokens)


def in_its_session(text: str, tokens: Tokens) -> str:
    return f"{SESSION}.({text})" if _depends_on_mode(text, tokens) or _depends_on_charset(text, tokens) else text


def _depends_on_mode(text: str, tokens: Tokens) -> bool:
    if tokens.server.flavor == "mariadb":
        return bool(tokens.session.sql_mode & _OTHER_FUNCTIONS)
    return bool(tokens.session.sql_mode & NO_BACKSLASH_ESCAPES) and "\\" in text  # MySQL keeps it with both


def _depends_on_charset(text: str, tokens: Tokens) -> bool:
    """Texts, and numbers as text, have character_set_connection. MariaDB keeps texts in UTF-8, after it converted
    them."""
    charset = tokens.session.connection_charset
    if tokens.has_invalid_code(text):
        return True
    if charset is None or charset in UTF8 and text.isascii():
        return False
    charsets = charset, tokens.session.client_charset or ""
    if not keeps_ascii(charset) or any(as_converted(text, each) != text for each in charsets):
        return True
    if charset in UTF8 or text.isascii():
        return False
    return bool(_INTRODUCED.search(text) or tokens.server.flavor == "mysql" and _OF_BYTES.search(text))


def is_as_written(introducer: str, text: str, connection_charset: str | None) -> bool:
    """Does a text after ``_charset`` or ``N`` mean its characters? Its bytes, which are the client's, are not
    converted."""
    charset = "utf8mb3" if introducer.lower() == "n" else canonical_charset(introducer[1:])
    if connection_charset is not None and not keeps_ascii(connection_charset):
        return False
    if text.isascii():
        return keeps_ascii(charset)
    return charset in UTF8 and connection_charset in (None, *UTF8) and as_converted(text, charset) == text
