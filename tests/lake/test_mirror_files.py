"""The data files of a mirror: rewritten while it is small, deletion vectors when it is large, never many."""

from __future__ import annotations

from pathlib import Path

import pytest

from mirrorlake.core.schema.tables import Column, TableSchema
from mirrorlake.core.schema.types import ColumnType
from mirrorlake.lake.gold.control.register import REFUSED
from tests.support.binlog_spec import Ddl, Delete, Insert, Log, Rotate, Transaction, Update
from tests.support.binlog_writer import encode_logs
from tests.support.canonical import canonical_row
from tests.support.lake_runs import LakeRun, count_as_large

COLUMNS = (Column("id", ColumnType("int"), False), Column("v", ColumnType("int"), True))
KEYED = TableSchema("shop", "keyed", COLUMNS, ("id",))
KEYLESS = TableSchema("shop", "keyless", COLUMNS, ())
N_ROWS, N_EPOCHS = 30, 4


def row(number: int, value: int = 0) -> dict:
    return {"id": number, "v": value}


class Epochs:
    """Tables of some rows, then one UPDATE or DELETE or INSERT after another, each an epoch of its own."""

    def __init__(self, spark, folder):
        tables = (KEYED, KEYLESS)
        create = "CREATE TABLE {} (id INT NOT NULL{}, v INT)"
        items = [Ddl(create.format("keyed", " PRIMARY KEY"), "shop"), Ddl(create.format("keyless", ""), "shop")]
        items += [Transaction([Insert(table, list(map(row, range(N_ROWS)))) for table in tables]), Rotate()]
        changes = [
            lambda table, n: Update(table, [(row(n), row(n, 1))]),
            lambda table, n: Delete(table, [row(n)]),
            lambda table, n: Insert(table, [row(N_ROWS + n)]),
        ]
        for n in range(N_EPOCHS):
            items += [Transaction([changes[n % 3](table, n) for table in tables]), Rotate()]
        (folder / "logs").mkdir()
        self.ends = []
        for encoded in encode_logs(Log("mysql", items)):
            (folder / "logs" / encoded.name).write_bytes(encoded.data)
            self.ends.append(f"{encoded.name}:{len(encoded.data)}")
        self.run, self.next = LakeRun(spark, folder / "logs", folder / "lake"), 0

    def apply_next(self):
        self.run.ingest(until=self.ends[self.next])
        self.run.assemble()
        self.run.apply()
        self.next += 1

    def entry(self, table):
        return self.run.register.get((table.database, table.table))

    def files(self, table) -> int:
        return self._sql("DESCRIBE DETAIL {}", table).first().numFiles

    def operations(self, table) -> list[str]:
        """Of the mirror's commits, oldest first; a WRITE by its mode, each with what it did to files."""
        shown = []
        log = Path(self.run.lake.names.mirror_path(self.entry(table).mirror_id), "_delta_log")
        for entry in reversed(self._sql("DESCRIBE HISTORY {}", table).collect()):
            operation = entry.operationParameters["mode"] if entry.operation == "WRITE" else entry.operation
            has_vectors = '"deletionVector":{' in (log / f"{entry.version:020}.json").read_text()
            shown.append(f"{operation} with vectors" if has_vectors and operation != "OPTIMIZE" else operation)
        return shown

    def _sql(self, statement, table):
        return self.run.spark.sql(statement.format(self.run.lake.names.mirror(self.entry(table).mirror_id)))


def expected(n_epochs: int) -> list[str]:
    rows = {n: row(n) for n in range(N_ROWS)}
    for n in range(n_epochs):
        if n % 3 == 0:
            rows[n] = row(n, 1)
        elif n % 3 == 1:
            del rows[n]
        else:
            rows[N_ROWS + n] = row(N_ROWS + n)
    return sorted(map(canonical_row, rows.values()))


def both(rows: list[str]) -> dict:
    return {("shop", "keyed"): rows, ("shop", "keyless"): rows}


@pytest.mark.heavy
def test_all_rows_of_a_small_mirror_are_written_again(spark, tmp_path):
    epochs = Epochs(spark, tmp_path)
    for _ in range(3):
        epochs.apply_next()
    for table in (KEYED, KEYLESS):
        assert epochs.operations(table) == ["CREATE TABLE", "Append", "Overwrite", "Overwrite"]
        assert epochs.files(table) == 1
    assert epochs.run.gold() == both(expected(2))


@pytest.mark.heavy
def test_a_large_mirror_keeps_its_files_and_small_ones_are_put_together(spark, tmp_path, monkeypatch):
    count_as_large(monkeypatch, max_small_files=2)
    epochs = Epochs(spark, tmp_path)
    for _ in range(N_EPOCHS + 1):
        epochs.apply_next()
        assert epochs.files(KEYED) <= 2 + 2 and epochs.files(KEYLESS) <= 2 + 2
    for table, form in ((KEYED, "Overwrite"), (KEYLESS, "MERGE")):
        done = epochs.operations(table)
        assert done[:4] == ["CREATE TABLE", "Append", "SET TBLPROPERTIES", f"{form} with vectors"]
        assert 1 <= done.count("OPTIMIZE") <= 2
    assert epochs.run.gold() == both(expected(N_EPOCHS))


def test_what_others_changed_is_seen_behind_a_compaction(spark, tmp_path, monkeypatch):
    count_as_large(monkeypatch, max_small_files=0)
    epochs = Epochs(spark, tmp_path)
    epochs.apply_next()
    epochs._sql("UPDATE {} SET v = 7 WHERE id = 20", KEYED)
    epochs.apply_next()
    assert "OPTIMIZE" in epochs.operations(KEYED)
    assert (epochs.entry(KEYED).state, epochs.entry(KEYED).code) == (REFUSED, "mirror-changed")
    assert epochs.run.gold() == {("shop", "keyless"): expected(1)}
