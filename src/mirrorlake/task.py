"""The entry point for platforms that call a function in a Python of their own: it returns or raises, and never exits.

Databricks runs a wheel task in IPython, where SystemExit counts as a failure even with code 0. Nothing here sets
handlers of signals, so it also runs in any thread.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from typer.main import get_command

from mirrorlake.cli import Guarded, app, understood
from mirrorlake.errors import MirrorlakeError, RefusedError
from mirrorlake.shown import one_line

FINDINGS = {
    "verify": RefusedError("differs", "a mirror differs from its source"),
    "replay": RefusedError("differs", "the new lake differs from the old one"),
    "preflight": RefusedError("check-failed", "a check failed"),
    "workspace": RefusedError("check-failed", "a check failed"),
    "snapshot": RefusedError("left-out", "a table has no snapshot"),
    "resync": RefusedError("left-out", "a table has no snapshot"),
    "views": RefusedError("left-out", "a table has no view"),
}
"""What exit code 3 means of a verb that did its work and printed what it found."""

INTERRUPTED = 130
"""What typer makes of KeyboardInterrupt."""


@dataclass(eq=False)
class TaskFailed(Exception):
    """code: a key of ``REFUSALS``. reason: what happened, one line. hint: what to do next."""

    code: str
    reason: str
    hint: str

    def __str__(self) -> str:
        return f"{self.code}: {self.reason}\n{self.hint}"


def main(argv: Sequence[str] | None = None) -> None:
    """Run one verb in this thread. argv: what follows ``mirrorlake`` on the command line; None: ``sys.argv[1:]``.

    Raises TaskFailed for every exit code other than 0; KeyboardInterrupt if the platform cancels it.
    """
    failed = _run(sys.argv[1:] if argv is None else list(argv))
    if failed is not None:
        raise _task_failed(failed) from None


def _run(arguments: list[str]) -> MirrorlakeError | None:
    try:
        code = cast(Guarded, get_command(app)).run(arguments, prog_name="mirrorlake")
    except Exception as error:
        return understood(error, "--verbose" in arguments)
    if code == INTERRUPTED:
        raise KeyboardInterrupt
    return FINDINGS[arguments[0]] if code else None


def _task_failed(error: MirrorlakeError) -> TaskFailed:
    return TaskFailed(error.code, one_line(error).removeprefix(f"{error.code}: "), error.hint)
