"""What a check of a workspace found: its level, and the fix."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import TextIO

from databricks.sdk.errors import NotFound, PermissionDenied

from mirrorlake.errors import RefusedError
from mirrorlake.shown import json_text, say, shown

OK, WARNING, ERROR = "ok", "warning", "error"


@dataclass(frozen=True, slots=True)
class Finding:
    """level: ``ok``, ``warning`` (it may work all the same) or ``error``. fix: what to do if it is not ok."""

    name: str
    level: str
    found: str
    fix: str = ""


def ok(name: str, found: str) -> Finding:
    return Finding(name, OK, found)


def looked_up(name: str, look: Callable[[], Finding], *, missing: str, denied: str) -> Finding:
    """What a look finds. missing, denied: the fix if the thing is not there, or this user may not see it."""
    try:
        return look()
    except NotFound:
        return Finding(name, ERROR, "not there, or not to be seen", missing)
    except PermissionDenied:
        return Finding(name, ERROR, "this user may not see it", denied)


def show_findings(findings: list[Finding], as_json: bool, stream: TextIO) -> int:
    """Print every finding, with its fix unless it is ok; return the exit code."""
    if as_json:
        print(json_text([asdict(finding) for finding in findings]), file=stream)
    for finding in () if as_json else findings:
        say(f"{finding.level:7}  {finding.name}: {shown(finding.found)}", stream)
        if finding.level != OK:
            say(f"         {finding.fix}", stream)
    return RefusedError.exit_code if any(finding.level == ERROR for finding in findings) else 0
