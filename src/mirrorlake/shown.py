"""Text from others as a person or a program may see it: no character of it controls a terminal.

A server's message, a name, a value or a statement may hold escape sequences, characters that change the direction of
writing, or ends of lines that no editor shows.
"""

from __future__ import annotations

import codecs
import io
import json
import re
from typing import Any, TextIO

MOST = 500
"""Maximum number of characters of one text."""
_LINES = "\n\t"
STEERING = "\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff"
"""C0, C1, signs of direction, separators of lines, and halves of characters, which no output can encode: to stand
in the brackets of a pattern."""
_STEERING = re.compile(f"[{STEERING}]")


def shown(text: str, most: int | None = MOST) -> str:
    """The text with ``\\x1b`` for such a character, except line ends and tabs; cut after ``most`` characters."""
    if most is not None and len(text) > most:
        text = text[:most] + "..."
    return _STEERING.sub(lambda found: found[0] if found[0] in _LINES else _escaped(found[0]), text)


def one_line(what: object) -> str:
    """The text of a value without line ends."""
    return " ".join(str(what).split())


def as_line(text: str) -> str:
    """A line of ours that holds text of others, which was cut before; line ends in it are escaped, too."""
    return _STEERING.sub(lambda found: _escaped(found[0]), text)


def say(line: str, stream: TextIO) -> None:
    """Print ``as_line(line)``."""
    print(as_line(line), file=stream)


def json_text(found: Any) -> str:
    """JSON with the same values, in which every such character is escaped."""
    text = json.dumps(found, ensure_ascii=False, indent=1)
    return _STEERING.sub(lambda sign: sign[0] if sign[0] in _LINES else f"\\u{ord(sign[0]):04x}", text)


def escape_what_it_lacks(stream: TextIO) -> None:
    """Let a stream of the process write what its encoding lacks as JSON's escapes, ``\\u00e9``."""
    codecs.register_error("mirrorlake-escapes", _in_json)
    if isinstance(stream, io.TextIOWrapper):
        stream.reconfigure(errors="mirrorlake-escapes")


def _in_json(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    units = error.object[error.start : error.end].encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[i : i + 2].hex()}" for i in range(0, len(units), 2)), error.end


def _escaped(sign: str) -> str:
    return f"\\x{ord(sign):02x}" if ord(sign) < 256 else f"\\u{ord(sign):04x}"
