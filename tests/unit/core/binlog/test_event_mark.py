"""An event's mark is the same wherever it is read, and another for every other event."""

from __future__ import annotations

import pytest

from mirrorlake.core.binlog.event_mark import EventMark
from mirrorlake.core.binlog.log_reader import LogReader
from mirrorlake.core.position import BinlogPosition, parse_gtid_set
from mirrorlake.mysql.binlog_files import FileSource
from tests.support.binlog_writer import write_logs
from tests.support.histories import random_history
from tests.support.log_names import LOG_NAMES


@pytest.fixture(params=["mysql", "mariadb"])
def source(request, tmp_path) -> FileSource:
    write_logs(tmp_path, random_history(3, items=10).log(request.param))
    return FileSource(tmp_path)


def blocks(source):
    return list(source.read(source.earliest(), source.current()))


def test_a_row_of_bronze_and_the_log_give_one_mark_and_all_events_differ(source):
    marks = [EventMark.of_block(block.part(i, i + 1)) for block in blocks(source) for i in range(len(block.events))]
    chunks = LogReader(None, parse_gtid_set(source.flavor, "")).read(blocks(source))
    batches = [chunk.batch for chunk in chunks]
    assert marks == [EventMark.of_last(batch.slice(i, 1)) for batch in batches for i in range(batch.num_rows)]
    assert len({mark.digest for mark in marks}) == len(marks)
    assert [EventMark.parse(str(mark)) for mark in marks] == marks


def test_a_file_in_use_has_the_mark_of_the_closed_one(source):
    (block,) = blocks(source)[:1]
    before = EventMark.of_block(block)
    block.buf[block.events.offset[0] + 17] ^= 1
    assert EventMark.of_block(block) == before
    block.buf[block.events.offset[0] + 18] ^= 1
    assert EventMark.of_block(block) != before


@pytest.mark.parametrize("name", LOG_NAMES)
def test_a_mark_is_parsed_as_it_was_written(name):
    mark = EventMark(BinlogPosition(name, 154), 231, "8badf00d8badf00d")
    assert EventMark.parse(str(mark)) == mark


@pytest.mark.parametrize("text", ["", "binlog.000001:4", "binlog.000001:4-120", "binlog.000001:4-120 8badf00d"])
def test_what_is_no_mark_is_refused(text):
    with pytest.raises(ValueError):
        EventMark.parse(text)
