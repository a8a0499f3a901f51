"""Use a session's time zone, in the form of a statement's event, in Spark's expressions."""

from __future__ import annotations

import re

from mirrorlake.core.ddl.parse.session_moments import zone_of
from mirrorlake.core.sql_text import Sql, literal

_OFFSET = re.compile(r"([+-])([0-9]{1,2}):([0-9][0-9])")


def from_utc(sql: Sql, time_zone: str | None) -> Sql | None:
    """The wall clock (TIMESTAMP_NTZ) at a moment; None for a zone that is not known, such as the server's own."""
    zone = _zone(time_zone)
    return zone and f"CAST(from_utc_timestamp({sql}, {literal(zone)}) AS timestamp_ntz)"


def to_utc(sql: Sql, time_zone: str | None) -> tuple[Sql, Sql | None] | None:
    """Return (the moment of a wall clock, condition: it occurs twice or never); None as above.

    The moment follows from the offsets of the zone a day before and a day after: if both lead back to the wall clock,
    they are equal, or the time occurs twice.
    """
    zone = _zone(time_zone)
    if not zone:
        return None
    clock, name = f"CAST({sql} AS timestamp)", literal(zone)
    if zone == "UTC" or _OFFSET.fullmatch(zone):
        return f"to_utc_timestamp({clock}, {name})", None
    before = f"(to_utc_timestamp({clock} - INTERVAL 1 DAY, {name}) + INTERVAL 1 DAY)"
    after = f"(to_utc_timestamp({clock} + INTERVAL 1 DAY, {name}) - INTERVAL 1 DAY)"
    leads_back, does_too = (f"from_utc_timestamp({moment}, {name}) = {clock}" for moment in (before, after))
    comes_twice = f"{leads_back} AND {does_too} AND {before} <> {after}"
    return f"IF({leads_back}, {before}, {after})", f"NOT ({leads_back} OR {does_too}) OR ({comes_twice})"


def _zone(time_zone: str | None) -> str | None:
    if time_zone and time_zone.upper() in ("UTC", "GMT"):
        return "UTC"
    if not time_zone or not zone_of(time_zone):
        return None
    offset = _OFFSET.fullmatch(time_zone)
    return f"{offset[1]}{int(offset[2]):02d}:{offset[3]}" if offset else time_zone
