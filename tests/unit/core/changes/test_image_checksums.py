"""Silver whose rows have been changed, lost or doubled: the transaction is found, and no other one."""

from __future__ import annotations

from random import Random

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from mirrorlake.core.changes.image_checksums import READ, damaged
from tests.support.histories import random_history
from tests.support.pure_hops import assembled, bronze, cut_anywhere


@pytest.fixture(scope="module")
def silver(seed, tmp_path_factory) -> pa.Table:
    events = bronze(tmp_path_factory.mktemp("logs"), random_history(seed, items=60).log("mariadb"))
    return assembled("mariadb", events).select(READ).combine_chunks()


def found(table: pa.Table, seed: int) -> list[dict]:
    return [row for part in damaged(cut_anywhere(table.to_batches(), Random(seed))) for row in part.to_pylist()]


def commit_after(silver: pa.Table, row: int) -> dict:
    ops = silver["op"].to_pylist()
    return silver.slice(ops.index("COMMIT", row), 1).to_pylist()[0]


def changed_rows(silver: pa.Table, seed: int) -> list[int]:
    return Random(seed).sample(pc.indices_nonzero(pc.is_valid(silver["after"])).to_pylist(), 8)


def test_silver_as_it_was_written_fits_however_it_is_cut(silver, seed):
    assert silver.num_rows > 100 and found(silver, seed) == []


@pytest.mark.parametrize("change", [-1, 0, 1], ids=["lost", "other bytes", "doubled"])
def test_a_damaged_transaction_is_found_and_no_other(silver, seed, change):
    for row in changed_rows(silver, seed):
        one = silver.slice(row, 1)
        if change == 0:
            image = one["after"][0].as_py()
            value = bytes([*image["value"][:-1], image["value"][-1] ^ 1])
            column = pa.array([{**image, "value": value}], one.schema.field("after").type)
            one = one.set_column(one.schema.get_field_index("after"), "after", column)
        between = [[], [one], [one, one]][change + 1]
        commit = commit_after(silver, row)
        assert found(pa.concat_tables([silver.slice(0, row), *between, silver.slice(row + 1)]), seed) == [
            {"tx_lsn": commit["tx_lsn"], "gtid": commit["gtid"], "changes": commit["changes"],
             "found": commit["changes"] + change}
        ]  # fmt: skip


def test_a_transaction_whose_beginning_has_been_deleted_is_left_out(silver, seed):
    first = silver["op"].to_pylist().index("BEGIN")
    assert found(silver.slice(first + 1), seed) == []
