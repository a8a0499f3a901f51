"""Random DDL histories on real servers through bronze, silver and gold: every mirror equals SELECT, or is refused.

    python -m tests.ddl_histories --histories 100 [--seed N] [--flavors mariadb mysql] [--crash] [--large]
        [--keep FOLDER]

--crash: the process dies at random steps, about four times in each history. --large: every mirror counts as large.
Prints the share of refused tables, their reasons, and every difference; ends with 1 when there is one. --keep: logs,
lakes and statements stay in this folder.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path
from random import Random, SystemRandom

from pytest import MonkeyPatch

from mirrorlake.lake.delta.session import open_session
from tests.conftest import HUNDREDS_OF_LAKES
from tests.support.ddl_histories import Comparison, apply_with_crashes, compare, keep_statements, write_histories
from tests.support.lake_runs import LakeRun, count_as_large
from tests.support.servers import FLAVORS, Server, running_server

OPTIONS = {"mysql": ("--innodb-native-foreign-keys=ON",), "mariadb": (), "mariadb118": ()}
"""MySQL's foreign keys change rows without a row event, as they did before MySQL 9.6."""
DDL = 30
IN_A_LOG = 20


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.ddl_histories")
    parser.add_argument("--histories", type=int, default=100)
    parser.add_argument("--seed", type=int, default=SystemRandom().randrange(2**31))
    parser.add_argument("--flavors", nargs="+", default=FLAVORS, choices=(*FLAVORS, "mariadb118"))
    parser.add_argument("--crash", action="store_true")
    parser.add_argument("--large", action="store_true")
    parser.add_argument("--keep", type=Path)
    given = parser.parse_args(arguments)
    print(f"--seed {given.seed}", flush=True)
    if given.large:
        count_as_large(MonkeyPatch())
    spark = open_session("mirrorlake-ddl-histories", settings=HUNDREDS_OF_LAKES)
    has_failed = False
    for program in given.flavors:
        total = Comparison()
        with running_server(program, *OPTIONS[program]) as server, tempfile.TemporaryDirectory() as temporary:
            for first in range(0, given.histories, IN_A_LOG):
                names = [f"h{n}" for n in range(first, min(first + IN_A_LOG, given.histories))]
                folder = (given.keep or Path(temporary)) / f"{program}-{first}"
                total.add(run_histories(spark, server, str(given.seed), names, folder, given.crash))
        print(f"{program}: {given.histories} histories, " + "\n".join(total.lines()), flush=True)
        has_failed |= bool(total.wrong)
    return 1 if has_failed else 0


def run_histories(spark, server: Server, seed: str, names: list[str], folder: Path, is_crashing: bool) -> Comparison:
    started = time.monotonic()
    histories = write_histories(server, seed, names, DDL, folder / "logs")
    written = time.monotonic()
    run = LakeRun(spark, folder / "logs", folder / "lake")
    kills = apply_with_crashes(run, Random(seed)) if is_crashing else run.all_hops() or 0
    applied = time.monotonic()
    found = compare(run, histories)
    keep_statements(folder, histories)
    print(f"{server.flavor} {names[0]}-{names[-1]}: written in {written - started:.0f} s, applied in"
          f" {applied - written:.0f} s with {kills} kills; {found.lines()[0]}", flush=True)  # fmt: skip
    return found


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
