"""The condition that somebody types into the notebook of investigations is not trusted."""

from __future__ import annotations

import pytest

from mirrorlake.config import Options
from mirrorlake.errors import UsageError
from mirrorlake.jobs.notebook.investigate import investigate


@pytest.mark.parametrize(
    "key",
    [
        "raise_error(reflect('java.lang.System', 'getenv', 'HOME')) IS NULL",
        "raise_error((SELECT first(value) FROM text.`/etc/hostname`)) IS NULL",
        "id IN (SELECT TRANSFORM(id) USING 'touch {}' AS (x INT) FROM (SELECT 1 id))",
        "id IN (SELECT id FROM spark_catalog.default.secrets)",
        "1 = 1) OR (1 = 1",
        "1 = 1; DROP TABLE t",
        "1 = 1 UNION SELECT 1",
    ],
)
def test_a_key_is_a_condition_on_the_row_and_nothing_else(demo, spark, key, tmp_path):
    with pytest.raises(UsageError) as refused:
        investigate(Options(lake=str(demo.lakes["mysql"])), spark, key=key.format(tmp_path / "made"))
    assert refused.value.code == "sql" and "HOME" not in refused.value.message
    assert list(tmp_path.iterdir()) == []
