"""Read the password of the source's user, and keep it in this process alone."""

from __future__ import annotations

import os
import stat
import sys
from functools import cache
from getpass import getpass
from pathlib import Path
from typing import TYPE_CHECKING

from mirrorlake.errors import UsageError
from mirrorlake.jobs.run.column_secret import take_column_secret
from mirrorlake.jobs.run.secret import read_secret, utf8
from mirrorlake.shown import say

if TYPE_CHECKING:
    from mirrorlake.config import Options  # slow to import

PASSWORD_VARIABLE = "MIRRORLAKE_PASSWORD"
_MOST_CHARACTERS = 10_000
_taken: str | None = None


def take_password() -> None:
    """Move the password and the secret of hashed columns from the environment, which every process that we start
    inherits, into this process.

    Call it before the first JVM or worker starts; later calls find nothing, or a newer password.
    """
    global _taken
    _taken = os.environ.pop(PASSWORD_VARIABLE, _taken)
    take_column_secret()


def password(options: Options) -> str:
    """The password from the secret, else the file, else the environment. Raises UsageError if it cannot be read."""
    take_password()
    if options.password_secret is not None:
        return read_secret(options.password_secret)
    return _given(options) or ""


def _given(options: Options) -> str | None:
    """The password from the file, else the environment; None: there is none."""
    if options.password_file is not None:
        return _of_file(options.password_file)
    return None if _taken is None else utf8(_taken, PASSWORD_VARIABLE)


def password_to_keep(options: Options) -> str:
    """A password that shall be kept elsewhere: from the file, else the environment, else asked for at the terminal.

    Raises UsageError if it is empty, or there is nobody to ask.
    """
    take_password()
    text = _given(options)
    if text is None and sys.stdin.isatty():
        text = getpass("Password of the source's user (it is not shown): ")
    if not text:
        raise UsageError("usage", f"no password is given: set {PASSWORD_VARIABLE}, or name a --password-file")
    return text


@cache
def warn(text: str) -> None:
    """Print a warning on stderr, once."""
    say(f"warning: {text}", sys.stderr)


def _of_file(path: Path) -> str:
    try:
        with open(path, encoding="utf-8-sig") as file:
            mode = os.fstat(file.fileno()).st_mode
            text = file.read(_MOST_CHARACTERS + 1).rstrip("\r\n")
    except (OSError, ValueError) as error:
        raise UsageError("usage", f"cannot read the password file: {getattr(error, 'strerror', 'not UTF-8')}") from None
    if len(text) > _MOST_CHARACTERS or "\0" in text:
        raise UsageError(
            "usage", f"the password file has more than {_MOST_CHARACTERS:,} characters, or a NUL character"
        )
    if mode & (stat.S_IRGRP | stat.S_IWGRP | stat.S_IROTH | stat.S_IWOTH):
        warn(f"other users may read or change the password file {path}: chmod 600 keeps it to its owner")
    return text
