"""Keep a job that follows its source running through transient failures: a server restart, a network that is down."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import cast

from tenacity import RetryCallState, Retrying, retry_if_exception, stop_after_delay, wait_exponential

from mirrorlake.errors import RetryableError
from mirrorlake.jobs.run.watcher import HandsOn, Watcher
from mirrorlake.lake.delta.failures import as_ours

FIRST_WAIT_S, LONGEST_WAIT_S, GIVE_UP_S = 1, 60, 600
FINAL = ("spark-ended",)
"""Retryable, but only by a new process."""


class SignsOfLife(HandsOn):
    """Remembers whether the job reached the point of looking for work."""

    seen = False

    def ingested(self, batch) -> None:
        self.seen = True
        super().ingested(batch)

    def assembled(self, batch) -> None:
        self.seen = True
        super().assembled(batch)

    def applied(self, done) -> None:
        self.seen = True
        super().applied(done)

    def took(self, point) -> None:
        self.seen = True
        super().took(point)

    def idle(self) -> None:
        self.seen = True
        super().idle()


def keep_running(
    attempt: Callable[[Watcher], None], watcher: Watcher, *, sleep: Callable[[float], None] = time.sleep
) -> None:
    """Run a job; begin again after a RetryableError, with growing pauses.

    attempt: opens everything again and continues from the lake's progress. Raises the RetryableError when the job made
    no progress for GIVE_UP_S, and any other error at once.
    """
    while True:
        life = SignsOfLife(watcher)
        series = Retrying(
            retry=retry_if_exception(partial(_may_retry, life)),
            wait=wait_exponential(multiplier=FIRST_WAIT_S, max=LONGEST_WAIT_S), stop=stop_after_delay(GIVE_UP_S),
            before_sleep=lambda state: watcher.retrying(_error(state), state.next_action.sleep),
            sleep=sleep, reraise=True,
        )  # fmt: skip
        try:
            return series(_in_our_errors, attempt, life)
        except RetryableError as error:
            if not life.seen or not _passes(error):
                raise
            watcher.retrying(error, FIRST_WAIT_S)
            sleep(FIRST_WAIT_S)


def _may_retry(life: SignsOfLife, error: BaseException) -> bool:
    return _passes(error) and not life.seen


def _passes(error: BaseException) -> bool:
    return isinstance(error, RetryableError) and error.code not in FINAL


def _error(state: RetryCallState) -> RetryableError:
    return cast(RetryableError, state.outcome.exception())


def _in_our_errors(attempt: Callable[[Watcher], None], watcher: Watcher) -> None:
    try:
        attempt(watcher)
    except Exception as error:
        raise as_ours(error) from error
