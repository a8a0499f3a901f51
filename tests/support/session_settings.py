"""Variables of a session that change what a statement means, or how it is logged."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

SETTINGS: dict[str, tuple[object, ...]] = {
    "explicit_defaults_for_timestamp": (1, 1, 0), "innodb_strict_mode": (1, 0), "foreign_key_checks": (1, 1, 0),
    "default_storage_engine": ("InnoDB", "InnoDB", "InnoDB", "MyISAM"), "binlog_row_image": ("FULL", "FULL", "MINIMAL"),
    "collation_server": ("utf8mb4_bin", "latin1_swedish_ci", "utf8mb3_general_ci", "ucs2_general_ci"),
    "sql_auto_is_null": (0, 1), "auto_increment_increment": (1, 1, 5), "sql_quote_show_create": (1, 0),
    "binlog_rows_query_log_events": (0, 1), "sql_generate_invisible_primary_key": (0, 1),
    "default_collation_for_utf8mb4": ("utf8mb4_0900_ai_ci", "utf8mb4_general_ci"), "binlog_annotate_row_events": (0, 1),
    "binlog_alter_two_phase": (0, 1), "alter_algorithm": ("'DEFAULT'", "'DEFAULT'", "'INPLACE'"),
    "character_set_collations": ("''", "'utf8mb4=utf8mb4_bin'", "'latin1=latin1_bin,utf8mb3=utf8mb3_bin'"),
}  # fmt: skip
"""Name -> values. A server has some of them."""


def random_settings(random: Random, share: float = 0.3) -> Iterator[str]:
    """Yield SET statements for a share of the variables."""
    for variable, values in SETTINGS.items():
        if random.random() < share:
            yield f"SET {variable} = {random.choice(values)}"
