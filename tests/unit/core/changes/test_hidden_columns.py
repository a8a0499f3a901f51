"""Hidden columns: silver has the rows without them, and no byte of their values."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pyarrow as pa
import pytest

from mirrorlake.core.changes.assembler import CHANGE_SCHEMA
from mirrorlake.core.changes.definition_reader import DefinitionReader
from mirrorlake.core.changes.kept_text import is_kept
from mirrorlake.core.schema.column_patterns import ColumnPatterns
from mirrorlake.core.schema.tables import Column, TableSchema
from mirrorlake.core.schema.types import ColumnType
from mirrorlake.core.values.variant import decode_metadata
from tests.support.binlog_spec import Ddl, Delete, Insert, Log, Query, Statement, Transaction, Update
from tests.support.canonical import canonical_row
from tests.support.hidden_columns import definitions_read, file_bytes, silver
from tests.support.histories import History, random_history
from tests.support.silver_rows import all_schemas, expected_rows, silver_rows

HISTORIES = 3
FLAVORS = pytest.mark.parametrize("flavor", ["mysql", "mariadb"])
SECRET = "+49 170 5550199"
TEXT = ColumnType("varchar", length=40, charset="utf8mb4")
INT = ColumnType("int")
PEOPLE = TableSchema(
    "shop", "people", (Column("id", INT, False), Column("phone", TEXT), Column("v", INT)), ("id",)
)  # fmt: skip
CREATE = Ddl("CREATE TABLE people (id INT PRIMARY KEY, phone VARCHAR(40) CHARSET utf8mb4, v INT)", "shop")
PHONE = ColumnPatterns(("shop.people.phone",))


def definitions(folder, items: list, hidden: ColumnPatterns = PHONE, flavor: str = "mysql") -> DefinitionReader:
    return definitions_read(folder, items, hidden, flavor)


def hidden_of(reader: DefinitionReader, table: str) -> list[str]:
    return [column.name for column in reader.definitions.get("shop", table).columns if column.is_hidden]


@FLAVORS
@pytest.mark.parametrize("metadata", ["FULL", "MINIMAL"])
def test_silver_has_a_random_history_without_its_hidden_columns(tmp_path, seed, flavor, metadata, history_number):
    random = Random(f"{seed} {history_number}")
    history = random_history(seed + history_number, keyless=0.3)
    schemas = all_schemas(history)
    plain = sorted({c.name for s in schemas.values() for c in s.columns[1:] if c.name not in s.primary_key})
    stay = {name for s in schemas.values() for name in (s.columns[0].name, *s.primary_key)}
    names = [name for name in random.sample(plain, random.randint(1, len(plain))) if name not in stay]
    hidden = ColumnPatterns(tuple(f"*.*.{name}" for name in names))
    table = silver(tmp_path, history.log(flavor, metadata=metadata), hidden, random)
    shown = {key: replace(s, columns=tuple(c for c in s.columns if c.name not in names)) for key, s in schemas.items()}
    assert silver_rows(table.to_batches(), shown) == without(history, set(names))
    assert not {name for image in [*table["before"], *table["after"]] for name in field_names(image)} & set(names)


def without(history: History, names: set[str]) -> list[tuple]:
    """The rows that silver must have."""
    cut = [
        replace(transaction, changes=tuple(replace(c, before=less(c.before, names), after=less(c.after, names))
                for c in transaction.changes))
        for transaction in history.transactions
    ]  # fmt: skip
    return expected_rows(_Cut(cut))


class _Cut:
    def __init__(self, transactions: list):
        self.transactions = transactions


def less(row, names: set[str]):
    return row and {name: value for name, value in row.items() if name not in names}


def field_names(image: pa.StructScalar) -> list[str]:
    """The fields of an object of at most 255 columns: its number of fields, and one byte for the id of each."""
    value, metadata = (image[part].as_py() for part in ("value", "metadata")) if image.is_valid else (b"", b"")
    return [decode_metadata(metadata)[field_id] for field_id in value[2 : 2 + value[1]]] if value else []


@FLAVORS
def test_no_byte_of_a_hidden_value_is_in_silver(tmp_path, flavor):
    """Not in row images of any form, nor in texts of statements, nor in reasons of refusals."""
    row = {"id": 1, "phone": SECRET, "v": 1}
    changed = row | {"phone": SECRET[::-1], "v": 2}
    log = Log(flavor, [
        CREATE,
        Transaction([Statement([Insert(PEOPLE, [row])], sql=f"INSERT INTO people VALUES (1, '{SECRET}', 1)")]),
        Transaction([Update(PEOPLE, [(row, changed)]), Update(PEOPLE, [({"id": 1}, {"phone": SECRET})])]),
        Transaction([Delete(PEOPLE, [changed | {"phone": SECRET}])]),
        Ddl(f"CREATE TABLE same SELECT * FROM people WHERE phone = '{SECRET}'", "shop"),
        Transaction([Query(f"UPDATE people SET v = 3 WHERE phone = '{SECRET}'", "shop")]),
        Ddl(f"CALL forget('{SECRET}')", "shop"),
    ])  # fmt: skip
    found = silver(tmp_path, log, PHONE)
    changes = found.filter(pa.array([op in ("INSERT", "UPDATE", "DELETE") for op in found["op"].to_pylist()]))
    shown = {PEOPLE.schema_id: replace(PEOPLE, columns=(PEOPLE.columns[0], PEOPLE.columns[2]))}
    rows = [row[2:] for row in silver_rows(changes.select(CHANGE_SCHEMA.names).to_batches(), shown)]
    one, two = (canonical_row({"id": 1, "v": v}) for v in (1, 2))
    none = canonical_row({"id": 1, "v": None})
    assert rows == [(None, one), (one, two), (none, none), (two, None)]
    written = file_bytes(found)
    assert SECRET.encode() not in written
    assert SECRET[::-1].encode() not in written
    assert SECRET.encode() in file_bytes(silver(tmp_path / "shown", log, ColumnPatterns()))


def test_a_table_with_hidden_columns_needs_a_definition(tmp_path):
    """Its table map does not say what is generated from a hidden column."""
    log = Log("mysql", [Transaction([Insert(PEOPLE, [{"id": 1, "phone": SECRET, "v": 1}])])], metadata="FULL")
    found = silver(tmp_path, log, PHONE)
    why = "needs-first-copy: it has hidden columns, and no definition is known"
    assert list(zip(found["op"].to_pylist(), found["refusal"].to_pylist(), strict=True)) == [
        ("BEGIN", None), ("REFUSED", why), ("COMMIT", None),
    ]  # fmt: skip
    assert SECRET.encode() not in file_bytes(found)


@pytest.mark.parametrize(
    ("statements", "table", "hidden"),
    [
        ([], "people", ["phone"]),
        (["ALTER TABLE people RENAME COLUMN phone TO tel"], "people", ["tel"]),
        (["ALTER TABLE people CHANGE phone tel VARCHAR(60)"], "people", ["tel"]),
        (["ALTER TABLE people CHANGE phone v INT, CHANGE v phone VARCHAR(9)"], "people", ["v", "phone"]),
        (["ALTER TABLE people MODIFY PHONE TEXT AFTER v"], "people", ["PHONE"]),
        (["ALTER TABLE people ALTER phone SET DEFAULT 'x'"], "people", ["phone"]),
        (["ALTER TABLE people ADD c VARCHAR(40) DEFAULT (concat(PHONE, 'x')), ADD d INT DEFAULT (length(c))"], "people",
         ["phone", "c", "d"]),
        (["ALTER TABLE people ADD c VARCHAR(40)", "ALTER TABLE people ALTER c SET DEFAULT (phone)"], "people",
         ["phone", "c"]),
        (["ALTER TABLE people CHANGE phone tel VARCHAR(40) CHARSET utf8mb4", "ALTER TABLE people COMMENT 'x'",
          "ALTER TABLE people MODIFY tel VARCHAR(40) CHARSET utf8mb4 DEFAULT 'y'"], "people", ["tel"]),
        (["RENAME TABLE people TO clients"], "clients", ["phone"]),
        (["ALTER TABLE people RENAME TO clients, CHANGE phone tel VARCHAR(60)"], "clients", ["tel"]),
        (["CREATE TABLE p2 LIKE people"], "p2", ["phone"]),
        (["CREATE TABLE _people_new (id INT PRIMARY KEY, phone TEXT)"], "_people_new", ["phone"]),
        (["ALTER TABLE people DROP phone", "ALTER TABLE people ADD tel TEXT"], "people", []),
        (["ALTER TABLE people DROP phone", "ALTER TABLE people ADD phone TEXT"], "people", ["phone"]),
        (["CREATE TABLE other (id INT PRIMARY KEY, phone TEXT)"], "other", []),
        (["ALTER TABLE people ADD n INT AS (length(phone)), ADD m INT AS (n + 1), ADD k INT AS (v + 1)"],
         "people", ["phone", "n", "m"]),
    ],
)  # fmt: skip
def test_a_hidden_column_stays_hidden_whatever_ddl_does_to_its_name(tmp_path, statements, table, hidden):
    reader = definitions(tmp_path, [Ddl("CREATE DATABASE shop"), CREATE, *(Ddl(text, "shop") for text in statements)])
    assert hidden_of(reader, table) == hidden


@pytest.mark.parametrize(
    ("create", "reason"),
    [
        ("people (phone VARCHAR(9) PRIMARY KEY, v INT)", "column phone is hidden, and is in the key"),
        ("people (id INT, phone VARCHAR(9) NOT NULL UNIQUE)", "column phone is hidden, and is in the key"),
        ("people (phone VARCHAR(9))", "all columns are hidden"),
        ("people (id INT PRIMARY KEY, phone INT, FOREIGN KEY (phone) REFERENCES q (id) ON DELETE CASCADE)",
         "column phone is hidden, and is in a foreign key that changes rows"),
    ],
)  # fmt: skip
def test_a_table_that_needs_a_hidden_column_is_refused(tmp_path, create, reason):
    q = Ddl("CREATE TABLE q (id INT PRIMARY KEY) ENGINE=InnoDB", "shop")
    reader = definitions(
        tmp_path, [Ddl("CREATE DATABASE shop"), q, Ddl(f"CREATE TABLE {create} ENGINE=InnoDB", "shop")]
    )
    found = reader.definitions.get("shop", "people")
    assert (found.code, found.reason) == ("hidden-column", reason)


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("ALTER TABLE t ADD a INT", True),
        ("  create or replace table t (a int) partition by list (a) (partition p values in (1))", True),
        ("ALTER TABLE t ADD `select` INT, ADD value INT COMMENT 'select'", True),
        ("ALTER TABLE t /* it's */ ADD a INT /*!80000 COMMENT 'x' */", True),
        ("CREATE TABLE t /*!50000 SELECT 'x' */", False),
        ("CREATE TABLE t /* ' */ SELECT 'x'", False),
        ("CREATE UNIQUE INDEX i ON t (a)", True),
        ("TRUNCATE t", True),
        ("DROP DATABASE shop", True),
        ("CREATE TABLE t AS SELECT 'x'", False),
        ("CREATE TABLE t VALUES ('x')", False),
        ("CREATE TABLE t VALUES/**/ROW('x')", False),
        ("CREATE TABLE t (a INT COMMENT 'it`s') SELECT 'x' AS `a`", False),
        ("INSERT INTO t VALUES ('x')", False),
        ("CREATE PROCEDURE p() INSERT INTO t VALUES ('x')", False),
        ("ALTER EVENT e DO DELETE FROM t WHERE a = 'x'", False),
        ("CREATE USER u IDENTIFIED BY 'x'", False),
    ],
)
def test_texts_that_may_hold_a_value_are_not_kept(text, kept):
    assert (is_kept(text, PHONE), is_kept(text, ColumnPatterns())) == (kept, True)
