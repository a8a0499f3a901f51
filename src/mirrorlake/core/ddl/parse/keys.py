"""Read keys, foreign keys and checks in CREATE TABLE, ALTER TABLE and CREATE INDEX."""

from __future__ import annotations

from dataclasses import dataclass, replace

from mirrorlake.core.ddl.parse.tokens import Tokens
from mirrorlake.core.schema.keys import (
    FULLTEXT,
    PLAIN,
    PRIMARY,
    PRIMARY_NAME,
    SPATIAL,
    UNIQUE,
    VECTOR,
    ForeignKey,
    Key,
    KeyPart,
)

_ACTIONS = (("CASCADE",), ("SET", "NULL"), ("SET", "DEFAULT"), ("NO", "ACTION"), ("RESTRICT",))
_INDEX_WORDS = {"FULLTEXT": FULLTEXT, "SPATIAL": SPATIAL, "VECTOR": VECTOR}


@dataclass(frozen=True, slots=True)
class Constraint:
    """The result of reading: a key, or a foreign key with the key that it may need, or neither: a check."""

    key: Key | None = None
    foreign_key: ForeignKey | None = None
    if_not_exists: bool = False


def read_constraint(tokens: Tokens) -> Constraint | None:
    """Read a key, constraint or check. None: a column comes instead."""
    has_constraint, name, if_not_exists = tokens.accept("CONSTRAINT"), "", False
    if has_constraint:
        if_not_exists = tokens.accept("IF", "NOT", "EXISTS")
        name = "" if _sees_constraint_kind(tokens) else tokens.name()
    if tokens.accept("PRIMARY", "KEY"):
        return _read_key(tokens, PRIMARY, PRIMARY_NAME, if_not_exists)
    if tokens.accept("UNIQUE"):
        tokens.accept_any("INDEX", "KEY")
        return _read_key(tokens, UNIQUE, name, if_not_exists)
    if tokens.accept("FOREIGN", "KEY"):
        return _read_foreign_key(tokens, name, if_not_exists)
    if tokens.sees("CHECK", "("):
        tokens.next()
        skip_check(tokens)
        return Constraint()
    kind = None if has_constraint else accept_index_word(tokens)
    if kind:
        return _read_key(tokens, kind, "", False)
    if has_constraint:
        raise tokens.unexpected()
    return None


def _sees_constraint_kind(tokens: Tokens) -> bool:
    patterns = (("PRIMARY", "KEY"), ("UNIQUE",), ("FOREIGN", "KEY"), ("CHECK", "("))
    return any(tokens.sees(*pattern) for pattern in patterns)


def accept_index_word(tokens: Tokens) -> str | None:
    """Read INDEX, KEY, FULLTEXT .. before a key that is not unique: its kind. None if a column comes."""
    for word, kind in _INDEX_WORDS.items():
        if tokens.accept(word, "INDEX") or tokens.accept(word, "KEY"):
            return kind
        if word != "VECTOR" and tokens.accept(word):
            return kind
    return PLAIN if tokens.accept_any("INDEX", "KEY") else None


def _read_key(tokens: Tokens, kind: str, constraint_name: str, if_not_exists: bool) -> Constraint:
    name, exists, uses_hash = _read_key_name(tokens)
    key = read_key_parts(tokens, kind, name or constraint_name)
    uses_hash |= read_key_options(tokens)
    return Constraint(replace(key, uses_hash=uses_hash), if_not_exists=exists or if_not_exists)


def _read_key_name(tokens: Tokens) -> tuple[str, bool, bool]:
    """Read (name or "", IF NOT EXISTS, USING HASH). TYPE is the name if it comes first (measured: 9.7, 10.11, 11.8)."""
    if_not_exists, name = tokens.accept("IF", "NOT", "EXISTS"), ""
    if not (tokens.sees("(") or tokens.sees("USING")):
        name = tokens.name()
    return name, if_not_exists, read_index_type(tokens)


def read_index_type(tokens: Tokens) -> bool:
    """Read USING BTREE or HASH, if present; is it HASH?"""
    is_hash = False
    while tokens.accept("USING") or tokens.accept("TYPE"):
        is_hash = tokens.name().upper() == "HASH"
    return is_hash


def read_key_options(tokens: Tokens) -> bool:
    """Read the text after the columns of a key; does it have USING HASH?"""
    uses_hash = False
    while not (tokens.at_end or tokens.sees(",") or tokens.sees(")") or tokens.sees("PARTITION", "BY")):
        uses_hash |= tokens.sees("USING", "HASH") or tokens.sees("TYPE", "HASH")
        tokens.next()
    return uses_hash


def read_key_parts(tokens: Tokens, kind: str, name: str) -> Key:
    """Read the parenthesised columns and expressions."""
    found = tokens.enclosed(lambda: _read_key_part(tokens))
    period = next((part.column for part, is_period in found if is_period), None)
    return Key(name, kind, tuple(part for part, is_period in found if not is_period), period=period)


def _read_key_part(tokens: Tokens) -> tuple[KeyPart, bool]:
    """Read a part of a key; is it a period WITHOUT OVERLAPS?"""
    if tokens.sees("("):
        part = KeyPart(expression=tokens.parenthesised())
    else:
        column, length = tokens.name(), None
        if tokens.accept("("):
            length = tokens.number()
            tokens.expect(")")
        part = KeyPart(column, length)
    is_period = tokens.accept("WITHOUT", "OVERLAPS")
    tokens.accept_any("ASC", "DESC")
    return part, is_period


def _read_foreign_key(tokens: Tokens, constraint_name: str, if_not_exists: bool) -> Constraint:
    """Read a foreign key. The server's key for it has the constraint's name, else the index's; so has the constraint in
    MariaDB, and MySQL makes a name for it (measured: 5.6, 9.7)."""
    name, exists, _ = _read_key_name(tokens)
    key = read_key_parts(tokens, PLAIN, constraint_name or name)
    tokens.expect("REFERENCES")
    given = constraint_name or (name if tokens.server.flavor == "mariadb" else None)
    found = read_reference(tokens, given or None, key.columns)
    generated = Key(key.name, PLAIN, key.parts, is_generated=True)
    return Constraint(generated, found, exists or if_not_exists)


def read_reference(tokens: Tokens, name: str | None, columns: tuple[str, ...]) -> ForeignKey:
    """Read the rest of REFERENCES. A parent without a database is in the table's own, not in the session's."""
    parent = tokens.qualified_name("")
    parent_columns = read_key_parts(tokens, PLAIN, "").columns if tokens.sees("(") else ()
    if tokens.accept("MATCH"):
        tokens.name()
    actions: dict[str, str] = {}
    while tokens.accept("ON"):
        event = tokens.accept_any("DELETE", "UPDATE")
        action = next((a for a in _ACTIONS if tokens.accept(*a)), None)
        if event is None or action is None:
            raise tokens.unexpected()
        actions[event] = " ".join(action)
    on_delete, on_update = actions.get("DELETE"), actions.get("UPDATE")
    return ForeignKey(name, columns, parent.database, parent.table, parent_columns, on_delete, on_update)


def skip_check(tokens: Tokens) -> None:
    """Skip the rest of CHECK."""
    tokens.skip_parentheses()
    if not tokens.accept("NOT", "ENFORCED"):
        tokens.accept("ENFORCED")
