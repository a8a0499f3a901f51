"""Does the time of a call grow with the length of its text, and no faster?"""

from __future__ import annotations

import time
from collections.abc import Callable

TIMES = 16  # far apart: the memory of a long text alone can triple the time, and n * n is 256 times as much


def assert_linear(run: Callable[[object], object], of_size: Callable[[int], object], size: int) -> None:
    """Measure two sizes in turn, so that they meet the same disturbance, until the best times show it.

    Raises:
        AssertionError: What is ``TIMES`` times as long takes more than ``5 * TIMES`` times as long.
    """
    inputs, best_s = (of_size(size), of_size(TIMES * size)), [1e9, 1e9]
    for _ in range(10):
        for i, one in enumerate(inputs):
            started = time.process_time()
            run(one)
            best_s[i] = min(best_s[i], time.process_time() - started)
        if best_s[1] < 5 * TIMES * best_s[0] + 0.02:
            return
    raise AssertionError(f"{best_s[0]:.3f} s, and {best_s[1]:.3f} s for {TIMES} times the text")
