"""Types, tables and their JSON as values."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mirrorlake.core.schema.charsets import charset_of_collation_id, charset_of_collation_name, decode_text
from mirrorlake.core.schema.tables import Column, TableSchema, same_definition, why_not_mirrored
from mirrorlake.core.schema.types import ColumnType, blob_type, text_type

SCHEMA = TableSchema(
    "shop",
    "orders",
    (
        Column("id", ColumnType("bigint", unsigned=True), nullable=False),
        Column("price", ColumnType("decimal", precision=10, scale=0)),
        Column("état", ColumnType("enum", charset="latin1", labels=("neu", "it's"))),
        Column("at", ColumnType("datetime", fraction_digits=0)),
        Column("note", ColumnType("varchar", length=0, charset=None)),
    ),
    ("id",),
    default_charset="latin1",
)


@pytest.mark.parametrize(
    ("column_type", "sql"),
    [
        (ColumnType("bigint", unsigned=True), "bigint unsigned"),
        (ColumnType("decimal", precision=10, scale=2), "decimal(10,2)"),
        (ColumnType("decimal", unsigned=True, precision=10, scale=0), "decimal(10,0) unsigned"),
        (ColumnType("enum", charset="ascii", labels=("a", "it's")), "enum('a','it''s')"),
        (ColumnType("datetime", fraction_digits=0), "datetime"),
        (ColumnType("timestamp", fraction_digits=6), "timestamp(6)"),
        (ColumnType("varchar", length=0, charset="latin1"), "varchar(0)"),
        (ColumnType("bit", length=3), "bit(3)"),
        (ColumnType("longblob"), "longblob"),
    ],
)
def test_sql_spelling(column_type, sql):
    assert column_type.sql() == sql


def test_json_keeps_everything_and_is_stable():
    read = TableSchema.from_json(SCHEMA.to_json())
    assert (read, read.default_charset, read.key_is_promoted) == (SCHEMA, "latin1", False)
    assert read.to_json() == SCHEMA.to_json()
    assert read.columns[1].type.scale == 0 and read.columns[3].type.fraction_digits == 0


def test_schema_id_hangs_on_what_decodes_rows_only():
    assert SCHEMA.schema_id == TableSchema.from_json(SCHEMA.to_json()).schema_id == 2442290443896313027
    assert replace(SCHEMA, default_charset=None, key_is_promoted=True).schema_id == SCHEMA.schema_id
    assert replace(SCHEMA, table="order").schema_id != SCHEMA.schema_id
    assert replace(SCHEMA, primary_key=()).schema_id != SCHEMA.schema_id


@pytest.mark.parametrize(
    ("column", "code"),
    [
        (Column("_LSN", ColumnType("int")), "column-name"),
        (Column("_lſn", ColumnType("int")), "column-name"),
        (Column("_tmp_metadata_row_index", ColumnType("bigint")), "column-name"),
        (Column("__DELTA_internal_is_row_deleted", ColumnType("tinyint")), "column-name"),
        (Column("ıd", ColumnType("int")), "column-name"),
        (Column("État", ColumnType("int")), "column-name"),
        (Column("c", ColumnType("type 20")), "column-type"),
        (Column("c", ColumnType("varchar", length=5, charset="klingon")), "column-charset"),
        (Column("c", ColumnType("enum", charset="other")), "column-charset"),
    ],
)
def test_what_a_mirror_cannot_hold(column, code):
    found, reason = why_not_mirrored(replace(SCHEMA, columns=(*SCHEMA.columns, column)))
    assert found == code and column.name in reason


def test_a_mirror_needs_no_key():
    assert why_not_mirrored(SCHEMA) is None and why_not_mirrored(replace(SCHEMA, primary_key=())) is None


def changed(at: int, **values) -> TableSchema:
    column = SCHEMA.columns[at]
    names = {name: values.pop(name) for name in ("name", "nullable") if name in values}
    column = replace(column, type=replace(column.type, **values), **names)
    return replace(SCHEMA, columns=(*SCHEMA.columns[:at], column, *SCHEMA.columns[at + 1 :]))


@pytest.mark.parametrize(
    ("seen", "difference"),
    [
        (SCHEMA, None),
        (changed(4, charset="utf8mb4"), None),
        (changed(4, charset="ascii", length=9), "column 5: the table map has note varchar(9) ascii, "
            "the definition note varchar(0)"),
        (changed(0, unsigned=False), "column 1: the table map has id bigint, the definition id bigint unsigned"),
        (changed(0, name="ID"), "column 1: the table map has ID, the definition id"),
        (changed(1, scale=2), "column 2: the table map has price decimal(10,2), the definition price decimal(10,0)"),
        (changed(1, nullable=False), "column 2: the table map has price NOT NULL, the definition price NULL"),
        (replace(SCHEMA, columns=SCHEMA.columns[:4]), "the table map has 4 columns, the definition 5"),
        (replace(SCHEMA, primary_key=("id", "at")), "the table map has key (id, at), the definition (id)"),
    ],
)  # fmt: skip
def test_the_first_difference_is_named(seen, difference):
    assert same_definition(seen, SCHEMA) == difference


@pytest.mark.parametrize(
    ("flavor", "number", "charset"),
    [
        ("mysql", 8, "latin1"), ("mysql", 63, "binary"), ("mysql", 255, "utf8mb4"), ("mysql", 76, "utf8mb3"),
        ("mysql", 28, "gbk"), ("mysql", 2304, "other"), ("mysql", 1032, "other"), ("mariadb", 1032, "latin1"),
        ("mariadb", 255, "utf8mb4"), ("mariadb", 324, "other"), ("mariadb", 2304, "utf8mb4"),
        ("mariadb", 2048, "utf8mb3"),
        ("mariadb", 576, "utf8mb3"), ("mariadb", 1270, "utf8mb4"), ("mariadb", 2560, "ucs2"),
        ("mariadb", 3071, "utf16"),
        ("mariadb", 3328, "other"),
        ("mariadb", 1087, "other"), ("mysql", 248, "gb18030"), ("mariadb", 248, "other"), ("mariadb", 1080, "utf16le"),
    ],
)  # fmt: skip
def test_character_sets_by_collation_number(flavor, number, charset):
    assert charset_of_collation_id(number, flavor) == charset


def test_character_sets_by_collation_name():
    names = ("latin1_bin", "utf8_general_ci", "BINARY", "uca1400_ai_ci", "utf8mb4_uca1400_ai_ci")
    assert [charset_of_collation_name(name) for name in names] == ["latin1", "utf8mb3", "binary", None, "utf8mb4"]


def test_text_is_decoded_as_the_servers_mean_it():
    assert decode_text(b"\xe9\x80\x81", "latin1") == "é€\x81"
    assert decode_text("é😀".encode(), "utf8mb4") == "é😀"
    assert decode_text(b"\xe9", "utf8mb4") is decode_text(b"\xe9", "ascii") is decode_text(b"a", "klingon") is None


def test_the_smallest_type_that_holds_so_many_bytes():
    assert [text_type(n) for n in (255, 256, 65535, 65536, 2**24)] == [
        "tinytext",
        "text",
        "text",
        "mediumtext",
        "longtext",
    ]
    assert [blob_type(n) for n in (0, 256, 2**24 - 1, 2**40)] == ["tinyblob", "blob", "mediumblob", "longblob"]
