"""Table maps with all, some and none of the optional metadata, and the definition in force."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mirrorlake.core.binlog.rows.mapped_table import describe
from mirrorlake.core.binlog.rows.table_map import parse_table_map
from mirrorlake.core.schema.tables import Column, TableSchema
from mirrorlake.core.schema.types import ColumnType
from tests.support.table_map_encoding import table_map_body

T = TableSchema(
    "d",
    "t",
    (
        Column("id", ColumnType("int", unsigned=True), nullable=False),
        Column("name", ColumnType("varchar", length=10, charset="latin1")),
        Column("kind", ColumnType("enum", charset="utf8mb4", labels=("a", "b"))),
    ),
    ("id",),
    default_charset="latin1",
)
FLAVORS = pytest.mark.parametrize("flavor", ["mysql", "mariadb"])


def described(logged: TableSchema, metadata: str, known: TableSchema | None, flavor: str = "mysql"):
    return describe(parse_table_map(table_map_body(logged, 7, flavor, metadata), flavor), known, flavor)


def changed(i: int, **changes) -> TableSchema:
    """T with another column."""
    return replace(T, columns=(*T.columns[:i], replace(T.columns[i], **changes), *T.columns[i + 1 :]))


@FLAVORS
@pytest.mark.parametrize("metadata", ["FULL", "MINIMAL", "NO_LOG"])
def test_what_a_map_leaves_out_comes_from_the_definition(flavor, metadata):
    found = described(T, metadata, T, flavor)
    assert (found.schema, found.refusal) == (T, None)
    assert found.schema.default_charset == "latin1"
    alone = described(T, metadata, None, flavor)
    assert (alone.schema == T) if metadata == "FULL" else (alone.refusal[0] == "needs-first-copy")


def test_a_character_set_that_the_definition_leaves_open_comes_from_the_map_or_not_at_all():
    is_open = changed(1, type=ColumnType("varchar", length=10))
    assert described(T, "MINIMAL", is_open).schema == T
    assert described(T, "NO_LOG", is_open).refusal == (
        "row-metadata", "neither the table map nor a definition has the character set of column name",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("metadata", "known", "difference"),
    [
        ("NO_LOG", replace(T, columns=T.columns[:2]), "the table map has 3 columns, the definition 2"),
        ("NO_LOG", changed(0, nullable=True), "column 1: the table map has id NOT NULL, the definition id NULL"),
        ("NO_LOG", changed(0, type=ColumnType("bigint", unsigned=True)),
         "column 1: the table map has id int unsigned, the definition id bigint unsigned"),
        ("NO_LOG", changed(1, type=ColumnType("varchar", length=11, charset="latin1")),
         "column 2: the table map has name varchar(10) latin1, the definition name varchar(11) latin1"),
        ("NO_LOG", changed(2, type=ColumnType("enum", charset="utf8mb4", labels=tuple(map(str, range(300))))),
         "1 bytes of column kind do not fit its 300 labels"),
        ("NO_LOG", changed(2, type=ColumnType("set", charset="utf8mb4", labels=("a", "b"))),
         "column 3: the table map has kind enum('a','b') utf8mb4, the definition kind set('a','b') utf8mb4"),
        ("MINIMAL", changed(0, type=ColumnType("int")),
         "column 1: the table map has id int unsigned, the definition id int"),
        ("MINIMAL", changed(1, type=ColumnType("varchar", length=10, charset="ascii")),
         "column 2: the table map has name varchar(10) latin1, the definition name varchar(10) ascii"),
        ("FULL", changed(1, name="title"), "column 2: the table map has name, the definition title"),
        ("FULL", changed(2, type=ColumnType("enum", charset="utf8mb4", labels=("b", "a"))),
         "column 3: the table map has kind enum('a','b') utf8mb4, the definition kind enum('b','a') utf8mb4"),
        ("FULL", replace(T, primary_key=("id", "name")), "the table map has key (id), the definition (id, name)"),
    ],
)  # fmt: skip
def test_a_map_that_contradicts_the_definition_is_refused(metadata, known, difference):
    assert described(T, metadata, known).refusal == ("definition-mismatch", difference)


@pytest.mark.parametrize("metadata", ["FULL", "NO_LOG"])
@pytest.mark.parametrize("name", ["char", "varchar"])
def test_what_ddl_calls_utf8_may_be_utf8mb4(metadata, name):
    """MariaDB's old_mode decides, and it is in no log."""
    logged, known = (changed(1, type=ColumnType(name, length=10, charset=f"utf8mb{n}")) for n in (4, 3))
    found = described(logged, metadata, known, "mariadb")
    assert (found.schema, found.refusal) == (logged, None)
    found = described(known, metadata, known, "mariadb")
    assert (found.schema, found.refusal) == (known, None)
    longer = changed(1, type=ColumnType(name, length=11, charset="utf8mb4"))
    assert described(longer, metadata, known, "mariadb").refusal[0] == "definition-mismatch"


@pytest.mark.parametrize(("wire_type", "name"), [(7, "timestamp"), (11, "time"), (12, "datetime")])
def test_fraction_digits_of_mariadbs_older_storage_come_from_the_definition(wire_type, name):
    known = changed(0, type=ColumnType(name, fraction_digits=3))
    body = table_map_body(changed(0, type=ColumnType("int")), 7, "mariadb", "NO_LOG")
    seen = replace(parse_table_map(body, "mariadb"), metadata=(0, 10, 1))
    seen = replace(seen, wire_types=(wire_type, *seen.wire_types[1:]))
    assert describe(seen, known, "mariadb").schema == known
    assert describe(seen, known, "mysql").refusal[0] == "definition-mismatch"
    whole = changed(0, type=ColumnType(name, fraction_digits=0))
    assert describe(seen, whole, "mariadb").schema == whole


@pytest.mark.parametrize(("name", "length"), [("uuid", 16), ("inet6", 16), ("inet4", 4)])
def test_types_that_the_log_has_no_word_for_come_from_the_definition(name, length):
    logged = changed(1, type=ColumnType("binary", length=length))
    known = changed(1, type=ColumnType(name))
    for metadata in ("FULL", "NO_LOG"):
        assert described(logged, metadata, known, "mariadb").schema == known
    vector = changed(1, type=ColumnType("vector"))
    assert described(changed(1, type=ColumnType("varbinary", length=12)), "FULL", vector, "mariadb").schema == vector
    assert described(changed(1, type=ColumnType("binary", length=5)), "FULL", known, "mariadb").refusal
