"""Kernels in Numba's plain way: the same results, and the way that is taken when Numba has other inner parts."""

from __future__ import annotations

import os
import subprocess
import sys

import numba
import pyarrow as pa
import pytest

from mirrorlake.core.kernels import compiling
from mirrorlake.core.kernels.compiling import JIT_DISABLED, LAST_TRIED, PLAIN_VARIABLE
from mirrorlake.core.schema.tables import Column, TableSchema
from mirrorlake.core.schema.types import ColumnType
from tests.support import binlog_events
from tests.support.binlog_spec import Delete, Insert, Log, Query, RawEvent, Transaction, Update
from tests.support.binlog_writer import write_logs
from tests.support.pure_hops import assembled, bronze_of

pytestmark = pytest.mark.skipif(JIT_DISABLED, reason="nothing is compiled")

TABLE = TableSchema(
    "d", "t", (Column("id", ColumnType("int"), False), Column("v", ColumnType("bigint"), True)), ("id",)
)
SILVER = """
import sys, pyarrow as pa
from mirrorlake.core.kernels import compiling
from tests.support.pure_hops import assembled, bronze_of
assert compiling.kernel.__module__ == "mirrorlake.core.kernels.plain"
silver = assembled("mysql", bronze_of(sys.argv[1]))
with pa.OSFile(sys.argv[2], "wb") as file, pa.ipc.new_file(file, silver.schema) as writer:
    writer.write_table(silver)
"""
CHOICE = """
from mirrorlake.core.kernels.compiling import kernel
doubled = kernel(lambda number: 2 * number)
assert doubled(21) == 42
print(kernel.__module__.rsplit(".", 1)[1])
"""


def run(code: str, *arguments: str, **environment: str) -> subprocess.CompletedProcess:
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.run(
        command, env=os.environ | environment, capture_output=True, text=True, check=True, timeout=300
    )


def test_both_ways_give_the_same_silver(tmp_path):
    """Framing, checksums, groups, a tagged GTID (read by its address), row images and their hashes."""
    rows = [{"id": n, "v": None if n == 2 else 10**n} for n in range(1, 6)]
    moved = [(row, row | {"v": -1}) for row in rows]
    begin = binlog_events.query(Query("BEGIN", "d"), "mysql")
    tagged = [RawEvent(42, binlog_events.TAGGED_GTID), RawEvent(2, begin), RawEvent(16, bytes(8))]
    log = Log("mysql", [*tagged, Transaction([Insert(TABLE, rows), Update(TABLE, moved), Delete(TABLE, rows[:1])])])
    folder, out = tmp_path / "log", tmp_path / "silver.arrow"
    write_logs(folder, log)
    run(SILVER, str(folder), str(out), **{PLAIN_VARIABLE: "1", "NUMBA_OPT": "0"})
    with pa.ipc.open_file(out) as file:
        plain = file.read_all().combine_chunks()
    assert plain == assembled("mysql", bronze_of(folder)) and plain.num_rows > 10


WITHOUT = "import numba.core.{module} as parts; del parts.{name}"
UNKNOWN = "import numba; numba.version_info = numba.version_info._replace(short=(99, 0))"
ANOTHER_CALL = """
from numba import _dynfunc
make = _dynfunc.make_function
_dynfunc.make_function = lambda *others: make(*others) if others[3] else others.no_address
"""


@pytest.mark.parametrize(
    "changed",
    [
        WITHOUT.format(module="codegen", name="JITCodeLibrary"),
        WITHOUT.format(module="registry", name="CPUDispatcher"),
        WITHOUT.format(module="caching", name="UserProvidedCacheLocator"),
        UNKNOWN + ANOTHER_CALL,
    ],
    ids=["a library", "a dispatcher", "the cache", "compiling"],
)
def test_a_numba_of_other_inner_parts_compiles_in_the_plain_way_and_it_is_said_once(changed):
    done = run(f"{changed}\n{CHOICE}")
    assert done.stdout.strip() == "plain"
    assert done.stderr.count("mirrorlake does not know Numba") == 1 and done.stderr.count("\n") == 1


def test_an_unknown_numba_with_the_same_inner_parts_compiles_as_ever(tmp_path):
    done = run(f"{UNKNOWN}\n{CHOICE}", NUMBA_CACHE_DIR=str(tmp_path))
    assert (done.stdout.strip(), done.stderr) == ("pieces", "")


def test_the_numba_of_these_tests_is_known():
    assert numba.version_info.short <= LAST_TRIED
    assert os.environ.get(PLAIN_VARIABLE) == "1" or compiling.kernel.__module__ == "mirrorlake.core.kernels.pieces"
