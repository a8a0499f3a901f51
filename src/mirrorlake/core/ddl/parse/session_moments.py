"""Convert texts that a statement means as times in its session's time zone."""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo

_OFFSET = re.compile(r"([+-])([0-9]{1,2}):([0-9]{2})")
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_+-]*(/[A-Za-z0-9_+-]+)*")
_OF_ITS_HOST = re.compile(r"(system|localtime|posixrules|factory|posix/.*|right/.*)", re.IGNORECASE)
"""Zones that each machine means otherwise: its own, that of its installation, or with leap seconds."""
_CALL = re.compile(
    r"UNIX_TIMESTAMP\s*\(\s*'([0-9]{4}-[0-9]{2}-[0-9]{2}(?: [0-9]{2}:[0-9]{2}:[0-9]{2})?)'\s*\)", re.IGNORECASE
)
_FIRST, _END = datetime(1970, 1, 2), datetime(2038, 1, 18)
"""A range that every server accepts for a TIMESTAMP, whatever the zone."""


def as_number(sql: str, time_zone: str | None) -> str:
    """``UNIX_TIMESTAMP('2024-03-10 08:00:00')`` -> its number. Other SQL, and a time that is not certain, stay
    unchanged.

    time_zone: of the session, in the form of its event; None: not known. A time is not certain in an hour that occurs
    twice or never, and in a zone that each machine means otherwise, such as ``SYSTEM``.
    """
    call = _CALL.fullmatch(sql.strip())
    moment = call and utc_of(call[1], time_zone)
    if not call or not moment or not _FIRST <= datetime.fromisoformat(call[1]) < _END:
        return sql
    return str(int(moment.replace(tzinfo=timezone.utc).timestamp()))


def utc_of(text: str, time_zone: str | None) -> datetime | None:
    """The moment in UTC, without a zone, of a date and time of day (ISO) in a session's zone; None: not certain."""
    zone = zone_of(time_zone)
    if zone is None:
        return None
    try:
        wall_clock = datetime.fromisoformat(text)
    except ValueError:
        return None
    moments = {wall_clock.replace(tzinfo=zone, fold=fold).astimezone(timezone.utc) for fold in (0, 1)}
    return moments.pop().replace(tzinfo=None) if len(moments) == 1 else None


def zone_of(time_zone: str | None) -> tzinfo | None:
    """The zone; None: not known."""
    offset = _OFFSET.fullmatch(time_zone or "")
    if offset:
        east = timedelta(hours=int(offset[2]), minutes=int(offset[3]))
        return timezone(east if offset[1] == "+" else -east) if east < timedelta(days=1) else None
    if not time_zone or _OF_ITS_HOST.fullmatch(time_zone) or not _NAME.fullmatch(time_zone):
        return None
    try:
        return ZoneInfo(time_zone)
    except (KeyError, ValueError, OSError):  # a name that only the server's own tables have
        return None
