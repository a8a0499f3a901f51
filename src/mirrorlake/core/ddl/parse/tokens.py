"""A cursor over the tokens of one statement, with the few operations that every part of the parser uses."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from typing import TypeVar

from mirrorlake.core.ddl.parse.lexer import PIPES_AS_CONCAT, Kind, LexError, Token, tokenize, with_signs
from mirrorlake.core.ddl.parse.session import OF_NO_SESSION, LoggedSession, SourceServer
from mirrorlake.core.digits import is_number
from mirrorlake.core.schema.charsets import BINARY, UTF8, as_converted
from mirrorlake.core.schema.table_name import TableName

T = TypeVar("T")

MAX_TOKENS = 1_000_000
"""Maximum number of tokens read of a statement. A table of 4096 columns, or of 8192 partitions, needs a tenth of it."""
_NAMES = "utf8mb3"
"""The character set of the servers' names and comments. They replace what it lacks by a question mark."""
NO_CHARACTER = "\ufffd"
"""Instead of an invalid code. In a name, MySQL has a question mark for it, or the name ends there (measured: 9.7)."""


class ParseError(ValueError):
    """The statement has a part that is not understood; the message names it, without any value of a row."""


class UnreadName(ParseError):
    """All of the statement was read, but a name in it may be another one to the server."""

    def __init__(self, statement: object, reason: str):
        super().__init__(reason)
        self.statement = statement


class Tokens:
    """tables: the names read as tables so far, so that a statement that cannot be parsed still refuses the right ones.
    database: of the session, as the server compares names. statement: with the blanks and signs of client_charset, also
    in quotes, as those of ASCII. verb: the first word in capitals, without SET STATEMENT .. FOR; "": not read yet.
    unread: why a name that was read may be another one to the server; None: no name is.

    Raises LexError and ParseError from every method that reads.
    """

    def __init__(self, statement: str, server: SourceServer, session: LoggedSession = OF_NO_SESSION):
        self.statement = with_signs(statement, session.client_charset)
        self._stream = tokenize(
            self.statement, sql_mode=session.sql_mode, flavor=server.flavor, server_version=server.assumed_version,
            quoted_in=statement, client_charset=session.client_charset,
        )  # fmt: skip
        self._read: list[Token] = []
        self._at = 0
        self.server, self.session = server, session
        self.database = server.name_case.fold(session.database)
        self.tables: list[TableName] = []
        self.verb = ""
        self.unread: str | None = None

    def peek(self, distance: int = 0) -> Token:
        read, wanted = self._read, self._at + distance
        while len(read) <= wanted:
            if read and read[-1].kind is Kind.END:
                return read[-1]
            if len(read) == MAX_TOKENS:
                raise LexError(f"it has more than {MAX_TOKENS} words and signs")
            read.append(next(self._stream))
        return read[wanted]

    def next(self) -> Token:
        token = self.peek()
        self._at += token.kind is not Kind.END
        return token

    @property
    def mark(self) -> int:
        """The present position, for ``text_since``."""
        return self._at

    def text_since(self, mark: int) -> str:
        """The text read since ``mark``, as SQL with the same meaning in the default sql_mode, without comments. Strings
        next to each other become the one that they are."""
        taken = list(_joined(self._read[mark : self._at]))
        pairs = zip([*taken[:1], *taken], taken, strict=False)
        return "".join(" " * (before.end < token.start) + self._sql(token) for before, token in pairs)

    def _sql(self, token: Token) -> str:
        if token.kind is Kind.QUOTED:
            return "`" + token.text.replace("`", "``") + "`"
        if token.kind is Kind.STRING:
            return "'" + token.text.replace("\\", "\\\\").replace("'", "''") + "'"
        is_or = token.is_symbol("||") and not self.session.sql_mode & PIPES_AS_CONCAT
        return " or " if is_or else token.text

    @property
    def at_end(self) -> bool:
        """Is this the end, except for a trailing semicolon?"""
        return self.peek().kind is Kind.END or (self.peek().is_symbol(";") and self.peek(1).kind is Kind.END)

    def sees(self, *pattern: str) -> bool:
        """Do these keywords and symbols come next?"""
        return all(self._fits(self.peek(i), wanted) for i, wanted in enumerate(pattern))

    def accept(self, *pattern: str) -> bool:
        """Skip these keywords and symbols if they come next; did they?"""
        if not self.sees(*pattern):
            return False
        for _ in pattern:
            self.next()
        return True

    def accept_any(self, *words: str) -> str | None:
        """Skip one of these words, and return it."""
        return next((word for word in words if self.accept(word)), None)

    def expect(self, *pattern: str) -> None:
        if not self.accept(*pattern):
            raise self.unexpected()

    def name(self) -> str:
        """Read an identifier."""
        if self.peek().kind not in (Kind.WORD, Kind.QUOTED):
            raise self.unexpected()
        text = self.next().text
        if NO_CHARACTER in text:
            self.unread = "character_set_client of its session lacks a character of a name"
        return as_converted(text, _NAMES)

    def comment(self) -> str:
        return as_converted(self.string(), _NAMES)

    def table_name(self) -> TableName:
        """Read ``table`` or ``database.table``, and record it in ``tables``."""
        self.accept(".")
        found = self.qualified_name(self.database)
        self.tables.append(found)
        return found

    def column_name(self) -> str:
        """Read an identifier, which may follow its table's and its database's."""
        self.accept(".")
        found = self.name()
        while self.accept("."):
            found = self.name()
        return found

    def qualified_name(self, database: str) -> TableName:
        """Read ``table``, of this database, or ``database.table``."""
        first = self.database_name()
        return TableName(first, self.database_name()) if self.accept(".") else TableName(database, first)

    def database_name(self) -> str:
        """Read an identifier that is compared like the names of databases and tables."""
        return self.server.name_case.fold(self.name())

    def names(self) -> tuple[str, ...]:
        """Read identifiers with commas between them."""
        return self.separated(self.name)

    def separated(self, read: Callable[[], T]) -> tuple[T, ...]:
        """Call ``read`` once or more, with commas between."""
        found = [read()]
        while self.accept(","):
            found.append(read())
        return tuple(found)

    def enclosed(self, read: Callable[[], T]) -> tuple[T, ...]:
        """Read ``separated`` between parentheses."""
        self.expect("(")
        found = self.separated(read)
        self.expect(")")
        return found

    def string(self) -> str:
        if self.peek().kind is not Kind.STRING:
            raise self.unexpected()
        return self.next().text

    def literal(self, is_default: bool = False) -> str:
        """Read a text, which is converted to character_set_connection, and those next to it. is_default: of a column.
        The servers take one in UTF-8 with an invalid code only for a binary column, which has its bytes."""
        texts = [self.string()]
        while self.peek().kind is Kind.STRING:
            texts.append(self.string())
        client = self.session.client_charset
        keeps_bytes = is_default and client in UTF8 and client == self.session.connection_charset
        return self.held("".join(texts), keeps_bytes)

    def has_invalid_code(self, text: str) -> bool:
        """Has it a code that is invalid in the client's character set? U+FFFD itself is none. The servers keep its
        bytes, replace it by a question mark or end the text there (measured: 9.7, 10.11, 11.8)."""
        return self.session.has_invalid_codes and NO_CHARACTER in text

    def held(self, text: str, keeps_bytes: bool = False) -> str:
        """The text. Raises ParseError if a character set of its session lacks one of its characters, or if it has an
        invalid code. keeps_bytes: this one has the client's bytes."""
        is_invalid = self.has_invalid_code(text) and not keeps_bytes
        if as_converted(text, self.session.client_charset or "") != text or is_invalid:
            raise ParseError("character_set_client of its session lacks a character of a text")
        if as_converted(text, self.session.connection_charset or "") != text:
            raise ParseError("character_set_connection of its session lacks a character of a text")
        return text

    def kept_bytes(self, text: str) -> bytes | None:
        """The bytes of a text if a column takes them for its own, as it does where character_set_connection is binary
        (measured: 9.7, 11.8); None: the column has the text's characters."""
        if self.session.connection_charset != BINARY or text.isascii():
            return None
        if self.session.client_charset not in (None, *UTF8, BINARY):
            raise ParseError("a text in the bytes of character_set_client of its session")
        return text.encode()

    def number(self) -> int:
        digits = self.peek().text.lstrip("0") or "0"
        if self.peek().kind is not Kind.NUMBER or not is_number(digits):
            raise self.unexpected()
        self.next()
        return int(digits)

    def texts_read(self) -> Iterator[str]:
        """Yield each text that was read."""
        return (token.text for token in self._read if token.kind is Kind.STRING)

    def parenthesised(self) -> str:
        """The SQL text between an opening parenthesis and its partner."""
        mark = self.mark
        self.skip_parentheses()
        return self.text_since(mark)[1:-1].strip()

    def skip_parentheses(self) -> None:
        """Skip from an opening parenthesis to after its partner."""
        self.expect("(")
        depth = 1
        while depth:
            token = self.next()
            if token.kind is Kind.END:
                raise self.unexpected()
            depth += token.is_symbol("(") - token.is_symbol(")")

    def unexpected(self) -> ParseError:
        token = self.peek()
        shown = f"a {token.kind.value}" if token.kind in (Kind.STRING, Kind.NUMBER, Kind.BITS) else token.text
        return ParseError(f"{shown or token.kind.value} is not understood at character {token.start + 1}")

    @staticmethod
    def _fits(token: Token, wanted: str) -> bool:
        return token.is_word(wanted) if wanted[0].isalpha() else token.is_symbol(wanted)


def _joined(tokens: Iterable[Token]) -> Iterator[Token]:
    for is_string, run in groupby(tokens, lambda token: token.kind is Kind.STRING):
        taken = list(run)
        if is_string:
            taken = [Token(Kind.STRING, "".join(token.text for token in taken), taken[0].start, taken[-1].end)]
        yield from taken
