"""Options, from the command line and a YAML file."""

from __future__ import annotations

import pytest

from mirrorlake.config import Options, load_options
from mirrorlake.errors import UsageError
from mirrorlake.jobs.run.source import server_login


@pytest.mark.parametrize(
    ("text", "given", "policies"),
    [
        ("{}", {}, ["null", "null", "null"]),
        ("invalid_values: null", {}, ["null", "null", "null"]),  # without quotes: YAML's own null
        ("invalid_values: refuse", {}, ["refuse", "refuse", "refuse"]),
        ("invalid_values: refuse", {"invalid_values": "text"}, ["text", "text", "text"]),
        ("invalid_values_of: {'shop.*': refuse}", {}, ["null", "refuse", "refuse"]),
        ("invalid_values_of: {shop.logs: null, 'shop.*': text}", {}, ["null", "null", "text"]),
        ("invalid_values_of: {'shop.*': 'null'}", {"invalid_values": "refuse"}, ["refuse", "null", "null"]),
    ],
)
def test_the_first_pattern_that_fits_says_what_becomes_of_invalid_values(tmp_path, text, given, policies):
    (tmp_path / "config.yml").write_text(text)
    options = load_options(tmp_path / "config.yml", {"lake": "l", **given})
    tables = (("crm", "users"), ("shop", "logs"), ("shop", "orders"))
    assert [options.policy_for_invalid(*table) for table in tables] == policies


def test_another_word_for_invalid_values_is_a_usage_error():
    with pytest.raises(UsageError, match="^usage: option invalid_values: Input should be 'null', 'text' or 'refuse'$"):
        load_options(None, {"lake": "l", "invalid_values": "zero"})


@pytest.mark.parametrize(
    ("text", "given", "ignored"),
    [
        ("{}", {}, [(), ()]),
        ("ignore_ddl: truncate, drop-table", {}, [("truncate", "drop-table")] * 2),
        ("ignore_ddl: [truncate]", {"ignore_ddl": "drop-partition"}, [("drop-partition",)] * 2),
        ("ignore_ddl_of: {shop.logs: [], 'shop.*': drop-table}", {"ignore_ddl": "truncate"}, [(), ("drop-table",)]),
    ],
)
def test_which_kinds_of_ddl_are_ignored(tmp_path, text, given, ignored):
    (tmp_path / "config.yml").write_text(text)
    options = load_options(tmp_path / "config.yml", {"lake": "l", **given})
    kinds = ("truncate", "drop-partition", "drop-table")
    tables = (("shop", "logs"), ("shop", "orders"))
    assert [tuple(kind for kind in kinds if options.ignores(*table, kind)) for table in tables] == ignored


def test_another_kind_of_ddl_cannot_be_ignored():
    with pytest.raises(UsageError, match="^usage: option ignore_ddl.1: Input should be 'truncate', "):
        load_options(None, {"lake": "l", "ignore_ddl": "truncate,rename"})


@pytest.mark.parametrize(
    ("table", "is_wanted"),
    [
        ("orders", True), ("_orders_gho", True), ("_orders_del", True), ("_orders_20260102030405_del", True),
        ("_orders_new", True), ("___orders_new", True), ("_orders_old", True), ("_orders_ghc", False),
        ("orders_new", False), ("_orders_older", False), ("_offers_gho", False), ("__new", False),
        ("_a_orders_gho", False),
    ],
)  # fmt: skip
def test_what_may_take_a_wanted_tables_place_is_wanted(table, is_wanted):
    assert Options(lake="l", tables="shop.orders").wants("shop", table) is is_wanted
    assert Options(lake="l").wants("shop", table) is (table != "_orders_ghc")
    assert not Options(lake="l", tables="shop.orders").wants("crm", table)


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"\xff\xfelake: x", "not UTF-8"),
        (b"lake: \x80", "not UTF-8"),
        (b"[" * 20_000, "not valid YAML"),
        (b"{a: " * 20_000, "not valid YAML"),
        (b"- " * 20_000 + b"x", "not valid YAML"),
        (b"lake: \x00", "not valid YAML"),
        (b"until: 2026-99-99", "not valid YAML"),
        (b"lake: !!int ''", "not valid YAML"),
        (b"lake: !!python/object/apply:os.getcwd []", "not valid YAML"),
        (b"? [1]\n: 2", "not valid YAML"),
        (b"1: x", "is not a mapping of option names to values"),
        (b"true: x", "is not a mapping"),
        (b"- lake", "is not a mapping"),
        (b"#" * 1_000_001, "more than 1,000,000 bytes"),
        (b"0", "is not a mapping"),
        (b"''", "is not a mapping"),
        (b"follow: true\nfollow: false", "follow is there twice"),
        (b"columns: {s.t.a: hash, s.t.b: drop, s.t.a: drop}", "s.t.a is there twice"),
    ],
)
def test_a_file_that_cannot_be_read_is_a_usage_error_that_names_it(tmp_path, content, why):
    path = tmp_path / "config.yml"
    path.write_bytes(content)
    with pytest.raises(UsageError) as refused:
        load_options(path, {"lake": "l"})
    assert refused.value.code == "usage" and str(path) in refused.value.message and why in refused.value.message


@pytest.mark.parametrize("text", ['source: "files:a\\0b"', '"lake\\0": l', 'columns: {hide: ["a\\0"]}'])
def test_a_file_with_a_nul_character_is_a_usage_error(tmp_path, text):
    (tmp_path / "config.yml").write_text(text)
    with pytest.raises(UsageError, match="^usage: cannot read .*: a NUL character$"):
        load_options(tmp_path / "config.yml", {"lake": "l"})


def test_an_option_with_a_nul_character_is_a_usage_error():
    with pytest.raises(UsageError, match="^usage: option source: a NUL character$"):
        load_options(None, {"lake": "l", "source": "files:a\0b"})


@pytest.mark.parametrize("text", ["max_lag: " + "9" * 400, "max_lag: " + "9" * 5000])
def test_a_number_that_is_too_large_is_a_usage_error(tmp_path, text):
    (tmp_path / "config.yml").write_text(text)
    with pytest.raises(UsageError, match="^usage: "):
        load_options(tmp_path / "config.yml", {"lake": "l"})


def test_the_schema_of_mirrors_is_in_the_file_too_and_an_empty_one_is_none(tmp_path):
    (tmp_path / "config.yml").write_text("mirrors_schema: mirrors")
    found = [load_options(tmp_path / "config.yml", {"lake": "l", "mirrors_schema": given}) for given in (None, "m", "")]
    assert [options.mirrors_schema for options in found] == ["mirrors", "m", None]
    located = [load_options(None, {"lake": "l", "tables_location": given}).tables_location for given in ("s3://b", "")]
    assert located == ["s3://b", None]


def test_views_of_syncpoints_have_a_schema_of_their_own_and_an_interval():
    given = ({}, {"syncpoint_views": ""}, {"syncpoint_views": "n"}, {"syncpoint_views": "n", "syncpoint_every": 5})
    assert [load_options(None, {"lake": "l"} | one).syncpoint_interval for one in given] == [None, None, 600, 5]
    for views in ({}, {"views": "{database}"}):
        with pytest.raises(UsageError, match="^usage: option syncpoint_views: the views of the present are in this"):
            load_options(None, {"lake": "l", "syncpoint_views": "{database}"} | views)


def test_an_empty_file_gives_no_option(tmp_path):
    (tmp_path / "config.yml").write_text("# nothing\n")
    assert load_options(tmp_path / "config.yml", {"lake": "l"}) == Options(lake="l")


def test_a_password_file_that_is_not_utf_8_is_a_usage_error(tmp_path):
    (tmp_path / "password").write_bytes(b"secret\xff")
    with pytest.raises(UsageError, match="^usage: cannot read the password file: not UTF-8$"):
        server_login(Options(lake="l", source="mysql://u@h", password_file=tmp_path / "password"))


@pytest.mark.parametrize("setting", [None, 0, 1, 2])
def test_patterns_compare_names_as_the_source_does(setting):
    options = Options(
        lake="l", tables="Shop.[A-C]*", lower_case_table_names=setting, invalid_values_of={"SHOP.clients": "refuse"},
        ignore_ddl_of={"Shop.CLIENTS": "truncate"},
    )  # fmt: skip
    folds = bool(setting)
    assert options.wants("Shop", "Clients") and not options.wants("shop", "orders")
    assert options.wants("shop", "clients") is folds
    assert options.policy_for_invalid("shop", "clients") == ("refuse" if folds else "null")
    assert options.ignores("shop", "clients", "truncate") is folds


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"tables": "shop"}, "option tables: 'shop' is no pattern of database.table, such as shop.orders, shop.* or"),
        ({"tables": "shop.*,!log"}, "option tables: '!log' is no pattern of database.table, such as "),
        ({"tables": " , "}, "option tables: no table pattern is given"),
        ({"ignore_ddl_of": {"shop": []}}, "option ignore_ddl_of: 'shop' is no pattern of database.table, such as "),
        ({"columns": {"shop.phone": "drop"}}, "option columns: 'shop.phone' is no pattern of database.table.column, "),
        ({"columns": {"!a.b.c": "drop"}}, "option columns: '!a.b.c' is no pattern of database.table.column, such as "),
        ({"columns": {"a.b.c": "hide"}}, "option columns.a.b.c: Input should be 'drop' or 'hash'"),
        ({"generated_of": {"!a.b": "refuse"}}, "option generated_of: '!a.b' excludes nothing here: the first pattern"),
    ],
)
def test_what_is_no_pattern_is_a_usage_error_with_an_example(given, why):
    with pytest.raises(UsageError) as refused:
        load_options(None, {"lake": "l", **given})
    assert refused.value.message.startswith(why)


def test_tables_are_excluded_in_a_file_too(tmp_path):
    (tmp_path / "config.yml").write_text("lake: l\ntables: shop.*,!shop.log_*")
    options = load_options(tmp_path / "config.yml", {})
    assert [options.wants("shop", table) for table in ("orders", "log_1")] == [True, False]
    assert load_options(tmp_path / "config.yml", {"tables": ["!shop.orders"]}).wants("crm", "log_1")


@pytest.mark.parametrize(
    ("lake", "text", "kept"),
    [
        ("l", "{}", None),
        ("uc:main.lake", "{}", "{database}"),
        ("uc:main.lake", "views: none", None),
        ("uc:main.lake", "views: null", "{database}"),
        ("uc:main.lake", "views: mirrors", "mirrors"),
        ("l", "views: 'raw_{database}'", "raw_{database}"),
    ],
)
def test_a_run_keeps_views_in_a_unity_catalog_or_where_it_is_asked_to(tmp_path, lake, text, kept):
    (tmp_path / "config.yml").write_text(text)
    options = load_options(tmp_path / "config.yml", {"lake": lake})
    assert options.kept_views(lake.startswith("uc:")) == kept


def test_a_template_with_other_braces_is_a_usage_error():
    with pytest.raises(UsageError, match="^usage: option views: a template is the name of a schema; it may"):
        load_options(None, {"lake": "l", "views": "{table}"})


def test_what_a_merge_of_yaml_brings_is_no_key_twice(tmp_path):
    path = tmp_path / "config.yml"
    path.write_text("lake: x\ncolumns: {<<: &m {<<: {s.t.a: hash, s.t.b: drop}, s.t.a: drop}, s.t.c: drop}\n")
    assert load_options(path, {}).columns == {"s.t.a": "drop", "s.t.b": "drop", "s.t.c": "drop"}
