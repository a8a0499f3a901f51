"""Convert the keys of a drafted definition to the form in which the server keeps them.

They are spelled, named and shortened as on the server, without those that another key makes redundant.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from mirrorlake.core.ddl.parse.tokens import ParseError
from mirrorlake.core.schema.charsets import max_bytes
from mirrorlake.core.schema.keys import UNIQUE, Key, KeyPart, named
from mirrorlake.core.schema.name_case import folded
from mirrorlake.core.schema.tables import Column, Period, TableSchema
from mirrorlake.core.schema.types import BLOBS, TEXTS

_LONGEST_KEY_BYTES = {"myisam": 1000, "aria": 2000}
_LONGEST_INNODB_KEY_BYTES = 3072
_ENGINES_WITH_HASH = frozenset(("memory", "heap"))
_WITH_PREFIX = frozenset(("char", "varchar", "binary", "varbinary", "geometry", *TEXTS, *BLOBS))


def settle_keys(schema: TableSchema, flavor: str) -> tuple[Key, ...]:
    """The keys. Raises ParseError for a key on a column that the table does not have."""
    columns = {folded(column.name): column for column in schema.columns}
    spelled = [_spell(_with_period(key, schema.periods), columns) for key in schema.keys]
    settled: list[Key] = []
    for key in (key for key in spelled if not (key.is_generated and _is_needless(key, spelled))):
        found = named(key, settled, (column.name for column in schema.columns))
        settled.append(replace(found, is_hash=flavor == "mariadb" and _is_hash(found, columns, schema.engine)))
    return tuple(settled)


def _with_period(key: Key, periods: Iterable[Period]) -> Key:
    """WITHOUT OVERLAPS: the period's end and start are parts of the key."""
    period = next((p for p in periods if key.period and folded(p.name) == folded(key.period)), None)
    known = {folded(name) for name in key.columns}
    if period is None or folded(period.end) in known:
        return key
    return replace(key, parts=(*key.parts, KeyPart(period.end), KeyPart(period.start)))


def _spell(key: Key, columns: dict[str, Column]) -> Key:
    return replace(key, parts=tuple(_spell_part(part, columns) for part in key.parts))


def _spell_part(part: KeyPart, columns: dict[str, Column]) -> KeyPart:
    if part.column is None:
        return part
    column = columns.get(folded(part.column))
    if column is None:
        raise ParseError("a key names a column that the table does not have")
    length = part.length if column.type.name in _WITH_PREFIX else None
    if length is not None and column.type.length is not None and length >= column.type.length:
        length = None
    return KeyPart(column.name, length)


def _is_needless(generated: Key, keys: Iterable[Key]) -> bool:
    """A key made for a foreign key is dropped if a written one begins with its columns."""
    wanted = [folded(name) for name in generated.columns]
    for key in keys:
        begin = [folded(part.column or "") for part in key.parts[: len(wanted)]]
        if key is not generated and not key.is_generated and begin == wanted:
            return True
    return False


def _is_hash(key: Key, columns: dict[str, Column], engine: str | None) -> bool:
    """MariaDB uses a hash for a key that is too long for an index, or has USING HASH."""
    if key.kind != UNIQUE or (engine or "") in _ENGINES_WITH_HASH:
        return False
    if key.uses_hash:
        return True
    longest = _LONGEST_KEY_BYTES.get(engine or "innodb", _LONGEST_INNODB_KEY_BYTES)
    parts = [(columns[folded(part.column)], part.length) for part in key.parts if part.column is not None]
    has_whole_text = any(
        column.type.name in (*TEXTS, *BLOBS, "geometry") and length is None for column, length in parts
    )
    return has_whole_text or sum(_bytes(column, length) for column, length in parts) > longest


def _bytes(column: Column, length: int | None) -> int:
    if column.type.name not in _WITH_PREFIX:
        return 8
    return (length or column.type.length or 0) * max_bytes(column.type.charset)
