"""Row changes that a transaction's own statements roll back are left out of silver, and silver says so."""

from __future__ import annotations

import tracemalloc
from datetime import datetime, timezone
from random import Random

import numpy as np
import pyarrow as pa
import pytest

from mirrorlake.core.binlog.rows.decode import UNCLEAR as UNCLEAR_ROWS
from mirrorlake.core.changes import undone
from mirrorlake.core.changes.assembler import CHANGE_SCHEMA, Assembler
from mirrorlake.core.changes.bronze_events import BRONZE_COLUMNS, BronzeEvents
from mirrorlake.core.changes.opened_events import open_events
from mirrorlake.core.changes.undone import (
    LEFT_OUT,
    Segments,
    Undone,
    UndoneMask,
    _Savepoints,
    undone_rows,
    undone_segments,
)
from mirrorlake.core.schema.tables import Column, TableSchema
from mirrorlake.core.schema.types import ColumnType
from tests.support.binlog_events import frame, query
from tests.support.binlog_spec import Insert, Log, Query, Statement, Transaction
from tests.support.linear_time import assert_linear
from tests.support.pure_hops import bronze, cut_anywhere
from tests.support.silver_rows import checksums, silver_rows

T = TableSchema("d", "t", (Column("id", ColumnType("int"), False), Column("v", ColumnType("int"), True)), ("id",))
FLAVORS = pytest.mark.parametrize("flavor", ["mysql", "mariadb"])


def row(number: int) -> Statement:
    return Statement([Insert(T, [{"id": number, "v": number}])], f"INSERT {number}")


def told(silver: pa.Table) -> list[str]:
    """INSERT 3 (its text), ROLLBACK TO `a`, COMMIT 2: one line for each row but BEGIN."""
    found = []
    schema = {T.schema_id: T}
    for change, text in zip(silver_rows(silver.to_batches(), schema), silver["statement"].to_pylist(), strict=True):
        if change[0] == "COMMIT":
            found.append(f"COMMIT {change[1]}")
        elif change[0] == "REFUSED":
            found.append(change[2])
        elif change[0] != "BEGIN":
            assert change[0] == "ROLLBACK" or change[2:] == (None, f'{{"id": "{text[7:]}", "v": "{text[7:]}"}}'), change
            found.append(text)
    return found


def silver_of(folder, items, *, end="xid", flavor="mariadb", random=None, **given) -> list[str]:
    """Of a transaction with these rows (numbers) and statements (texts), between two others."""
    statements = [row(item) if isinstance(item, int) else Query(item, "d") for item in items]
    transactions = [Transaction([row(1000)]), Transaction(statements, end=end), Transaction([row(1001)])]
    events = bronze(folder, Log(flavor, transactions, **given))
    rolled_back = Undone.of(list(open_events(events)))
    batches = cut_anywhere(events, random) if random else events
    silver = pa.Table.from_batches(Assembler(flavor, undone=rolled_back).assemble(batches), CHANGE_SCHEMA)
    assert all(recorded == computed for recorded, computed in checksums(silver.to_batches()))
    first, *found, last = told(silver)
    assert (first, found.pop(0), found.pop(), last) == ("INSERT 1000", "COMMIT 1", "INSERT 1001", "COMMIT 1")
    return found


UNCLEAR = (
    "row-event: a ROLLBACK TO names a savepoint that its transaction does not have, or two by their accents, so which"
    " of its row changes hold is not known"
)
TRANSACTIONS = {
    "to a savepoint": (
        [1, "SAVEPOINT `a`", 2, 3, "ROLLBACK TO `a`", 4],
        ["INSERT 1", "ROLLBACK TO `a`", "INSERT 4", "COMMIT 2"],
    ),
    "twice to the same one, which stays": (
        [1, "SAVEPOINT `a`", 2, "ROLLBACK TO `a`", 3, "ROLLBACK TO `a`", 4],
        ["INSERT 1", "ROLLBACK TO `a`", "ROLLBACK TO `a`", "INSERT 4", "COMMIT 2"],
    ),
    "nested": (
        [1, "SAVEPOINT `a`", 2, "SAVEPOINT `b`", 3, "ROLLBACK TO `b`", 4, "SAVEPOINT `c`", 5, "ROLLBACK TO `c`", 6,
         "ROLLBACK TO `a`", 7],
        ["INSERT 1", "ROLLBACK TO `b`", "ROLLBACK TO `c`", "ROLLBACK TO `a`", "INSERT 7", "COMMIT 2"],
    ),  # fmt: skip
    "of two with one name the later": (
        [1, "SAVEPOINT `a`", 2, "SAVEPOINT `A`", 3, "ROLLBACK TO `a`", 4],
        ["INSERT 1", "INSERT 2", "ROLLBACK TO `a`", "INSERT 4", "COMMIT 3"],
    ),
    "one below a name that was taken again": (
        [1, "SAVEPOINT `a`", 2, "SAVEPOINT `b`", 3, "SAVEPOINT `a`", 4, "ROLLBACK TO `b`", 5],
        ["INSERT 1", "INSERT 2", "ROLLBACK TO `b`", "INSERT 5", "COMMIT 3"],
    ),
    "a released one is gone, and those after it": (
        [1, "SAVEPOINT `a`", 2, "RELEASE SAVEPOINT `a`", 3, "SAVEPOINT `a`", 4, "ROLLBACK TO `a`"],
        ["INSERT 1", "INSERT 2", "INSERT 3", "ROLLBACK TO `a`", "COMMIT 3"],
    ),
    "quoted": (
        [1, 'SAVEPOINT "x`""y"', 2, 'ROLLBACK TO "x`""Y"', "SAVEPOINT `p``q`", 3, 'ROLLBACK TO "P`Q"'],
        ["INSERT 1", 'ROLLBACK TO "x`""Y"', 'ROLLBACK TO "P`Q"', "COMMIT 1"],
    ),
    "not quoted": ([1, "SAVEPOINT p", 2, "ROLLBACK TO P"], ["INSERT 1", "ROLLBACK TO P", "COMMIT 1"]),
    "but for accents": (
        [1, "SAVEPOINT `é ß ς`", 2, "ROLLBACK TO `E s Σ`"], ["INSERT 1", "ROLLBACK TO `E s Σ`", "COMMIT 1"],
    ),
    "of two that differ by accents the last": (
        [1, "SAVEPOINT `e`", 2, "SAVEPOINT `é`", 3, "ROLLBACK TO `É`"],
        ["INSERT 1", "INSERT 2", "ROLLBACK TO `É`", "COMMIT 2"],
    ),
    "of two that differ by accents the first, which one server has and another has not": (
        [1, "SAVEPOINT `e`", 2, "SAVEPOINT `é`", 3, "ROLLBACK TO `e`", 4],
        [UNCLEAR, UNCLEAR, UNCLEAR, "ROLLBACK TO `e`", "INSERT 4", "COMMIT 1"],
    ),
    "to one that is not in the log": (
        [1, "SAVEPOINT `a`", 2, "ROLLBACK TO `b`", 3],
        [UNCLEAR, UNCLEAR, "ROLLBACK TO `b`", "INSERT 3", "COMMIT 1"],
    ),
}  # fmt: skip


@FLAVORS
@pytest.mark.parametrize("name", TRANSACTIONS)
def test_row_changes_after_a_savepoint_are_left_out(tmp_path, flavor, name):
    items, expected = TRANSACTIONS[name]
    assert silver_of(tmp_path, items, flavor=flavor) == expected


@FLAVORS
def test_row_changes_of_a_transaction_that_is_rolled_back_are_left_out(tmp_path, flavor):
    assert silver_of(tmp_path, [1, "SAVEPOINT `a`", 2], flavor=flavor, end="ROLLBACK") == ["ROLLBACK", "COMMIT 0"]


@FLAVORS
def test_it_is_the_same_compressed_and_however_the_log_is_cut(tmp_path, flavor, seed):
    items, expected = TRANSACTIONS["nested"]
    random = Random(seed)
    for number in range(10):
        folder = tmp_path / str(number)
        found = silver_of(folder, items, flavor=flavor, random=random, compression=number % 2 == 1)
        assert found == expected, f"seed {seed}, number {number}"


def test_savepoints_take_time_that_grows_with_their_number_and_no_faster():
    def read(n: int) -> None:
        savepoints = _Savepoints()
        for k in range(n):
            savepoints.after(f"SAVEPOINT `s{k}`")
        assert all(savepoints.after(f"ROLLBACK TO `S{n - 1}`") for _ in range(n))
        assert savepoints.after("ROLLBACK TO `s0`") == (1, 2 * n + 1, LEFT_OUT)
        assert savepoints.after("ROLLBACK TO `s1`")[:2] == (0, 2 * n + 2)

    assert_linear(read, int, 1_000)


def batch_of(statements: list[str]) -> pa.RecordBatch:
    """Statements of one transaction, and a row change after each."""
    kinds = [kind for text in statements for kind in ((2, query(Query(text, "d"), "mysql")), (30, bytes(8)))]
    raws = [frame(kind, body, timestamp=0, server_id=1, start=4, flags=0, checksum=False) for kind, body in kinds]
    n, at = len(raws), datetime(2026, 1, 2, tzinfo=timezone.utc)
    columns = [range(9, 9 + n), [9] * n, [kind for kind, _ in kinds], [at] * n, pa.nulls(n, pa.string()),
               pa.nulls(n, pa.bool_()), ["binlog.000001"] * n, range(n), raws]  # fmt: skip
    return pa.RecordBatch.from_arrays(list(map(pa.array, columns)), list(BRONZE_COLUMNS))


def test_of_two_statements_that_undo_a_row_change_the_later_one_counts(seed):
    random = Random(seed)
    for _ in range(300):
        verbs = random.choices(("SAVEPOINT", "ROLLBACK TO", "RELEASE SAVEPOINT"), (3, 3, 1), k=random.randrange(1, 12))
        texts = [f"{verb} `{random.choice('aeéb')}`" for verb in verbs]
        savepoints, expected = _Savepoints(), [30] * len(texts)
        for text in texts:
            first, stop, instead = savepoints.after(text) or (0, 0, 0)
            expected[max(first - 1, 0) : max(stop - 1, 0)] = [instead] * (max(stop - 1, 0) - max(first - 1, 0))
        batch = batch_of(texts)
        mask, cut = UndoneMask(Undone.of([batch])), random.randrange(1, batch.num_rows)
        found = [mask.event_types(BronzeEvents(part)) for part in (batch[:cut], batch[cut:])]
        assert np.concatenate(found)[1::2].tolist() == expected, f"seed {seed}: {texts}"


@pytest.mark.parametrize("texts", [["SAVEPOINT a", "ROLLBACK TO a"], ["ROLLBACK TO a", "SAVEPOINT a"]])
def test_what_is_rolled_back_to_takes_time_that_grows_with_its_number_and_no_faster(texts):
    def read(batch: pa.RecordBatch) -> None:
        UndoneMask(Undone.of([batch])).event_types(BronzeEvents(batch))

    assert_linear(read, lambda n: batch_of(texts * n), 3_000)


@pytest.mark.parametrize("texts", [["SAVEPOINT s{}"], ["SAVEPOINT a", "ROLLBACK TO a"]])
def test_of_a_transaction_with_too_many_savepoints_it_is_not_known_what_is_undone(texts, monkeypatch):
    monkeypatch.setattr(undone, "MOST_SAVEPOINTS", 10)

    def found(n: int) -> set[int]:
        batch = batch_of([text.format(k) for k in range(n) for text in texts] + ["ROLLBACK TO b"])
        return set(UndoneMask(Undone.of([batch])).event_types(BronzeEvents(batch))[1::2].tolist())

    assert found(20) == {UNCLEAR_ROWS}
    assert Undone.of([batch_of(["SAVEPOINT a"] * 20 + ["ROLLBACK TO a"])]).rows.tolist() == [[9, 20, 21, 0]]


def test_a_name_that_no_savepoint_has_takes_no_memory():
    text = f"SAVEPOINT `{'x' * (4 << 20)}`"
    tracemalloc.start()
    _Savepoints().after(text)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 2 * len(text)


def test_what_is_undone_is_counted_in_query_events_of_the_group(tmp_path):
    items = [row(1), Query("SAVEPOINT `a`", "d"), row(2), Query("ROLLBACK TO `a`", "d")]
    events = bronze(tmp_path, Log("mysql", [Transaction(items), Transaction([row(3)], end="ROLLBACK")]))
    first, second = sorted({tx for batch in events for tx in batch["tx_lsn"].to_pylist() if tx in Undone.of(events)})
    expected = [Segments(first, 2, 3, 0), Segments(second, 0, 2**63 - 1, 0)]  # the first is after BEGIN and SAVEPOINT
    assert list(undone_segments(events)) == expected
    assert [Segments(**row) for batch in undone_rows(events) for row in batch.to_pylist()] == expected
