"""Writes the classes of a session into an archive for Java: python archive_classes.py FILE

Java maps the archive at the next start instead of parsing and checking some 20,000 class files (JEP 350). It says no to
an archive of another Java or another class path, and then starts as without.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from mirrorlake.lake.delta.session import COLLECTOR, open_session

WORK = """
CREATE TABLE delta.`{table}` (k BIGINT, word STRING, image VARIANT) USING DELTA;
INSERT INTO delta.`{table}` SELECT id, 'a', parse_json('{{"a": 1}}') FROM range(100);
MERGE INTO delta.`{table}` AS t USING (SELECT id, image FROM range(50, 150), delta.`{table}` WHERE k = 1) AS s
 ON t.k = s.id WHEN MATCHED AND s.id > 90 THEN DELETE WHEN MATCHED THEN UPDATE SET word = 'b'
 WHEN NOT MATCHED THEN INSERT (k, word, image) VALUES (s.id, 'c', s.image);
SELECT word, count(*), max(image:a::int) FROM delta.`{table}` GROUP BY word;
DESCRIBE HISTORY delta.`{table}`
"""


def archive(file: Path) -> None:
    """The file appears at once, when it is whole."""
    unfinished = file.with_suffix(".part")
    unfinished.unlink(missing_ok=True)
    options = f'{COLLECTOR} -XX:ArchiveClassesAtExit="{unfinished}"'
    spark = open_session(settings={"spark.driver.extraJavaOptions": options})
    with tempfile.TemporaryDirectory() as folder:
        for statement in WORK.format(table=folder).split(";"):
            spark.sql(statement).collect()
        spark.range(9).mapInArrow(lambda batches: batches, "id BIGINT").collect()
    gateway = spark.sparkContext._gateway
    spark.stop()
    gateway.shutdown()
    gateway.proc.stdin.close()
    gateway.proc.wait()
    if not unfinished.exists():
        raise SystemExit("Java has written no archive")
    unfinished.rename(file)


if __name__ == "__main__":
    archive(Path(sys.argv[1]).resolve())
