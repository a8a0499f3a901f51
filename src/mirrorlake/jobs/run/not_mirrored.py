"""What a run says of its server's tables: patterns that fit none, tables without a mirror."""

from __future__ import annotations

from mirrorlake.config import Options
from mirrorlake.jobs.run.chosen_tables import fits_none, unused_columns
from mirrorlake.jobs.run.password import warn
from mirrorlake.lake.delta.lake import Lake
from mirrorlake.lake.gold.control.register import STREAMING, TableRegister
from mirrorlake.mysql.connection import ServerConnection
from mirrorlake.mysql.source_tables import ListTooLong, table_names


def warn_of_unused(lake: Lake, control: ServerConnection, options: Options) -> None:
    """Warn of patterns that fit no table of the server or the lake, and of patterns of ``columns`` that fit no column:
    one may be created later, or be misspelled.

    A user without SELECT sees no table, and gets no warning. options: from ``as_compared``.
    """
    try:
        seen = table_names(control.query, lake.name_case.fold)
    except ListTooLong as error:
        warn(f"whether patterns fit tables is not checked: {error}")
        return
    if seen and options.patterns.unused(seen):
        names = seen | {entry.name for entry in TableRegister.read(lake)}
        for pattern in options.patterns.unused(names):
            warn(fits_none(pattern, names))
    for fault in unused_columns(control, options, seen) if seen else ():
        warn(fault)


def count_not_mirrored(lake: Lake, control: ServerConnection, options: Options) -> int:
    """How many tables of the server the options choose and no mirror follows; 0 if they are too many to look at.
    options: from ``as_compared``."""
    try:
        seen = table_names(control.query, lake.name_case.fold)
    except ListTooLong:
        return 0
    streaming = {entry.name for entry in TableRegister.read(lake) if entry.state == STREAMING}
    return sum(options.wants(*name) for name in seen - streaming)
