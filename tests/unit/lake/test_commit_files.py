"""Commit files that Delta did not write: each is ``lake-damaged``, whatever is wrong with it."""

from __future__ import annotations

import json
import os

import pytest

from mirrorlake.errors import RefusedError
from mirrorlake.lake.delta.commit_files import read_entries

COMMIT = "00000000000000000000.json"


@pytest.mark.parametrize(
    "content",
    [
        b'{"commitInfo": ',
        b'{"commitInfo": {"operation": "\xff"}}',
        b'["commitInfo"]',
        b'{"commitInfo": []}',
        b'{"commitInfo": ' + b"[" * 100_000,
        *(
            json.dumps({"commitInfo": info}).encode()
            for info in (
                {"inCommitTimestamp": 1e30},
                {"inCommitTimestamp": 1e20},
                {"inCommitTimestamp": "now"},
                {"operationParameters": ["version"]},
                {"operationParameters": 7},
            )
        ),
    ],
)
def test_a_commit_that_is_not_as_delta_writes_it(tmp_path, content):
    log = tmp_path / "table/_delta_log"
    log.mkdir(parents=True)
    (log / COMMIT).write_bytes(content)
    with pytest.raises(RefusedError, match=r"lake-damaged: commit 0 cannot be read \(table .*/table\)"):
        list(read_entries(log))


def test_a_pipe_in_place_of_a_commit_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / COMMIT)
    with pytest.raises(RefusedError, match="lake-damaged"):
        list(read_entries(tmp_path))
