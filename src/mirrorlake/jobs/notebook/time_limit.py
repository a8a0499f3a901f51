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


@contextmanager
def time_limit(spark: SparkSession, seconds: float) -> Iterator[None]:
    """After this number of seconds, interrupt what Spark executes for this thread.

    Raises UsageError ``question-time``.
    """
    tag, is_over = f"mirrorlake-{uuid.uuid4().hex}", threading.Event()
    # A session of Spark Connect has no context; the tags of another session do not reach from thread to thread.
    tagged = spark if is_connect(spark) else spark.sparkContext
    add, remove, interrupt = (getattr(tagged, name) for name in _METHODS[tagged is spark])

    def end() -> None:
        is_over.set()
        interrupt(tag)

    timer = threading.Timer(seconds, end)
    timer.daemon = True
    add(tag)
    timer.start()
    try:
        yield
    except Exception as error:
        if is_over.is_set():
            raise UsageError("question-time", f"it took longer than {seconds:g} s") from error
        raise
    finally:
        timer.cancel()
        remove(tag)
