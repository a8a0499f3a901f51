"""Silver counts, for each row change, the values of its after image that no mirror can hold."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from mirrorlake.core.changes.images import CHANGE_COLUMNS
from mirrorlake.core.changes.incomplete_images import partial_net_effect
from mirrorlake.core.changes.row_counts import COUNT, column_name, net_counts
from mirrorlake.core.schema.tables import Column, TableSchema
from mirrorlake.core.schema.types import ColumnType
from mirrorlake.core.values.shown_text import Shown
from mirrorlake.core.values.temporal import civil_from_days
from mirrorlake.core.values.variant_columns import decode_images, decode_keys
from mirrorlake.errors import RefusedError
from tests.record_cases import LOGS, case_database
from tests.support.binlog_spec import Ddl, Delete, Insert, Log, Transaction, Update
from tests.support.pure_hops import bronze_of, silver, silver_of

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
SHOWN = {"day": Shown(), "at": Shown(3), "stamp": Shown(), "utf8": Shown(), "cjk": Shown()}
T = TableSchema(
    "d", "t", (Column("id", ColumnType("int"), False), *(Column(name, of, True) for name, of in TYPES.items())), ("id",)
)


def test_days_are_dates_of_the_calendar():
    ordinals = range(1, dt.date.max.toordinal() + 1, 97)
    epoch = dt.date(1970, 1, 1).toordinal()
    expected = [dt.date.fromordinal(ordinal).timetuple()[:3] for ordinal in ordinals]
    assert [civil_from_days(ordinal - epoch) for ordinal in ordinals] == expected


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
def test_values_are_texts_with_meaning_or_without(tmp_path, flavor):
    rows = [row(1), row(2, *INVALID), {"id": 3} | dict.fromkeys(TYPES)]
    rows += [row(4) | {"day": (2021, 2, 30), "at": dt.datetime(1969, 12, 31, 23, 59, 59, 999000), "utf8": "x" * 9}]
    found = silver(tmp_path, Log(flavor, [Transaction([Insert(T, rows)])]))
    images = found.filter(pc.equal(found["op"], "INSERT"))["after"].combine_chunks()
    counted: Counter[str] = Counter()
    assert pa.table(decode_images(images, SHOWN, None, counted), list(SHOWN)).to_pylist() == [
        {"day": "2024-01-10", "at": "2024-01-10 00:00:00.000", "stamp": "1970-01-01 00:00:01", "utf8": "é",
         "cjk": "語"},
        {"day": "0000-00-00", "at": "2024-00-10 00:00:00.000", "stamp": "0000-00-00 00:00:00", "utf8": "0xFF",
         "cjk": "0x81"},
        dict.fromkeys(SHOWN),
        {"day": "2021-02-30", "at": "1969-12-31 23:59:59.999", "stamp": "1970-01-01 00:00:01", "utf8": "x" * 9,
         "cjk": "語"},
    ]  # fmt: skip
    assert counted == {"day": 0, "at": 0, "stamp": 0, "utf8": 1, "cjk": 1}
    dates = {name: SHOWN[name] for name in ("day", "at", "stamp")}
    assert decode_keys(images, dates, np.arange(4))[0].to_pylist()[1] == "0000-00-00"
    with pytest.raises(RefusedError, match="^invalid-key: key column utf8 has a value that has no meaning$"):
        decode_keys(images, {"utf8": Shown()}, np.arange(2))


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
    logged = found.filter(pc.is_in(found["op"], pa.array(["INSERT", "UPDATE"]))).select(CHANGE_COLUMNS).to_batches()
    net = partial_net_effect(logged, {"id": pa.int32(), "day": Shown(), "v": pa.int32()}, ("id",))
    assert net.select(["id", "day", "v"]).to_pylist() == [{"id": 1, "day": "0000-00-00", "v": 3}]


def test_equal_texts_are_copies_of_one_row(tmp_path):
    rows = [row(1, "day", "utf8"), row(1, "day", "utf8"), row(1) | {"utf8": "0xFF"}]
    found = silver(tmp_path, Log("mysql", [Transaction([Insert(replace(T, primary_key=()), rows)])]))
    logged = found.filter(pc.equal(found["op"], "INSERT")).select(CHANGE_COLUMNS).to_batches()
    net = net_counts(logged, {"day": Shown(), "utf8": Shown()}).select([column_name(0), column_name(1), COUNT])
    assert [tuple(each.values()) for each in net.to_pylist()] == [("0000-00-00", "0xFF", 2), ("2024-01-10", "0xFF", 1)]
