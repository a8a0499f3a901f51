"""Apply the clauses of an ALTER TABLE to a table's keys and foreign keys."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from mirrorlake.core.ddl.parse.statements import (
    AddForeignKey,
    AddKey,
    Clause,
    DropConstraint,
    DropForeignKey,
    DropKey,
    RenameKey,
)
from mirrorlake.core.schema.keys import ForeignKey, Key, KeyPart
from mirrorlake.core.schema.name_case import folded
from mirrorlake.core.schema.partitions import Partitioning
from mirrorlake.core.schema.tables import TableSchema

_WORD = re.compile(r"""'[^']*'|"[^"]*"|`(?:[^`]|``)*`|[^\W0-9][\w$]*(?!\s*\()(?![\w$])""")
"""In a partition function: a text, a quoted name, or a word that names no function."""


class Contradiction(ValueError):
    """A clause that contradicts the known definition, although the server executed it."""


def rename_parts(schema: TableSchema, renamed: dict[str, str | None]) -> TableSchema:
    """Rename key parts. renamed: old column name case folded -> the new name, None: dropped. A key is dropped with all
    its columns."""

    def now(name: str) -> str | None:
        return renamed.get(folded(name), name)

    def part_now(part: KeyPart) -> KeyPart | None:
        if part.column is None:
            return part
        column = now(part.column)
        return replace(part, column=column) if column is not None else None

    keys = (replace(key, parts=tuple(p for p in map(part_now, key.parts) if p)) for key in schema.keys)
    foreign = tuple(_renamed_foreign(key, [now(name) for name in key.columns]) for key in schema.foreign_keys)
    partitioning = schema.partitioning and _renamed_partitioning(schema.partitioning, now)
    return replace(
        schema, keys=tuple(key for key in keys if key.parts), foreign_keys=foreign, partitioning=partitioning
    )


def _renamed_foreign(key: ForeignKey, columns: list[str | None]) -> ForeignKey:
    return replace(key, columns=tuple(name for name in columns if name is not None))


def _renamed_partitioning(old: Partitioning, now) -> Partitioning:
    """Rename in a partitioning. A subpartition's expression locates no row, so it may stay."""
    columns = tuple(now(name) or name for name in old.columns)
    expression = old.expression and _WORD.sub(lambda found: _renamed_word(found[0], now), old.expression)
    sub_columns = tuple(now(name) or name for name in old.sub_columns)
    return replace(old, expression=expression, columns=columns, sub_columns=sub_columns)


def _renamed_word(word: str, now) -> str:
    if word[0] in "'\"":
        return word
    name = word[1:-1].replace("``", "`") if word[0] == "`" else word
    renamed = now(name) or name
    return word if renamed == name else "`" + renamed.replace("`", "``") + "`"


def redefine_keys(schema: TableSchema, clauses: Sequence[Clause], before: TableSchema) -> TableSchema:
    """Apply drops, then add new keys. before: the definition before the statement, of which IF NOT EXISTS asks, as it
    does of keys that the statement has added already.

    Raises Contradiction for an unknown key, if the identity of rows may depend on it, or for one that exists already.
    """
    keys, foreign = list(schema.keys), list(schema.foreign_keys)
    for clause in clauses:
        if isinstance(clause, DropKey):
            _drop(keys, clause.name, clause.if_exists or not schema.key_is_promoted)
        elif isinstance(clause, DropConstraint):
            _drop_constraint(keys, foreign, clause.name)
        elif isinstance(clause, DropForeignKey) and not _drop_foreign(foreign, clause.name):
            if any(key.changes_rows for key in foreign):
                raise Contradiction(f"DROP FOREIGN KEY {clause.name}: there is no such key")
    for clause in clauses:
        if isinstance(clause, RenameKey):
            _rename(keys, clause, clause.if_exists or not schema.key_is_promoted)
    known = {folded(key.name) for key in before.keys}
    known_foreign = {folded(key.name) for key in before.foreign_keys if key.name}
    for clause in clauses:
        if isinstance(clause, AddKey):
            of_foreign = clause.key.is_generated and clause.if_not_exists and folded(clause.key.name) in known_foreign
            if not of_foreign and _is_new(_asked_name(clause), known, clause.if_not_exists):
                _add(keys, clause)
        elif isinstance(clause, AddForeignKey):
            if _is_new(clause.foreign_key.name or "", known_foreign, clause.if_not_exists):
                foreign.append(clause.foreign_key)
    return replace(schema, keys=tuple(keys), foreign_keys=tuple(foreign))


def _find(keys: Sequence[Key], name: str) -> int | None:
    return next((i for i, key in enumerate(keys) if folded(key.name) == folded(name)), None)


def _drop(keys: list[Key], name: str, if_exists: bool) -> None:
    at = _find(keys, name)
    if at is not None:
        del keys[at]
    elif not if_exists:
        raise Contradiction(f"DROP KEY {name}: there is no such key")


def _drop_constraint(keys: list[Key], foreign: list[ForeignKey], name: str) -> None:
    """Drop a constraint. The definition does not keep checks, so an unknown name is one; so is that of a plain key."""
    at = _find(keys, name)
    if not _drop_foreign(foreign, name) and at is not None and keys[at].is_unique:
        del keys[at]


def _drop_foreign(foreign: list[ForeignKey], name: str) -> bool:
    at = next((i for i, key in enumerate(foreign) if folded(key.name or "") == folded(name)), None)
    if at is not None:
        del foreign[at]
    return at is not None


def _rename(keys: list[Key], clause: RenameKey, if_exists: bool) -> None:
    at = _find(keys, clause.name)
    if at is not None:
        keys[at] = replace(keys[at], name=clause.new_name)
    elif not if_exists:
        raise Contradiction(f"RENAME KEY {clause.name}: there is no such key")


def _is_new(name: str, known: set[str], if_not_exists: bool) -> bool:
    """Is a key to be added? It is known from here on."""
    is_there = folded(name) in known
    if name:
        known.add(folded(name))
    return not (is_there and if_not_exists)


def _asked_name(clause: AddKey) -> str:
    """The name that IF NOT EXISTS asks for; empty: none."""
    return clause.key.name or (clause.key.parts[0].column or "" if clause.if_not_exists else "")


def _add(keys: list[Key], clause: AddKey) -> None:
    name = _asked_name(clause)
    at = _find(keys, name) if name else None
    if at is not None and clause.or_replace:
        del keys[at]
    elif at is not None and not (clause.key.is_generated or keys[at].is_generated):
        raise Contradiction(f"ADD KEY {name}: there is such a key already")
    keys.append(clause.key)
