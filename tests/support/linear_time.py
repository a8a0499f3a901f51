"""Does the time of a call grow with the length of its text, and no faster?"""

from __future__ import annotations

import time
from collections.abc import Callable


def assert_linear(run: Callable[[str], object], text: str, text_twice_as_long: str) -> None:
    """Measure both in turn, so that they meet the same disturbance, until the best times show it."""
    best_s = [1e9, 1e9]
    for _ in range(10):
        for i, one in enumerate((text, text_twice_as_long)):
            started = time.process_time()
            run(one)
            best_s[i] = min(best_s[i], time.process_time() - started)
        if best_s[1] < 3 * best_s[0] + 0.02:
            return
    raise AssertionError(f"{best_s[0]:.3f} s, and {best_s[1]:.3f} s for twice the text")
