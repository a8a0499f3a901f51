"""Row images of binlog files decoded with mirrorlake: PASSES FOLDER; one line per pass.

What ingest and assemble do between bytes and Spark: CRC32 checked, positions and groups found, every image a VARIANT.
"""

import sys
import time
from pathlib import Path

from mirrorlake.core.binlog.log_reader import LogReader
from mirrorlake.core.changes.assembler import Assembler
from mirrorlake.core.gtid import parse_gtid_set
from mirrorlake.mysql.binlog_files import FileSource

passes, folder = int(sys.argv[1]), Path(sys.argv[2])
for _ in range(passes):
    wall, cpu, images = time.perf_counter(), time.process_time(), 0
    source = FileSource(folder)
    reader = LogReader(source.earliest(), parse_gtid_set(source.flavor, ""))
    events = (chunk.batch for chunk in reader.read(source.read(source.earliest(), source.current())))
    for changes in Assembler(source.flavor).assemble(events):
        images += 2 * len(changes) - changes.column("before").null_count - changes.column("after").null_count
    print(images, f"{time.perf_counter() - wall:.3f}", f"{time.process_time() - cpu:.3f}", flush=True)
