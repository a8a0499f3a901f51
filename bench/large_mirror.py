"""What a small epoch costs on a mirror, by form, in turn: all rows written again, MERGE that rewrites files, MERGE with
vectors, and, as in a session without settings, the rows among which the changed ones are written again (``among``).

    python -m bench.large_mirror [--rows 20000 500000 10000000] [--changes 100 10000] [--rounds 3] [--forms among]

Gold's own statement on mirrors that are filled by Spark and compacted by OPTIMIZE. spread: keys all over the mirror.
newest: the keys that came last, as with AUTO_INCREMENT. written: bytes of all files that the epoch adds. At last, what
a reader pays: a sum over all rows.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
from pathlib import Path
from random import Random

import pyarrow as pa
from rich.console import Console
from rich.table import Table

from bench.process_tree import Stopwatch
from mirrorlake.core.changes.images import LSN, REMOVED, image_schema
from mirrorlake.core.schema.tables import Column, TableSchema
from mirrorlake.core.schema.types import ColumnType
from mirrorlake.lake.delta.lake import Lake
from mirrorlake.lake.delta.names import LakeNames
from mirrorlake.lake.delta.session import open_session, private_session, session_settings
from mirrorlake.lake.gold.control.features import DELETION_VECTORS, turn_on
from mirrorlake.lake.gold.control.table import create_mirror_statement, mirror_types
from mirrorlake.lake.gold.merge.merge import merge_rows, rewrite_rows
from mirrorlake.lake.gold.merge.net_effect import NetEffect, asked_types

SCHEMA = TableSchema(
    "shop", "orders",
    (
        Column("id", ColumnType("bigint"), False), Column("customer", ColumnType("int"), True),
        Column("amount", ColumnType("decimal", precision=12, scale=2), True),
        Column("note", ColumnType("varchar", length=60, charset="utf8mb4"), True),
        Column("at", ColumnType("datetime"), True),
    ),
    ("id",),
)  # fmt: skip
FORMS = ("rewrite", "files", "vectors", "among")
VECTORS = "spark.databricks.delta.merge.deletionVectors.persistent"
_VALUES = """
    id, CAST(pmod(hash(id, 1), 100000) AS INT), CAST(pmod(hash(id, 2), 1000000) / 100 AS DECIMAL(12, 2)),
    concat(md5(string(id)), ' ', pmod(hash(id, 3), 1000)),
    timestamp_ntz'2024-01-01' + make_interval(0, 0, 0, 0, 0, 0, id)
"""


class Mirror:
    """A mirror with so many rows, and the random epochs that change it."""

    def __init__(self, lake: Lake, mirror_id: str, rows: int, form: str):
        self.lake, self.id, self.rows, self.form = lake, mirror_id, rows, form
        self.name = lake.names.mirror(mirror_id)
        self.session, self.lsn = private_session(lake.spark), 1
        spark = lake.spark
        spark.sql(create_mirror_statement(self.name, SCHEMA))
        parts = max(1, rows // 1_000_000)
        spark.sql(f"INSERT INTO {self.name} SELECT {_VALUES}, 1L FROM range(0, {rows}, 1, {parts})")
        spark.sql(f"OPTIMIZE {self.name}")
        if form in ("vectors", "among"):
            turn_on(spark, self.name, [DELETION_VECTORS])

    def apply(self, keys: list[int]) -> None:
        """An epoch that updates the rows of these keys."""
        self.lsn += 1
        asked = asked_types(SCHEMA)
        cells = {"id": keys, "customer": keys, "amount": [None] * len(keys), "note": [f"epoch {self.lsn}"] * len(keys)}
        cells |= {"at": [None] * len(keys), LSN: [self.lsn] * len(keys), REMOVED: [False] * len(keys)}
        local = pa.table(cells, image_schema(asked))
        kinds = mirror_types(SCHEMA)
        ddl = ", ".join([*(f"`{name}` {kind}" for name, kind in kinds.items()), f"{LSN} BIGINT, {REMOVED} BOOLEAN"])
        net = NetEffect(self.session.createDataFrame(local, ddl), local, is_at_hand=True)
        payload = self.lake.payload("apply")
        if self.form in ("rewrite", "among"):
            is_small = self.form == "rewrite"
            rewrite_rows(
                self.session, self.lake, self.id, net, [*kinds, LSN], ("id",), self.lsn, payload, is_small=is_small
            )
            return
        with session_settings(self.session, {VECTORS: str(self.form == "vectors").lower()}):
            merge_rows(self.session, self.lake, self.id, net, [*kinds, LSN], ("id",), self.lsn, payload)

    def sum(self) -> None:
        self.lake.spark.sql(f"SELECT sum(amount), max(note), sum(_lsn) FROM {self.name}").collect()

    def files(self) -> tuple[int, int]:
        """How many data files, and bytes of all that lies in its folder."""
        folder = Path(self.lake.names.mirror_path(self.id))
        detail = self.lake.spark.sql(f"DESCRIBE DETAIL {self.name}").first()
        return detail.numFiles, sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def keys_of(where: str, changes: int, rows: int, random: Random) -> list[int]:
    changes = min(changes, rows // 2)
    first = rows - 2 * changes if where == "newest" else 0
    return sorted(random.sample(range(first, rows), changes))


def epoch(mirror: Mirror, where: str, changes: int, random: Random) -> tuple[int, float, float, int]:
    """How many keys it changed, wall and CPU seconds, bytes written."""
    keys, before = keys_of(where, changes, mirror.rows, random), mirror.files()[1]
    watch = Stopwatch()
    mirror.apply(keys)
    return len(keys), *watch.read(), mirror.files()[1] - before


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="+", default=[20_000, 500_000, 10_000_000])
    parser.add_argument("--changes", type=int, nargs="+", default=[100, 10_000])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--forms", choices=FORMS, nargs="+", default=FORMS)
    given = parser.parse_args()
    spark, random = open_session("mirrorlake-bench-large-mirror"), Random(1)
    table = Table("rows", "changes", "keys", "form", "seconds", "CPU s", "written, MB", title="an epoch")
    reads = Table("rows", "form", "files", "seconds", "CPU s", title="a sum over all rows, before and after")
    with tempfile.TemporaryDirectory() as folder:
        lake = Lake(spark, LakeNames(folder), "bench", "mysql")
        pairs = [[Mirror(lake, f"of_{rows}_{form}", rows, form) for form in given.forms] for rows in given.rows]

        def read(mirror: Mirror) -> None:
            mirror.sum()
            watch = Stopwatch()
            mirror.sum()
            wall, cpu = watch.read()
            reads.add_row(f"{mirror.rows:,}", mirror.form, str(mirror.files()[0]), f"{wall:.2f}", f"{cpu:.2f}")

        for mirrors in pairs:
            for mirror in mirrors:
                mirror.apply(keys_of("spread", 100, mirror.rows, random))
                read(mirror)
        for changes in given.changes:
            for where in ("newest", "spread"):
                for mirrors in pairs:
                    rounds = [[epoch(each, where, changes, random) for each in mirrors] for _ in range(given.rounds)]
                    for mirror, found in zip(mirrors, zip(*rounds, strict=True), strict=True):
                        n_keys, wall, cpu, written = map(statistics.median, zip(*found, strict=True))
                        table.add_row(
                            f"{mirror.rows:,}", f"{n_keys:,.0f}", where, mirror.form, f"{wall:.2f}",
                            f"{cpu:.2f}", f"{written / 1e6:,.2f}",
                        )  # fmt: skip
        for mirrors in pairs:
            for mirror in mirrors:
                read(mirror)
    Console().print(table)
    Console().print(reads)


if __name__ == "__main__":
    main()
