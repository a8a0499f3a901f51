"""Did MariaDB copy the rows of an ALTER TABLE into a new table, or change the table in place?

Outside strict mode a NULL in a column that becomes NOT NULL turns into the zero of its type if rows are copied. If
not, it turns into the DEFAULT that the column had before the statement, never into the new one. The log shows neither
the algorithm nor the result. Both are derived here from the statement and the definitions; None if these do not decide.
Measured on MariaDB 10.11 and 11.8 with InnoDB, which agree, with alter_algorithm at its default:

copied    ALGORITHM=COPY, ORDER BY, ADD CHECK, ENABLE or DISABLE KEYS; from or to an engine such as MyISAM; a column
          that gets AUTO_INCREMENT or COMPRESSED; a TIMESTAMP that becomes NOT NULL; another type, other than
in place  a longer VARCHAR or VARBINARY, an ENUM or SET with more labels after those that it had; columns that are
          added, dropped, moved or renamed; keys; DEFAULT, NULL and NOT NULL; options of the table
unknown   generated columns, new foreign keys, FULLTEXT keys, CONVERT TO CHARACTER SET, other collations,
          PARTITION BY, adding or dropping system versioning, adding or dropping a PRIMARY KEY
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from mirrorlake.core.ddl.parse import statements as ddl
from mirrorlake.core.ddl.parse.constants import constant
from mirrorlake.core.schema.keys import FULLTEXT, SPATIAL, VECTOR
from mirrorlake.core.schema.name_case import folded
from mirrorlake.core.schema.tables import Column, TableSchema
from mirrorlake.core.schema.types import LABELLED, STRINGS, ColumnType, label_bytes

MEASURED_SINCE = 101100
"""Oldest measured server version; for older ones the list of changes in place differs."""
_COPIED_ENGINES = ("myisam", "aria", "memory", "heap")
_IN_PLACE = (
    ddl.SetAlgorithm, ddl.AddColumn, ddl.DropColumn, ddl.ChangeColumn, ddl.RenameColumn, ddl.SetDefault,
    ddl.SetVisibility, ddl.AddKey, ddl.DropKey, ddl.DropConstraint, ddl.RenameKey, ddl.DropForeignKey, ddl.RenameTable,
    ddl.SetDefaultCharset, ddl.SetEngine, ddl.SetComment,
)  # fmt: skip
_OPAQUE_KEYS = (FULLTEXT, SPATIAL, VECTOR)
_OPAQUE_TYPES = ("geometry", "vector")
"""Their subtypes are not part of a definition."""
_BYTES_OF_A_CHARACTER = {"latin1": 1, "ascii": 1, "binary": 1, "utf8mb3": 3, "utf8mb4": 4, "utf16": 4, "ucs2": 2}
_SHORT = 255  # bytes of a VARCHAR whose length takes one byte


def copies_rows(
    old: TableSchema, new: TableSchema, clauses: Sequence[ddl.Clause], kept: Iterable[tuple[Column, Column]]
) -> bool | None:
    """Were rows copied? kept: (before, after) of the columns that the statement names and keeps, and of those that
    become NOT NULL."""
    algorithms = {clause.name for clause in clauses if isinstance(clause, ddl.SetAlgorithm)} - {"DEFAULT"}
    if algorithms:
        return "COPY" in algorithms
    if any(engine in _COPIED_ENGINES for engine in (old.engine, new.engine)):
        return True
    changes = {_copies_for(before, after) for before, after in kept}
    if True in changes:
        return True
    is_in_place = (
        changes <= {False}
        and all(_is_in_place(clause) for clause in clauses)
        and all((schema.engine or "innodb") == "innodb" for schema in (old, new))
        and not any(column.generated is not None for column in (*old.columns, *new.columns))
        and not any(key.kind in _OPAQUE_KEYS for key in (*old.keys, *new.keys))
        and _keeps_its_key(old, new, clauses)
    )
    return False if is_in_place else None


def _is_in_place(clause: ddl.Clause) -> bool:
    if isinstance(clause, ddl.AddColumn):
        default = clause.column.default
        return default is None or default.kind != "expression" or constant(default.text) is not None
    return isinstance(clause, _IN_PLACE)


def _keeps_its_key(old: TableSchema, new: TableSchema, clauses: Sequence[ddl.Clause]) -> bool:
    """Does the key stay? A PRIMARY KEY replaces a PRIMARY KEY; without one, or with partitions, no key is added or
    dropped."""
    if old.key_is_promoted != new.key_is_promoted:
        return False
    if old.partitioning is None and not old.key_is_promoted:
        return True
    changes = ddl.AddKey | ddl.DropKey | ddl.DropConstraint
    return old.primary_key == new.primary_key and not any(isinstance(clause, changes) for clause in clauses)


def _copies_for(before: Column, after: Column) -> bool | None:
    old, new = before.type, after.type
    if new.name == "timestamp" and before.nullable and not after.nullable:
        return True
    if after.is_auto_increment and not before.is_auto_increment or before.is_compressed != after.is_compressed:
        return True
    if old.name != new.name:
        return True
    if new.name in _OPAQUE_TYPES:
        return None
    if new.name in STRINGS or new.name in LABELLED:
        if old.charset is None or (old.charset, before.collation) != (new.charset, after.collation):
            return None
    if new.name in LABELLED:
        return _copies_for_labels(old, new)
    if new.name in ("varchar", "varbinary"):
        return _copies_for_length(old, new)
    return old != new


def _copies_for_labels(old: ColumnType, new: ColumnType) -> bool | None:
    first = new.labels[: len(old.labels)]
    if first == old.labels:
        return label_bytes(old.name, len(old.labels)) != label_bytes(new.name, len(new.labels))
    is_alike = [folded(label) for label in first] == [folded(label) for label in old.labels]
    return None if is_alike else True


def _copies_for_length(old: ColumnType, new: ColumnType) -> bool | None:
    """Does a new length cause a copy? In place from a length of one byte to one of two, MariaDB 10.11 and 11.8 crash if
    a row has NULL."""
    before, after = old.length or 0, new.length or 0
    if after <= before:
        return after < before
    width = _BYTES_OF_A_CHARACTER.get(new.charset or "binary", 0)
    return False if width and (before * width <= _SHORT) == (after * width <= _SHORT) else None
