"""Real MariaDB and MySQL servers for tests: private, on a free port, with their data in a folder of their own.

    with running_server("mariadb") as server:          # or "mysql"
        server.execute("CREATE DATABASE shop")
        server.query("SELECT 1 + %s", 1)               # [(2,)]

``scripts/servers/*.sh`` get the programs and start them: ``mysql`` 9.7, ``mariadb`` 10.11 (Debian's packages),
``mariadb118`` (11.8 of Debian's unstable suite), and ``mysql56`` (5.6.24 from npm) for the few tests that are about its
logs. Unpacked programs are kept in ``.cache/mysql97``, ``.cache/mariadb118`` and ``.cache/mysql56`` of the checkout;
MIRRORLAKE_MYSQL_ROOT, .._MARIADB118_ROOT and .._MYSQL56_ROOT name other such folders (those that hold ``root/``).
"""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import pymysql

from mirrorlake.core.sql_text import quote

CHECKOUT = Path(__file__).resolve().parents[2]
FLAVORS = ("mariadb", "mysql")
PROGRAMS = (*FLAVORS, "mariadb118")
"""The servers that a test without a wish runs on."""
LEAST_METADATA = {"mysql": "MINIMAL", "mariadb": "NO_LOG"}
"""binlog_row_metadata as servers have it by default."""

_PACKAGES = ("mariadb", "percona_toolkit")
_SCRIPTS = {
    flavor: CHECKOUT / f"scripts/servers/{flavor}.sh" for flavor in (*_PACKAGES, "mysql", "mysql56", "mariadb118")
}
_UNPACKED = {"mysql": ("MIRRORLAKE_MYSQL_ROOT", "mysql97"), "mysql56": ("MIRRORLAKE_MYSQL56_ROOT", "mysql56"),
             "mariadb118": ("MIRRORLAKE_MARIADB118_ROOT", "mariadb118")}  # fmt: skip
_PROGRAM = {"mysql": "root/usr/sbin/mysqld", "mysql56": "root/mysqld", "mariadb118": "root/usr/sbin/mariadbd"}
_FAST = (
    "--sync-binlog=0", "--innodb-flush-log-at-trx-commit=0", "--innodb-buffer-pool-size=128M", "--max-connections=1000",
)  # fmt: skip
_FAST_OF = {"mariadb": _FAST, "mariadb118": _FAST} | dict.fromkeys(
    ("mysql", "mysql56"), (*_FAST, "--performance-schema=OFF")
)
_SYSTEM_DATABASES = {"mysql", "sys", "information_schema", "performance_schema"}
_PID_FILE = "run/server.pid"
_STOP_S = 60
_OF_FIRST_START = "--lower-case-table-names"  # what the data keep from then on
_PATH = f"{os.environ.get('PATH', os.defpath)}:/usr/sbin"


class ServerUnavailable(Exception):
    """The server's programs cannot be had on this machine."""


class Server:
    """One running server. ``root`` has an empty password. program: a key of ``_SCRIPTS``, such as mariadb118."""

    host, user, password = "127.0.0.1", "root", ""

    def __init__(self, program: str, folder: Path, options: tuple[str, ...]):
        self.program, self.folder, self.options = program, folder, options
        self.port = free_port()
        self._connection: pymysql.Connection | None = None

    @property
    def flavor(self) -> str:
        return next(flavor for flavor in FLAVORS if self.program.startswith(flavor))

    @property
    def url(self) -> str:
        return f"mysql://{self.user}@{self.host}:{self.port}"

    @property
    def datadir(self) -> Path:
        return self.folder / "data"

    @property
    def pid(self) -> int:
        return int((self.folder / _PID_FILE).read_text())

    def connect(self, **options) -> pymysql.Connection:
        """A new connection in autocommit mode; threads need one each."""
        options = {"autocommit": True, "charset": "utf8mb4"} | options
        return pymysql.connect(host=self.host, port=self.port, user=self.user, password=self.password, **options)

    def execute(self, sql: str, *args) -> int:
        """Runs one statement on a shared connection; returns the number of rows changed."""
        with self._cursor() as cursor:
            return cursor.execute(sql, args or None)

    def play(self, statements: Iterable[str]) -> None:
        """Runs statements one after another in a session of their own."""
        with self.connect() as connection, connection.cursor() as cursor:
            for sql in statements:
                cursor.execute(sql)

    def query(self, sql: str, *args) -> list[tuple]:
        with self._cursor() as cursor:
            cursor.execute(sql, args or None)
            return list(cursor.fetchall())

    def log_files(self) -> list[Path]:
        """The binlog files, oldest first; the last one is being written."""
        return [self.datadir / row[0] for row in self.query("SHOW BINARY LOGS")]

    def reset(self) -> None:
        """Drops every database of ours and starts the binlog again at file 1."""
        self._hang_up()  # a shared connection may stand in a database or hold session settings
        self.execute("SET foreign_key_checks = 0")  # a database may hold parents of another one's tables
        for (name,) in self.query("SHOW DATABASES"):
            if name not in _SYSTEM_DATABASES:
                self.execute(f"DROP DATABASE {quote(name)}")
        self.execute("RESET BINARY LOGS AND GTIDS" if self.program == "mysql" else "RESET MASTER")
        self._hang_up()

    def start(self) -> None:
        _script(self.program, "start", self.folder, str(self.port), *_FAST_OF[self.program], *self.options)

    def stop(self) -> None:
        """A clean shutdown; returns when the process is gone."""
        self._hang_up()
        pid = self.pid
        _script(self.program, "stop", self.folder)
        give_up = time.monotonic() + _STOP_S
        while _is_alive(pid):
            if time.monotonic() > give_up:
                raise TimeoutError(f"{self.program} (process {pid}) is still running {_STOP_S} s after its shutdown")
            time.sleep(0.05)

    def restart(self) -> None:
        self.stop()
        self.start()

    def kill(self) -> None:
        """SIGKILL; returns when the process is gone."""
        self._hang_up()
        pid = self.pid
        os.kill(pid, signal.SIGKILL)
        while _is_alive(pid):
            time.sleep(0.05)

    def crash(self) -> None:
        self.kill()
        self.start()

    def _cursor(self):
        if self._connection is None:
            self._connection = self.connect()
        return self._connection.cursor()

    def _hang_up(self) -> None:
        if self._connection is not None:
            self._connection.close()
        self._connection = None


@contextmanager
def running_server(program: str, *options: str) -> Iterator[Server]:
    """A new server with empty data, stopped and removed at the end. options: further arguments of the server program.

    Raises ServerUnavailable when the programs are not here and cannot be installed.
    """
    install(program)
    with _new_folder(program) as folder:
        server = Server(program, folder, options)
        if program != "mysql56" and not any(option.startswith(_OF_FIRST_START) for option in options):
            _run(["cp", "-r", "--sparse=always", str(_first_data(program)), str(server.datadir)])
        server.start()
        try:
            yield server
        finally:
            if (folder / _PID_FILE).exists():
                server.stop()


def _first_data(program: str) -> Path:
    """The data of a server that was started for the first time and has logged nothing: one for each of its programs.

    To copy them takes a twentieth of the time that it takes to make them.
    """
    unpacked = program in _UNPACKED
    server_file = _unpacked(program) / _PROGRAM[program] if unpacked else Path(shutil.which("mariadbd", path=_PATH))
    kept = CHECKOUT / f".cache/first-data/{program}-{server_file.resolve().stat().st_mtime_ns}"
    with _locked(kept), _new_folder(program) as folder:
        if not (kept / "data").exists():
            server = Server(program, folder, ())
            server.start()
            server.stop()
            for file in [*server.datadir.glob("binlog.*"), server.datadir / "auto.cnf"]:  # auto.cnf: MySQL's identity
                file.unlink(missing_ok=True)
            shutil.rmtree(kept / "part", ignore_errors=True)
            shutil.copytree(server.datadir, kept / "part", ignore=shutil.ignore_patterns("*.sock*"))
            (kept / "part").rename(kept / "data")
    return kept / "data"


@contextmanager
def _new_folder(program: str) -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix=f"mirrorlake-{program}-"))  # short: a socket's path has 107 bytes at most
    try:
        if program in _UNPACKED:
            (folder / "root").symlink_to(_unpacked(program) / "root")
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@cache
def install(program: str) -> None:
    """Makes the server's programs available, or a tool's; quick when they are. Raises ServerUnavailable."""
    try:
        if program in _PACKAGES:
            with _locked(CHECKOUT / ".cache/mariadb"):  # both are apt's
                _script(program, "install")
        elif not (_unpacked(program) / _PROGRAM[program]).exists():
            with _locked(_unpacked(program)):
                _script(program, "install", _unpacked(program))
    except (OSError, subprocess.CalledProcessError) as error:
        detail = getattr(error, "stderr", None) or ""
        raise ServerUnavailable(f"cannot install {program}: {error} {detail}".strip()) from error


def mysqlbinlog(*arguments: str | Path) -> str:
    """What MySQL's own mysqlbinlog prints for these arguments. Raises CalledProcessError when it complains."""
    install("mysql")
    return _script("mysql", "mysqlbinlog", _unpacked("mysql"), *arguments)


def mariadb_binlog(*arguments: str | Path) -> str:
    """What MariaDB's own mariadb-binlog prints for these arguments. Raises CalledProcessError when it complains."""
    install("mariadb")
    return _run(["mariadb-binlog", "--no-defaults", *map(str, arguments)])


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def _unpacked(program: str) -> Path:
    variable, folder = _UNPACKED[program]
    return Path(os.environ.get(variable) or CHECKOUT / ".cache" / folder)


def _script(program: str, *arguments: str | Path) -> str:
    return _run([str(_SCRIPTS[program]), *map(str, arguments)])


def _run(command: list[str]) -> str:
    done = subprocess.run(command, capture_output=True, stdin=subprocess.DEVNULL, timeout=600)
    if done.returncode:
        raise subprocess.CalledProcessError(done.returncode, command, stderr=done.stderr.decode(errors="replace"))
    return done.stdout.decode(errors="replace")


def _is_alive(pid: int) -> bool:
    try:
        return "Z" not in Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except OSError:
        return False


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / ".lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
