"""The entry point for platforms that call a function in a Python of their own: it returns or raises, and never exits.

Databricks runs a wheel task in IPython, where SystemExit counts as a failure even with code 0. Nothing here sets
handlers of signals, so it also runs in any thread.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from tenacity import Retrying, retry_if_result, stop_after_attempt, wait_fixed
from typer.main import get_command

from mirrorlake.cli import Guarded, app, understood
from mirrorlake.errors import MirrorlakeError, RefusedError, RetryableError
from mirrorlake.shown import one_line, say

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

REPEATED = ("run", "ingest", "assemble", "apply", "maintain")
"""Verbs that a task repeats itself: a platform repeats a task after every failure, or after none."""
NOT_REPEATED = ("spark-ended", "lag")
"""Retryable, but only by a new process, or later."""
ATTEMPTS, PAUSE_S = 3, 60
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
    arguments = sys.argv[1:] if argv is None else list(argv)
    repeats = arguments[:1] and arguments[0] in REPEATED and "--follow" not in arguments  # which repeats by itself
    failed = _repeated(arguments) if repeats else _run(arguments)
    if failed is not None:
        raise task_failed(failed) from None


def _repeated(arguments: list[str]) -> MirrorlakeError | None:
    """The last failure of at most ATTEMPTS; each continues from what the one before committed."""

    def announce(state) -> None:
        say(f"{one_line(str(state.outcome.result()))}: again in {PAUSE_S} s", sys.stderr)

    return Retrying(
        retry=retry_if_result(_passes), stop=stop_after_attempt(ATTEMPTS), wait=wait_fixed(PAUSE_S),
        before_sleep=announce, retry_error_callback=lambda state: state.outcome.result(),
    )(_run, arguments)  # fmt: skip


def _passes(failed: MirrorlakeError | None) -> bool:
    return isinstance(failed, RetryableError) and failed.code not in NOT_REPEATED


def _run(arguments: list[str]) -> MirrorlakeError | None:
    try:
        code = cast(Guarded, get_command(app)).run(arguments, prog_name="mirrorlake")
    except Exception as error:
        return understood(error, "--verbose" in arguments)
    if code == INTERRUPTED:
        raise KeyboardInterrupt
    return FINDINGS[arguments[0]] if code else None


def task_failed(error: MirrorlakeError) -> TaskFailed:
    """The error as what a platform shows."""
    return TaskFailed(error.code, one_line(error).removeprefix(f"{error.code}: "), error.hint)
