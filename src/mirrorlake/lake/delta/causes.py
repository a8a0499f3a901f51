"""The exceptions in an error of Spark: class, condition and first line of the message of each.

They stand at the start of a line. The rest of the text is free: it repeats names and values of the source.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from mirrorlake.lake.delta.refusals import is_analysis

_CLASS = r"(?:[a-z]\w*\.)+[A-Z][\w$]*"
_BEFORE = re.compile(rf"(?:Caused by)?: |Caused by |\(({_CLASS})\) ")
_NAME = re.compile(rf"({_CLASS}|[A-Z][A-Za-z]*Error)(?:: |; |:?$)")
_TASK = re.compile(r"Job aborted due to stage failure: .*?\(TID [0-9]+\) \([^()]*\): ")
_CONDITION = re.compile(r"\[([A-Z][A-Z0-9_.]+)\] ?")


class Cause(NamedTuple):
    """One exception; the class is empty where Spark gives the message alone."""

    name: str
    condition: str
    message: str


def causes_of(error: BaseException) -> list[Cause]:
    """The exceptions in the text of the error, the outermost first.

    A statement that Spark does not take has no cause but itself, and names of the source may hold line ends.
    """
    first, *others = str(error).splitlines() or [""]
    own = list(_of_a_line(first)) or [_without_a_class(first)]
    condition = getattr(error, "getCondition", lambda: None)()
    if condition:
        own = [own[0]._replace(condition=condition), *own[1:]]
    return own if is_analysis(error) else own + [cause for line in others for cause in _of_a_line(line)]


def _of_a_line(line: str) -> Iterator[Cause]:
    """An exception's message may begin with its cause's class and message: ``a.B: c.D: no space``."""
    before = _BEFORE.match(line)
    rest = line[before.end() :] if before else line
    if before and before[1]:
        rest = f"{before[1]}: {rest}"
    while found := _NAME.match(rest):
        rest = rest[found.end() :]
        yield Cause(found[1], *_without_a_class(rest)[1:])
        if task := _TASK.match(rest):
            rest = rest[task.end() :]


def _without_a_class(text: str) -> Cause:
    found = _CONDITION.match(text)
    return Cause("", found[1] if found else "", text[found.end() :] if found else text)
