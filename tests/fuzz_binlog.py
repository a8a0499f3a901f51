"""Damages logs at random and decodes them; reports every crash, hang, stray exception and broken image.

    python -m tests.fuzz_binlog --events --inputs 10000000 [--seed N] [--first K]
    python -m tests.fuzz_binlog --inputs 100000 [--seed N] [--first K] [--event TYPE]

--events: event groups through the kernels alone, in machine code (``support.damaged_events``). Else whole logs from
bytes to silver (``support.damaged_logs``), of which --event chooses transactions that hold an event of this type, and
damages mostly such events.

Input K of a seed is always the same: ``--seed N --first K --inputs 1`` repeats one. The work is done in a child
process, so that a crash of a kernel is a finding like any other; the next child continues after it.
"""

from __future__ import annotations

import argparse
import ctypes
import mmap
import multiprocessing
import time
import traceback
from collections import Counter
from collections.abc import Callable
from functools import partial
from random import Random

from tests.support.damaged_events import EventFuzzer
from tests.support.damaged_logs import Arena, compile_kernels, damaged, logs_with, outcomes, seed_logs

HANG_S = 60
PORTION = {True: 1_000_000, False: 10_000}
"""Inputs of one child: events, logs."""


Findings = dict[str, list[int]]
"""What went wrong -> the inputs with which it did."""
Fuzzer = Callable[[int, int, int, mmap.mmap], tuple[Counter, Findings]]
"""(seed, first input, the one after the last, 8 bytes for the present input) -> (how often each outcome came, what
was found)"""


def run(fuzzer: Fuzzer, seed: int, first: int, inputs: int) -> tuple[Counter, Findings]:
    """(how often each outcome came, what was found). fuzzer: has compiled what it needs."""
    counts: Counter = Counter()
    findings: Findings = {}
    end, context = first + inputs, multiprocessing.get_context("fork")
    while first < end:
        progress = mmap.mmap(-1, 8)
        queue = context.SimpleQueue()
        child = context.Process(target=_work, args=(fuzzer, seed, first, end, progress, queue))
        child.start()
        result = _result(child, progress, queue)
        if isinstance(result, str):
            at = int.from_bytes(progress[:8], "little")
            findings.setdefault(result, []).append(at)
            first = at + 1
            continue
        counts += result[0]
        for what, inputs_of in result[1].items():
            findings.setdefault(what, []).extend(inputs_of)
        first = end
    return counts, findings


def _work(fuzzer: Fuzzer, seed: int, first: int, end: int, progress: mmap.mmap, queue) -> None:
    queue.put(fuzzer(seed, first, end, progress))


def _result(child, progress, queue) -> tuple[Counter, Findings] | str:
    seen, since = -1, time.monotonic()
    while queue.empty():
        child.join(0.1)
        at = int.from_bytes(progress[:8], "little")
        if at != seen:
            seen, since = at, time.monotonic()
        if child.exitcode is not None and queue.empty():
            return f"the process ended with {child.exitcode}"
        if time.monotonic() - since > HANG_S:
            child.kill()
            child.join()
            return f"no end after {HANG_S} s"
    found = queue.get()
    child.join()
    return found


def log_fuzzer(event: int | None = None) -> Fuzzer:
    """Whole logs."""
    compile_kernels()
    return partial(_damaged_logs, event)


def _damaged_logs(event: int | None, seed: int, first: int, end: int, progress: mmap.mmap) -> tuple[Counter, Findings]:
    logs, arena, counts, findings = seed_logs() if event is None else logs_with(event), Arena(), Counter(), {}
    for k in range(first, end):
        progress[:8] = k.to_bytes(8, "little")
        try:
            counts.update(outcomes(arena, damaged(Random(f"{seed} {k}"), logs, event)))
        except Exception as error:  # noqa: BLE001 - every exception but a refusal is what is looked for
            where = traceback.extract_tb(error.__traceback__)[-1]
            what = f"{type(error).__name__} in {where.filename}:{where.lineno}, as {error!r}"
            findings.setdefault(what[:200], []).append(k)
    return counts, findings


def event_fuzzer() -> Fuzzer:
    """Event groups in machine code."""
    events = EventFuzzer()
    _damaged_events(events, 0, 0, 1, mmap.mmap(-1, 8))  # compiles
    return partial(_damaged_events, events)


def _damaged_events(
    events: EventFuzzer, seed: int, first: int, end: int, progress: mmap.mmap
) -> tuple[Counter, Findings]:
    return events.run(seed, first, end, ctypes.addressof(ctypes.c_char.from_buffer(progress)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=Random().randrange(2**23))
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--inputs", type=int, default=1_000_000)
    parser.add_argument("--events", action="store_true")
    parser.add_argument("--event", type=int, default=None)
    options = parser.parse_args()
    fuzzer, portion = event_fuzzer() if options.events else log_fuzzer(options.event), PORTION[options.events]
    started, stop = time.monotonic(), options.first + options.inputs
    counts, findings = Counter(), False
    for first in range(options.first, stop, portion):
        n = min(portion, stop - first)
        of_portion, found = run(fuzzer, options.seed, first, n)
        counts, findings = counts + of_portion, findings or bool(found)
        done, seconds = first + n - options.first, time.monotonic() - started
        print(f"seed {options.seed}: {done} inputs, {seconds:.0f} s", flush=True)
        for what, at in found.items():
            print(f"  {what}: {len(at)} inputs, {at[:5]}", flush=True)
    print(dict(counts))
    raise SystemExit(int(findings))


if __name__ == "__main__":
    main()
