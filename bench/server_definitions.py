"""A table's definition as a server's information_schema shows it, and the same facts of a definition of ours."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass, field

from mirrorlake.core.schema.charsets import BINARY
from mirrorlake.core.schema.keys import PRIMARY, ROW_CHANGING_ACTIONS, UNIQUE
from mirrorlake.core.schema.tables import Column, TableSchema
from mirrorlake.core.schema.types import BLOBS, INTEGERS, TEXTS

_COLUMNS = """SELECT TABLE_NAME, COLUMN_NAME, DATA_TYPE, COLUMN_TYPE, IS_NULLABLE, CHARACTER_MAXIMUM_LENGTH,
    NUMERIC_PRECISION, NUMERIC_SCALE, DATETIME_PRECISION, CHARACTER_SET_NAME, COLLATION_NAME, COLUMN_DEFAULT, EXTRA
    FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = %s ORDER BY TABLE_NAME, ORDINAL_POSITION"""
_KEYS = """SELECT TABLE_NAME, INDEX_NAME, NON_UNIQUE, COLUMN_NAME, SUB_PART, INDEX_TYPE
    FROM information_schema.STATISTICS WHERE TABLE_SCHEMA = %s ORDER BY TABLE_NAME, INDEX_NAME, SEQ_IN_INDEX"""
_PARTITIONS = """SELECT TABLE_NAME, PARTITION_NAME, SUBPARTITION_NAME, PARTITION_METHOD, SUBPARTITION_METHOD
    FROM information_schema.PARTITIONS WHERE TABLE_SCHEMA = %s AND PARTITION_NAME IS NOT NULL
    ORDER BY TABLE_NAME, PARTITION_ORDINAL_POSITION, SUBPARTITION_ORDINAL_POSITION"""
_TABLES = "SELECT TABLE_NAME, TABLE_TYPE, ENGINE FROM information_schema.TABLES WHERE TABLE_SCHEMA = %s"
_FOREIGN = """SELECT TABLE_NAME, DELETE_RULE, UPDATE_RULE, REFERENCED_TABLE_NAME
    FROM information_schema.REFERENTIAL_CONSTRAINTS WHERE CONSTRAINT_SCHEMA = %s"""
_MERGE = "mrg_myisam"  # has no rows nor keys of its own
_GEOMETRY = frozenset(
    "point linestring polygon multipoint multilinestring multipolygon geometrycollection geomcollection".split()
)
_LITERALS = frozenset(("string", "number", "bits"))


@dataclass
class Facts:
    """What is compared, by aspect. Prefix lengths of keys that are not unique are not: the server shortens them."""

    columns: list[tuple] = field(default_factory=list)
    defaults: list[tuple] = field(default_factory=list)
    attributes: list[tuple] = field(default_factory=list)
    collations: list[tuple] = field(default_factory=list)
    keys: dict[str, tuple] = field(default_factory=dict)
    partitions: tuple = ()
    foreign_keys: list[tuple] = field(default_factory=list)  # those that change rows

    def differences(self, ours: Facts) -> list[str]:
        aspects = ("columns", "defaults", "attributes", "collations", "keys", "partitions", "foreign_keys")
        return [f"{name}: server {_difference(getattr(self, name), getattr(ours, name))}"
                for name in aspects if getattr(self, name) != getattr(ours, name)]  # fmt: skip


def _difference(server, ours) -> str:
    if isinstance(server, list) and len(server) == len(ours):
        server, ours = next((a, b) for a, b in zip(server, ours, strict=True) if a != b)
    elif isinstance(server, dict):
        names = [n for n in {**server, **ours} if server.get(n) != ours.get(n)]
        server, ours = {n: server.get(n) for n in names}, {n: ours.get(n) for n in names}
    return f"{server}, ours {ours}"


def read_facts(cursor, database: str, flavor: str) -> dict[str, Facts]:
    """Every base table of the database."""
    cursor.execute(_TABLES, (database,))
    engines = {n: (e or "").lower() for n, kind, e in cursor.fetchall() if kind in ("BASE TABLE", "SYSTEM VERSIONED")}
    found: dict[str, Facts] = defaultdict(Facts)
    cursor.execute(_COLUMNS, (database,))
    for row in cursor.fetchall():
        _take_column(found[row[0]], row, flavor)
    cursor.execute(_KEYS, (database,))
    for table, name, non_unique, column, length, kind in cursor.fetchall():
        known = found[table].keys.get(name, (_key_kind(name, non_unique, kind),))
        found[table].keys[name] = (*known, (column, None if non_unique else length))
    cursor.execute(_PARTITIONS, (database,))
    parts = defaultdict(list)
    for table, *rest in cursor.fetchall():
        parts[table].append(rest)
    for table, rows in parts.items():
        found[table].partitions = (rows[0][2], rows[0][3], tuple(dict.fromkeys(row[0] for row in rows)), len(rows))
    cursor.execute(_FOREIGN, (database,))
    for table, *rest in cursor.fetchall():
        if {*rest[:2]} & ROW_CHANGING_ACTIONS:
            found[table].foreign_keys.append((_action(rest[0]), _action(rest[1]), rest[2]))
    for facts in found.values():
        facts.foreign_keys.sort()
    return {name: facts for name, facts in found.items() if engines.get(name, _MERGE) != _MERGE}


def _action(action: str | None) -> str:
    """One that changes rows; the servers show NO ACTION, RESTRICT and none in different ways."""
    return action if action in ROW_CHANGING_ACTIONS else ""


def _key_kind(name: str, non_unique: int, kind: str) -> str:
    return kind.lower() if kind in ("FULLTEXT", "SPATIAL", "VECTOR") else (
        PRIMARY if name == "PRIMARY" else "plain" if non_unique else UNIQUE)  # fmt: skip


def _take_column(facts: Facts, row: tuple, flavor: str) -> None:
    _, name, kind, full, nullable, length, precision, scale, digits, charset, collation, default, extra = row
    extra, full = (extra or "").lower(), full or ""
    is_text = kind in ("char", "varchar", "enum", "set", *TEXTS)
    shape: tuple = ()
    if kind in INTEGERS or kind in ("float", "double"):
        shape = ("unsigned" in full,)
    elif kind == "decimal":
        shape = ("unsigned" in full, int(precision), int(scale))
    elif kind == "bit":
        shape = (int(precision),)
    elif kind in ("char", "varchar", "binary", "varbinary"):
        shape = (int(length),)
    elif kind in ("enum", "set"):
        shape = tuple(label.replace("''", "'").replace("\\0", "\0") for label in re.findall(r"'((?:[^']|'')*)'", full))
    elif kind in ("datetime", "timestamp", "time"):
        shape = (int(digits),)
    kind = "geometry" if kind in _GEOMETRY else kind
    if "compressed" in full.lower():
        kind, shape, charset = ("varchar" if kind.startswith("var") else "blob") + " compressed", (), None
    facts.columns.append(
        (name, kind, shape, nullable == "YES", (charset if is_text else None) if charset != BINARY else None)
    )
    is_generated = "generated" in extra.replace("default_generated", "") and "row" not in str(default or "").lower()
    facts.attributes.append((name, "on update" in extra, "invisible" in extra, "auto_increment" in extra,
                             "stored generated" in extra, "virtual generated" in extra))  # fmt: skip
    facts.collations.append((name, collation if is_text and "compressed" not in kind else None))
    facts.defaults.append((name, "generated" if is_generated else _default(kind, default, extra, nullable, flavor)))


def _default(kind: str, default: str | None, extra: str, nullable: str, flavor: str) -> str:
    """Its kind only, and the text where the server keeps it as written."""
    if default is None or (flavor == "mariadb" and default == "NULL"):
        return "null" if nullable == "YES" else "none"
    if re.match(r"(current_timestamp|now)", default, re.I):
        return "now"
    if flavor == "mysql" and "default_generated" in extra:
        return "expression"
    if flavor == "mariadb" and not re.fullmatch(r"'.*'|-?[\d.]+(e[+-]?\d+)?|x'.*'|b'.*'", default, re.S | re.I):
        return "expression"
    if kind in ("char", "varchar", "enum", "set"):
        text = default[1:-1].replace("''", "'").replace("\\\\", "\\") if default.startswith("'") else default
        return f"literal {text.rstrip(' ')}"
    return "literal"


def our_facts(schema: TableSchema, server: Facts, flavor: str) -> Facts:
    """server: tells collations, which a definition of ours may leave to the character set."""
    told = dict(server.collations)
    shown = [c for c in schema.columns if not c.row_period or c.name in told]  # implicit row_start is not listed
    ours = Facts(columns=[_column(column) for column in shown])
    said = dict(server.defaults)
    ours.defaults = [(c.name, _same_default(c, said.get(c.name, ""))) for c in shown]
    ours.attributes = [_attributes(column) for column in shown]
    ours.collations = [(c.name, _collation(c, told.get(c.name), flavor)) for c in shown]
    for key in schema.keys:
        hidden = {c.name for c in schema.columns} - set(told)
        parts = ((part.column, part.length) for part in key.parts if part.column not in hidden)
        ours.keys[key.name] = (key.kind, *((column, length if key.is_unique else None) for column, length in parts))
    known = schema.partitioning
    if known:
        rows = sum(len(p.subpartitions) or 1 for p in known.partitions)
        ours.partitions = (known.method, known.sub_method, tuple(p.name for p in known.partitions), rows)
    has_foreign = schema.engine in (None, "innodb") and not known
    ours.foreign_keys = sorted(
        (_action(key.on_delete), _action(key.on_update), key.parent_table)
        for key in schema.foreign_keys
        if has_foreign and key.row_changing_action
    )
    return ours


def _column(column: Column) -> tuple:
    kind, shape = column.type, ()
    if kind.name in INTEGERS or kind.name in ("float", "double"):
        shape = (kind.unsigned,)
    elif kind.name == "decimal":
        shape = (kind.unsigned, kind.precision, kind.scale)
    elif kind.name in ("bit", "char", "varchar", "binary", "varbinary"):
        shape = (kind.length,)
    elif kind.name in ("enum", "set"):
        shape = kind.labels
    elif kind.fraction_digits is not None:
        shape = (kind.fraction_digits,)
    return (
        column.name,
        kind.name,
        shape,
        column.nullable,
        kind.charset if kind.has_charset and kind.charset != BINARY else None,
    )


def _same_default(column: Column, server: str) -> str:
    """The servers keep a constant expression as its value, and bits as the text that they are."""
    kind = column.default.kind if column.default else ""
    is_computed = kind in ("bits", "expression")
    return server if is_computed and server.startswith("literal") else _our_default(column)


def _our_default(column: Column) -> str:
    if column.generated is not None or column.row_period:
        return "generated"
    if column.default is None:
        return "none"
    if column.default.kind in _LITERALS and column.type.name in ("char", "varchar", "enum", "set"):
        return f"literal {column.default.text.rstrip(' ')}"
    return "literal" if column.default.kind in _LITERALS else column.default.kind


def _attributes(column: Column) -> tuple:
    is_generated = column.generated is not None
    is_stored = column.is_stored if is_generated else bool(column.row_period)
    return (column.name, column.updates_to_now, column.is_invisible, column.is_auto_increment,
            is_stored, is_generated and not column.is_stored)  # fmt: skip


def _collation(column: Column, told: str | None, flavor: str) -> str | None:
    """An unnamed one is what the server says; MariaDB's short names lack the character set."""
    if not column.type.has_charset or column.type.name in (*BLOBS,):
        return None
    named = column.collation
    if named is None:
        return told
    named = named.replace("utf8_", "utf8mb3_") if named.startswith("utf8_") else named
    return f"{column.type.charset}_{named}" if named.startswith("uca1400") else named
