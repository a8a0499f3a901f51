"""DATE, DATETIME, TIMESTAMP: row image -> VARIANT.

A zero or impossible date, which no calendar has, becomes a string, as the server shows it: ``2020-02-00 00:00:00.000``.
Address read = -1: no server can hold such a value.

Storage formats: MySQL ``mysys/my_time.cc``. Kernels as in ``numeric``.
"""

from __future__ import annotations

import numpy as np

from mirrorlake.core.kernels.memory import kernel, peek_u32, peek_u64
from mirrorlake.core.values import variant
from mirrorlake.core.values.clock_text import write_clock, write_date
from mirrorlake.core.values.digits import write_byte
from mirrorlake.core.values.numeric import load_big_endian, peek_u24
from mirrorlake.core.values.variant import put_long, put_string_header, put_word

_DATE, _TIMESTAMP, _TIMESTAMP_NTZ = variant.DATE, variant.TIMESTAMP, variant.TIMESTAMP_NTZ
DAY_US = 86_400_000_000


def fraction_bytes(digits: int) -> int:
    """Bytes of ``digits`` (0-6) fractional digits."""
    return (digits + 1) // 2


@kernel
def days_from_civil(year, month, day):
    """Days since 1970-01-01 in the proleptic Gregorian calendar."""
    if month <= 2:
        year -= 1
    era = year // 400
    year_of_era = year - era * 400
    shifted_month = month - 3 if month > 2 else month + 9
    day_of_year = (153 * shifted_month + 2) // 5 + day - 1
    return era * 146097 + year_of_era * 365 + year_of_era // 4 - year_of_era // 100 + day_of_year - 719468


@kernel
def civil_from_days(days):
    """(year, month, day): the inverse of ``days_from_civil``."""
    shifted = days + 719468
    era = shifted // 146097
    day_of_era = shifted - era * 146097
    year_of_era = (day_of_era - day_of_era // 1460 + day_of_era // 36524 - day_of_era // 146096) // 365
    day_of_year = day_of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    shifted_month = (5 * day_of_year + 2) // 153
    month = shifted_month + 3 if shifted_month < 10 else shifted_month - 9
    year = year_of_era + era * 400 + (1 if month <= 2 else 0)
    return year, month, day_of_year - (153 * shifted_month + 2) // 5 + 1


@kernel
def is_date(year, month, day):
    """Is it a valid date? Spark's calendar begins with year 1."""
    if year < 1 or month < 1 or month > 12 or day < 1:
        return False
    if day <= 28:
        return True
    if month == 2:
        return day == 29 and year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    return day <= 30 or (day == 31 and month != 4 and month != 6 and month != 9 and month != 11)


@kernel
def load_fraction_us(p, digits):
    if digits == 0:
        return np.int64(0)
    if digits <= 2:
        return load_big_endian(p, 1) * 10000
    if digits <= 4:
        return load_big_endian(p, 2) * 100
    return load_big_endian(p, 3)


@kernel
def put_date(p, o):
    """3 bytes: year << 9 | month << 5 | day."""
    value = peek_u24(p)
    year, month, day = value >> 9, value >> 5 & 15, value & 31
    if is_date(year, month, day):
        return p + 3, put_word(o, _DATE, np.uint32(days_from_civil(year, month, day) & 0xFFFFFFFF))
    if not _can_be_shown(year, month, day):
        return np.int64(-1), o
    return p + 3, _close_text(o, write_date(o + 1, year, month, day))


@kernel
def _can_be_shown(year, month, day):
    return year <= 9999 and month <= 12 and day <= 31


@kernel
def _close_text(o, end):
    """A string of fewer than 64 bytes, written to ``o + 1 .. end``."""
    put_string_header(o, end - o - 1)
    return end


@kernel
def _put_datetime_parts(p, year, month, day, hour, minute, second, fraction_us, digits, o):
    if hour > 23 or minute > 59 or second > 59 or fraction_us > 999999 or not _can_be_shown(year, month, day):
        return np.int64(-1), o
    if is_date(year, month, day):
        time_us = (hour * 3600 + minute * 60 + second) * 1000000 + fraction_us
        return p, put_long(o, _TIMESTAMP_NTZ, np.uint64(days_from_civil(year, month, day) * DAY_US + time_us))
    behind_date = write_byte(write_date(o + 1, year, month, day), 32)
    return p, _close_text(o, write_clock(behind_date, hour, minute, second, fraction_us, digits))


@kernel
def _put_timestamp_parts(p, seconds, fraction_us, digits, o):
    """All zero = the zero date."""
    if fraction_us > 999999:
        return np.int64(-1), o
    if seconds == 0 and fraction_us == 0:
        zero = np.int64(0)
        behind_date = write_byte(write_date(o + 1, zero, zero, zero), 32)
        return p, _close_text(o, write_clock(behind_date, zero, zero, zero, zero, digits))
    return p, put_long(o, _TIMESTAMP, np.uint64(seconds * 1000000 + fraction_us))


@kernel
def put_datetime(p, digits, o):
    """5 bytes, big-endian, minus 0x8000000000: (year * 13 + month) << 22 | day << 17 | hour << 12 | min << 6 | s."""
    value = load_big_endian(p, 5) - 0x8000000000
    behind = p + 5 + (digits + 1) // 2
    year_month = value >> 22
    year = year_month // 13
    if value < 0:
        return np.int64(-1), o
    return _put_datetime_parts(
        behind, year, year_month - year * 13, value >> 17 & 31, value >> 12 & 31, value >> 6 & 63, value & 63,
        load_fraction_us(p + 5, digits), digits, o,
    )  # fmt: skip


@kernel
def put_old_datetime(p, o):
    """Storage before MySQL 5.6: 8 bytes, the decimal number YYYYMMDDhhmmss."""
    value = np.int64(peek_u64(p))
    date, time = value // 1000000, value % 1000000
    if value < 0:
        return np.int64(-1), o
    return _put_datetime_parts(
        p + 8, date // 10000, date // 100 % 100, date % 100, time // 10000, time // 100 % 100, time % 100, np.int64(0),
        np.int64(0), o,
    )  # fmt: skip


@kernel
def put_old_fine_datetime(p, n_bytes, digits, unit_us, o):
    """MariaDB before 10.1: big-endian, the number of units of its last digit: ((((year * 13 + month) * 32 + day) * 24 +
    hour) * 60 + minute) * 60 + second, and the fraction (``Field_datetime_hires`` in MariaDB's ``sql/field.cc``)."""
    value = load_big_endian(p, n_bytes)
    units = 1000000 // unit_us
    seconds = value // units
    minutes, day = seconds // 60, seconds // 86400
    month = day >> 5
    if value < 0:
        return np.int64(-1), o
    return _put_datetime_parts(
        p + n_bytes, month // 13, month % 13, day & 31, minutes // 60 % 24, minutes % 60, seconds % 60,
        (value - seconds * units) * unit_us, digits, o,
    )  # fmt: skip


@kernel
def put_old_fine_timestamp(p, n_bytes, digits, unit_us, o):
    """MariaDB before 10.1: 4 bytes, big-endian, seconds in UTC, and a fraction in units of its last digit."""
    seconds, fraction_us = load_big_endian(p, 4), load_big_endian(p + 4, n_bytes - 4) * unit_us
    return _put_timestamp_parts(p + n_bytes, seconds, fraction_us, digits, o)


@kernel
def put_timestamp(p, digits, o):
    """4 bytes, big-endian, seconds in UTC and a fraction."""
    behind = p + 4 + (digits + 1) // 2
    return _put_timestamp_parts(behind, load_big_endian(p, 4), load_fraction_us(p + 4, digits), digits, o)


@kernel
def put_old_timestamp(p, o):
    """Storage before MySQL 5.6: 4 bytes, little-endian."""
    return _put_timestamp_parts(p + 4, np.int64(peek_u32(p)), np.int64(0), np.int64(0), o)
