"""The small shop whose binlog is the demo: its tables, and a seeded run of its business.

Everything it writes follows from the seed; two servers with different defaults end with the same rows.
"""

from __future__ import annotations

import random
import re
from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path

import pymysql

TABLES = Path(__file__).with_suffix(".sql")
CARTS = """CREATE TABLE carts (
  cart_id INT NOT NULL PRIMARY KEY,
  customer_id INT UNSIGNED NOT NULL,
  content VARCHAR(200) NOT NULL
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4"""

FIRST_NAMES = ("Zoë", "Jürgen", "Łukasz", "Ирина", "さくら", "Renée", "Åsa", "José", "Mary", "Ñuño", "🐝 Bea", "O'Neil")
LAST_NAMES = ("Müller", "Smith", "Dvořák", "García", "Иванова", "佐藤", "Søndergaard", "D'Arcy", "Œuvre – €", "Straße")
GOODS = ("Teapot", "Café crème cup", "Gießkanne", "本", "Ukulele", "Seed box", "Lamp", "Clé USB", "Blanket", "Ηλιακό")
WORDS = ("sturdy", "light", "hand-made", "für draußen", "soldé", "新品", "blue", "limited", "100 % wool", "🎁 wrapped")
OPENED = datetime(2024, 3, 1, 8, 0, 0)


def table_definitions() -> list[str]:
    text = re.sub(r"^--.*\n", "", TABLES.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return [statement.strip() for statement in text.split(";\n") if statement.strip()]


class Shop:
    """The shop at work on one connection (autocommit off); state holds what the next step needs to know."""

    def __init__(self, connection: pymysql.Connection, seed: int):
        self.connection, self.cursor = connection, connection.cursor()
        self.rng = random.Random(seed)
        self.now = OPENED
        self.customers: list[int] = []
        self.prices: dict[int, Decimal] = {}
        self.orders: list[int] = []
        self.next_order, self.next_move = 70_000_000_000, -500
        self.has_coupons = False

    def open(self, customers: int, products: int) -> None:
        """Creates the database and the tables, and fills customers and products."""
        self.execute("SET time_zone = '+00:00'")
        self.execute("CREATE DATABASE shop")
        self.execute("USE shop")
        for definition in table_definitions():
            self.execute(definition)
        self.insert("opening_hours", [(day, "09:00:00", "18:30:00") for day in range(1, 7) for _ in range(3)])
        self.insert("visits", [(f"visitor {n}", OPENED) for n in range(20)])
        self.insert("products", [self.new_product(100 + n) for n in range(products)])
        self.insert("customers", [self.new_customer(1 + n) for n in range(customers)])
        self.connection.commit()

    def trade(self, steps: int) -> None:
        """Ordinary business: each step is one transaction."""
        doings = (self.place_order, self.move_order_on, self.change_customer, self.restock, self.change_prices)
        for _ in range(steps):
            self.now += timedelta(microseconds=self.rng.randrange(10**9))
            self.rng.choices(doings, (58, 20, 9, 6, 7))[0]()
            self.connection.commit()

    # --- one transaction each

    def place_order(self) -> None:
        rng, order_id = self.rng, self.next_order
        self.next_order += rng.randint(1, 3)
        picked = rng.sample(sorted(self.prices), rng.randint(1, 4))
        lines = [
            (order_id, line_no, product, rng.randint(1, 5), self.prices[product], rng.choice((0, 0, 0.1, 0.25)))
            for line_no, product in enumerate(picked, 1)
        ]
        total = sum((price * quantity for _, _, _, quantity, price, _ in lines), Decimal(0))
        row = (order_id, rng.choice(self.customers), "new", total, self.now, self.now_ms(), self.remark())
        coupon = (rng.choice((None, "FRÜHLING-24", "welcome")),) if self.has_coupons else ()
        self.insert("orders", [row + coupon])
        self.insert("order_lines", lines)
        self.move_stock([(product, -quantity) for _, _, product, quantity, _, _ in lines], "sale")
        if rng.random() < 0.9:
            self.pay(order_id, total)
        self.orders.append(order_id)

    def pay(self, order_id: int, total: Decimal) -> None:
        rng = self.rng
        payment_id = rng.randbytes(14) + rng.choice((b"\0\0", b"\0 ", b"ok"))
        fee = total * Decimal("0.0139000001")
        rate = rng.choice((1.0, 0.1 + 0.2, 1.0842, 1e-7))
        self.insert("payments", [(payment_id, order_id, total, fee, rate, self.now.date(), rng.randbytes(20))])
        self.execute("UPDATE orders SET status = 'paid', updated_at = %s WHERE order_id = %s", self.now_ms(), order_id)

    def move_order_on(self) -> None:
        """Ships an order, takes one back, or cancels one that is still recent."""
        if not self.orders:
            return
        order_id = self.rng.choice(self.orders)
        kind = self.rng.random()
        if kind < 0.15:
            for table in ("payments", "order_lines", "orders"):
                self.execute(f"DELETE FROM {table} WHERE order_id = %s", order_id)
            self.orders.remove(order_id)
        else:
            status = "returned" if kind < 0.3 else "shipped"
            sql = "UPDATE orders SET status = %s, note = %s, updated_at = %s WHERE order_id = %s"
            self.execute(sql, status, self.remark(), self.now_ms(), order_id)

    def change_customer(self) -> None:
        customer, rng = self.rng.choice(self.customers), self.rng
        sql = "UPDATE customers SET credit = credit + %s, consents = %s, interests = %s, last_seen = %s"
        credit = Decimal(rng.randint(-500, 900)) / 100
        interests = ",".join(rng.sample(("books", "music", "café"), rng.randint(0, 3)))
        self.execute(f"{sql} WHERE customer_id = %s", credit, rng.randrange(1024), interests, self.now_ms(), customer)

    def restock(self) -> None:
        self.move_stock([(p, self.rng.randint(5, 60)) for p in self.rng.sample(sorted(self.prices), 4)], "delivery")

    def change_prices(self) -> None:
        low = self.rng.choice(sorted(self.prices))
        self.execute("UPDATE products SET price = price * 1.03 WHERE product_id BETWEEN %s AND %s", low, low + 29)
        self.cursor.execute("SELECT product_id, price FROM products")
        self.prices = dict(self.cursor.fetchall())

    # --- the rare ones, called by name

    def renumber_customers(self, count: int) -> None:
        """Key changes: the oldest customers get new numbers, and two of them swap theirs."""
        for customer in self.customers[:count]:
            new = customer + 1_000_000
            self.execute("UPDATE customers SET customer_id = %s WHERE customer_id = %s", new, customer)
            self.execute("UPDATE orders SET customer_id = %s WHERE customer_id = %s", new, customer)
            self.connection.commit()
        self.customers[:count] = [customer + 1_000_000 for customer in self.customers[:count]]
        one, other = self.customers[:2]
        for old, new in ((one, 4_294_967_295), (other, one), (4_294_967_295, other)):
            self.execute("UPDATE customers SET customer_id = %s WHERE customer_id = %s", new, old)
        self.connection.commit()

    def replace_customers(self, count: int) -> None:
        """REPLACE: half meet their own number, half also the e-mail address of somebody else, who disappears."""
        for n in range(count):
            customer, victim = self.rng.sample(self.customers, 2)
            email = f"customer{customer}@example.com"
            if n % 2:
                self.cursor.execute("SELECT email FROM customers WHERE customer_id = %s", (victim,))
                email = self.cursor.fetchone()[0]
                self.customers.remove(victim)
            self.insert("customers", [self.new_customer(customer, email)], verb="REPLACE")
            self.connection.commit()

    def swap_lines(self, count: int) -> None:
        """Two lines of an order swap their numbers by way of line number 255."""
        for order_id in self.rng.sample(self.orders, count):
            for old, new in ((1, 255), (2, 1), (255, 2)):
                sql = "UPDATE order_lines SET line_no = %s WHERE order_id = %s AND line_no = %s"
                self.execute(sql, new, order_id, old)
            self.connection.commit()

    def change_mind(self, count: int) -> None:
        """Orders that are rolled back whole, or down to a savepoint."""
        for n in range(count):
            self.change_customer()
            self.execute("SAVEPOINT basket")
            self.execute("UPDATE orders SET note = 'never seen' WHERE order_id = %s", self.rng.choice(self.orders))
            self.execute("ROLLBACK TO SAVEPOINT basket" if n % 2 else "ROLLBACK")
            self.connection.commit()

    def count_stock(self) -> None:
        """One move per product and one statement over all of them: events of many rows."""
        moved_at = self.now.replace(microsecond=0)
        moves = [(self.next_move + n, p, -1, "count", moved_at, None) for n, p in enumerate(sorted(self.prices))]
        self.insert("stock_moves", moves)
        self.next_move += len(moves)
        self.execute("UPDATE products SET in_stock = in_stock - 1")
        self.connection.commit()

    def try_carts(self) -> None:
        """A table that comes and goes."""
        self.execute(CARTS)
        self.insert("carts", [(n, self.rng.choice(self.customers), self.remark() or "-") for n in range(400)])
        self.execute("DELETE FROM carts WHERE cart_id BETWEEN 20 AND 160")
        self.connection.commit()
        self.execute("DROP TABLE carts")

    def change_hours(self) -> None:
        """Of the equal rows of three doors some go and some change."""
        self.execute("DELETE FROM opening_hours WHERE weekday = 6 LIMIT 2")
        self.execute("UPDATE opening_hours SET closes = '20:00:00' WHERE weekday >= 4 LIMIT 4")
        self.connection.commit()

    def number_visits(self) -> None:
        self.execute("ALTER TABLE visits ADD visit_id INT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY FIRST")

    def introduce_coupons(self) -> None:
        self.execute("ALTER TABLE orders ADD COLUMN coupon VARCHAR(20) NULL")
        self.has_coupons = True

    def remove_shelves(self) -> None:
        self.execute("ALTER TABLE products DROP COLUMN shelf")

    # --- rows

    def new_customer(self, customer_id: int, email: str | None = None) -> tuple:
        rng = self.rng
        name = f"{rng.choice(FIRST_NAMES)} {rng.choice(LAST_NAMES)}"
        billing_name = name if name.encode("cp1252", "ignore").decode("cp1252") == name else None
        if customer_id not in self.customers:
            self.customers.append(customer_id)
        email = email or f"customer{customer_id}@example.com"
        language = rng.choice(("english", "français", "deutsch", "日本語"))
        interests = rng.choice(("", "books", "music,café", "books,music,garden,café"))
        year, credit = rng.choice((None, 1901, 1970, 2004, 2155)), Decimal(rng.randint(-9999, 99999)) / 100
        country = rng.choice(("DE", "FR", "US", "JP"))
        person = (customer_id, name, billing_name, email, country, year, language, interests)
        return (*person, rng.randrange(1024), credit, self.now, rng.choice((None, self.now_ms())))

    def new_product(self, product_id: int) -> tuple:
        rng = self.rng
        price = self.prices[product_id] = Decimal(rng.randint(99, 49_999)) / 100
        texts = f"SKU-{product_id:05d}", f"{rng.choice(GOODS)} {product_id}", " ".join(rng.sample(WORDS, 3))
        measures = rng.choice((None, 0.1, 2.75, 1e-3)), rng.choice((None, 4.35, 1 / 3)), rng.randrange(100)
        barcode = rng.randbytes(6) + rng.choice((b"\0\0", b"7\0", b"00"))
        thumbnail = rng.choice((None, b"", rng.randbytes(24)))
        released = rng.choice((None, OPENED.date() - timedelta(days=rng.randrange(9000))))
        return (product_id, *texts, price, *measures, rng.randint(-128, 127), barcode, thumbnail, released, 1)

    def move_stock(self, moves: list[tuple[int, int]], reason: str) -> None:
        rows = []
        for product, quantity in moves:
            self.execute("UPDATE products SET in_stock = in_stock + %s WHERE product_id = %s", quantity, product)
            moved_at = self.now.replace(microsecond=0)
            rows.append((self.next_move, product, quantity, reason, moved_at, self.rng.choice((None, b"\0\xff\r7"))))
            self.next_move += 1
        self.insert("stock_moves", rows)

    def remark(self) -> str | None:
        return self.rng.choice((None, "", " ".join(self.rng.sample(WORDS, 3)), "ring twice; it's the \\ door\n第二"))

    def now_ms(self) -> datetime:
        return self.now.replace(microsecond=self.now.microsecond // 1000 * 1000)

    def insert(self, table: str, rows: list[tuple], verb: str = "INSERT") -> None:
        row = f"({', '.join(['%s'] * len(rows[0]))})"
        self.execute(f"{verb} INTO {table} VALUES {', '.join([row] * len(rows))}", *(v for r in rows for v in r))

    def execute(self, sql: str, *values: object) -> None:
        self.cursor.execute(sql, values or None)
