"""The tables of the live workload and random values for every column type that is mirrored."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime, timedelta
from decimal import Decimal
from random import Random

Value = Callable[[Random], object]

_SAMPLES = (
    "",
    "a",
    "A",
    "a ",
    " b",
    "naïve café",
    "Łódź",
    "日本語",
    "🐝🐝",
    "ß",
    "tab\there",
    "it's",
    'quo"te',
    "\\",
    "\x00z",
    "%s",
)
_LATIN1 = ("", "plain", "déjà vu", "Größe", "€ – œuvre", "ÿ")
_MARGIN = timedelta(days=1)  # room for the session's time zone at both ends of TIMESTAMP


def _integer(bits: int, unsigned: bool = False) -> Value:
    low, high = (0, 2**bits - 1) if unsigned else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    return lambda rng: rng.choice((low, high, 0, 1, rng.randint(low, high), rng.randint(low, high)))


def _decimal(precision: int, scale: int) -> Value:
    limit = 10**precision - 1  # from text: arithmetic would round to 28 digits
    return lambda rng: Decimal(f"{rng.choice((-limit, limit, 0, rng.randint(-limit, limit)))}E-{scale}")


def _text(longest: int) -> Value:
    return lambda rng: (rng.choice(_SAMPLES) * rng.choice((1, 1, 3, 50)))[:longest]


def _octets(longest: int) -> Value:
    return lambda rng: rng.randbytes(rng.randint(0, longest)) + rng.choice((b"", b"\0", b"\0\0", b" "))


def _day(rng: Random) -> date:
    return rng.choice(
        (date(1000, 1, 1), date(9999, 12, 31), date(1970, 1, 1) + timedelta(days=rng.randint(-9999, 30000)))
    )


def _moment(low: datetime, high: datetime, step_us: int) -> Value:
    """From low to high, whole steps of step_us microseconds."""
    steps = int((high - low) / timedelta(microseconds=step_us))
    return lambda rng: low + timedelta(microseconds=step_us) * rng.choice((0, steps, rng.randint(0, steps)))


_DATETIME = datetime(1000, 1, 1), datetime(9999, 12, 31, 23, 59, 59)
_TIMESTAMP = datetime(1970, 1, 1, 0, 0, 1) + _MARGIN, datetime(2038, 1, 19, 3, 14, 7) - _MARGIN

COLUMNS: dict[str, tuple[str, Value]] = {
    "i8": ("TINYINT", _integer(8)),
    "u8": ("TINYINT UNSIGNED", _integer(8, True)),
    "i16": ("SMALLINT", _integer(16)),
    "u16": ("SMALLINT UNSIGNED", _integer(16, True)),
    "i24": ("MEDIUMINT", _integer(24)),
    "u24": ("MEDIUMINT UNSIGNED", _integer(24, True)),
    "i32": ("INT", _integer(32)),
    "u32": ("INT UNSIGNED", _integer(32, True)),
    "i64": ("BIGINT", _integer(64)),
    "u64": ("BIGINT UNSIGNED", _integer(64, True)),
    "dec_small": ("DECIMAL(5,2)", _decimal(5, 2)),
    "dec_large": ("DECIMAL(38,10)", _decimal(38, 10)),
    "single": ("FLOAT", lambda rng: rng.choice((0.0, 0.1, -1.5, 3.4e38, 1e-30, rng.uniform(-1e6, 1e6)))),
    "dbl": ("DOUBLE", lambda rng: rng.choice((0.0, 0.1 + 0.2, -1e308, 1e-300, rng.gauss(0, 1e9)))),
    "bit1": ("BIT(1)", lambda rng: rng.randrange(2)),
    "bit33": ("BIT(33)", _integer(33, True)),
    "bit64": ("BIT(64)", _integer(64, True)),
    "yr": ("YEAR", lambda rng: rng.choice((1901, 2155, 1970, rng.randint(1901, 2155)))),
    "day": ("DATE", _day),
    "dt": ("DATETIME", _moment(*_DATETIME, 1_000_000)),
    "dt6": ("DATETIME(6)", _moment(*_DATETIME, 1)),
    "ts": ("TIMESTAMP", _moment(*_TIMESTAMP, 1_000_000)),
    "ts3": ("TIMESTAMP(3)", _moment(*_TIMESTAMP, 1_000)),
    "ch": ("CHAR(20)", _text(20)),
    "vc": ("VARCHAR(300)", _text(300)),
    "vc_latin1": ("VARCHAR(40) CHARACTER SET latin1", lambda rng: rng.choice(_LATIN1)),
    "vc_ascii_ci": ("VARCHAR(30) CHARACTER SET ascii", lambda rng: rng.choice(("", "x", "X y"))),
    "txt": ("TEXT", _text(600)),
    "txt_tiny": ("TINYTEXT", _text(50)),
    "txt_medium": ("MEDIUMTEXT", _text(600)),
    "txt_long": ("LONGTEXT", _text(600)),
    "bin": ("BINARY(8)", _octets(6)),
    "vbin": ("VARBINARY(300)", _octets(298)),
    "blb": ("BLOB", _octets(400)),
    "blb_tiny": ("TINYBLOB", _octets(200)),
    "blb_medium": ("MEDIUMBLOB", _octets(100)),
    "blb_long": ("LONGBLOB", _octets(100)),
    "en": ("ENUM('one','zwei','три','四')", lambda rng: rng.choice(("one", "zwei", "три", "四"))),
    "st": (
        "SET('a','b','ç','d','e','f','g','h','i','j')",
        lambda rng: ",".join(rng.sample("abçij", rng.randint(0, 5))),
    ),
}

_SUFFIX = " ENGINE=InnoDB DEFAULT CHARSET=utf8mb4"
DEFINITIONS = {
    "everything": "CREATE TABLE everything (id BIGINT NOT NULL PRIMARY KEY, "
    + ", ".join(f"{name} {sql} NULL" for name, (sql, _) in COLUMNS.items())
    + f"){_SUFFIX}",
    "accounts": "CREATE TABLE accounts (account_id INT NOT NULL PRIMARY KEY, email VARCHAR(60) NOT NULL UNIQUE,"
    f" owner VARCHAR(80) NOT NULL, balance DECIMAL(20,2) NOT NULL){_SUFFIX}",
    "ledger": "CREATE TABLE ledger (account_id INT NOT NULL, entry_no BIGINT UNSIGNED NOT NULL, amount DECIMAL(12,2)"
    f" NOT NULL, booked TIMESTAMP(6) NOT NULL, memo VARCHAR(300) NULL, PRIMARY KEY (account_id, entry_no)){_SUFFIX}",
    "words": f"CREATE TABLE words (word VARCHAR(40) NOT NULL PRIMARY KEY, seen INT NOT NULL){_SUFFIX}",
    "tokens": "CREATE TABLE tokens (token BINARY(8) NOT NULL, part TINYINT UNSIGNED NOT NULL, payload BLOB NULL,"
    f" PRIMARY KEY (token, part)){_SUFFIX}",
}
SCRATCH = f"CREATE TABLE scratch (n INT NOT NULL PRIMARY KEY, what VARCHAR(50) NULL){_SUFFIX}"
SAMPLE_WORDS = tuple(
    f"{sample}{n}" for sample in ("word", "Word", "WÖRD", "wörd", "слово", "語", "🐝") for n in range(20)
)


def random_values(rng: Random, names: list[str]) -> list[object]:
    """One value per named column of ``everything``; one in ten is NULL."""
    return [None if rng.random() < 0.1 else COLUMNS[name][1](rng) for name in names]
