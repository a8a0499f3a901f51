"""End a question of a notebook that takes too long, on the cluster as well."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.sql import SparkSession

from mirrorlake.errors import UsageError
from mirrorlake.lake.delta.session import is_connect

_METHODS = {True: ("addTag", "removeTag", "interruptTag"), False: ("addJobTag", "removeJobTag", "cancelJobsWithTag")}
"""Begin, end and interrupt what has a tag; by: is it a session of Spark Connect."""

AGAIN_S = 0.2
"""Seconds between two interruptions: between two statements there is nothing to interrupt."""


@contextmanager
def time_limit(spark: SparkSession, seconds: float) -> Iterator[None]:
    """After this number of seconds, interrupt what Spark executes for this thread, and what it begins then.

    Raises UsageError ``question-time``.
    """
    tag, is_over, has_ended = f"mirrorlake-{uuid.uuid4().hex}", threading.Event(), threading.Event()
    # A session of Spark Connect has no context; the tags of another session do not reach from thread to thread.
    tagged = spark if is_connect(spark) else spark.sparkContext
    add, remove, interrupt = (getattr(tagged, name) for name in _METHODS[tagged is spark])

    def end() -> None:
        pause = min(seconds, threading.TIMEOUT_MAX)
        while not has_ended.wait(pause):
            is_over.set()
            interrupt(tag)
            pause = AGAIN_S

    add(tag)
    threading.Thread(target=end, daemon=True).start()
    try:
        yield
    except Exception as error:
        if is_over.is_set():
            raise UsageError("question-time", f"it took longer than {seconds:g} s") from error
        raise
    finally:
        has_ended.set()
        remove(tag)
