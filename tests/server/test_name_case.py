"""Names that real servers take for one, against ours: every character, and the columns of a CREATE TABLE."""

from __future__ import annotations

import pymysql
import pytest

from mirrorlake.core.changes.assembler import Assembler
from mirrorlake.core.changes.definition_reader import DefinitionReader
from mirrorlake.core.changes.opened_events import open_events
from mirrorlake.core.changes.undone import Undone
from mirrorlake.core.lsn_range import LsnRange
from mirrorlake.core.schema.name_case import folded
from tests.support.pure_hops import bronze_of
from tests.support.servers import Server

CHARACTERS = [chr(code) for code in range(1, 0x10000) if not 0xD800 <= code < 0xE000]
AT_ONCE = 2000
PAIRS = ["ßẞ", "sſ", "ςσ", "µμ", "iı", "iİ", "kK", "åÅ", "ÿŸ", "ⴀႠ", "ⱥȺ", "ѐЀ", "ӏӀ", "ϸϷ", "ǆǅ", "ⓩⓏ"]
OTHERWISE_IN_MARIADB_118 = ["sſ", "ςσ", "µμ", "iı", "iİ", "ⴀႠ", "ⱥȺ", "ӏӀ", "ϸϷ"]
DUPLICATE = 1060
INVALID = (b"\xff", b"\x80", b"\xa1", b"\xf5", b"\xed\xa0\x80", b"\xf0\x9f\x98\x80", b"\xef\xbf\xbd")
CLIENTS = ("utf8mb4", "gb18030", "gbk", "sjis", "cp932", "big5", "euckr", "ujis", "ascii", "hebrew", "latin1")
MEANT = ("t", "t?", "t??", "t???", "t????")


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


@pytest.mark.parametrize("client", CLIENTS)
def test_the_table_that_a_name_with_invalid_codes_means(server: Server, client):
    """MySQL takes such names. Each table that it empties by one is empty in the mirror, too, or refused."""
    server.reset()
    server.execute("CREATE DATABASE names")
    emptied = []
    with server.connect(database="names") as connection, connection.cursor() as cursor:
        for table in MEANT:
            cursor.execute(f"CREATE TABLE `{table}` (id INT PRIMARY KEY)")
        for code in INVALID:
            for table in MEANT:
                cursor.execute(f"REPLACE INTO `{table}` VALUES (1)")
            if was_truncated(server, client, b"TRUNCATE TABLE `t" + code + b"`"):
                emptied += [table for table in MEANT if not cursor.execute(f"SELECT * FROM `{table}`")]
    server.execute("FLUSH BINARY LOGS")
    changes = DefinitionReader(server.flavor).read(bronze_of(server.datadir))
    found = {change.table for _, change in changes if change.action in ("truncate", "refuse")}
    assert found >= set(emptied)
    assert bool(emptied) == (server.flavor == "mysql" and client != "latin1")


def was_truncated(server: Server, client: str, statement: bytes) -> bool:
    try:
        with server.connect(database="names") as connection, connection.cursor() as cursor:
            cursor.execute(f"SET NAMES {client}")
            cursor.execute(statement)
    except pymysql.err.MySQLError:
        return False
    return True


@pytest.mark.parametrize("client", ["latin1", "cp932", "gbk", "utf8mb4"])
def test_a_create_or_replace_that_fails_drops_the_table(mariadb: Server, client):
    """In UTF-8, whatever the session's character set is."""
    name = {"latin1": "é"}.get(client, "表")
    mariadb.reset()
    mariadb.execute("CREATE DATABASE names")
    mariadb.execute(f"CREATE TABLE names.`{name}` (id INT PRIMARY KEY)")
    with mariadb.connect(database="names", charset=client) as connection, connection.cursor() as cursor:
        with pytest.raises(pymysql.err.IntegrityError):
            cursor.execute(
                f"CREATE OR REPLACE TABLE `{name}` (id INT PRIMARY KEY) AS SELECT 1 AS id UNION ALL SELECT 1"
            )
        assert not cursor.execute("SHOW TABLES")
    mariadb.execute("FLUSH BINARY LOGS")
    changes = DefinitionReader("mariadb").read(bronze_of(mariadb.datadir))
    assert [(change.action, change.table) for _, change in changes][-1] == ("drop", name)


@pytest.mark.parametrize(("client", "names"), [("latin1", "éÉ"), ("latin1", "ßs"), ("cp1251", "яЯ"), ("utf8mb4", "éÉ")])
def test_savepoints_in_any_session(mariadb: Server, client, names):
    """The server compares their names without regard to case, and logs them in UTF-8. The second one replaces the
    first, or it is not known which of them is meant."""
    mariadb.reset()
    mariadb.execute("CREATE DATABASE names")
    mariadb.execute("CREATE TABLE names.t (id INT PRIMARY KEY)")
    first, second = names
    with mariadb.connect(database="names", charset=client, autocommit=False) as connection:
        with connection.cursor() as cursor:
            for statement in (
                "INSERT INTO t VALUES (1)", f"SAVEPOINT `{first}`", "INSERT INTO t VALUES (2)", f"SAVEPOINT `{second}`",
                "INSERT INTO t VALUES (3)", "CREATE TEMPORARY TABLE x (id INT)", f"ROLLBACK TO `{first}`", "COMMIT",
            ):  # fmt: skip
                cursor.execute(statement)
    n_rows = len(mariadb.query("SELECT * FROM names.t"))
    mariadb.execute("FLUSH BINARY LOGS")
    events = bronze_of(mariadb.datadir)
    definitions = DefinitionReader("mariadb")
    definitions.read(events)
    timeline = definitions.timeline(LsnRange(-1, 2**62))
    silver = Assembler("mariadb", timeline, Undone.of(list(open_events(events)))).assemble(events)
    found = [op for batch in silver for op in batch.column("op").to_pylist()]
    assert found.count("INSERT") == n_rows or "REFUSED" in found


def test_a_memory_table_is_emptied_after_a_restart_in_any_session(mariadb: Server):
    """The first session that opens it logs that, in UTF-8. A user who writes the same means another table."""
    mariadb.reset()
    mariadb.execute("CREATE DATABASE names")
    for table in ("é", "Ã©"):  # the bytes of the first in UTF-8 are the second in latin1
        mariadb.execute(f"CREATE TABLE names.`{table}` (id INT PRIMARY KEY) ENGINE=MEMORY")
    mariadb.restart()
    forged = "TRUNCATE TABLE `names`.`Ã©` /* generated by server for memory table after a restart */"
    with mariadb.connect(charset="latin1") as connection, connection.cursor() as cursor:
        cursor.execute("SELECT * FROM names.`é`")
        cursor.execute(forged)
    mariadb.execute("FLUSH BINARY LOGS")
    changes = DefinitionReader("mariadb").read(bronze_of(mariadb.datadir))
    found = [change.table for _, change in changes if change.action == "truncate"]
    assert found[0] == "é" and set(found[1:]) == {"Ã©"}
