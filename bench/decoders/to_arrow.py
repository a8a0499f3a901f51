"""Row images of binlog files decoded with mirrorlake: PASSES FOLDER variant|columns; one line per pass.

What ingest and assemble do between bytes and Spark: CRC32 checked, positions and groups found, every image a VARIANT;
*columns*: and then, as gold does with what is left of a table's changes, the columns of its mirror.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa

from mirrorlake.core.binlog.log_reader import LogReader
from mirrorlake.core.changes.assembler import Assembler
from mirrorlake.core.changes.definition_reader import DefinitionReader
from mirrorlake.core.gtid import parse_gtid_set
from mirrorlake.core.values.variant_columns import Asked, decode_images
from mirrorlake.lake.gold.merge.net_effect import asked_types
from mirrorlake.mysql.binlog_files import FileSource

Types = dict[str, dict[str, Asked]]


def read_events(source: FileSource) -> Iterator[pa.RecordBatch]:
    reader = LogReader(source.earliest(), parse_gtid_set(source.flavor, ""))
    return (chunk.batch for chunk in reader.read(source.read(source.earliest(), source.current())))


def types_by_table(source: FileSource) -> Types:
    found = DefinitionReader(source.flavor).read(read_events(source))
    return {change.table: asked_types(change.schema) for _, change in found if change.schema}


def images_of(changes: pa.RecordBatch, types: Types | None) -> int:
    """How many images there are; with ``types`` each is read as columns, too."""
    if types is None:
        return sum(len(changes) - changes.column(side).null_count for side in ("before", "after"))
    n_images, tables = 0, changes.column("table").dictionary_encode()
    for k, name in enumerate(tables.dictionary.to_pylist()):
        is_its = (tables.indices.to_numpy(zero_copy_only=False) == k) & tables.is_valid().to_numpy(zero_copy_only=False)
        for side in ("before", "after"):
            images = changes.column(side)
            rows = np.flatnonzero(is_its & images.is_valid().to_numpy(zero_copy_only=False))
            decode_images(images, types[name], rows)
            n_images += len(rows)
    return n_images


def main() -> None:
    passes, source, form = int(sys.argv[1]), FileSource(Path(sys.argv[2])), sys.argv[3]
    types = types_by_table(source) if form == "columns" else None
    for _ in range(passes):
        wall, cpu = time.perf_counter(), time.process_time()
        images = sum(images_of(changes, types) for changes in Assembler(source.flavor).assemble(read_events(source)))
        print(images, f"{time.perf_counter() - wall:.3f}", f"{time.process_time() - cpu:.3f}", flush=True)


if __name__ == "__main__":
    main()
