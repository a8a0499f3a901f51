"""How long the files of deleted log stay."""

from __future__ import annotations

import pytest

from mirrorlake.jobs.maintenance import log_retention


@pytest.mark.parametrize(
    ("retention_days", "bronze_days", "days"),
    [(30, None, 30), (30, 0, 7), (30, 6, 7), (30, 10, 10), (30, 90, 30), (60, 45, 45)],
)
def test_files_of_deleted_log_stay_as_long_as_the_log_did_but_seven_days(retention_days, bronze_days, days):
    assert log_retention(retention_days, bronze_days) == days
