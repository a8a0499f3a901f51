"""The command line in this process or in one of its own, and what it says when it fails."""

from __future__ import annotations

import os
import subprocess
import sys

from typer.testing import CliRunner

from mirrorlake.cli import app
from mirrorlake.errors import REFUSALS

COMMAND = [sys.executable, "-c", "from mirrorlake.cli import main; main()"]


def mirrorlake_cli(*arguments, **environment):
    return CliRunner().invoke(app, [str(argument) for argument in arguments], env=environment)


def in_a_process(*arguments, **environment):
    command = [*COMMAND, *map(str, arguments)]
    return subprocess.run(command, env=os.environ | environment, capture_output=True, text=True, timeout=120)


def without_spark(*arguments, **environment):
    """A process in which PySpark cannot be imported."""
    blocked = "import sys; sys.modules.update(dict.fromkeys(('pyspark', 'py4j')))"
    command = [sys.executable, "-c", f"{blocked}; from mirrorlake.cli import main; main()", *map(str, arguments)]
    return subprocess.run(command, env=os.environ | environment, capture_output=True, text=True, timeout=120)


def complaint(result) -> tuple[int, str, str]:
    """Exit code, code, and the message; the second line must be the code's hint, and there is no third."""
    what, hint = result.stderr.splitlines()
    code, message = what.split(": ", 1)
    assert hint == REFUSALS[code] and result.stdout == ""
    return result.exit_code, code, message
