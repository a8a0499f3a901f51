"""Which tables a list of patterns takes, and what is said of patterns that fit none."""

from __future__ import annotations

import pytest

from mirrorlake.core.schema.lower_case_names import NameCase
from mirrorlake.core.schema.table_name import TableName
from mirrorlake.core.schema.table_patterns import TablePatterns, fault_of, nearest

TABLES = ("crm.users", "shop.log_2", "shop.log_kept", "shop.orders", "shop._orders_gho", "shop._log_2_old")
NAMES = [TableName(*table.split(".")) for table in TABLES]


@pytest.mark.parametrize(
    ("patterns", "taken"),
    [
        ("*", TABLES),
        ("shop.*", TABLES[1:]),
        ("shop.*,!shop.log_*", ("shop.orders", "shop._orders_gho")),
        ("shop.*,!shop.log_*,shop.log_kept", ("shop.log_kept", "shop.orders", "shop._orders_gho")),
        ("!shop.log_*,shop.*", TABLES[1:]),
        ("!shop.log_*", ("crm.users", "shop.orders", "shop._orders_gho")),
        ("!shop.orders,!crm.*", ("shop.log_2", "shop.log_kept", "shop._log_2_old")),
        ("shop.orders,!shop._*", ("shop.orders", "shop._orders_gho")),
        ("shop.log_?", ("shop.log_2", "shop._log_2_old")),
        ("!*.*", ()),
    ],
)
def test_the_last_pattern_that_fits_decides(patterns, taken):
    chosen = TablePatterns(tuple(patterns.split(",")))
    assert tuple(str(name) for name in NAMES if chosen.why_not(*name) is None) == taken


def test_why_a_table_is_left_out_names_the_pattern():
    chosen = TablePatterns(("shop.*", "!shop.l*", "!shop.log_*"))
    assert [chosen.why_not("shop", table) for table in ("log_2", "_log_2_new", "last", "_t_ghc")] == [
        "excluded by !shop.log_*",
        "excluded by !shop.log_*",
        "excluded by !shop.l*",
        "the log of an online schema change",
    ]
    assert chosen.why_not("crm", "users") == "no pattern of --tables fits it"


def test_shadow_tables_of_an_excluded_table_are_left_out_whatever_the_tool_calls_them():
    chosen = TablePatterns(("!shop.orders",))
    shadows = ("_orders_gho", "_orders_new", "___orders_new", "_orders_20240102030405_del", "_orders_old")
    assert {chosen.why_not("shop", table) for table in shadows} == {"excluded by !shop.orders"}


def test_patterns_that_should_fit_a_table_and_fit_none():
    patterns = ("*", "shp.*", "shop.orders", "crm.user", "!crm.user", "!*.tmp_*", "SHOP.log_?")
    assert TablePatterns(patterns).unused(NAMES) == ["shp.*", "crm.user", "!crm.user", "SHOP.log_?"]
    assert TablePatterns(patterns, NameCase(1)).unused(NAMES) == ["shp.*", "crm.user", "!crm.user"]


@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        ("shp.*", ["shop.*"]),
        ("shp.log_?", ["shop.log_?"]),
        ("shop.ordres", ["shop.orders"]),
        ("!shp.orders", ["shop.orders", "shop._orders_gho"]),
        ("shop.log", ["shop.log_2", "shop.log_kept"]),
        ("crm.zzz*", []),
    ],
)
def test_the_nearest_names(pattern, names):
    assert nearest(pattern, NAMES) == names


@pytest.mark.parametrize("pattern", ["shop", "", "!", "!shop", ".orders", "shop.", "**", "live_*"])
def test_a_pattern_without_database_or_table_is_a_fault(pattern):
    assert (
        fault_of(pattern) == f"{pattern!r} is no pattern of database.table, such as shop.orders, shop.* or !shop.log_*"
    )


@pytest.mark.parametrize("pattern", ["*", "!*", "*.*", "shop.*", "!a.b", "a.b.c", "?.x"])
def test_these_are_patterns(pattern):
    assert fault_of(pattern) is None
