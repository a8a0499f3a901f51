"""The SQL of the two benchmark logs: a bulk load and an OLTP mix, both seeded, with exact counts of row changes."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field

USE = ("USE bench",)
CREATE = (
    """CREATE TABLE sbtest1 (
  id BIGINT UNSIGNED NOT NULL PRIMARY KEY,
  k INT NOT NULL,
  c CHAR(120) NOT NULL,
  pad CHAR(60) NOT NULL
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4""",
    """CREATE TABLE orders (
  id BIGINT NOT NULL PRIMARY KEY,
  customer INT NOT NULL,
  amount DECIMAL(10,2) NOT NULL,
  sku VARCHAR(64) NOT NULL,
  created DATETIME(6) NOT NULL,
  status ENUM('new','paid','shipped','done','cancelled') NOT NULL,
  score DOUBLE NULL,
  note TEXT NULL
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4""",
    """CREATE TABLE accounts (
  id INT NOT NULL PRIMARY KEY,
  balance DECIMAL(12,2) NOT NULL,
  seen TIMESTAMP(3) NOT NULL
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4""",
)
_ROWS_PER_STATEMENT, _STATEMENTS_PER_TRANSACTION = 1000, 5
_OLTP_SIZES = (1, 1, 2, 3)


@dataclass(slots=True)
class Statements:
    """A generator of statements that knows which rows exist, so that each one changes exactly the rows it counts."""

    seed: int
    row_changes: int = 0
    live: dict[str, list[int]] = field(default_factory=lambda: {"sbtest1": [], "orders": [], "accounts": []})
    next_id: dict[str, int] = field(default_factory=lambda: {"sbtest1": 1, "orders": 1, "accounts": 1})
    rng: random.Random = field(init=False)

    def __post_init__(self) -> None:
        self.rng = random.Random(self.seed)

    def load(self, rows: dict[str, int]) -> Iterator[str]:
        """Multi-row inserts into the tables in turn, several statements per transaction."""
        left, statements = dict(rows), 0
        yield "BEGIN"
        while any(left.values()):
            for table in [table for table, n in left.items() if n]:
                n = min(left[table], _ROWS_PER_STATEMENT)
                left[table] -= n
                yield self._insert(table, n)
                statements += 1
                if statements % _STATEMENTS_PER_TRANSACTION == 0:
                    yield "COMMIT"
                    yield "BEGIN"
        yield "COMMIT"

    def bulk(self, changes: int) -> Iterator[str]:
        """70 % inserts, then 20 % updates and 10 % deletes by key range; two tables, half each."""
        share = {table: changes // 20 for table in ("sbtest1", "orders")}
        yield from self.load({table: 7 * n for table, n in share.items()})
        for table, n in share.items():
            for low, high in _ranges(1, 2 * n):
                yield f"{_RANGE_UPDATES[table]} WHERE id BETWEEN {low} AND {high}"
            for low, high in _ranges(3 * n, 4 * n - 1):
                yield f"DELETE FROM {table} WHERE id BETWEEN {low} AND {high}"
            self.row_changes += 3 * n
            self.live[table] = [*range(1, 3 * n), *range(4 * n, 7 * n + 1)]

    def oltp(self, changes: int) -> Iterator[str]:
        """Transactions of one to three row changes, each a statement of its own."""
        end = self.row_changes + changes
        while self.row_changes < end:
            size = min(self.rng.choice(_OLTP_SIZES), end - self.row_changes)
            if size == 1:
                yield self._one_change()
            else:
                yield "BEGIN"
                for _ in range(size):
                    yield self._one_change()
                yield "COMMIT"

    def _one_change(self) -> str:
        kind = self.rng.random()
        if kind < 0.10:
            return self._insert("sbtest1", 1)
        if kind < 0.30:
            return self._insert("orders", 1)
        if kind < 0.36:
            return self._delete(self.rng.choice(("sbtest1", "orders")))
        self.row_changes += 1
        if kind < 0.55:
            return f"UPDATE sbtest1 SET k=k+1 WHERE id={self._known('sbtest1')}"
        if kind < 0.65:
            return f"UPDATE sbtest1 SET c='{self._digits(10)}' WHERE id={self._known('sbtest1')}"
        if kind < 0.85:
            status = self.rng.choice(("paid", "shipped", "done", "cancelled"))
            return f"UPDATE orders SET status='{status}', amount=amount+1.25 WHERE id={self._known('orders')}"
        amount = self.rng.randint(1, 99_999) / 100
        return f"UPDATE accounts SET balance=balance-{amount:.2f}, seen=NOW(3) WHERE id={self._known('accounts')}"

    def _insert(self, table: str, rows: int) -> str:
        first = self.next_id[table]
        self.next_id[table] += rows
        self.live[table].extend(range(first, first + rows))
        self.row_changes += rows
        row = getattr(self, f"_{table}_row")
        return f"INSERT INTO {table} VALUES " + ",".join(row(key) for key in range(first, first + rows))

    def _delete(self, table: str) -> str:
        keys = self.live[table]
        n = self.rng.randrange(len(keys))
        key, keys[n] = keys[n], keys[-1]
        keys.pop()
        self.row_changes += 1
        return f"DELETE FROM {table} WHERE id={key}"

    def _known(self, table: str) -> int:
        return self.rng.choice(self.live[table])

    def _sbtest1_row(self, key: int) -> str:
        return f"({key},{self.rng.randrange(10**6)},'{self._digits(10)}','{self._digits(5)}')"

    def _orders_row(self, key: int) -> str:
        rng = self.rng
        amount, score = rng.randint(-20_000, 980_000) / 100, rng.choice(("NULL", repr(rng.random())))
        day = f"2024-{rng.randint(1, 12):02d}-{rng.randint(1, 28):02d}"
        created = f"{day} {rng.randrange(24):02d}:00:59.{rng.randrange(10**6):06d}"
        status = rng.choice(("new", "paid", "shipped"))
        note = rng.choice(("NULL", "NULL", "'grün, 緑'", f"'{'lorem ipsum ' * rng.randint(1, 8)}'"))
        values = f"{key},{rng.randrange(10**5)},{amount:.2f},'SKU-{rng.randrange(10**6):06d}-red'"
        return f"({values},'{created}','{status}',{score},{note})"

    def _accounts_row(self, key: int) -> str:
        balance, millisecond = self.rng.randint(-(10**6), 10**7) / 100, self.rng.randrange(1000)
        return f"({key},{balance:.2f},'2024-05-01 10:00:00.{millisecond:03d}')"

    def _digits(self, groups: int) -> str:
        digits = f"{self.rng.randrange(10 ** (11 * groups)):0{11 * groups}d}"
        return "-".join(digits[n : n + 11] for n in range(0, len(digits), 11))


_RANGE_UPDATES = {
    "sbtest1": "UPDATE sbtest1 SET k=k+1, c=REVERSE(c)",
    "orders": "UPDATE orders SET status='done', amount=amount+1.25",
}


def _ranges(low: int, high: int, step: int = 5000) -> Iterator[tuple[int, int]]:
    for start in range(low, high + 1, step):
        yield start, min(start + step - 1, high)
