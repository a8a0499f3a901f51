"""Silver counts, for each row change, the values of its after image that no mirror can hold."""

from __future__ import annotations

import datetime as dt
from collections import Counter

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from mirrorlake.core.schema.tables import Column, TableSchema
from mirrorlake.core.schema.types import ColumnType
from mirrorlake.core.values.variant_columns import decode_images
from tests.record_cases import LOGS, case_database
from tests.support.binlog_spec import Ddl, Delete, Insert, Log, Transaction, Update
from tests.unit.core.test_assembler import bronze_of
from tests.unit.core.test_partial_images import silver, silver_of

FLAVORS = pytest.mark.parametrize("flavor", ["mysql", "mariadb"])
VALID = {
    "day": dt.date(2024, 1, 10), "at": dt.datetime(2024, 1, 10), "stamp": dt.datetime.fromtimestamp(1, dt.timezone.utc),
    "utf8": "é", "cjk": "語", "label": "a", "raw": b"\xff", "clock": "00:00:00",
}  # fmt: skip
INVALID = {
    "day": (0, 0, 0), "at": (2024, 0, 10, 0, 0, 0, 0), "stamp": (0, 0, 0, 0, 0, 0, 0), "utf8": b"\xff", "cjk": b"\x81",
}  # fmt: skip
TYPES = {
    "day": ColumnType("date"), "at": ColumnType("datetime", fraction_digits=3), "stamp": ColumnType("timestamp"),
    "utf8": ColumnType("varchar", length=9, charset="utf8mb4"), "cjk": ColumnType("text", charset="gbk"),
    "label": ColumnType("enum", labels=("a", "b"), charset="latin1"), "raw": ColumnType("varbinary", length=9),
    "clock": ColumnType("time"),
}  # fmt: skip
ARROW = {
    "day": pa.date32(), "at": pa.timestamp("us"), "stamp": pa.timestamp("us", "UTC"), "utf8": pa.string(),
    "cjk": pa.string(),
}  # fmt: skip
T = TableSchema(
    "d", "t", (Column("id", ColumnType("int"), False), *(Column(name, of, True) for name, of in TYPES.items())), ("id",)
)


def row(number: int, *invalid: str) -> dict:
    return {"id": number} | VALID | {name: INVALID[name] for name in invalid}


@FLAVORS
def test_values_without_meaning_are_counted_in_the_change_that_brings_them(tmp_path, flavor):
    changes = [
        Insert(T, [row(1), row(2, "day"), row(3, *INVALID), {"id": 4} | dict.fromkeys(TYPES)]),
        Update(T, [(row(1), row(1, "cjk", "at")), (row(2, "day"), row(2))]),
        Delete(T, [row(3, *INVALID)]),
    ]
    found = silver(tmp_path, Log(flavor, [Transaction(changes)]))
    assert found["op"].to_pylist() == ["BEGIN"] + ["INSERT"] * 4 + ["UPDATE"] * 2 + ["DELETE", "COMMIT"]
    assert found["invalid"].to_pylist() == [0, 0, 1, 5, 0, 2, 0, 0, 0]
    decoded: Counter[str] = Counter()
    puts = found.filter(pc.is_in(found["op"], pa.array(["INSERT", "UPDATE"])))["after"].combine_chunks()
    decode_images(puts, ARROW, np.arange(6), decoded)
    assert decoded == {"day": 2, "at": 2, "stamp": 1, "utf8": 1, "cjk": 2}


@FLAVORS
def test_the_dates_that_real_servers_log_are_counted(flavor):
    found = silver_of(flavor, bronze_of(LOGS / flavor))
    is_mine = pc.equal(found["database"], case_database("types-temporal-invalid"))
    mine = found.filter(pc.and_(is_mine, pc.equal(found["table"], "t")))
    assert mine["op"].to_pylist() == ["INSERT", "INSERT", "UPDATE", "UPDATE"]
    assert mine["invalid"].to_pylist() == [5, 3, 3, 4]


def test_a_column_that_is_not_logged_counts_where_the_log_tells_its_value(tmp_path):
    created = Ddl("CREATE TABLE t (id INT PRIMARY KEY, day DATE NOT NULL DEFAULT '0000-00-00', v INT)", "d")
    day = Column("day", ColumnType("date"), False)
    table = TableSchema("d", "t", (T.columns[0], day, Column("v", ColumnType("int"), True)), ("id",))
    zero = {"id": 1, "day": INVALID["day"], "v": 1}
    changes = [
        Insert(table, [{"id": 1, "v": 1}]),  # its default
        Update(table, [({"id": 1}, {"v": 2})]),  # not told
        Update(table, [(zero, {"v": 3})]),  # as before
        Update(table, [({"id": 1}, {"day": INVALID["day"]})]),
    ]
    found = silver(tmp_path, Log("mysql", [created, Transaction(changes)]))
    assert found["op"].to_pylist()[1:] == ["BEGIN", "INSERT", "UPDATE", "UPDATE", "UPDATE", "COMMIT"]
    assert found["invalid"].to_pylist()[1:] == [0, 1, 0, 1, 1, 0]
