"""A clone of a table's folder: the same files, and none that a link leads to."""

from __future__ import annotations

import pytest

from mirrorlake.errors import RefusedError
from mirrorlake.lake.delta.clone import check_without_links, copy_table


@pytest.fixture
def table(tmp_path):
    folder = tmp_path / "table"
    for name in ("_delta_log/00000000000000000000.json", "_delta_log/_last_checkpoint", "a=1/part.parquet", "x.crc"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(name)
    return folder


def test_a_clone_has_commits_and_data(table, tmp_path):
    copy_table(str(table), str(tmp_path / "clone"))
    files = {str(file.relative_to(tmp_path / "clone")) for file in (tmp_path / "clone").rglob("*") if file.is_file()}
    assert files == {"_delta_log/00000000000000000000.json", "a=1/part.parquet"}


@pytest.mark.parametrize("at", ["elsewhere", "_delta_log/00000000000000000001.json", "a=1/loop"])
def test_a_link_in_it_is_refused(table, tmp_path, at):
    (table / at).symlink_to(table if at.endswith("loop") else tmp_path)
    with pytest.raises(RefusedError, match="lake-damaged: .* is a symbolic link"):
        check_without_links(str(table))


def test_a_folder_that_is_a_link_is_refused(table, tmp_path):
    (tmp_path / "link").symlink_to(table)
    with pytest.raises(RefusedError, match="lake-damaged: link is a symbolic link"):
        check_without_links(str(tmp_path / "link"))
