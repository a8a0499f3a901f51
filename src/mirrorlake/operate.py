"""One verb of an operator, as a job runs it: the job fixes source and lake, a run gives verb and arguments.

The options of the job are ``--name value`` pairs; a verb gets those that it knows. Who may start the job may not point
it at another server, which would get the password, or at another lake.
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from typing import Any

from typer.main import get_command

from mirrorlake.cli import app
from mirrorlake.errors import MirrorlakeError, UsageError
from mirrorlake.task import main as run_task
from mirrorlake.task import task_failed

VERBS = ("preflight", "status", "tables", "verify", "resync", "ddl", "syncpoint", "syncpoints", "trace")
ONLY_THE_JOBS = ("--config", "--password-file")
"""Options that only a job may give, besides those that it does give."""


def main(argv: Sequence[str] | None = None) -> None:
    """Run one verb in this thread. argv: VERB, ARGUMENTS as one text, then the job's options; None: ``sys.argv[1:]``.

    Raises what ``mirrorlake.task.main`` raises.
    """
    try:
        words = command_of(sys.argv[1:] if argv is None else list(argv))
    except MirrorlakeError as error:
        raise task_failed(error) from None
    run_task(words)


def command_of(argv: Sequence[str]) -> list[str]:
    """The words after ``mirrorlake``. Raises UsageError for a verb or an option that is not an operator's to give."""
    if len(argv) < 2 or argv[0] not in VERBS:
        raise UsageError("usage", f"the verb is one of {', '.join(VERBS)}")
    verb, arguments, *job = argv
    fixed = dict(zip(job[::2], job[1::2], strict=True))
    try:
        given = shlex.split(arguments)
    except ValueError as error:
        raise UsageError("usage", f"the arguments are not words of a shell: {error}") from None
    for name in (word.partition("=")[0] for word in given):
        if name in fixed or name in ONLY_THE_JOBS:
            raise UsageError("usage", f"{name} is the job's: the arguments cannot give it")
    path, command = _command(verb, given)
    known = {name for option in command.params for name in option.opts}
    ours = [word for name, value in fixed.items() if name in known for word in (name, value)]
    return [*path, *ours, *given[len(path) - 1 :]]


def _command(verb: str, given: list[str]) -> tuple[list[str], Any]:
    """The verb with its second word, as in ``ddl skip``, and what it is in the command line."""
    command: Any = get_command(app)
    path: list[str] = []
    for word in (verb, *given):
        if not hasattr(command, "commands"):
            break
        if word not in command.commands:
            raise UsageError("usage", f"{verb} is followed by one of {', '.join(command.commands)}")
        path.append(word)
        command = command.commands[word]
    if hasattr(command, "commands"):
        raise UsageError("usage", f"{verb} is followed by one of {', '.join(command.commands)}")
    return path, command
