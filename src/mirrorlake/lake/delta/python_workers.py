"""The process from which Spark forks its Python workers: it imports what they need before it forks.

A worker then begins in a tenth of a second of CPU time instead of one, and shares the imported modules, some 120 MB,
with the others. Spark's own daemon imports nothing, because a process with threads must not fork; these settings keep
the libraries from starting any. Sessions of our own name this module in ``spark.python.daemon.module``.
"""

from __future__ import annotations

import gc
import importlib
import os

LIBRARIES_WITHOUT_THREADS = {"OPENBLAS_NUM_THREADS": "1", "JE_ARROW_MALLOC_CONF": "background_thread:false"}
PRELOADED = (
    "pyspark.worker",
    "mirrorlake.core.changes.assembler",
    "mirrorlake.core.changes.row_counts",
    "mirrorlake.core.changes.incomplete_images",
)


def preload() -> None:
    """Import what workers import, and keep the collector from touching, and so copying, its pages."""
    os.environ.update(LIBRARIES_WITHOUT_THREADS)
    for module in PRELOADED:
        importlib.import_module(module)
    gc.freeze()


if __name__ == "__main__":
    from pyspark.daemon import manager

    preload()
    manager()
