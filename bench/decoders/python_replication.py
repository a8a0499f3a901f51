"""Row images of a server's binlog decoded with python-mysql-replication: PASSES PORT FIRST_FILE ROWS; a line per pass.

ROWS: how many the log has; after them the stream waits for more.
"""

import sys
import time

from pymysqlreplication import BinLogStreamReader
from pymysqlreplication.row_event import DeleteRowsEvent, UpdateRowsEvent, WriteRowsEvent

IMAGES_PER_ROW = {WriteRowsEvent: 1, DeleteRowsEvent: 1, UpdateRowsEvent: 2}

passes, port, first_file, rows = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], int(sys.argv[4])
for _ in range(passes):
    wall, cpu, images, seen = time.perf_counter(), time.process_time(), 0, 0
    stream = BinLogStreamReader(
        connection_settings={"host": "127.0.0.1", "port": port, "user": "root", "passwd": ""},
        server_id=4711, log_file=first_file, log_pos=4, only_events=list(IMAGES_PER_ROW), is_mariadb=True,
        resume_stream=True, blocking=True,
    )  # fmt: skip
    for event in stream:
        images += IMAGES_PER_ROW[type(event)] * len(event.rows)
        seen += len(event.rows)
        if seen == rows:
            break
    stream.close()
    print(images, f"{time.perf_counter() - wall:.3f}", f"{time.process_time() - cpu:.3f}", flush=True)
