"""Damages logs at random and decodes them (``support.damaged_logs``); tells of every crash, hang and stray exception.

    python -m tests.fuzz_binlog --inputs 1000000 [--seed N] [--first K] [--event TYPE]

--event: only transactions that hold an event of this type, and most of the damage in such events.

Input K of a seed is always the same: ``--seed N --first K --inputs 1`` repeats one. The work is done in a child
process, so that a crash of a kernel is a finding like any other; the next child goes on behind it.
"""

from __future__ import annotations

import argparse
import mmap
import multiprocessing
import time
import traceback
from collections import Counter
from random import Random

from tests.support.damaged_logs import Arena, compile_kernels, damaged, logs_with, outcomes, seed_logs

HANG_S = 60
PORTION = 10_000
"""Inputs of one child."""


Findings = dict[str, list[int]]
"""What went wrong -> the inputs with which it did."""


def run(seed: int, first: int, inputs: int, event: int | None = None) -> tuple[Counter, Findings]:
    """(how often each op or refusal came, what was found)"""
    counts: Counter = Counter()
    findings: Findings = {}
    end, context = first + inputs, multiprocessing.get_context("fork")
    compile_kernels()
    while first < end:
        progress = mmap.mmap(-1, 8)
        queue = context.SimpleQueue()
        child = context.Process(target=_work, args=(seed, first, end, event, progress, queue))
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


def _work(seed: int, first: int, end: int, event: int | None, progress: mmap.mmap, queue) -> None:
    logs, arena, counts, findings = seed_logs() if event is None else logs_with(event), Arena(), Counter(), {}
    for k in range(first, end):
        progress[:8] = k.to_bytes(8, "little")
        try:
            counts.update(outcomes(arena, *damaged(Random(f"{seed} {k}"), logs, event)))
        except Exception as error:  # noqa: BLE001 - every exception but a refusal is what is looked for
            where = traceback.extract_tb(error.__traceback__)[-1]
            what = f"{type(error).__name__} in {where.filename}:{where.lineno}, as {error!r}"
            findings.setdefault(what[:200], []).append(k)
    queue.put((counts, findings))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=Random().randrange(2**31))
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--inputs", type=int, default=1_000_000)
    parser.add_argument("--event", type=int, default=None)
    options = parser.parse_args()
    started, stop = time.monotonic(), options.first + options.inputs
    counts, findings = Counter(), False
    for first in range(options.first, stop, PORTION):
        n = min(PORTION, stop - first)
        of_portion, found = run(options.seed, first, n, options.event)
        counts, findings = counts + of_portion, findings or bool(found)
        done, seconds = first + n - options.first, time.monotonic() - started
        print(f"seed {options.seed}: {done} inputs, {seconds:.0f} s", flush=True)
        for what, at in found.items():
            print(f"  {what}: {len(at)} inputs, {at[:5]}", flush=True)
    print(dict(counts))
    raise SystemExit(int(findings))


if __name__ == "__main__":
    main()
