"""Delta's JAR for each line of Spark, under the names that Maven Central has."""

from __future__ import annotations

import pytest

from mirrorlake.lake.delta.session import delta_coordinates


@pytest.mark.parametrize(
    ("spark", "delta", "expected"),
    [
        ("4.0.0", "4.0.0", "io.delta:delta-spark_2.13:4.0.0"),
        ("4.0.1", "4.0.1", "io.delta:delta-spark_2.13:4.0.1"),
        ("4.0.1", "4.1.0", "io.delta:delta-spark_4.0_2.13:4.1.0"),
        ("4.1.0", "4.3.1", "io.delta:delta-spark_4.1_2.13:4.3.1"),
        ("4.2.0", "4.4.0", "io.delta:delta-spark_4.2_2.13:4.4.0"),
    ],
)
def test_each_line_of_spark_has_its_jar(spark, delta, expected):
    assert delta_coordinates(spark, delta) == expected
