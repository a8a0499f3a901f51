"""What a person sees of a running job."""

from __future__ import annotations

import io
import re

import pytest
from rich.console import Console

from mirrorlake.core.binlog.log_reader import ResumePoint
from mirrorlake.core.lsn_range import LsnRange
from mirrorlake.core.position import BinlogPosition, pack_lsn
from mirrorlake.errors import REFUSALS, RetryableError
from mirrorlake.jobs.run.log_bytes import LogExtent
from mirrorlake.jobs.show.view import HOPS, BarView, LineView
from mirrorlake.lake.bronze.ingest import IngestedBatch
from mirrorlake.lake.gold.apply import AppliedEpoch
from mirrorlake.lake.gold.control.epochs import ROWS, Epoch
from mirrorlake.lake.gold.control.register import REFUSED, TableEntry

SIZES = {1: 1000, 2: 500, 3: 300}
REFUSAL = TableEntry(1, "shop", "hours", REFUSED, code="column-type", reason="column opens has type time")


def ingested(first, last, n=1200):
    resume = ResumePoint(BinlogPosition("f.000003", 4), "", last)
    return IngestedBatch(LsnRange(first, last), n, 0, resume)


def test_lines_tell_hop_range_rows_and_seconds():
    out = io.StringIO()
    with LineView(Console(file=out, soft_wrap=True)) as view:
        view.ingested(ingested(-1, pack_lsn(0, 2, 480)))
        epoch = Epoch(7, ROWS, LsnRange(pack_lsn(0, 2, 480), pack_lsn(0, 3, 44)))
        view.applied(AppliedEpoch(epoch, 5000, (REFUSAL,), (("shop.orders", 1200),)))
        view.applied(AppliedEpoch(epoch, 5, (), (("crm.users", 1), ("shop.orders", 2))))
        view.retrying(RetryableError("server-lost", "gone"), 4)
    lines = re.sub(r"\d+\.\d\d s$", "S", out.getvalue(), flags=re.MULTILINE).splitlines()
    assert lines == [
        "ingest    000000:4 .. 000002:480  1,200 events  S",
        "apply     000002:480 .. 000003:44  5,000 changes  epoch 7 (rows)  S",
        "refused   shop.hours: column-type: column opens has type time",
        f"          {REFUSALS['column-type']}",
        "invalid   shop.orders: 1,200 became NULL",
        "apply     000002:480 .. 000003:44  5 changes  epoch 7 (rows)  S",
        "invalid   crm.users: 1 became NULL",
        "invalid   shop.orders: 2 became NULL",
        "again in 4 s: server-lost: gone",
    ]
    assert view.summary() == (
        "ingest 1,200 events, apply 5,005 changes; invalid values that became NULL: crm.users 1, shop.orders 1,202"
    )


def test_a_file_that_is_purged_meanwhile_has_no_size(tmp_path, monkeypatch):
    files = {1: tmp_path / "f.000001", 2: tmp_path / "f.000002"}
    files[2].write_bytes(b"1234")
    monkeypatch.setattr("mirrorlake.jobs.run.log_bytes.find_log_files", lambda folder: files)
    extent = LogExtent.of_source(None, "files:logs", BinlogPosition(files[1].name, 4), BinlogPosition("f.000003", 4), 0)
    assert (extent.sizes, extent.end) == ({2: 4}, (3, 4))


def test_bars_measure_bytes_of_log_across_files():
    extent = LogExtent(SIZES, (1, 100), (3, 300))
    places = [(1, 100), (1, 1000), (2, 4), (3, 300), (0, 4)]
    assert [extent.bytes_to(place) for place in places] == [0, 900, 904, 1700, 4 - 100]
    out = io.StringIO()
    with BarView(Console(file=out, force_terminal=True, width=150), HOPS) as view:
        view.ahead(extent)
        view.ingested(ingested(pack_lsn(0, 1, 70), pack_lsn(0, 1, 920)))
        half = view._progress.tasks[0].percentage
        view.ingested(ingested(pack_lsn(0, 1, 920), pack_lsn(0, 3, 270)))
        assert (half, view._progress.tasks[0].percentage) == (pytest.approx(100 * 850 / 1730), 100)
    assert "2,400 events" in out.getvalue()
