"""A session's time zone, as a statement's event spells it, in Spark's expressions."""

from __future__ import annotations

import re

from mirrorlake.core.sql_text import Sql, literal

_OFFSET = re.compile(r"([+-])([0-9]{1,2}):([0-9][0-9])")


def from_utc(sql: Sql, time_zone: str | None) -> Sql | None:
    """The wall clock (TIMESTAMP_NTZ) at a moment; None for the server's own zone, which the log does not name."""
    zone = _zone(time_zone)
    return zone and f"CAST(from_utc_timestamp({sql}, {literal(zone)}) AS timestamp_ntz)"


def to_utc(sql: Sql, time_zone: str | None) -> Sql | None:
    """The moment of a wall clock; None also for a named zone, whose hours may come twice or not at all."""
    zone = _zone(time_zone)
    is_fixed = zone == "UTC" or (zone is not None and _OFFSET.fullmatch(zone))
    return f"to_utc_timestamp(CAST({sql} AS timestamp), {literal(zone)})" if is_fixed and zone else None


def _zone(time_zone: str | None) -> str | None:
    if not time_zone or time_zone.upper() == "SYSTEM":
        return None
    offset = _OFFSET.fullmatch(time_zone)
    if offset:
        return f"{offset[1]}{int(offset[2]):02d}:{offset[3]}"
    return "UTC" if time_zone.upper() in ("UTC", "GMT") else time_zone
