"""The first use on a new machine: what compiling the kernels costs, and what is left of it the second time.

    python -m bench.first_use [--flavor mysql]

Goes through the demo's bundled log twice, each time in a new process: with an empty folder for compiled kernels, then
with what the first process has left there. The work itself, without Spark, is a part of all figures; ``again`` is that
alone: the same once more in the same process. *other kinds*: the kinds of columns that the log does not have. *partial
JSON*: what only MySQL's PARTIAL_JSON needs.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

HERE = Path(__file__).resolve().parents[1]
STEPS = ("import", "ingest", "assemble", "apply", "other kinds", "partial JSON", "again")


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure what the first use of mirrorlake costs.")
    parser.add_argument("--flavor", choices=("mariadb", "mysql"), default="mariadb")
    parser.add_argument("--in-this-process", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.in_this_process:
        print(json.dumps(_measured(options.flavor)))
        return
    table = Table("step", "first: wall s", "CPU s", "second: wall s", "CPU s")
    with tempfile.TemporaryDirectory() as folder:
        runs = [_in_a_new_process(options.flavor, folder) for _ in range(2)]
    for step in STEPS:
        table.add_row(step, *(f"{seconds:.2f}" for run in runs for seconds in run[step]))
    used = STEPS[:4]
    totals = [sum(run[step][k] for step in used) for run in runs for k in range(2)]
    table.add_row("import .. apply", *(f"{seconds:.2f}" for seconds in totals))
    Console(width=120).print(table)


def _in_a_new_process(flavor: str, folder: str) -> dict[str, tuple[float, float]]:
    command = [sys.executable, "-m", "bench.first_use", "--flavor", flavor, "--in-this-process"]
    env = os.environ | {"NUMBA_CACHE_DIR": folder}
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=env, cwd=HERE)
    return json.loads(done.stdout)


def _measured(flavor: str) -> dict[str, tuple[float, float]]:
    """(wall, CPU) seconds of each step."""
    found: dict[str, tuple[float, float]] = {}

    def timed(step: str, run: Callable[..., Any], *args: Any) -> Any:
        wall, cpu = time.perf_counter(), time.process_time()
        result = run(*args)
        found[step] = time.perf_counter() - wall, time.process_time() - cpu
        return result

    timed("import", _import)
    events = timed("ingest", _ingest, flavor)
    changes = timed("assemble", _assemble, flavor, events)
    timed("apply", _apply, changes)
    timed("other kinds", _other_kinds)
    timed("partial JSON", _partial_json)
    timed("again", lambda: _apply(_assemble(flavor, _ingest(flavor))))
    return found


def _import() -> None:
    import mirrorlake.core.changes.assembler  # noqa: F401
    import mirrorlake.core.changes.images
    import mirrorlake.core.changes.incomplete_images
    import mirrorlake.mysql.binlog_files  # noqa: F401


def _ingest(flavor: str) -> list:
    from mirrorlake.core.binlog.log_reader import LogReader
    from mirrorlake.core.gtid import parse_gtid_set
    from mirrorlake.mysql.binlog_files import FileSource

    source = FileSource(HERE / "src/mirrorlake/demo_data" / flavor)
    reader = LogReader(source.earliest(), parse_gtid_set(flavor, ""))
    return [chunk.batch for chunk in reader.read(source.read(source.earliest(), source.current()))]


def _assemble(flavor: str, events: list) -> tuple[list, dict]:
    """Silver's batches, and the definitions by their schema_id."""
    from mirrorlake.core.changes.assembler import Assembler
    from mirrorlake.core.changes.definition_reader import DefinitionReader
    from mirrorlake.core.lsn_range import LsnRange

    reader = DefinitionReader(flavor)
    schemas = {change.schema.schema_id: change.schema for _, change in reader.read(events) if change.schema}
    return list(Assembler(flavor, reader.timeline(LsnRange(-1, 1 << 62))).assemble(events)), schemas


def _apply(assembled: tuple[list, dict]) -> None:
    import pyarrow as pa
    import pyarrow.compute as pc

    from mirrorlake.core.changes.images import CHANGE_COLUMNS, net_effect
    from mirrorlake.core.changes.incomplete_images import partial_net_effect
    from mirrorlake.core.changes.row_counts import net_counts
    from mirrorlake.lake.delta.types import spark_type
    from mirrorlake.lake.gold.merge.net_effect import arrow_type

    batches, schemas = assembled
    changes = pa.Table.from_batches(batches)
    changes = changes.filter(pc.is_in(changes["op"], pa.array(["INSERT", "UPDATE", "DELETE"])))
    for schema_id, schema in schemas.items():
        mine = changes.filter(pc.equal(changes["schema_id"], schema_id))
        types = {column.name: arrow_type(spark_type(column.type)) for column in schema.columns}
        logged = mine.select([*CHANGE_COLUMNS, "partial"]).to_batches()
        if not schema.primary_key:
            net_counts(logged, types)
        elif mine.num_rows:
            list(net_effect(logged, types, schema.primary_key))
            partial_net_effect(logged, types, schema.primary_key)


def _other_kinds() -> None:
    from mirrorlake.core.kernels.compiling import address_of
    from mirrorlake.core.values.column_kinds import KERNELS

    for kernel in KERNELS.values():
        address_of(kernel)


def _partial_json() -> None:
    from mirrorlake.core.binlog.rows.partial_json import plain_after_image
    from mirrorlake.core.kernels.compiling import address_of

    address_of(plain_after_image)


if __name__ == "__main__":
    main()
