"""Which of several processes on one lake applies which mirrors.

A group has no lock: every process that knows a plan would make the same commits, and each mirror's own
transaction id accepts only one of them. So mirrors move from group to group when processes start with other groups,
at any moment. Delta refuses a former owner that still runs, or the new owner finds its commit and skips it.

The first group leads: it alone plans, executes DDL, takes syncpoints and records the ends of epochs.
"""

from __future__ import annotations

import time
import zlib
from collections.abc import Iterable
from dataclasses import dataclass

from mirrorlake.core.digits import is_number
from mirrorlake.errors import RetryableError, UsageError

FIRST_LOOK_S, LONGEST_LOOK_S = 0.2, 2.0
PATIENCE_S = 600.0
"""Seconds to wait for another group without a sign of it."""


@dataclass(frozen=True, slots=True)
class ApplyGroup:
    """The ``number``-th, from 1, of ``count`` groups."""

    number: int = 1
    count: int = 1

    @classmethod
    def parse(cls, text: str) -> ApplyGroup:
        """Parse a text such as ``2/4``. Raises UsageError."""
        number, slash, count = text.partition("/")
        if not slash or not (is_number(number) and is_number(count)) or not 1 <= int(number) <= int(count):
            raise UsageError("usage", f"a group is written 2/4, the second of four, not {text}")
        return cls(int(number), int(count))

    @property
    def leads(self) -> bool:
        return self.number == 1

    @property
    def shares(self) -> bool:
        return self.count > 1

    def owner_of(self, mirror_id: str) -> int:
        """The number of a mirror's group: the same in every process, evenly spread."""
        return zlib.crc32(mirror_id.encode()) % self.count + 1

    def owns(self, mirror_id: str) -> bool:
        return self.owner_of(mirror_id) == self.number


WHOLE = ApplyGroup()
"""One process for all mirrors."""


class SignsOfGroups:
    """Waits for the other groups: growing pauses, then an error."""

    def __init__(self, group: ApplyGroup):
        self._group = group
        self.seen()

    def seen(self) -> None:
        """Note that an awaited group has done something."""
        self._last, self._pause = time.monotonic(), FIRST_LOOK_S

    def wait(self, numbers: Iterable[int]) -> None:
        """Pause before these groups are looked at again. Raises RetryableError ``apply-groups``."""
        if time.monotonic() - self._last > PATIENCE_S:
            names = ", ".join(f"{number}/{self._group.count}" for number in sorted(set(numbers)))
            raise RetryableError("apply-groups", f"no sign of apply group {names} for {PATIENCE_S:.0f} s")
        time.sleep(self._pause)
        self._pause = min(2 * self._pause, LONGEST_LOOK_S)
