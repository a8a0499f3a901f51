"""Make silver and gold again from bronze, in a new lake, and compare them with the present ones.

1. bronze's folder and the operator's answers  cloned with their history: the new lake continues independently
2. a syncpoint of the old lake                 while its runs may continue
3. assemble and apply, up to the syncpoint     from nothing, with the present code
4. the old lake's transactions                 does silver have them as they were written?
5. the mirrors of both, table by table
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import SparkSession

from mirrorlake.config import Options
from mirrorlake.core.position import show_lsn
from mirrorlake.core.schema.lower_case_names import NameCase
from mirrorlake.core.schema.table_name import TableName
from mirrorlake.errors import UsageError
from mirrorlake.jobs.inspect.syncpoints import make_syncpoint
from mirrorlake.jobs.run.open import create_tables, open_lake
from mirrorlake.jobs.run.replicate import apply_hop, run_assemble
from mirrorlake.jobs.run.watcher import Watcher
from mirrorlake.lake.bronze.ingest import keep_name_case
from mirrorlake.lake.bronze.newest import first_lsn
from mirrorlake.lake.compare.silver_damage import damaged_transactions
from mirrorlake.lake.compare.table_digest import digest
from mirrorlake.lake.delta.clone import check_without_links, copy_table
from mirrorlake.lake.delta.lake import Lake
from mirrorlake.lake.delta.names import UNITY, LakeNames, table_exists
from mirrorlake.lake.gold.control.register import DROPPED, STREAMING, TableEntry, TableRegister
from mirrorlake.lake.gold.syncpoint import syncpoints
from mirrorlake.lake.gold.syncpoint.syncpoints import Syncpoint
from mirrorlake.lake.silver.overrides import read_answers


@dataclass(frozen=True, slots=True)
class ReplayedTable:
    """Or a damaged transaction of the old lake's silver. difference: empty if both lakes have the same rows."""

    name: str
    difference: str


def replay(options: Options, into: str, watcher: Watcher, spark: SparkSession | None = None) -> list[ReplayedTable]:
    """Replay, and return every damaged transaction, then every table of either lake by name, at one syncpoint. into:
    the folder of the new lake, which must not exist.

    Raises UsageError; RefusedError ``lake-missing``; what the hops raise.
    """
    if any(path.startswith(UNITY) or "://" in path for path in (options.lake, into)):
        raise UsageError("usage", "replay is for lakes in local folders")
    if Path(options.lake).resolve() in Path(into).resolve().parents:
        raise UsageError("usage", f"{into} is in the lake; name a folder outside it")
    if Path(into).exists():
        raise UsageError("usage", f"{into} is there already; name a folder that is not")
    old = open_lake(options, spark)
    _check_whole(old)
    point = make_syncpoint(old, None, None)
    names, answers = LakeNames(into, options.staging), read_answers(old)
    cloned = {
        old.names.folder(*table): names.folder(*table) for table in (("bronze", "events"), ("control", "answers"))
    }
    for copy_id in filter(None, (answer.copy_id for answer in answers)):
        if table_exists(old.spark, old.names.snapshot(copy_id)):
            cloned[old.names.snapshot_path(copy_id)] = names.snapshot_path(copy_id)
    for folder in cloned:
        check_without_links(folder)
    try:
        Path(into).mkdir(parents=True)
    except OSError as error:
        raise UsageError("usage", f"{into} cannot be made: {error.strerror}") from None
    for folder, clone in cloned.items():
        copy_table(folder, clone)
    into_lake = options.model_copy(update={"lake": into})
    if options.lower_case_table_names is not None:
        keep_name_case(open_lake(into_lake, old.spark), NameCase(options.lower_case_table_names))
    new = open_lake(into_lake, old.spark)
    create_tables(new)
    run_assemble(new, options.model_copy(update={"follow": False}), watcher)
    hop = apply_hop(new, options)
    for done in hop.apply(up_to=point.lsn):
        watcher.applied(done)
    hop.flush()
    wrong = [ReplayedTable(each.name, each.difference) for each in damaged_transactions(old, point.lsn, answers)]
    return [*wrong, *_compared(old, point, new, syncpoints.take(new, hop.lsn))]


def _check_whole(lake: Lake) -> None:
    """Raise UsageError if maintenance has deleted log that silver was made from."""
    made_from = lake.spark.table(lake.names.silver_changes).agg({"lsn": "min"}).first()[0]
    begins = first_lsn(lake)
    if made_from is not None and begins is not None and begins > made_from:
        raise UsageError("usage", f"replay needs the whole log, and bronze has let it go before {show_lsn(begins)}")


def _compared(old: Lake, was: Syncpoint, new: Lake, now: Syncpoint) -> Iterator[ReplayedTable]:
    before, after = _entries(old, was), _entries(new, now)
    for name in sorted(before.keys() | after.keys()):
        left, right = before.get(name), after.get(name)
        yield ReplayedTable(".".join(name), _difference(old, was, left, new, now, right))


def _difference(
    old: Lake, was: Syncpoint, left: TableEntry | None, new: Lake, now: Syncpoint, right: TableEntry | None
) -> str:
    if _state(left) != _state(right):
        return f"{_state(left)}, now {_state(right)}"
    if left.state != STREAMING:
        return ""
    sides = ((old, was, left), (new, now, right))
    versions = [next((t.version for t in point.tables if t.mirror_id == e.mirror_id), None) for _, point, e in sides]
    if versions[0] is None:
        return "others have changed the mirror, it cannot be compared"
    before, after = (
        digest(lake.spark, lake.names.mirror(entry.mirror_id), version, entry.schema)
        for (lake, _, entry), version in zip(sides, versions, strict=True)
    )
    return before.difference(after)


def _entries(lake: Lake, point: Syncpoint) -> dict[TableName, TableEntry]:
    return {entry.name: entry for entry in TableRegister.read(lake, up_to=point.lsn) if entry.state != DROPPED}


def _state(entry: TableEntry | None) -> str:
    if entry is None:
        return "not known"
    return entry.state if entry.state == STREAMING else f"{entry.state} ({entry.code})"
