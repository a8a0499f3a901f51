"""Hashed columns: silver has the digests of their values, and no byte of these."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pyarrow as pa
import pytest

from mirrorlake.core.schema.column_patterns import ColumnPatterns
from mirrorlake.core.schema.hashing import keeps_digests
from mirrorlake.core.schema.tables import Column, TableSchema
from mirrorlake.core.schema.types import ColumnType
from mirrorlake.core.values import kinds
from mirrorlake.core.values.hmac_sha256 import digest_key
from mirrorlake.core.values.variant_columns import decode_images
from tests.support.binlog_spec import Ddl, Delete, Differences, Insert, Log, Transaction, Update
from tests.support.digests import digest_of
from tests.support.hidden_columns import definitions_read, file_bytes, silver
from tests.support.json_differences import REMOVE, Difference, encode_differences
from tests.support.json_encoding import encode_json
from tests.support.one_value import decoded
from tests.support.random_tables import COLUMN_TYPES, create_table_sql
from tests.support.values import edge_values

FLAVORS = pytest.mark.parametrize("flavor", ["mysql", "mariadb"])
KEY = b"the secret of the tests"
JSON = ColumnType("json")
HASHED = ColumnPatterns(hashed=("shop.people.*_h",), key=digest_key(KEY))
LATIN, UTF8 = (ColumnType("varchar", length=2000, charset=charset) for charset in ("latin1", "utf8mb4"))
TYPES = {
    "id": ColumnType("int"), "phone_h": LATIN, "mail_h": UTF8, "small_h": ColumnType("tinyint"),
    "medium_h": ColumnType("mediumint"), "big_h": ColumnType("bigint"),
    "unsigned_h": ColumnType("bigint", unsigned=True),
    "bytes_h": ColumnType("varbinary", length=300), "v": ColumnType("int"),
}  # fmt: skip
PEOPLE = TableSchema("shop", "people", tuple(Column(n, kind, n != "id") for n, kind in TYPES.items()), ("id",))
CREATE = Ddl(
    "CREATE TABLE people (id INT NOT NULL PRIMARY KEY, phone_h VARCHAR(2000) CHARSET latin1, mail_h VARCHAR(2000) "
    "CHARSET utf8mb4, small_h TINYINT, medium_h MEDIUMINT, big_h BIGINT, unsigned_h BIGINT UNSIGNED, "
    "bytes_h VARBINARY(300), v INT)", "shop",
)  # fmt: skip
LONG = "+49 170 555 0199 " * 60
ROW = {
    "id": 1, "phone_h": "Jörg", "mail_h": LONG, "small_h": -128, "medium_h": -8388608, "big_h": -(2**63),
    "unsigned_h": 2**64 - 1, "bytes_h": b"\xff\x00" * 99, "v": 7,
}  # fmt: skip
OTHER = {
    "id": 2, "phone_h": "", "mail_h": None, "small_h": 0, "medium_h": 15, "big_h": 1_000_000_007, "unsigned_h": 0,
    "bytes_h": b"", "v": None,
}  # fmt: skip


def digest(value, kind: ColumnType = UTF8) -> str | None:
    return digest_of(KEY.decode(), value, kind)


def hashed(row: dict) -> dict:
    return {name: digest(value) if name.endswith("_h") else value for name, value in row.items()}


def images(found: pa.Table, side: str, names: Iterable[str] = TYPES) -> list[dict]:
    types = {name: pa.string() if name.endswith("_h") else pa.int32() for name in names}
    rows = found.filter(found[side].is_valid()).combine_chunks()
    arrays = decode_images(rows[side].combine_chunks(), types, None)
    return pa.Table.from_arrays(arrays, names=list(types)).to_pylist()


@FLAVORS
def test_silver_has_digests_of_all_types_and_no_byte_of_a_value(tmp_path, flavor):
    changed = OTHER | {"mail_h": LONG, "big_h": None}
    log = Log(flavor, [
        CREATE,
        Transaction([Insert(PEOPLE, [ROW, OTHER])]),
        Transaction([Update(PEOPLE, [(OTHER, changed)]), Delete(PEOPLE, [ROW])]),
    ])  # fmt: skip
    found = silver(tmp_path, log, HASHED)
    assert images(found, "after") == [hashed(ROW), hashed(OTHER), hashed(changed)]
    assert images(found, "before") == [hashed(OTHER), hashed(ROW)]
    assert not any(value in file_bytes(found) for value in (LONG.encode(), b"J\xc3\xb6rg", ROW["bytes_h"]))


Logged = tuple[Any, str | None]
"""A value as it is logged, and its digest by the function of the page."""


def logged_values(kind: ColumnType) -> list[Logged]:
    fraction = "." + "0" * kind.fraction_digits if kind.fraction_digits else ""
    more = {
        "date": [((2024, 2, 0), "2024-02-00"), ((0, 0, 0), "0000-00-00")],
        "datetime": [((2023, 2, 31, 1, 2, 3, 0), f"2023-02-31 01:02:03{fraction}")],
        "timestamp": [((0,) * 7, f"0000-00-00 00:00:00{fraction}")],
        "enum": [("", "")],
        "json": [(encode_json({"b": [1.5, None]}), '{"b": [1.5, null]}')],
        **dict.fromkeys(("float", "double"), [(-0.0, 0.0)]),
    }
    edges = [] if kind.name == "json" else edge_values(kind)
    found = [(value, value) for value in edges] + more.get(kind.name, [])
    return [(None, None), *((value, digest(shown, kind)) for value, shown in found)]


@FLAVORS
def test_a_value_of_each_type_has_the_digest_that_the_page_computes(tmp_path, flavor):
    """All edge values, and dates that no calendar has."""
    types = [*COLUMN_TYPES, *([ColumnType("json")] if flavor == "mysql" else [])]
    columns = [Column(f"c{n}_h", kind) for n, kind in enumerate(types)]
    table = TableSchema("shop", "people", (Column("id", ColumnType("int"), False), *columns), ("id",))
    found = {column.name: logged_values(column.type) for column in columns}
    pairs = [
        {"id": (n, n)} | {name: values[n % len(values)] for name, values in found.items()}
        for n in range(max(map(len, found.values())))
    ]
    rows, expected = ([{name: pair[k] for name, pair in row.items()} for row in pairs] for k in (0, 1))
    log = Log(flavor, [Ddl(create_table_sql(table), "shop"), Transaction([Insert(table, rows)])])
    assert images(silver(tmp_path, log, HASHED), "after", rows[0]) == expected


@pytest.mark.parametrize(
    ("layout", "data", "shown"),
    [
        ((kinds.OLD_DATETIME, 8, 0, 0, 0), (20240229100000).to_bytes(8, "little"), "2024-02-29 10:00:00"),
        ((kinds.OLD_DATETIME, 8, 0, 0, 0), bytes(8), "0000-00-00 00:00:00"),
        ((kinds.OLD_TIMESTAMP, 4, 0, 0, 0), b"\1\0\0\0", "1970-01-01 00:00:01"),
        ((kinds.OLD_FINE_TIMESTAMP, 6, 3, 1000, 0), b"\0\0\0\1\0\5", "1970-01-01 00:00:01.005"),
        ((kinds.OLD_TIME, 3, 0, 0, 0), (-12345 & 0xFFFFFF).to_bytes(3, "little"), "-01:23:45"),
    ],
)
def test_times_as_servers_kept_them_earlier_have_the_same_digests(layout, data, shown):
    assert decoded(layout, data, key=HASHED.key) == digest(shown)


def test_a_json_value_that_is_changed_in_part_is_hashed(tmp_path):
    """Such an image is made plain before, by the number of bytes of each column."""
    columns = tuple(Column(name, TYPES.get(name, JSON), name != "id") for name in ("id", "small_h", "j_h", "v"))
    table = TableSchema("shop", "people", columns, ("id",))
    old = {"id": 1, "small_h": 7, "j_h": encode_json({"a": 1, "b": 2}), "v": 3}
    without_a = Differences(encode_differences([Difference(REMOVE, ("a",))]))
    create = Ddl("CREATE TABLE people (id INT PRIMARY KEY, small_h TINYINT, j_h JSON, v INT)", "shop")
    log = Log("mysql", [create, Transaction([Update(table, [(old, old | {"j_h": without_a})], partial_json=True)])])
    found = silver(tmp_path, log, HASHED)
    assert images(found, "after", old) == [{"id": 1, "small_h": digest(7), "j_h": digest('{"b": 2}'), "v": 3}]


def test_a_default_that_is_not_logged_is_hashed(tmp_path):
    create = Ddl("CREATE TABLE people (id INT PRIMARY KEY, mail_h VARCHAR(9) CHARSET utf8mb4 DEFAULT 'none')", "shop")
    columns = (
        Column("id", ColumnType("int"), False),
        Column("mail_h", ColumnType("varchar", length=9, charset="utf8mb4")),
    )
    table = TableSchema("shop", "people", columns, ("id",))
    found = silver(tmp_path, Log("mysql", [create, Transaction([Insert(table, [{"id": 1}])])]), HASHED)
    rows = found.filter(found["after"].is_valid()).combine_chunks()
    types = {"id": pa.int32(), "mail_h": pa.string()}
    arrays = decode_images(rows["after"].combine_chunks(), types, None)
    assert [array.to_pylist() for array in arrays] == [[1], [digest("none")]]


def marks(folder, *statements: str) -> dict[str, tuple[bool, bool]]:
    """Column -> (is it hidden, is it hashed), of the table that the last statement leaves."""
    reader = definitions_read(folder, [CREATE, *(Ddl(text, "shop") for text in statements)], HASHED)
    schema = next(iter(map(reader.definitions.get, *zip(*reader.definitions.followed(), strict=True))))
    return {c.name: (c.is_hidden, c.is_hashed) for c in schema.columns if c.is_hidden or c.is_hashed}


def test_a_hashed_column_stays_hashed_and_what_is_generated_from_it_is_hidden(tmp_path):
    rename = "ALTER TABLE people RENAME COLUMN phone_h TO tel, ADD g INT AS (LENGTH(mail_h))"
    found = marks(tmp_path, rename, "RENAME TABLE people TO clients")
    assert found == {n.replace("phone_h", "tel"): (False, True) for n in TYPES if n.endswith("_h")} | {
        "g": (True, False)
    }


@pytest.mark.parametrize(
    ("column", "more", "reason"),
    [
        ("w_h INT", ", FOREIGN KEY (w_h) REFERENCES p (id) ON DELETE CASCADE",
         "column w_h is hashed, and is in a foreign key that changes rows"),
        ("s TIMESTAMP(6) AS ROW START, w_h TIMESTAMP(6) AS ROW END", ", PERIOD FOR SYSTEM_TIME (s, w_h)",
         "column w_h is hashed, and is the period of system versioning"),
    ],
)  # fmt: skip
def test_what_cannot_be_hashed_is_refused(tmp_path, column, more, reason):
    versioned = " WITH SYSTEM VERSIONING" if "PERIOD" in more else ""
    create = Ddl(f"CREATE TABLE people (id INT PRIMARY KEY, {column}{more}) ENGINE=InnoDB{versioned}", "shop")
    parent = Ddl("CREATE TABLE p (id INT PRIMARY KEY) ENGINE=InnoDB", "shop")
    reader = definitions_read(tmp_path, [parent, create], HASHED, "mariadb")
    known = reader.definitions.get("shop", "people")
    assert (known.code, known.reason) == ("hidden-column", reason)


def labelled(name: str, *labels: str) -> ColumnType:
    return ColumnType(name, labels=labels, charset="utf8mb4")


@pytest.mark.parametrize(
    ("old", "new", "keeps"),
    [
        (ColumnType("int"), ColumnType("bigint"), True),
        (ColumnType("int"), ColumnType("bigint", unsigned=True), False),
        (ColumnType("int", unsigned=True), ColumnType("bigint"), True),
        (ColumnType("bigint"), ColumnType("int"), False),
        (LATIN, UTF8, True),
        (UTF8, LATIN, False),
        (UTF8, ColumnType("varchar", length=1999, charset="utf8mb4"), False),
        (UTF8, ColumnType("text", charset="utf8mb4"), True),
        (UTF8, ColumnType("tinytext", charset="utf8mb4"), False),
        (UTF8, ColumnType("char", length=2000, charset="utf8mb4"), False),
        (UTF8, ColumnType("int"), False),
        (ColumnType("binary", length=4), ColumnType("varbinary", length=9), False),
        (ColumnType("varbinary", length=4), ColumnType("blob"), True),
        (ColumnType("decimal", precision=5, scale=2), ColumnType("decimal", precision=7, scale=2), True),
        (ColumnType("decimal", precision=5, scale=2), ColumnType("decimal", precision=6, scale=3), False),
        (ColumnType("decimal", precision=5, scale=2), ColumnType("decimal", True, precision=5, scale=2), False),
        (ColumnType("decimal", precision=5, scale=0), ColumnType("bigint"), False),
        (ColumnType("bit", length=3), ColumnType("bit", length=8), True),
        (ColumnType("bit", length=8), ColumnType("bit", length=3), False),
        (ColumnType("datetime"), ColumnType("datetime", fraction_digits=3), False),
        (ColumnType("timestamp"), ColumnType("datetime"), False),
        (ColumnType("time", fraction_digits=3), ColumnType("time"), False),
        (ColumnType("float"), ColumnType("double"), False),
        (labelled("enum", "a", "b"), labelled("enum", "b", "c", "a"), True),
        (labelled("enum", "a", "b"), labelled("enum", "A", "b"), False),
        (labelled("set", "a", "b"), labelled("set", "a", "b", "c"), True),
        (labelled("set", "a", "b"), labelled("set", "b", "a"), False),
        (labelled("enum", "a"), labelled("set", "a"), False),
    ],
)
def test_an_alter_keeps_digests_only_if_each_text_stays_the_same(old, new, keeps):
    assert keeps_digests(old, new) is keeps
