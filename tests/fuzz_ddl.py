"""Statements changed at random: each is understood or refuses tables, in time, and gold has an answer.

    python -m tests.fuzz_ddl --inputs 1000000 [--seed N] [--first K]

Input K of a seed is always the same statement; what is known before it follows from the nineteen inputs around it.
"""

from __future__ import annotations

import argparse
import gc
import time
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from random import Random

from mirrorlake.core.schema.history import DefinitionChange, Definitions
from mirrorlake.lake.gold.control.register import TableRegister
from mirrorlake.lake.gold.control.rules import TableRules
from mirrorlake.lake.gold.ddl.outcomes import ACTIONS, outcomes
from tests.support.interpreting import interpret
from tests.support.mutated_ddl import mutated, server_statements, statements

KNOWN = (
    "create database d charset utf8mb4",
    "create table t (id int primary key, a varchar(5), b int default 7, e enum('x','y'), j json, ts timestamp null)",
    "create table t1 (a int not null, b varchar(20), c datetime, key (b)) partition by hash (a) partitions 4",
    "create table t2 (id int primary key, a int, b int, foreign key (a) references t1 (a) on delete cascade)",
    "create table p (id int, d date) partition by range (year(d)) (partition x values less than (2000))",
)
HISTORY = 20
"""Inputs that follow one another on the same definitions."""
SLOW_S, S_PER_CHARACTER = 0.5, 200e-6
SLOW = "slow"
STRAY = "the statement raised"
RULES = TableRules()


def run(seed: int, first: int, inputs: int, pool: tuple[str, ...]) -> tuple[Counter, dict[str, list[int]]]:
    """(how often each outcome came, what went wrong -> the inputs with which it did)"""
    counts: Counter = Counter()
    findings: dict[str, list[int]] = {}
    for start in range(first - first % HISTORY, first + inputs, HISTORY):
        for k, (outcome, wrong) in enumerate(_steps(seed, start, pool), start):
            if k < first or k >= first + inputs:
                continue
            if wrong == SLOW:
                outcome, wrong = _measured_again(seed, start, k, pool)
            counts[outcome] += 1
            if wrong:
                findings.setdefault(wrong, []).append(k)
    return counts, findings


def _steps(seed: int, start: int, pool: tuple[str, ...]) -> Iterator[tuple[str, str | None]]:
    history = _History(Random(f"{seed} {start}"))
    for k in range(start, start + HISTORY):
        yield history.step(Random(f"{seed} {start} {k}"), pool)


def _measured_again(seed: int, start: int, k: int, pool: tuple[str, ...]) -> tuple[str, str | None]:
    """One measurement may hold a collection of all of the process's garbage: slow is what is so without it."""
    gc.collect()
    gc.disable()
    try:
        return next(islice(_steps(seed, start, pool), k - start, None))
    finally:
        gc.enable()


class _History:
    """What is known, and the mirrors that gold would have."""

    def __init__(self, random: Random):
        self.flavor = random.choice(("mysql", "mariadb"))
        self.definitions, self.register, self.lsn = Definitions(), TableRegister(), 0
        for sql in KNOWN:
            self._take(self._interpret(sql, 0))

    def _interpret(self, sql: str, sql_mode: int) -> list[DefinitionChange]:
        return interpret(
            sql, database="d", sql_mode=sql_mode, flavor=self.flavor, server_charset="utf8mb4",
            definitions=self.definitions, now="2026-01-02 03:04:05", time_zone="+01:00",
        )  # fmt: skip

    def _take(self, changes: list[DefinitionChange]) -> list[str]:
        """Reasons of refusals."""
        self.lsn += 1
        changes = [DefinitionChange.from_row(change.to_row()) for change in changes]
        self.definitions.apply(changes)
        known = [change for change in changes if change.action in ACTIONS]
        found = outcomes(self.lsn, known, self.register, RULES)
        self.register.put(outcome.entry for outcome in found if outcome.entry)
        return [change.reason or "" for change in changes] + [o.entry.reason or "" for o in found if o.entry]

    def step(self, random: Random, pool: tuple[str, ...]) -> tuple[str, str | None]:
        """(outcome, what went wrong)"""
        sql, sql_mode = mutated(random, pool), random.choice((0, 0, 4, 512, 1 << 20))
        started = time.process_time()
        try:
            changes = self._interpret(sql, sql_mode)
            reasons = self._take(changes)
        except Exception as error:
            return "raised", f"{type(error).__name__}: {str(error)[:80]}"
        seconds = time.process_time() - started
        if seconds > SLOW_S + S_PER_CHARACTER * len(sql):
            return SLOW, SLOW
        stray = next((reason for reason in reasons if STRAY in reason), None)
        return next((change.action for change in changes), "nothing"), stray


def statement(seed: int, k: int, pool: tuple[str, ...]) -> str:
    """Input K."""
    return mutated(Random(f"{seed} {k - k % HISTORY} {k}"), pool)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--inputs", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--first", type=int, default=0)
    asked = parser.parse_args()
    pool = (*statements(), *server_statements())
    print(f"--seed {asked.seed}, {len(pool)} statements of tests")
    counts, findings = run(asked.seed, asked.first, asked.inputs, pool)
    for outcome, n in counts.most_common():
        print(f"{n:>10} {outcome}")
    for what, inputs in findings.items():
        print(f"FOUND {what}: {len(inputs)} times, first with --first {inputs[0]} --inputs 1")
        print(repr(statement(asked.seed, inputs[0], pool))[:2000])
    raise SystemExit(bool(findings))


if __name__ == "__main__":
    main()
