"""`run --follow` outlives a source that fails, says so each time, and does not follow another server."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import pytest

from mirrorlake.config import Options
from mirrorlake.core.position import BinlogPosition
from mirrorlake.errors import RefusedError
from mirrorlake.jobs.run import hops
from mirrorlake.jobs.run.open import open_lake
from mirrorlake.jobs.run.watcher import Watcher
from mirrorlake.lake.delta.progress import read_progress
from mirrorlake.lake.gold.control.register import TableRegister
from tests.support.canonical import mirror_rows, source_rows
from tests.support.proxy import Proxy

GIVE_UP_S = 180


class Stop(BaseException):
    """Ends a job that follows."""


class Told(Watcher):
    """changes: applied so far. position: bronze's. waits: (code, pause) of every new attempt. at_next_epoch: done
    once, before the end of the epoch is recorded."""

    def __init__(self):
        self.changes, self.position, self.waits, self.has_to_stop = 0, None, [], False
        self.at_next_epoch = None

    def ingested(self, batch):
        self.position = batch.progress.position

    def applied(self, done):
        self.changes += done.n_changes
        do, self.at_next_epoch = self.at_next_epoch, None
        if do:
            do()

    def idle(self):
        if self.has_to_stop:
            raise Stop

    def retrying(self, error, wait_s):
        self.waits.append((error.code, wait_s))


class Job:
    """`run --follow` in a thread."""

    def __init__(self, options: Options, spark):
        self.told, self.end = Told(), None
        self._thread = threading.Thread(target=self._run, args=(options, spark), daemon=True)
        self._thread.start()

    def _run(self, options, spark):
        try:
            hops.run(options, self.told, spark)
        except BaseException as error:
            self.end = error

    def wait_until(self, is_reached: Callable[[Told], bool]) -> None:
        give_up = time.monotonic() + GIVE_UP_S
        while not is_reached(self.told):
            assert self._thread.is_alive() and time.monotonic() < give_up, (self.told.__dict__, self.end)
            time.sleep(0.05)

    def stop(self) -> None:
        self.told.has_to_stop = True
        self._thread.join(GIVE_UP_S)
        assert isinstance(self.end, Stop)


def write_what_is_filtered_out(server) -> None:
    server.execute("CREATE DATABASE other")
    server.execute("CREATE TABLE other.item (id INT PRIMARY KEY)")
    server.execute("INSERT INTO other.item VALUES (1)")
    server.execute("FLUSH BINARY LOGS")


@pytest.mark.timeout(900)
@pytest.mark.heavy
def test_a_job_that_follows_outlives_every_passing_fault_and_refuses_another_server(mysql, mariadb, lake_dir, spark):
    mysql.reset()
    mysql.execute("CREATE DATABASE shop")
    mysql.execute("CREATE TABLE shop.item (id INT PRIMARY KEY, name VARCHAR(20))")
    written: list[int] = []

    def write():
        numbers = [len(written), len(written) + 1]
        mysql.execute("INSERT INTO shop.item VALUES (%s, 'a'), (%s, 'b')", *numbers)
        written.extend(numbers)

    with Proxy(mysql.host, mysql.port) as proxy:

        def nothing(): ...

        def cut_until_noticed():  # a job that applies changes has no connection meanwhile
            n_waits = len(job.told.waits)
            job.wait_until(lambda told: proxy.cut_all() or len(told.waits) > n_waits)

        def down():
            proxy.is_down = True
            proxy.cut_all()

        def down_until_noticed():
            down()
            cut_until_noticed()
            proxy.is_down = False

        def gone_until_noticed(stop):
            n_waits = len(job.told.waits)
            stop()
            job.wait_until(lambda told: len(told.waits) > n_waits)
            mysql.start()

        def down_behind_an_epoch():
            """Which is carried out again by the next attempt, and has nothing left to do."""
            n_waits = len(job.told.waits)
            job.told.at_next_epoch = down
            write()
            job.wait_until(lambda told: len(told.waits) > n_waits)
            proxy.is_down = False

        def restart():
            gone_until_noticed(mysql.stop)

        def crash():
            mysql.execute("FLUSH ENGINE LOGS")  # the test's servers flush when they like, and lose what is in the log
            gone_until_noticed(mysql.kill)

        source = f"mysql://{mysql.user}@{proxy.host}:{proxy.port}"
        options = Options(source=source, lake=str(lake_dir), tables="shop.*", follow=True)
        job = Job(options, spark)
        for fault in (nothing, cut_until_noticed, down_until_noticed, down_behind_an_epoch, restart, crash):
            before = len(job.told.waits)
            fault()
            write()
            job.wait_until(lambda told: told.changes == len(written))
            codes = {code for code, _ in job.told.waits[before:]}
            assert codes <= {"server-lost", "server-unreachable"} and (fault is nothing or codes)
        write_what_is_filtered_out(mysql)
        log_file, offset = mysql.query("SHOW BINARY LOG STATUS")[0][:2]
        job.wait_until(lambda told: told.position == BinlogPosition(log_file, offset))
        pauses = [pause for _, pause in job.told.waits]
        assert pauses[0] == 1 and set(pauses) <= {1, 2, 4, 8, 16}
        job.stop()
        lake = open_lake(Options(lake=str(lake_dir)), spark)
        assert read_progress(spark, lake.names.silver_changes).lsn == read_progress(spark, lake.names.bronze_events).lsn
        (entry,) = TableRegister.read(lake)
        with mysql.connect() as connection:
            wanted = sorted(source_rows(connection, "shop", "item"))
        assert sorted(mirror_rows(spark.table(lake.names.mirror(entry.mirror_id)).toArrow())) == wanted
        assert len(wanted) == len(written)
        mysql.execute("INSERT INTO shop.item VALUES (-1, 'purged')")
        mysql.execute("FLUSH BINARY LOGS")
        mysql.execute(f"PURGE BINARY LOGS TO '{mysql.log_files()[-1].name}'")
        told = Told()
        with pytest.raises(RefusedError) as refused:
            hops.run(options, told, spark)
        assert refused.value.code == "server-log-purged" and told.waits == []  # nobody waits for what never comes back
        proxy.target = mariadb.host, mariadb.port  # a failover: another server at the same address
        with pytest.raises(RefusedError) as refused:
            hops.run(options, Told(), spark)
        assert refused.value.code == "lake-source"
