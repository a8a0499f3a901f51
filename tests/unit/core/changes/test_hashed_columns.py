"""Hashed columns: silver has the digests of their values, and no byte of these."""

from __future__ import annotations

import hashlib
import hmac

import pyarrow as pa
import pytest

from mirrorlake.core.schema.column_patterns import ColumnPatterns
from mirrorlake.core.schema.hashing import keeps_digests
from mirrorlake.core.schema.tables import Column, TableSchema
from mirrorlake.core.schema.types import ColumnType
from mirrorlake.core.values.hmac_sha256 import digest_key
from mirrorlake.core.values.variant_columns import decode_images
from tests.support.binlog_spec import Ddl, Delete, Insert, Log, Transaction, Update
from tests.support.hidden_columns import definitions_read, file_bytes, silver

FLAVORS = pytest.mark.parametrize("flavor", ["mysql", "mariadb"])
KEY = b"the secret of the tests"
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


def digest(value) -> str | None:
    text = value if isinstance(value, bytes) else str(value).encode()
    return None if value is None else hmac.new(KEY, text, hashlib.sha256).hexdigest()


def hashed(row: dict) -> dict:
    return {name: digest(value) if name.endswith("_h") else value for name, value in row.items()}


def images(found: pa.Table, side: str) -> list[dict]:
    types = {name: pa.string() if name.endswith("_h") else pa.int32() for name in TYPES}
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
        ("w_h FLOAT", "", "column w_h is hashed, and its type float has no digests"),
        ("w_h INT", ", FOREIGN KEY (w_h) REFERENCES p (id) ON DELETE CASCADE",
         "column w_h is hashed, and is in a foreign key that changes rows"),
    ],
)  # fmt: skip
def test_what_cannot_be_hashed_is_refused(tmp_path, column, more, reason):
    create = Ddl(f"CREATE TABLE people (id INT PRIMARY KEY, {column}{more}) ENGINE=InnoDB", "shop")
    reader = definitions_read(
        tmp_path, [Ddl("CREATE TABLE p (id INT PRIMARY KEY) ENGINE=InnoDB", "shop"), create], HASHED
    )
    known = reader.definitions.get("shop", "people")
    assert (known.code, known.reason) == ("hidden-column", reason)


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
    ],
)
def test_an_alter_keeps_digests_only_if_each_text_stays_the_same(old, new, keeps):
    assert keeps_digests(old, new) is keeps
