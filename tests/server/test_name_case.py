"""Names that real servers take for one, against ours: every character, and the columns of a CREATE TABLE."""

from __future__ import annotations

import pymysql
import pytest

from mirrorlake.core.schema.name_case import folded
from tests.support.servers import Server

CHARACTERS = [chr(code) for code in range(1, 0x10000) if not 0xD800 <= code < 0xE000]
AT_ONCE = 2000
PAIRS = ["ßẞ", "sſ", "ςσ", "µμ", "iı", "iİ", "kK", "åÅ", "ÿŸ", "ⴀႠ", "ⱥȺ", "ѐЀ", "ӏӀ", "ϸϷ", "ǆǅ", "ⓩⓏ"]
OTHERWISE_IN_MARIADB_118 = ["sſ", "ςσ", "µμ", "iı", "iİ", "ⴀႠ", "ⱥȺ", "ӏӀ", "ϸϷ"]
DUPLICATE = 1060


def test_every_characters_lower_case(server: Server):
    for k in range(0, len(CHARACTERS), AT_ONCE):
        part = CHARACTERS[k : k + AT_ONCE]
        lower = (f"HEX(LOWER(CONVERT(X'{c.encode().hex()}' USING utf8mb3) COLLATE utf8mb3_general_ci))" for c in part)
        (found,) = server.query(f"SELECT {', '.join(lower)}")
        assert [bytes.fromhex(text).decode() for text in found] == [folded(c) for c in part]


@pytest.mark.parametrize("pair", [*PAIRS, ("maße", "masse"), ("Maße", "maSSe"), ("aE", "Ae")])
def test_columns_of_one_table(server: Server, pair):
    server.execute("CREATE DATABASE IF NOT EXISTS name_case")
    server.execute("DROP TABLE IF EXISTS name_case.t")
    is_one = False
    try:
        server.execute(f"CREATE TABLE name_case.t (`{pair[0]}` INT, `{pair[1]}` INT)")
    except pymysql.err.MySQLError as error:
        assert error.args[0] == DUPLICATE
        is_one = True
    is_otherwise = server.program == "mariadb118" and pair in OTHERWISE_IN_MARIADB_118
    assert is_one == ((folded(pair[0]) == folded(pair[1])) is not is_otherwise)
