"""Names that the servers, and Spark, take for one."""

from __future__ import annotations

import pytest

from mirrorlake.core.schema.name_case import folded, folded_by_spark
from mirrorlake.core.schema.tables import TableSchema
from tests.support.interpreting import definitions_after

ALIKE_FOR_SERVERS = [
    "aA",
    "äÄ",
    "ÿŸ",
    "σΣ",
    "яЯ",
    "ѐЀ",
    "աԱ",
    "ạẠ",
    "ὠὨ",
    "kK",
    "åÅ",
    "ωΩ",
    "ⅰⅠ",
    "ⓩⓏ",
    "ａＡ",
    "iİ",
    "ǆǅ",
]
DIFFERENT_FOR_SERVERS = ["sſ", "ςσ", "µμ", "iı", "ßẞ", "ⴀႠ", "ƞȠ", "ⱥȺ", "ⰰⰀ", "ꙁꙀ", "ꭰᎠ", "ԁԀ", "ϸϷ", "ӏӀ"]
DIFFERENT_FOR_SPARK = ["aä", "iï", "ßs"]


@pytest.mark.parametrize("pair", ALIKE_FOR_SERVERS)
def test_one_name_for_a_server(pair):
    assert folded(f"x{pair[0]}") == folded(f"X{pair[1]}")


@pytest.mark.parametrize("pair", DIFFERENT_FOR_SERVERS)
def test_two_names_for_a_server(pair):
    assert folded(pair[0]) != folded(pair[1])


def test_no_character_becomes_two():
    assert folded("maße") != folded("masse")
    assert all(len(folded(chr(code))) == 1 for code in range(0x10000))


@pytest.mark.parametrize("pair", ["aA", "äÄ", "sſ", "ςσ", "µμ", "iı", "iİ", "kK", "åÅ", "ßẞ"])
def test_one_name_for_spark(pair):
    assert folded_by_spark(f"x{pair[0]}") == folded_by_spark(f"X{pair[1]}")


@pytest.mark.parametrize("pair", DIFFERENT_FOR_SPARK)
def test_two_names_for_spark(pair):
    assert folded_by_spark(pair[0]) != folded_by_spark(pair[1])


def test_a_statement_means_the_column_that_the_server_means():
    definitions = definitions_after(
        "create table d.f (id int primary key, `maße` int, `masse` int, `i` int)",
        "alter table d.f drop column masse",
        "alter table d.f rename column `İ` to `k`, add column MASSE int after `MAßE`",
        flavor="mysql",
    )
    found = definitions.get("d", "f")
    assert isinstance(found, TableSchema) and [c.name for c in found.columns] == ["id", "maße", "MASSE", "k"]
