"""Character sets as real servers have them: every collation number, every code, and text on its way through the log."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from random import Random

import pyarrow as pa
import pytest

from mirrorlake.core.binlog.log_reader import LogReader
from mirrorlake.core.changes.assembler import Assembler
from mirrorlake.core.changes.bronze_events import BRONZE_COLUMNS
from mirrorlake.core.changes.definition_reader import DefinitionReader
from mirrorlake.core.gtid import parse_gtid_set
from mirrorlake.core.schema.charset_codes import code_table
from mirrorlake.core.schema.charsets import BINARY, SUPPORTED, as_converted, charset_of_collation_id
from mirrorlake.core.schema.charsets import decode_text as decode_ddl_text
from mirrorlake.core.values.variant_columns import decode_images
from mirrorlake.mysql.binlog_files import FileSource
from tests.support.pure_hops import bronze_of
from tests.support.servers import Server
from tests.support.text_decoding import decoded

SAMPLE = 3000
UNICODE = {"ucs2": 2, "utf16": 2, "utf16le": 2, "utf32": 4}  # bytes of the shortest code
COLLATIONS = {
    "mysql": "SELECT id, character_set_name FROM information_schema.collations",
    "mariadb": "SELECT id, character_set_name FROM information_schema.collation_character_set_applicability",
}


def test_every_collation_number_has_its_character_set(server):
    found = server.query(COLLATIONS[server.flavor])
    wrong = {number: charset for number, charset in found if charset_of_collation_id(number, server.flavor) != charset}
    assert len(found) > 200 and wrong == {}


def test_every_code_becomes_what_the_server_makes_of_it(server, is_long, seed):
    """Long: every code of up to three bytes, and the four-byte codes of GB18030."""
    for charset in charsets(server):
        for codes in batches(charset, is_long, Random(f"{seed} {charset}")):
            converted = convert(server, charset, codes)
            assert {code: found for code in codes if (found := decoded(code, charset)) != converted[code]} == {}
            assert all(decode_ddl_text(code, charset) == ddl_text(converted[code]) for code in codes[:1000])


def test_every_character_becomes_what_the_server_makes_of_it(server, is_long, seed):
    """Long: every character of the first three planes."""
    points = [point for point in range(0x30000) if not 0xD800 <= point < 0xE000]
    if not is_long:
        points = sorted({0x6661, 0x2000B, 0x10E01, *Random(seed).sample(points, SAMPLE)})
    with server.connect() as connection, connection.cursor() as cursor:
        for statement in ("SET sql_log_bin = 0", "CREATE DATABASE IF NOT EXISTS codes", "USE codes",
                          "DROP TABLE IF EXISTS points",
                          "CREATE TABLE points (id INT PRIMARY KEY, u VARCHAR(1) CHARACTER SET utf32)"):  # fmt: skip
            cursor.execute(statement)
        for at in range(0, len(points), 20_000):
            rows = ",".join(f"({point},X'{point:08X}')" for point in points[at : at + 20_000])
            cursor.execute(f"INSERT INTO points VALUES {rows}")
        for charset in charsets(server):
            cursor.execute(f"SELECT id, HEX(CONVERT(CONVERT(u USING {charset}) USING utf32)) FROM points")
            found = {point: chr(int(made, 16)) for point, made in cursor}
            assert found == {point: as_converted(chr(point), charset) for point in points}, charset


def ddl_text(value: str | bytes) -> str | None:
    return value if isinstance(value, str) else None


def charsets(server: Server) -> list[str]:
    found = {name for (name,) in server.query("SELECT character_set_name FROM information_schema.character_sets")}
    assert found <= SUPPORTED
    return sorted(found - {BINARY})


def batches(charset: str, is_long: bool, random: Random) -> Iterator[list[bytes]]:
    codes = list(all_codes(charset))
    codes = codes if is_long or len(codes) < SAMPLE else sorted(random.sample(codes, SAMPLE))
    yield from (codes[at : at + 50_000] for at in range(0, len(codes), 50_000))
    if charset == "gb18030":
        leads = range(0x81, 0xFF) if is_long else (0x81, random.randrange(0x82, 0xFF), 0xE3)
        for lead in leads:
            tails = [(b, c, d) for b in range(0x30, 0x3A) for c in range(0x81, 0xFF) for d in range(0x30, 0x3A)]
            found = [bytes([lead, *tail]) for tail in tails]
            yield found if is_long else sorted(random.sample(found, SAMPLE))


def all_codes(charset: str) -> Iterator[bytes]:
    if charset in UNICODE:
        width = UNICODE[charset]
        yield from (point.to_bytes(width, "big") for point in range(0x10000))
        if width == 4:
            yield from (point.to_bytes(width, "big") for point in (*range(0x10000, 0x110000, 251), 0x10FFFF, 0x110000))
        return
    yield from (bytes([byte]) for byte in range(256))
    if charset.startswith("utf8"):
        yield from utf8_like_codes()
    elif len(table_rows(charset)) > 1:
        yield from (bytes([lead, byte]) for lead in range(0x80, 0x100) for byte in range(256))
        if charset in ("ujis", "eucjpms"):
            yield from (bytes([0x8F, row, cell]) for row in range(0x80, 0x100) for cell in range(0x80, 0x100))


def table_rows(charset: str) -> range:
    return range(len(code_table(charset)) // 256)


def utf8_like_codes() -> Iterator[bytes]:
    ends = (0x7F, 0x80, 0xBF, 0xC0)
    yield from (bytes([lead, byte]) for lead in range(0x80, 0x100) for byte in range(256))
    yield from (bytes([lead, byte, end]) for lead in range(0xE0, 0xF0) for byte in range(256) for end in ends)
    yield from (bytes([lead, byte, a, b]) for lead in range(0xF0, 0xF9) for byte in range(0x70, 0xD0)
                for a in ends for b in ends)  # fmt: skip


def convert(server: Server, charset: str, codes: list[bytes]) -> dict[bytes, str | bytes]:
    """What a column of the character set shows in utf8mb4; the code itself when it cannot be stored, or when the server
    shows something that is no character. A utf8mb3 column may be utf8mb4, and is read as such."""
    charset_of_column = "utf8mb4" if charset == "utf8mb3" else charset
    with server.connect() as connection, connection.cursor() as cursor:
        for statement in (
            "SET sql_mode = '', sql_log_bin = 0",
            "CREATE DATABASE IF NOT EXISTS codes",
            "USE codes",
            "DROP TABLE IF EXISTS b, t",
            "CREATE TABLE b (id INT PRIMARY KEY, b VARBINARY(4))",
            f"CREATE TABLE t (id INT PRIMARY KEY, t VARCHAR(4) CHARACTER SET {charset_of_column})",
            "INSERT INTO b VALUES " + ",".join(f"({n},0x{code.hex()})" for n, code in enumerate(codes)),
            "INSERT IGNORE INTO t SELECT id, b FROM b",
        ):
            cursor.execute(statement)
        cursor.execute(
            "SELECT b.id, b.b = CAST(t.t AS BINARY), HEX(CONVERT(t.t USING utf8mb4)) FROM b JOIN t USING (id)"
        )
        rows = cursor.fetchall()
    return {codes[n]: shown(codes[n], charset, bytes.fromhex(text)) if kept else codes[n] for n, kept, text in rows}


def shown(code: bytes, charset: str, utf8: bytes) -> str | bytes:
    try:
        text = utf8.decode()
    except UnicodeDecodeError:  # MariaDB keeps surrogates
        return code
    if charset in UNICODE or charset.startswith("utf8"):
        return text or code  # MySQL shows a surrogate in ucs2 as nothing
    return code if "\ufffd" in text or "?" in text and b"?" not in code else text


TEXTS = ("ab  ", "    ", "", " a b ", "x" * 20)


@pytest.mark.row_metadata("full")
def test_text_and_labels_of_every_charset_come_through_the_log(server, tmp_path):
    server.reset()
    server.execute("CREATE DATABASE cs")
    tables = {f"t_{charset}": charset for charset in charsets(server)}
    with server.connect(database="cs") as connection, connection.cursor() as cursor:
        for table, charset in tables.items():
            of = f"CHARACTER SET {charset}"
            cursor.execute(
                f"CREATE TABLE {table} (id INT PRIMARY KEY, c CHAR(60) {of}, v VARCHAR(70) {of}, x TEXT {of},"
                f" e ENUM('a', 'zz') {of}, s SET('x', 'yy') {of}) ENGINE = InnoDB"
            )
            values = [(n, t, t, t, n % 2 + 1, n % 4) for n, t in enumerate((*TEXTS, sample_text(charset)))]
            cursor.executemany(f"INSERT INTO {table} VALUES (%s, %s, %s, %s, %s, %s)", values)
        wanted = {}
        for table in tables:
            cursor.execute(f"SELECT c, v, x, CONCAT(e), CONCAT(s) FROM {table} ORDER BY id")
            wanted[table] = list(cursor.fetchall())
    assert silver(server, tmp_path) == wanted


def sample_text(charset: str) -> str:
    """Twenty characters it has beside ASCII, as many widths of code as there are."""
    if charset == "ascii":
        return "ascii"
    if charset in UNICODE or charset.startswith("utf8"):
        return "é€中\uffee" + ("" if charset in ("ucs2", "utf8mb3") else "😀") + "a"
    points = [int(entry) for entry in code_table(charset) if 0x80 <= entry < 0x110000]
    return "".join(map(chr, dict.fromkeys(points[:: len(points) // 20 or 1][:20])))


def silver(server: Server, folder) -> dict[str, list[tuple]]:
    server.execute("FLUSH BINARY LOGS")
    for path in server.log_files()[:-1]:
        shutil.copy(path, folder / path.name)
    source = FileSource(folder, 8 << 20)
    reader = LogReader(source.earliest(), parse_gtid_set(source.flavor, ""))
    chunks = reader.read(source.read(source.earliest(), source.current()))
    events = [chunk.batch.select(list(BRONZE_COLUMNS)) for chunk in chunks]
    found: dict[str, list[tuple]] = {}
    columns = dict.fromkeys("cvxes", pa.string())
    for batch in Assembler(source.flavor).assemble(events):
        for row in range(batch.num_rows):
            if batch.column("op")[row].as_py() == "INSERT":
                values = decode_images(batch.column("after").slice(row, 1), columns)
                found.setdefault(batch.column("table")[row].as_py(), []).append(tuple(v[0].as_py() for v in values))
    return found


def test_convert_to_default_takes_the_character_set_that_the_server_takes(server):
    """MySQL takes that of the session, MariaDB that of the table's database."""
    tables = [(f"in_{home}", used) for home in ("latin1", "utf8mb4") for used in ("latin1", "utf8mb4", "set", "none")]
    for charset in ("latin1", "utf8mb4"):
        server.execute(f"CREATE DATABASE in_{charset} CHARACTER SET {charset}")
    for database, used in tables:
        sets = {"set": ["SET character_set_database = cp1251"], "none": []}.get(used, [f"USE in_{used}"])
        with server.connect() as connection, connection.cursor() as cursor:
            for statement in (
                f"CREATE TABLE {database}.{used}_t (id INT PRIMARY KEY, c VARCHAR(9) CHARACTER SET koi8r)",
                *sets, f"ALTER TABLE {database}.{used}_t CONVERT TO CHARACTER SET DEFAULT",
            ):  # fmt: skip
                cursor.execute(statement)
    reader = DefinitionReader(server.flavor)
    reader.read(bronze_of(server.datadir))
    of_servers = server.query(
        "SELECT table_schema, table_name, character_set_name FROM information_schema.columns"
        " WHERE table_schema LIKE 'in\\_%' AND column_name = 'c'"
    )
    assert len(of_servers) == len(tables)
    assert {
        tuple(name): (found, known.columns[1].type.charset)
        for *name, found in of_servers
        if (known := reader.definitions.get(*name)).columns[1].type.charset != found
    } == {}
