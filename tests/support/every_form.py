"""A log with transactions of every form."""

from __future__ import annotations

from tests.support.servers import Server


def write_every_form(server: Server) -> None:
    """Transactions of every form: XID, COMMIT as text, savepoints, DDL, several files, GTIDs out of order."""
    server.execute("CREATE DATABASE shop")
    server.execute("CREATE TABLE shop.item (id INT PRIMARY KEY, name VARCHAR(200))")
    server.execute("CREATE TABLE shop.old (id INT PRIMARY KEY) ENGINE = MyISAM")
    server.execute("INSERT INTO shop.item SELECT seq, REPEAT('x', 150) FROM " + numbers(120))
    server.execute("INSERT INTO shop.old VALUES (1), (2)")
    server.execute("FLUSH BINARY LOGS")
    server.execute("FLUSH BINARY LOGS")
    mixed = ["INSERT INTO shop.old VALUES (3)"] if server.flavor == "mariadb" else []  # MySQL with GTIDs forbids it
    for statement in (
        "BEGIN", "UPDATE shop.item SET name = 'a' WHERE id < 5", "SAVEPOINT s", "DELETE FROM shop.item WHERE id = 7",
        "ROLLBACK TO s", *mixed, "UPDATE shop.item SET name = 'b' WHERE id = 9", "COMMIT",
    ):  # fmt: skip
        server.execute(statement)
    write_gtids_out_of_order(server)
    server.execute("ALTER TABLE shop.item ADD COLUMN more INT")
    server.execute("INSERT INTO shop.item (id) VALUES (1000)")


def write_gtids_out_of_order(server: Server) -> None:
    """MariaDB: a sequence that goes back, and a second domain; MySQL: a gap, closed by a later transaction."""
    if server.flavor == "mariadb":
        for setting, back in (("gtid_seq_no = 5000", ""), ("gtid_seq_no = 300", ""), ("gtid_domain_id = 7", "0")):
            server.execute(f"SET SESSION {setting}")
            server.execute("UPDATE shop.item SET name = CONCAT(name, '+') WHERE id = 1")
            server.execute(f"SET SESSION gtid_domain_id = {back}") if back else None
        return
    uuid, last = server.query("SELECT @@server_uuid")[0][0], gtid_numbers(server)
    for number in (last + 4, last + 2, last + 1, last + 3):
        server.execute(f"SET gtid_next = '{uuid}:{number}'")
        server.execute("UPDATE shop.item SET name = CONCAT(name, '+') WHERE id = 1")
    server.execute("SET gtid_next = 'AUTOMATIC'")


def numbers(n: int) -> str:
    return f"(WITH RECURSIVE t (seq) AS (SELECT 1 UNION ALL SELECT seq + 1 FROM t WHERE seq < {n}) SELECT * FROM t) t"


def gtid_numbers(server: Server) -> int:
    return int(server.query("SELECT @@global.gtid_executed")[0][0].rpartition("-")[2])
