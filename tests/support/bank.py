"""Money that moves between tables while they are altered, renamed and created; there is always the same sum of it."""

from __future__ import annotations

import random
import threading
from contextlib import contextmanager

import pymysql

ACCOUNTS, BALANCE = 20, 100
TOTAL = 2 * ACCOUNTS * BALANCE
_COLLISIONS = {1146, 1205, 1213, 1412}
_PAUSE_S = 0.1
_DDL = (
    "CREATE TABLE {new} (id INT PRIMARY KEY, balance INT NOT NULL)",
    "ALTER TABLE a ADD COLUMN note INT NOT NULL DEFAULT 7 FIRST",
    "RENAME TABLE a TO t, b TO a, t TO b",
    "ALTER TABLE b DROP COLUMN note",
)


class Bank:
    def __init__(self, server, seed: int):
        self._server, self._seed, self._stopped = server, seed, threading.Event()
        self._tables, self._failures, self._n_ddl = ["a", "b"], [], 0

    def open(self) -> None:
        with self._server.connect() as connection, connection.cursor() as cursor:
            cursor.execute("CREATE DATABASE bank")
            cursor.execute("USE bank")
            for table in self._tables:
                cursor.execute(f"CREATE TABLE {table} (id INT PRIMARY KEY, balance INT NOT NULL)")
            cursor.execute("BEGIN")
            for table in self._tables:
                self._fill(cursor, table, BALANCE)
            cursor.execute("COMMIT")

    @contextmanager
    def at_work(self, sessions: int, ddl_every_s: float):
        """Transfers in several sessions and DDL in another one, until the end of ``with``."""
        self._stopped.clear()
        threads = [threading.Thread(target=self._guarded, args=(self._transfers, k)) for k in range(sessions)]
        threads.append(threading.Thread(target=self._guarded, args=(self._change_definitions, ddl_every_s)))
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            self._stopped.set()
            for thread in threads:
                thread.join()
        assert self._failures == []

    def snapshot(self) -> tuple[str, dict[str, list[tuple[int, int]]]]:
        """The GTIDs of a moment, and every account then."""
        variable = "gtid_binlog_pos" if self._server.flavor == "mariadb" else "gtid_executed"
        with self._server.connect(database="bank") as connection, connection.cursor() as cursor:
            cursor.execute("FLUSH TABLES WITH READ LOCK")
            cursor.execute(f"SELECT @@global.{variable}")
            gtids = cursor.fetchone()[0].replace("\n", "")
            cursor.execute("SHOW TABLES")
            accounts = {}
            for (table,) in cursor.fetchall():
                cursor.execute(f"SELECT id, balance FROM {table} ORDER BY id")
                accounts[table] = list(cursor.fetchall())
        return gtids, accounts

    def _guarded(self, work, argument) -> None:
        try:
            with self._server.connect(database="bank") as connection, connection.cursor() as cursor:
                work(cursor, argument)
        except Exception as error:
            self._failures.append(error)

    def _transfers(self, cursor, number: int) -> None:
        rng = random.Random(f"{self._seed} {number}")
        while not self._stopped.wait(_PAUSE_S):
            try:
                cursor.execute("BEGIN")
                moved = [self._move(cursor, rng, sign) for sign in ("-", "+")]
                cursor.execute("COMMIT" if all(moved) and rng.random() < 0.9 else "ROLLBACK")
            except pymysql.MySQLError as error:
                if error.args[0] not in _COLLISIONS:
                    raise
                cursor.execute("ROLLBACK")

    def _move(self, cursor, rng: random.Random, sign: str) -> int:
        table, account = rng.choice(self._tables), rng.randrange(ACCOUNTS)
        return cursor.execute(f"UPDATE {table} SET balance = balance {sign} 1 WHERE id = {account}")

    def _change_definitions(self, cursor, every_s: float) -> None:
        while not self._stopped.wait(every_s):
            statement, new = _DDL[self._n_ddl % len(_DDL)], f"c{self._n_ddl}"
            cursor.execute(statement.format(new=new))
            if "{new}" in statement:
                self._fill(cursor, new, 0)
                self._tables = [*self._tables, new]
            self._n_ddl += 1

    def _fill(self, cursor, table: str, balance: int) -> None:
        rows = [(account, balance) for account in range(ACCOUNTS)]
        cursor.executemany(f"INSERT INTO {table} (id, balance) VALUES (%s, %s)", rows)
