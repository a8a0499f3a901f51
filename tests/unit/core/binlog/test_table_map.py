"""TABLE_MAP events recorded from MySQL 9.7 and MariaDB 10.11, whole, cut and damaged."""

from __future__ import annotations

from random import Random

import pytest

from mirrorlake.core.binlog.rows.mapped_table import MappedTable, describe
from mirrorlake.core.binlog.rows.table_map import parse_table_map
from mirrorlake.core.schema.tables import Column, TableSchema
from mirrorlake.core.schema.types import ColumnType
from mirrorlake.errors import RefusedError

# create table e (id serial, x enum('é','b ') charset latin1, y set('é') charset utf8mb4, z enum('a') charset binary)
MYSQL_LABELS = bytes.fromhex(
    "72000000000001000161000165000408fefefe06f701f801f7010e01018004090269640178017901"
    "7a0b0508fcff003f05040102c3a906080201e90162010161080100" + "0c01f0"
)
MARIADB_LABELS = bytes.fromhex(
    "18000000000001000161000165000408fefefe06f701f801f7010e010180040902696401780179017a0b03082d3f"
    "05040102c3a906080201e90162010161080100"
)
# create table uk (a int not null, b int, c int not null, unique u1 (b), unique u2 (c), unique u3 (a))
MARIADB_PROMOTED = bytes.fromhex("130000000000010001610002756b000303030300020101000406016101620163080102")
# create table nopk (a int), with sql_generate_invisible_primary_key
MYSQL_INVISIBLE_KEY = bytes.fromhex(
    "7800000000000500016100046769706b000208030002010180040c096d795f726f775f696401610801000c0140"
)
RECORDED = {
    "mysql-labels": (MYSQL_LABELS, "mysql"),
    "mariadb-labels": (MARIADB_LABELS, "mariadb"),
    "mariadb-promoted": (MARIADB_PROMOTED, "mariadb"),
    "mysql-invisible": (MYSQL_INVISIBLE_KEY, "mysql"),
}


def described(body: bytes, flavor: str, known: TableSchema | None = None) -> MappedTable:
    return describe(parse_table_map(body, flavor), known, flavor)


def labelled(name: str, charset: str, *labels: str) -> ColumnType:
    return ColumnType(name, charset=charset, labels=labels)


@pytest.mark.parametrize(("body", "flavor"), [(MYSQL_LABELS, "mysql"), (MARIADB_LABELS, "mariadb")])
def test_labels_come_in_the_column_character_set(body, flavor):
    found = described(body, flavor)
    assert found.schema == TableSchema(
        "a",
        "e",
        (
            Column("id", ColumnType("bigint", unsigned=True), nullable=False),
            Column("x", labelled("enum", "latin1", "é", "b")),
            Column("y", labelled("set", "utf8mb4", "é")),
            Column("z", labelled("enum", "binary", "a")),
        ),
        ("id",),
    )
    assert (found.map.wire_types, found.map.metadata, found.refusal) == ((8, 247, 248, 247), (0, 1, 1, 1), None)


@pytest.mark.parametrize(("body", "flavor"), [(MYSQL_LABELS, "mysql"), (MARIADB_LABELS, "mariadb")])
def test_a_definition_that_the_table_map_confirms_is_in_memory_once(body, flavor):
    known = described(body, flavor).schema
    assert describe(parse_table_map(body, flavor), known, flavor).schema is known


def test_a_unique_key_without_nulls_stands_in_for_the_primary_key():
    found = described(MARIADB_PROMOTED, "mariadb")
    assert (found.map.database, found.map.table) == ("a", "uk")
    assert found.schema.primary_key == ("c",)


def test_the_generated_invisible_key_is_a_column():
    found = described(MYSQL_INVISIBLE_KEY, "mysql").schema
    assert [column.name for column in found.columns] == ["my_row_id", "a"] and found.primary_key == ("my_row_id",)


def build(types: bytes, metadata: bytes = b"", fields: bytes = b"", nullable: int = 0) -> bytes:
    """A body by hand: table d.t."""
    n = len(types)
    bits = nullable.to_bytes((n + 7) // 8, "little")
    head = bytes(8) + b"\x01d\0" + b"\x01t\0"
    return head + bytes([n]) + types + bytes([len(metadata)]) + metadata + bits + fields


def field(kind: int, value: bytes) -> bytes:
    return bytes([kind, len(value)]) + value


def names(*columns: str) -> bytes:
    return field(4, b"".join(bytes([len(name)]) + name.encode() for name in columns))


KEY = field(8, b"\0")
SIGNED = field(1, b"\0")


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (build(b"\x03"), "needs-first-copy"),
        (build(b"\x03", fields=SIGNED), "needs-first-copy"),
        (build(b"\x03", fields=names("id")), "needs-first-copy"),
        (build(b"\x0f", b"\x0a\0", names("id")), "needs-first-copy"),
        (build(b"\xfe", b"\xf7\x01", names("e") + field(11, b"\x08")), "needs-first-copy"),
        (build(b"\x03", fields=SIGNED + names("_lsn") + KEY), "column-name"),
        (build(b"\x03\x63", b"", SIGNED + names("id", "x") + KEY), "column-type"),
        (build(b"\x03\x0f", b"\x0a\x00", SIGNED + names("id", "v") + KEY + field(2, b"\x11")), "column-charset"),
    ],
)
def test_what_is_not_mirrored_is_named(body, code):
    assert described(body, "mariadb" if b"\x8d" in body else "mysql").refusal[0] == code


@pytest.mark.parametrize(
    ("wire_type", "metadata"),
    [(0xFE, b"\xf7\x03"), (0xFE, b"\xf8\x09"), (0xFC, b"\x05"), (0xF6, b"\x42\x02"), (0xF6, b"\x05\x06")]
    + [(0x10, b"\x01\x08")]
    + [(wire_type, b"\x07") for wire_type in (0x11, 0x12, 0x13)],
)  # fmt: skip
def test_a_size_that_no_server_writes_is_refused(wire_type, metadata):
    with pytest.raises(RefusedError, match="of a column of type"):
        parse_table_map(build(bytes((wire_type,)), metadata, names("c")), "mysql")


def test_compressed_columns_have_the_type_of_their_values():
    """VARCHAR counts the byte that says how a value is compressed."""
    fields = SIGNED + names("id", "v", "t") + KEY + field(3, b"\x08\x3f")
    table = described(build(b"\x03\x8d\x8c", b"\x0b\x00\x02", fields), "mariadb")
    types = [column.type for column in table.schema.columns]
    assert types[1:] == [ColumnType("varchar", length=10, charset="latin1"), ColumnType("blob")]
    assert (table.map.wire_types, table.map.metadata) == ((3, 141, 140), (0, 11, 2))


def test_types_from_metadata():
    types = b"\x01\x0d\xf6\x10\x12\x11\x0c\x07\x0a\x0f\xfe\xfe\xfc\xfc\x05"
    metadata = b"\x0a\x02" + b"\x03\x01" + b"\x03" + b"\x06" + b"\x28\x00" + b"\xee\xfc" + b"\xfe\x10" + b"\x02\x03\x08"
    columns = "abcdefghijklmno"
    charsets = field(3, b"\x2d\x2d\x3f\x08\x3f")
    body = build(
        types, metadata, field(1, b"\xf0") + names(*columns) + field(9, b"\0\0\x09\x05") + charsets, nullable=2
    )
    found = described(body, "mysql")
    assert [column.type.sql() for column in found.schema.columns] == [
        "tinyint unsigned", "year", "decimal(10,2) unsigned", "bit(11)", "datetime(3)", "timestamp(6)", "datetime",
        "timestamp", "date", "varchar(10)", "char(127)", "binary(16)", "text", "mediumblob", "double unsigned",
    ]  # fmt: skip
    assert [column.type.charset for column in found.schema.columns][9:14] == [
        "utf8mb4",
        "utf8mb4",
        None,
        "latin1",
        None,
    ]
    assert [column.name for column in found.schema.columns if column.nullable] == ["b"]
    assert found.schema.primary_key == ("a", "j")


@pytest.mark.parametrize("name", RECORDED)
def test_cut_anywhere_it_is_our_error_or_a_map_with_less_metadata(name):
    body, flavor = RECORDED[name]
    whole = parse_table_map(body, flavor)
    for length in range(len(body)):
        try:
            found = parse_table_map(body[:length], flavor)
        except RefusedError as error:
            assert error.code == "log-event"
        else:
            assert found.wire_types == whole.wire_types and length > len(body) - 60


@pytest.mark.parametrize("name", RECORDED)
def test_damaged_bytes_raise_only_our_error(name):
    body, flavor = RECORDED[name]
    random = Random(name)
    for _ in range(3000):
        damaged = bytearray(body)
        for _ in range(random.randint(1, 4)):
            damaged[random.randrange(len(damaged))] = random.randrange(256)
        parse_or_refuse(bytes(damaged), flavor)
    for _ in range(1000):
        parse_or_refuse(random.randbytes(random.randint(0, 80)), flavor)


def parse_or_refuse(body: bytes, flavor: str) -> None:
    try:
        described(body, flavor)
    except RefusedError as error:
        assert error.code == "log-event"
