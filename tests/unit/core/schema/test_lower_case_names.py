"""Names of databases and tables as a server compares them: as they are written, or in lower case."""

from __future__ import annotations

import pytest

from mirrorlake.core.schema.history import ABSENT, Definitions, Refused
from mirrorlake.core.schema.lower_case_names import AS_WRITTEN, NameCase
from mirrorlake.core.schema.tables import TableSchema
from tests.support.interpreting import definitions_after

LOWER, KEPT = NameCase(1), NameCase(2)
NOT_KNOWN = NameCase(None)


def after(name_case: NameCase, *statements: str, database: str = "Shop", flavor: str = "mysql") -> Definitions:
    context = {"database": database, "flavor": flavor, "name_case": name_case}
    return definitions_after(*statements, server_charset="utf8mb4", **context)


def known(definitions: Definitions) -> dict[str, str | list[str]]:
    """Of each table its columns, or why it is refused."""
    found = {}
    for (database, table), each in sorted(definitions._tables.items()):
        if isinstance(each, TableSchema):
            assert (each.database, each.table) == (database, table)
            found[f"{database}.{table}"] = [column.name for column in each.columns]
        elif isinstance(each, Refused):
            found[f"{database}.{table}"] = f"{each.code}: {each.reason}"
        else:
            assert each is ABSENT
    return found


HISTORY = (
    "CREATE DATABASE Shop",
    "CREATE TABLE Orders (Id INT PRIMARY KEY, V INT)",
    "CREATE TABLE orderLines LIKE ORDERS",
    "ALTER TABLE shop.ORDERS CHANGE V w INT",
    "CREATE TABLE Gone (id INT PRIMARY KEY)",
    "DROP TABLE gone",
    "RENAME TABLE OrderLines TO SHOP.`Other One`",
)


@pytest.mark.parametrize("name_case", [LOWER, KEPT])
def test_names_that_compare_in_lower_case_are_known_in_lower_case(name_case):
    definitions = after(name_case, *HISTORY)
    assert known(definitions) == {"shop.orders": ["Id", "w"], "shop.other one": ["Id", "V"]}
    assert definitions.get("shop", "orderlines") is ABSENT
    assert known(after(name_case, *HISTORY, "DROP DATABASE sHOP")) == {}


def test_names_that_compare_as_written_stay_apart():
    statements = ("CREATE TABLE t (a INT)", "CREATE TABLE T (b INT)", "DROP TABLE IF EXISTS Shop.x", "TRUNCATE t")
    assert known(after(AS_WRITTEN, *statements)) == {"Shop.T": ["b"], "Shop.t": ["a"]}


@pytest.mark.parametrize("name_case", [LOWER, KEPT])
def test_a_foreign_key_finds_its_parent(name_case):
    child = "CREATE TABLE Chi (p INT, FOREIGN KEY (p) REFERENCES {} (id) ON DELETE CASCADE)"
    parent = "CREATE TABLE Par (id INT PRIMARY KEY)"
    for spelled in ("PAR", "SHOP.par"):
        found = after(name_case, "CREATE DATABASE shop", parent, child.format(spelled))
        (key,) = found.get("shop", "chi").foreign_keys
        assert (key.name, key.parent) == ("chi_ibfk_1", ("shop", "par"))
    renamed = after(name_case, "CREATE DATABASE shop", parent, child.format("Par"), "RENAME TABLE PAR TO pAR2")
    assert renamed.get("shop", "chi").foreign_keys[0].parent == ("shop", "par2")


def test_a_trigger_is_dropped_in_the_database_of_its_table():
    trigger = "CREATE TRIGGER tr BEFORE UPDATE ON Orders FOR EACH ROW SET NEW.V = 1"
    assert len(after(LOWER, *HISTORY[:2], trigger).get("shop", "orders").update_triggers) == 1
    assert after(LOWER, *HISTORY[:2], trigger, "DROP TRIGGER SHOP.tr").get("shop", "orders").update_triggers == ()


ORDERS, NAMED = "CREATE TABLE orders (id INT PRIMARY KEY, v INT)", "name-case: a statement names "


@pytest.mark.parametrize(
    "statement",
    [
        "TRUNCATE TABLE Orders",
        "ALTER TABLE Orders CHANGE id v INT, CHANGE v id INT",
        "ALTER TABLE Orders DROP PARTITION p0",
        "DROP TABLE IF EXISTS Orders",
        "RENAME TABLE Orders TO other",
        "CREATE TABLE IF NOT EXISTS Orders (a INT)",
        "INSERT INTO Orders VALUES (1, 1)",
        "TRUNCATE TABLE SHOP.orders",
    ],
)
def test_where_nobody_said_how_names_compare_a_table_is_refused_that_a_statement_may_be_about(statement):
    spelled = "SHOP.orders" if "SHOP" in statement else "Shop.Orders"
    found = known(after(NOT_KNOWN, "CREATE DATABASE Shop", ORDERS, statement))
    assert found["Shop.orders"] == NAMED + spelled
    assert known(after(AS_WRITTEN, "CREATE DATABASE Shop", ORDERS, statement))["Shop.orders"] == ["id", "v"]


def test_a_replaced_table_is_refused_where_nobody_said_how_names_compare():
    """Of MariaDB."""
    found = after(NOT_KNOWN, "CREATE DATABASE Shop", ORDERS, "CREATE OR REPLACE TABLE ORDERS (a INT)", flavor="mariadb")
    assert known(found) == {"Shop.ORDERS": ["a"], "Shop.orders": NAMED + "Shop.ORDERS"}


def test_where_nobody_said_how_names_compare_a_statement_about_a_database_refuses_its_tables():
    begin = ("CREATE DATABASE Shop", ORDERS, "CREATE TABLE Lines (a INT)")
    refused = {"Shop.Lines": NAMED + "sHop", "Shop.orders": NAMED + "sHop"}
    assert known(after(NOT_KNOWN, *begin, "DROP DATABASE IF EXISTS sHop")) == refused
    assert known(after(NOT_KNOWN, *begin, "ALTER DATABASE sHop CHARACTER SET latin1")) == refused
    assert "Shop.orders" not in known(after(NOT_KNOWN, *begin, "DROP DATABASE Shop"))


def test_what_a_server_that_compares_in_lower_case_would_not_do_is_no_doubt():
    begin = ("CREATE DATABASE Shop", ORDERS)
    assert known(after(NOT_KNOWN, *begin, "CREATE TABLE Orders (a INT)")) == {
        "Shop.Orders": ["a"], "Shop.orders": ["id", "v"],
    }  # fmt: skip
    assert known(after(NOT_KNOWN, *begin, "RENAME TABLE orders TO Orders")) == {"Shop.Orders": ["id", "v"]}
    assert known(after(NOT_KNOWN, *begin, "CREATE TABLE x (a INT)", "DROP TABLE x")) == {"Shop.orders": ["id", "v"]}


def test_where_nobody_said_how_names_compare_a_child_of_a_doubted_parent_is_refused():
    child = "CREATE TABLE chi (p INT, FOREIGN KEY (p) REFERENCES Orders (id) ON DELETE {})"
    begin = ("CREATE DATABASE Shop", ORDERS)
    assert known(after(NOT_KNOWN, *begin, child.format("CASCADE")))["Shop.chi"] == (
        "name-case: a foreign key names Shop.Orders"
    )
    assert known(after(NOT_KNOWN, *begin, child.format("RESTRICT")))["Shop.chi"] == ["p"]
