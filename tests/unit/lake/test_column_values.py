"""What rows that exist get in a new column; the values are what MariaDB 10.11 and MySQL 9.7 gave."""

from __future__ import annotations

import time

import pytest

from mirrorlake.core.schema.row_steps import Add, ServerMode
from mirrorlake.core.schema.tables import Column, Default
from mirrorlake.core.schema.types import ColumnType
from mirrorlake.lake.gold.convert.column_values import value_of
from mirrorlake.lake.gold.convert.conversion import NotDerivable
from tests.support.interpreting import definitions_after, interpret

VALUES = {
    "int default 007": "7", "int default -0": "0", "int default '+5'": "5", "int default 0x41": "65",
    "varchar(9) default 007": "'7'", "varchar(9) default -0": "'0'", "varchar(9) default '007'": "'007'",
    "bit(8) default '1'": "49", "bit(8) default 1": "1", "bit(8) default b'11'": "3",
    "year default '1999'": "1999", "year default 0": "0", "year default '0000'": "0",
    "time(1) default '-10:00:00'": "'-10:00:00.0'", "time not null": "'00:00:00'", "json not null": "'null'",
    "date default '2020-02-29'": "DATE'2020-02-29'", "date default '0000-00-00'": "NULL",
    "datetime(2) default '2020-02-29 01:02:03.4'": "TIMESTAMP_NTZ'2020-02-29 01:02:03.4'",
    "enum('a','b') not null": "'a'", "set('a','b') default 'b,a'": "'a,b'", "char(4) default 'a  '": "'a'",
    "varchar(2) default 'a  '": "'a '", "char(2) default ('a bc')": "'a'", "varchar(2) default (123)": "'12'",
    "binary(2) default ('abc')": "X'6162'", "varbinary(2) default (0x414243)": "X'4142'",
    "tinyint unsigned default (255)": "255", "tinyint default (-128)": "-128", "bit(2) default (3)": "3",
    "text default ('a  ')": "'a  '",
    "int default 1e3": "1000", "int default 1.6": "2", "int default 2.5": "3", "int default -2.5": "-3",
    "int default -0.4": "0", "bigint default 15e1": "150", "varchar(9) default 012.50": "'12.50'",
    "varchar(9) default .5": "'0.5'", "varchar(9) default 5.": "'5'",
    "year default 70": "1970", "year default 69": "2069", "year default 1": "2001", "year default '70'": "1970",
    "year default '0'": "2000", "year default '5'": "2005",
    "date default 20240301": "DATE'2024-03-01'", "date default 700101": "DATE'1970-01-01'",
    "date default '24-3-1'": "DATE'2024-03-01'", "date default '2024/3/1'": "DATE'2024-03-01'",
    "date default '240301'": "DATE'2024-03-01'",
    "datetime default 20240301101112": "TIMESTAMP_NTZ'2024-03-01 10:11:12'",
    "datetime default '2024.3.1'": "TIMESTAMP_NTZ'2024-03-01'",
    "datetime(1) default '2024-3-1 1:2:3.5'": "TIMESTAMP_NTZ'2024-03-01 01:02:03.5'",
    "time default '1 2:3:4'": "'26:03:04'", "time default '-1:2'": "'-01:02:00'", "time default 10203": "'01:02:03'",
    "time default 3": "'00:00:03'", "time(1) default '1:2:3.5'": "'01:02:03.5'", "time default '1:2'": "'01:02:00'",
    "json default ('{\"bb\": [1,2],\"a\":{\"x\":null}}')": '\'{"a": {"x": null}, "bb": [1, 2]}\'',
    """varchar(9) default ('a'"b'")""": "'ab\\''", """varchar(9) default (concat('a' /* ' */ "b", 'c'))""": "'abc'",
    "varchar(9) default _latin1'a' 'b'": "'ab'", "varchar(9) default N'é' 'b'": "'éb'",
    "varchar(9) charset utf16 default x'00410042'": "'AB'", "varchar(9) charset utf16 default x'41'": "'A'",
    "varchar(9) charset ucs2 default (0x0041)": "'A'", "varchar(9) charset utf32 default x'0000263a'": "'☺'",
    "varchar(9) charset swe7 default x'5b'": "'Ä'", "varchar(9) charset latin1 default x'e9'": "'é'",
    "varchar(9) charset sjis default x'8341'": "'ア'",
    "varchar(9) charset cp932 default '晡'": "'晙'", "enum('\U00010e01') charset tis620 not null": "'ก'",
    "varchar(9) default b'0100000101000010'": "'AB'", "varchar(9) default 0x141": "'\x01A'",
    "char(9) default x'412020'": "'A'", "varbinary(9) default 0x141": "X'0141'",
    "enum('☃','b') charset latin1 not null": "'?'", "set('[','Ä') charset swe7 default 'Ä'": "'Ä'",
    "double default -0e0": "CAST('-0e0' AS double)", "double default '-0'": "CAST('-0' AS double)",
    "double default -0.0": "CAST('0.0' AS double)", "double default -0": "CAST('0' AS double)",
    "double default -.5": "CAST('-.5' AS double)",
    "decimal(65,4) not null": "'0.0000'", "decimal(39,0) not null": "'0'", "decimal(65,4) default 1.5": "'1.5000'",
    "decimal(65,0) default 1.5": "'2'", "decimal(65,2) default '+3.005'": "'3.01'", "decimal(65,0) default '-0'": "'0'",
    "decimal(65,2) default -0.001": "'0.00'", "decimal(38,2) default 1.5": "CAST('1.5' AS decimal(38,2))",
    "decimal(9,2) default 1e-9999": "CAST('1e-9999' AS decimal(9,2))",
    "text default ('é')": "'é'", "text not null default ('')": "''", "blob default ('ab')": "X'6162'",
}  # fmt: skip
NOT_DERIVABLE = (
    "decimal(65,4) default 1e2",
    "tinyint unsigned default (256)", "tinyint default (-129)", "int unsigned default (-1)", "bit(2) default (4)",
    "year default (1900)", "tinyint default (0xff)", "float unsigned default (-1)",
    "decimal(3,1) unsigned default (-1)",
    "decimal(30,20) default 1e-999999999", "decimal(9,2) default '0E0010000'",
    "decimal(40,38) default (100)", "bigint default (9223372036854775808)",
    "date default '2020-02-31'", "datetime default '2021-02-29 10:00:00'", "timestamp default '2021-04-31'",
    "int default '1e1'", "int default 2.5e0", "varchar(9) default 1e3", "bit(8) default 'é'", "time default '12 1'",
    "time default '1:2:3.5'", "date default '00-00-00'", "date default '2024-2-30'",
    "datetime default '2024-3-1 1:2:3.5'",
    "datetime default 240301", "date default 20240301101112", "date default '2024-3-1 1:2:3'", "int default '٣'",
    "json default ('[1.5]')", "json default ('[')",
    "varchar(9) default _utf16'ab'", "varchar(9) default _swe7'[' 'a'", "varchar(9) default _binary'ab'",
    "varchar(9) default _latin1'a' 'é'", "varchar(9) default N'\U0001f600'", "varchar(9) default x'41ff'",
    "varchar(9) charset ucs2 default x'd83d'", "varchar(9) charset ascii default x'80'", "json default (x'5b5d')",
    f"bigint default 0x{'f' * 8000}", "double not null default (null)",
)  # fmt: skip


SHOP = ("create database d", "create table t (id int primary key)")


def value(column: str) -> str:
    context = {"database": "d", "sql_mode": 1 << 21, "flavor": "mysql", "server_charset": "utf8mb4"}
    definitions = definitions_after(*SHOP, **context)
    [change] = interpret(f"alter table t add v {column}", definitions=definitions, **context)
    added = next(step for step in change.steps if isinstance(step, Add))
    if added.needs_empty:
        raise NotDerivable(added.needs_empty)
    return value_of(added.value, change.schema.columns[-1], ServerMode("mysql", is_strict=True))


@pytest.mark.parametrize("column", VALUES)
def test_value(column):
    assert value(column) == VALUES[column]


@pytest.mark.parametrize("column", NOT_DERIVABLE)
def test_a_default_that_takes_the_server_to_read_it(column):
    with pytest.raises(NotDerivable):
        value(column)


@pytest.mark.parametrize("n_digits", [21, 29, 200_000])
def test_a_number_that_no_integer_holds_is_not_derivable_and_soon(n_digits):
    started = time.process_time()
    with pytest.raises(NotDerivable):
        value(f"bigint default {'9' * n_digits}")
    assert value(f"bigint default {'0' * n_digits}7.5") == "8"
    assert time.process_time() - started < 2


@pytest.mark.parametrize(
    ("zone", "text", "moment"),
    [
        ("+02:00", "2024-06-15 12:00:00", "TIMESTAMP'2024-06-15 10:00:00'"),
        ("America/Chicago", "2024-06-15 12:00:00", "TIMESTAMP'2024-06-15 17:00:00'"),
        ("America/Chicago", "2024-12-15", "TIMESTAMP'2024-12-15 06:00:00'"),
        ("America/Chicago", "2024-11-03 01:30:00", None),
        ("America/Chicago", "2024-03-10 02:30:00", None),
        ("SYSTEM", "2024-06-15 12:00:00", None),
    ],
)
def test_a_timestamps_default_is_a_moment_in_the_sessions_zone(zone, text, moment):
    column, mode = Column("c", ColumnType("timestamp")), ServerMode("mysql", is_strict=True, time_zone=zone)
    assert_value(text, column, mode, moment)


@pytest.mark.parametrize(
    ("kind", "labels", "collation", "text", "is_strict", "sql"),
    [
        ("enum", ("a", "A"), None, "A", False, None),
        ("enum", ("a", "A"), None, "a", False, "'a'"),
        ("enum", ("a", "A"), "utf8mb4_bin", "A", False, "'A'"),
        ("enum", ("a", "A"), "utf8mb4_bin", "A", True, "'A'"),
        ("enum", ("b", "A"), None, "a", False, "'A'"),
        ("enum", ("é", "e"), None, "e", False, None),
        ("set", ("é", "e", "b"), None, "b,e", False, None),
        ("set", ("é", "e", "b"), None, "b,é", False, "'é,b'"),
    ],
)
def test_a_default_is_the_first_label_that_the_collation_takes_for_it(kind, labels, collation, text, is_strict, sql):
    column = Column("c", ColumnType(kind, labels=labels, charset="utf8mb4"), collation=collation)
    assert_value(text, column, ServerMode("mysql", is_strict), sql)


def assert_value(text: str, column: Column, mode: ServerMode, sql: str | None) -> None:
    """sql: None if the value of the DEFAULT is not known."""
    if sql is None:
        with pytest.raises(NotDerivable):
            value_of(Default("string", text), column, mode)
    else:
        assert value_of(Default("string", text), column, mode) == sql


@pytest.mark.parametrize(
    ("flavor", "default", "fraction"),
    [
        ("mysql", "(current_timestamp)", ""),
        ("mysql", "current_timestamp(6)", ".987654"),
        ("mariadb", "current_timestamp", ".987654"),
        ("mariadb", "(current_timestamp)", ".987654"),
        ("mariadb", "current_timestamp(0)", ".987654"),
        ("mariadb", "current_timestamp(3)", ".987"),
    ],
)
def test_the_time_of_a_statement_has_the_digits_of_its_function(flavor, default, fraction):
    context = {"database": "d", "flavor": flavor, "server_charset": "utf8mb4"}
    definitions = definitions_after(*SHOP, **context)
    sql, now = f"alter table t add v datetime(6) default {default}", "2023-11-14 22:13:20.987654"
    [change] = interpret(sql, definitions=definitions, now=now, **context)
    [added] = [step.value for step in change.steps if isinstance(step, Add)]
    assert added == Default("now", "2023-11-14 22:13:20" + fraction)
