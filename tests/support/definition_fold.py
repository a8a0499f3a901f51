"""The statements of a log, one after another -> the definition of every table."""

from __future__ import annotations

from dataclasses import replace

from mirrorlake.core.binlog.events import Query
from mirrorlake.core.ddl.effect.definition import Dialect, define_like, define_table
from mirrorlake.core.ddl.effect.redefine import Contradiction, redefine
from mirrorlake.core.ddl.parse import statements as ddl
from mirrorlake.core.ddl.parse.lexer import LexError
from mirrorlake.core.ddl.parse.parser import parse_statement
from mirrorlake.core.ddl.parse.session import LoggedSession, SourceServer
from mirrorlake.core.ddl.parse.tokens import ParseError, Tokens
from mirrorlake.core.schema.charsets import charset_of_collation_id
from mirrorlake.core.schema.table_name import TableName
from mirrorlake.core.schema.tables import TableSchema


class DefinitionFold:
    """tables: by database and name; a text says why a definition is not known."""

    def __init__(self, flavor: str, version: int):
        self.flavor, self.version = flavor, version
        self.tables: dict[tuple[str, str], TableSchema | str] = {}
        self.texts: dict[tuple[str, str], str] = {}
        self.databases: dict[str, tuple[str | None, str | None]] = {}

    def take(self, query: Query) -> None:
        if query.statement in ("BEGIN", "COMMIT", "ROLLBACK") or not query.is_in_force:
            return
        session = LoggedSession(query.database, query.sql_mode or 0)
        tokens = Tokens(query.statement, SourceServer(self.flavor, self.version), session)
        explicit = query.explicit_timestamps(self.flavor)
        try:
            parsed = parse_statement(tokens)
            self._apply(parsed, query, explicit is not False)
        except (LexError, ParseError, Contradiction) as error:
            for name in tokens.tables:
                self.tables[name.database, name.table] = f"{type(error).__name__}: {error} in {query.statement[:400]}"
        for name in tokens.tables:
            self.texts[name.database, name.table] = " ".join(query.statement.split())[:300]

    def _dialect(self, name: TableName, explicit: bool) -> Dialect:
        charset, collation = self.databases.get(name.database, (None, None))
        return Dialect(self.flavor, self.version, explicit, charset, collation)

    def _apply(self, parsed: ddl.Statement, query: Query, explicit: bool) -> None:
        match parsed:
            case ddl.CreateDatabase() | ddl.AlterDatabase():
                self._take_database(parsed, query)
            case ddl.DropDatabase():
                self.tables = {name: known for name, known in self.tables.items() if name[0] != parsed.name}
                self.databases.pop(parsed.name, None)
            case ddl.CreateTable():
                self._create(parsed, explicit)
            case ddl.CreateSequence():
                self.tables[parsed.name.database, parsed.name.table] = "a sequence"
            case ddl.AlterTable():
                self._alter(parsed, explicit)
            case ddl.DropTables():
                for name in parsed.names:
                    self.tables.pop((name.database, name.table), None)
            case ddl.RenameTables():
                for old, new in parsed.pairs:
                    self._rename(old, new)
            case ddl.RefusedStatement():
                raise ParseError(parsed.reason)

    def _take_database(self, parsed: ddl.CreateDatabase | ddl.AlterDatabase, query: Query) -> None:
        if isinstance(parsed, ddl.CreateDatabase) and parsed.if_not_exists and parsed.name in self.databases:
            return
        server = charset_of_collation_id(query.charset[2], self.flavor) if query.charset else None
        is_new = isinstance(parsed, ddl.CreateDatabase)
        known = (server, None) if is_new else self.databases.get(parsed.name, (None, None))
        self.databases[parsed.name] = (parsed.charset, parsed.collation) if parsed.charset else known

    def _create(self, parsed: ddl.CreateTable, explicit: bool) -> None:
        name = (parsed.name.database, parsed.name.table)
        if parsed.if_not_exists and name in self.tables:
            return
        if parsed.unsupported or parsed.has_select:
            raise ParseError(parsed.unsupported or "CREATE TABLE ... SELECT")
        if parsed.like:
            source = self.tables.get((parsed.like.database, parsed.like.table), "LIKE a table that is not known")
            self.tables[name] = define_like(source, *name) if isinstance(source, TableSchema) else source
        else:
            self.tables[name] = define_table(parsed, self._dialect(parsed.name, explicit))

    def _alter(self, parsed: ddl.AlterTable, explicit: bool) -> None:
        name = (parsed.name.database, parsed.name.table)
        known = self.tables.get(name)
        if not isinstance(known, TableSchema):
            return
        new = redefine(known, parsed.clauses, self._dialect(parsed.name, explicit))
        del self.tables[name]
        self.tables[new.database, new.table] = new
        for clause in parsed.clauses:
            if isinstance(clause, ddl.PartitionToTable):
                alike = define_like(known, clause.table.database, clause.table.table)
                self.tables[alike.database, alike.table] = replace(alike, partitioning=None)
            elif isinstance(clause, ddl.TableToPartition):
                self.tables.pop((clause.table.database, clause.table.table), None)

    def _rename(self, old: TableName, new: TableName) -> None:
        known = self.tables.pop((old.database, old.table), None)
        if isinstance(known, TableSchema):
            known = replace(known, database=new.database, table=new.table)
        if known is not None:
            self.tables[new.database, new.table] = known
