"""A mixed workload for live runs: several sessions change several tables at once until time or count is used up.

    workload = Workload(server, seed=7)          # server: anything with connect(**options) -> pymysql connection
    workload.create_tables()
    done = workload.run(seconds=60, rate=300)    # {'committed': 17022, 'rolled back': 650, 'failed': 310, 'ddl': 8}

or as a process of its own, which also stops cleanly on SIGTERM and ends with one line of JSON:

    python -m tests.support.workload --url mysql://root@127.0.0.1:3306 --seed 7 --seconds 60 --create

What the sessions do follows from the seed, how they interleave does not: compare with SELECT on the source.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import threading
import time
from collections import Counter
from urllib.parse import urlsplit

import pymysql

from tests.support.workload_session import Session
from tests.support.workload_tables import DEFINITIONS


class UrlServer:
    """A server known by its URL, mysql://user@host:port; the password comes from MIRRORLAKE_PASSWORD."""

    def __init__(self, url: str):
        self.parts = urlsplit(url)

    def connect(self, **options) -> pymysql.Connection:
        options = {"autocommit": True, "charset": "utf8mb4"} | options
        password = os.environ.get("MIRRORLAKE_PASSWORD", "")
        where = {"host": self.parts.hostname, "port": self.parts.port or 3306}
        return pymysql.connect(user=self.parts.username or "root", password=password, **where, **options)


class Workload:
    def __init__(self, server, seed: int, databases: int = 1, sessions: int = 3, ddl_every: int = 2000):
        """ddl_every: one change of definitions per that many transactions; 0 for none."""
        self.server, self.seed, self.sessions, self.ddl_every = server, seed, sessions, ddl_every
        self.databases = [f"live_{n}" for n in range(databases)]
        self.extra_columns: dict[tuple[str, str], list[str]] = {}
        self.done: Counter[str] = Counter()
        self._lock, self._stopped, self._failure = threading.Lock(), threading.Event(), None
        self._taken = self._runs = self._last_key = 0

    def create_tables(self) -> None:
        with self.server.connect() as connection, connection.cursor() as cursor:
            for database in self.databases:
                cursor.execute(f"CREATE DATABASE {database}")
                cursor.execute(f"USE {database}")
                for definition in DEFINITIONS.values():
                    cursor.execute(definition)

    def run(self, seconds: float | None = None, transactions: int | None = None, rate: float | None = None) -> Counter:
        """Works until the seconds or transactions are used up or stop() is called; rate: transactions per second.

        Returns how many transactions, of all runs so far, were committed, rolled back, ddl, or failed in a collision.
        Raises what a session met that is not a collision with another session.
        """
        self._runs += 1
        self._started, self._rate, self._first = time.monotonic(), rate, self._taken
        self._deadline = self._started + seconds if seconds is not None else float("inf")
        self._limit = self._taken + transactions if transactions is not None else float("inf")
        threads = [threading.Thread(target=self._work, args=(number,)) for number in range(self.sessions)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if self._failure:
            raise self._failure
        return self.done

    def stop(self) -> None:
        self._stopped.set()

    def take(self) -> int:
        """The number of the next transaction, when it is due; 0 when the run is over."""
        with self._lock:
            if self._stopped.is_set() or self._taken >= self._limit or time.monotonic() >= self._deadline:
                return 0
            self._taken += 1
            number, due = self._taken, self._started + (self._taken - self._first) / (self._rate or float("inf"))
        self._stopped.wait(max(0.0, due - time.monotonic()))
        return number

    def count(self, outcome: str) -> None:
        with self._lock:
            self.done[outcome] += 1

    def new_key(self) -> int:
        with self._lock:
            self._last_key += 1
            return self._last_key

    def known_key(self, rng: random.Random) -> int:
        """A key given out before, with a leaning to the newest; its row may be gone."""
        if rng.random() < 0.3:
            return rng.randint(1, self._last_key + 1)
        return max(1, self._last_key - int(rng.expovariate(1 / 200)))

    def _work(self, number: int) -> None:
        try:
            with self.server.connect() as connection:
                Session(self, number, connection, f"{self.seed}/{self._runs}/{number}").work()
        except BaseException as error:
            self._failure = self._failure or error
            self.stop()


def main() -> None:
    parser = argparse.ArgumentParser(description="Write a mixed workload to a server.")
    parser.add_argument("--url", required=True, help="mysql://user@host:port")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float)
    parser.add_argument("--transactions", type=int)
    parser.add_argument("--rate", type=float, help="transactions per second, all sessions together")
    parser.add_argument("--databases", type=int, default=1)
    parser.add_argument("--sessions", type=int, default=3)
    parser.add_argument("--ddl-every", type=int, default=2000, help="transactions between changes of definitions")
    parser.add_argument("--create", action="store_true", help="create the databases and tables first")
    options = parser.parse_args()
    server = UrlServer(options.url)
    workload = Workload(server, options.seed, options.databases, options.sessions, options.ddl_every)
    signal.signal(signal.SIGTERM, lambda *_: workload.stop())
    if options.create:
        workload.create_tables()
    print(json.dumps(workload.run(options.seconds, options.transactions, options.rate)), flush=True)


if __name__ == "__main__":
    main()
