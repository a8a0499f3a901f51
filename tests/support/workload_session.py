"""One session of the live workload: what it can do to the tables, and how often it does it."""

from __future__ import annotations

import random
from datetime import datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING

import pymysql

from tests.support.workload_tables import COLUMNS, SAMPLE_WORDS, SCRATCH, random_values

if TYPE_CHECKING:
    from tests.support.workload import Workload

# What concurrent sessions may do to each other: duplicate key, lock wait, deadlock, a row, column or table that
# changed under the statement. The transaction is rolled back and the session continues.
_COLLISIONS = {1020, 1054, 1062, 1146, 1205, 1213, 1412}
_ALTERED = {"everything": "id", "accounts": "account_id", "ledger": "account_id"}  # table: a column to search by
_ZONES = ("+00:00", "+05:30", "-08:00")
_WEIGHTS = {
    "insert_everything": 14,
    "update_everything": 14,
    "update_extra_column": 5,
    "delete_everything": 8,
    "delete_and_insert": 4,
    "open_account": 12,
    "transfer": 16,
    "change_key": 5,
    "swap_keys": 3,
    "replace_account": 4,
    "count_word": 8,
    "respell_word": 3,
    "delete_words": 2,
    "change_tokens": 6,
}


class Session:
    """Takes transactions from its workload until there are no more, on a connection in autocommit mode."""

    def __init__(self, workload: Workload, number: int, connection: pymysql.Connection, seed: str):
        self.workload, self.cursor, self.rng = workload, connection.cursor(), random.Random(seed)
        self.execute(f"SET time_zone = '{_ZONES[number % len(_ZONES)]}', innodb_lock_wait_timeout = 2")

    def work(self) -> None:
        while number := self.workload.take():
            ddl_every = self.workload.ddl_every
            outcome = "ddl" if ddl_every and number % ddl_every == 0 else "committed"
            try:
                self.use(self.rng.choice(self.workload.databases))
                outcome = self.change_definitions() if outcome == "ddl" else self.transaction()
            except pymysql.MySQLError as error:
                if error.args[0] not in _COLLISIONS:
                    raise
                self.execute("ROLLBACK")
                outcome = "failed"
            self.workload.count(outcome)

    def transaction(self) -> str:
        rng = self.rng
        if rng.random() < 0.25:
            self.change()  # in autocommit
            return "committed"
        self.execute("BEGIN")
        for _ in range(rng.choice((1, 1, 2, 3, 6))):
            self.change()
        if rng.random() < 0.08:
            self.execute("SAVEPOINT here")
            self.transfer()
            self.execute("ROLLBACK TO SAVEPOINT here")
        end = "ROLLBACK" if rng.random() < 0.05 else "COMMIT"
        self.execute(end)
        return "committed" if end == "COMMIT" else "rolled back"

    def change(self) -> None:
        kind = self.rng.choices(list(_WEIGHTS), list(_WEIGHTS.values()))[0]
        getattr(self, kind)()

    # --- kinds of changes

    def insert_everything(self) -> None:
        names = ["id", *COLUMNS]
        rows = [[self.new_key(), *random_values(self.rng, list(COLUMNS))] for _ in range(self.rng.choice((1, 1, 3)))]
        self.insert("everything", names, rows)

    def update_everything(self) -> None:
        names = self.rng.sample(list(COLUMNS), 4)
        low = self.known_key()
        sets = ", ".join(f"{name} = %s" for name in names)
        where = f"id BETWEEN {low} AND {low + self.rng.choice((0, 0, 10))}"
        self.execute(f"UPDATE everything SET {sets} WHERE {where}", *random_values(self.rng, names))

    def update_extra_column(self) -> None:
        table = self.rng.choice(list(_ALTERED))
        if names := self.workload.extra_columns.get((self.database, table)):
            sql = f"UPDATE {table} SET {self.rng.choice(names)} = %s WHERE {_ALTERED[table]} BETWEEN %s AND %s"
            low = self.known_key()
            self.execute(sql, self.rng.choice((None, "7", str(low))), low, low + 5)

    def delete_everything(self) -> None:
        self.execute("DELETE FROM everything WHERE id = %s", self.known_key())

    def delete_and_insert(self) -> None:
        key = self.known_key()
        self.execute("DELETE FROM everything WHERE id = %s", key)
        self.insert("everything", ["id", "vc"], [[key, "born again 再"]])

    def open_account(self) -> None:
        key = self.new_key()
        row = [key, f"{key}@example.com", self.rng.choice(SAMPLE_WORDS), Decimal(1000)]
        self.insert("accounts", ["account_id", "email", "owner", "balance"], [row])

    def transfer(self) -> None:
        """Two accounts, their ledger entries and a token: one change of business in three tables."""
        amount = Decimal(self.rng.randint(1, 99_999)) / 100
        for account, signed in ((self.known_key(), amount), (self.known_key(), -amount)):
            self.execute("UPDATE accounts SET balance = balance + %s WHERE account_id = %s", signed, account)
            moment = datetime(2024, 1, 1) + timedelta(microseconds=self.rng.randrange(10**14))
            row = [account, self.new_key(), signed, moment, random_values(self.rng, ["vc"])[0]]
            self.insert("ledger", ["account_id", "entry_no", "amount", "booked", "memo"], [row])
        self.change_tokens()

    def change_key(self) -> None:
        sql = "UPDATE accounts SET account_id = %s WHERE account_id = %s"
        self.execute(sql, self.new_key(), self.known_key())

    def swap_keys(self) -> None:
        one, other = self.known_key(), self.known_key()
        for table, column in (("accounts", "account_id"), ("everything", "id")):
            for old, new in ((one, -one), (other, one), (-one, other)):
                self.execute(f"UPDATE {table} SET {column} = %s WHERE {column} = %s", new, old)

    def replace_account(self) -> None:
        """A REPLACE that may meet one row by its key and another by its e-mail address."""
        row = [self.known_key(), f"{self.known_key()}@example.com", "replaced 替", Decimal("-0.01")]
        self.insert("accounts", ["account_id", "email", "owner", "balance"], [row], verb="REPLACE")

    def count_word(self) -> None:
        """An upsert; the collation finds 'Word1' when asked for 'word1'."""
        sql = "INSERT INTO words VALUES (%s, 1) ON DUPLICATE KEY UPDATE seen = seen + 1"
        self.execute(sql, self.rng.choice(SAMPLE_WORDS))

    def respell_word(self) -> None:
        """A key change that the collation may call none: 'word1' to 'Word1'."""
        word = self.rng.choice(SAMPLE_WORDS)
        self.execute("UPDATE words SET word = %s WHERE word = %s", self.rng.choice((word, word.upper())), word.lower())

    def delete_words(self) -> None:
        self.execute("DELETE FROM words WHERE word = %s OR seen > 20", self.rng.choice(SAMPLE_WORDS))

    def change_tokens(self) -> None:
        rng = self.rng
        token = bytes((rng.randrange(4), rng.randrange(4))) + rng.choice((b"", b"\0\0\0 ", b"\xff"))
        row = [token, rng.randrange(3), rng.randbytes(rng.randrange(50))]
        self.insert("tokens", ["token", "part", "payload"], [row], verb="REPLACE")
        self.execute("DELETE FROM tokens WHERE part = %s LIMIT 1", rng.randrange(3))

    def change_definitions(self) -> str:
        rng, table = self.rng, self.rng.choice(list(_ALTERED))
        extra = self.workload.extra_columns.setdefault((self.database, table), [])
        if rng.random() < 0.3:
            self.execute(SCRATCH)
            self.insert("scratch", ["n", "what"], [[n, f"зап {n}"] for n in range(20)])
            self.execute("UPDATE scratch SET what = NULL WHERE n < 5")
            self.execute("DROP TABLE scratch")
        elif extra and rng.random() < 0.5:
            self.execute(f"ALTER TABLE {table} DROP COLUMN {extra.pop()}")
        else:
            name, place = f"extra_{self.new_key()}", rng.choice(("", " FIRST", f" AFTER {_ALTERED[table]}"))
            kind = rng.choice(("INT", "VARCHAR(20)", "DECIMAL(9,3) DEFAULT NULL"))
            self.execute(f"ALTER TABLE {table} ADD COLUMN {name} {kind} NULL{place}")
            extra.append(name)
        return "ddl"

    # --- statements

    def use(self, database: str) -> None:
        self.database = database
        self.execute(f"USE {database}")

    def new_key(self) -> int:
        return self.workload.new_key()

    def known_key(self) -> int:
        return self.workload.known_key(self.rng)

    def insert(self, table: str, names: list[str], rows: list[list], verb: str = "INSERT") -> None:
        row = f"({', '.join(['%s'] * len(names))})"
        values = [value for row_values in rows for value in row_values]
        self.execute(f"{verb} INTO {table} ({', '.join(names)}) VALUES {', '.join([row] * len(rows))}", *values)

    def execute(self, sql: str, *values: object) -> None:
        self.cursor.execute(sql, values or None)
