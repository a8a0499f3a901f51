"""Does the time of a call grow with the length of its text, and no faster?"""

from __future__ import annotations

import time
from collections.abc import Callable


def assert_linear(run: Callable[[str], object], text: str, text_twice_as_long: str) -> None:
    best_s = [1e9, 1e9]
    for _ in range(10):  # in turn, so that both meet the same disturbance
        for i, one in enumerate((text, text_twice_as_long)):
            started = time.process_time()
            run(one)
            best_s[i] = min(best_s[i], time.process_time() - started)
    assert best_s[1] < 3 * best_s[0] + 0.02
