"""The definition of every table at one lsn, folded forward change by change. Lives in the driver only."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum

from mirrorlake.core.schema.name_case import folded
from mirrorlake.core.schema.row_steps import step_from_plain, step_to_plain
from mirrorlake.core.schema.table_name import TableName
from mirrorlake.core.schema.tables import TableSchema

SEEN = "table_map"
"""Action of a definition that a table map, not a DDL, gave."""
TEMPORARY = "temporary"
"""Action of a CREATE TEMPORARY TABLE: later statements may mean it, and not the ordinary table of its name."""
MERGED = "merged"
"""Action of a UNION that names a table which is not of MyISAM: one of MyISAM with its name would be in the UNION."""
THROUGH_MERGE = "its rows are changed through a table of engine MERGE, too"
"""Reason of the refusal of a table that a UNION names."""
NOTES = (SEEN, TEMPORARY, MERGED)
"""Actions that say nothing new of the table of their name."""


class Absent(Enum):
    ABSENT = "the table does not exist"


ABSENT = Absent.ABSENT


@dataclass(frozen=True, slots=True)
class Refused:
    """The table exists, but its rows are not followed from here on. A DROP ends this state."""

    code: str
    reason: str


@dataclass(frozen=True, slots=True)
class DefinitionChange:
    """The effect of one statement on one table; one row of silver_table_schemas. A statement has one change for a name.

    action      table        schema                  steps
    create      named        the definition          see below   from here on the table exists; without steps, empty
    alter       named        the definition after    see below   () if only properties for later DDL have changed
    rename      its new name the definition after    see below   all tables of a statement change names at once
    moved       its old name -                       -           a table left this name and none has taken it
    truncate    named        as before               -           it is empty from here on
    exchange    both         as before               see below   rows of one partition of a table and of another table
                                                                 are exchanged
    drop        named        -                       -
    refuse      named        as far as it is known   -           code and reason say why
    table_map   named        as the table map says   -           a table that is not known from DDL
    temporary   named        -                       -           a temporary table has had the name
    merged      named        -                       -           a UNION has the name
    create_database, alter_database, drop_database:
                ""           -                       (("charset", name or None),)

    Steps are of the kinds in ``row_steps``. The columns of an alter or a rename: one Keep or Add for each column of the
    definition after it, in order, or none of both if rows stay unchanged.
    """

    action: str
    database: str
    table: str
    schema: TableSchema | None = None
    steps: tuple = ()
    code: str | None = None
    reason: str | None = None

    @property
    def name(self) -> TableName:
        return TableName(self.database, self.table)

    @property
    def concerns_table(self) -> bool:
        """Does it say something new of the table of this name?"""
        return self.action not in NOTES

    def to_row(self) -> dict:
        """The columns of silver_table_schemas except lsn."""
        return {
            "schema_id": self.schema and self.schema.schema_id,
            "database": self.database,
            "table": self.table,
            "action": self.action,
            "columns": self.schema and self.schema.to_json(),
            "primary_key": self.schema and list(self.schema.primary_key),
            "steps": json.dumps([step_to_plain(step) for step in self.steps], ensure_ascii=False),
            "refusal": self.code,
            "reason": self.reason,
        }

    @classmethod
    def from_row(cls, row: Mapping) -> DefinitionChange:
        return cls(
            row["action"],
            row["database"],
            row["table"],
            row["columns"] and TableSchema.from_json(row["columns"]),
            tuple(map(step_from_plain, json.loads(row["steps"] or "[]"))),
            row["refusal"],
            row["reason"],
        )


@dataclass(frozen=True, slots=True)
class Database:
    """charset None: not known. is_complete: its CREATE or DROP is in the log, so a table not known is absent."""

    charset: str | None
    exists: bool
    is_complete: bool


class Definitions:
    """Tables by name. ``get`` is None for a table whose CREATE is not in the log: it needs a snapshot.

    schema_ids: of every definition recorded so far, those of table maps included. temporary: names that temporary
    tables have had whose statements are logged. merged: names in a UNION, whichever tables have them.
    """

    def __init__(self, changes: Iterable[DefinitionChange] = ()):
        self._tables: dict[TableName, TableSchema | Refused | Absent] = {}
        self._children: dict[TableName, TableSchema] = {}
        self._databases: dict[str, Database] = {}
        self._spellings: dict[TableName, set[TableName]] = {}
        self.schema_ids: set[int] = set()
        self.temporary: set[TableName] = set()
        self.merged: set[TableName] = set()
        self.apply(changes)

    def get(self, database: str, table: str) -> TableSchema | Refused | Absent | None:
        found = self._tables.get(TableName(database, table))
        if found is None and database in self._databases and self._databases[database].is_complete:
            return ABSENT
        return found

    def without(self, database: str, table: str) -> Definitions:
        """The same, as if the table were not known to exist."""
        others, one = Definitions(), TableName(database, table)
        others._tables = {name: known for name, known in self._tables.items() if name != one}
        others._children = {name: schema for name, schema in self._children.items() if name != one}
        others._databases, others.schema_ids = self._databases, self.schema_ids
        others._spellings, others.temporary, others.merged = self._spellings, self.temporary, self.merged - {one}
        return others

    def database(self, name: str) -> Database | None:
        return self._databases.get(name)

    def databases(self) -> list[str]:
        """Databases that the log or a snapshot has named."""
        return list(self._databases)

    def tables_of(self, database: str) -> list[str]:
        """Tables of a database that are known to exist, refused ones included."""
        return [name for (home, name), known in self._tables.items() if home == database and known is not ABSENT]

    def followed(self) -> list[TableName]:
        """Names of the tables that are known and not refused."""
        return [name for name, known in self._tables.items() if isinstance(known, TableSchema)]

    def is_known(self, database: str, table: str) -> bool:
        """Is the table known to exist? A refused one is."""
        return self._tables.get(TableName(database, table), ABSENT) is not ABSENT

    def alike(self, database: str, table: str) -> list[TableName]:
        """Tables that are known to exist under another name that is equal in lower case."""
        spelled = self._spellings.get(TableName(folded(database), folded(table)), set()) - {TableName(database, table)}
        return sorted(name for name in spelled if self.is_known(*name))

    def databases_alike(self, database: str) -> list[str]:
        """Databases that are known under another name that is equal in lower case."""
        found = {home for home, table in self._tables if self.is_known(home, table)} - {database}
        return sorted(home for home in found if folded(home) == folded(database))

    def children(self) -> list[TableSchema]:
        """Followed tables with a foreign key that changes their rows."""
        return list(self._children.values())

    def apply(self, changes: Iterable[DefinitionChange]) -> None:
        for change in changes:
            if change.schema:
                self.schema_ids.add(change.schema.schema_id)
            _APPLY[change.action](self, change)

    def _put(self, change: DefinitionChange) -> None:
        assert change.schema
        self._set(change.database, change.table, change.schema)

    def _drop(self, change: DefinitionChange) -> None:
        self._set(change.database, change.table, ABSENT)

    def _refuse(self, change: DefinitionChange) -> None:
        self._set(change.database, change.table, Refused(change.code or "", change.reason or ""))
        if change.reason == THROUGH_MERGE:
            self._note_merged(change)

    def _set(self, database: str, table: str, known: TableSchema | Refused | Absent) -> None:
        name = TableName(database, table)
        if name not in self._tables:
            self._spellings.setdefault(TableName(folded(database), folded(table)), set()).add(name)
        self._tables[name] = known
        if isinstance(known, TableSchema) and known.row_changing_keys:
            self._children[name] = known
        else:
            self._children.pop(name, None)

    def _note_map(self, change: DefinitionChange) -> None:
        pass

    def _note_temporary(self, change: DefinitionChange) -> None:
        self.temporary.add(change.name)

    def _note_merged(self, change: DefinitionChange) -> None:
        self.merged.add(change.name)

    def _begin_database(self, change: DefinitionChange) -> None:
        exists = change.action == "create_database"
        self._databases[change.database] = Database(_charset(change), exists, is_complete=True)
        for table in self.tables_of(change.database):
            self._set(change.database, table, ABSENT)

    def _alter_database(self, change: DefinitionChange) -> None:
        known = self._databases.get(change.database)
        is_complete = known is not None and known.is_complete
        self._databases[change.database] = Database(_charset(change), True, is_complete)


def _charset(change: DefinitionChange) -> str | None:
    return dict(change.steps).get("charset")


_APPLY = {
    "create": Definitions._put,
    "alter": Definitions._put,
    "rename": Definitions._put,
    "moved": Definitions._drop,
    "truncate": Definitions._put,
    "exchange": Definitions._put,
    "drop": Definitions._drop,
    "refuse": Definitions._refuse,
    SEEN: Definitions._note_map,
    TEMPORARY: Definitions._note_temporary,
    MERGED: Definitions._note_merged,
    "create_database": Definitions._begin_database,
    "drop_database": Definitions._begin_database,
    "alter_database": Definitions._alter_database,
}
