"""Refuse tables that a statement names in another letter case, if nobody said how names compare."""

from __future__ import annotations

from collections.abc import Iterator

from mirrorlake.core.ddl.effect.context import refuse
from mirrorlake.core.ddl.parse.statements import AlterDatabase, CreateTable, DropDatabase, Statement
from mirrorlake.core.ddl.parse.tokens import Tokens
from mirrorlake.core.schema.history import DefinitionChange, Definitions
from mirrorlake.core.schema.table_name import TableName

CODE = "name-case"
"""Code of a refusal: whether something in the log is about the table depends on the server's lower_case_table_names."""


def with_doubts(
    changes: list[DefinitionChange], parsed: Statement, tokens: Tokens, definitions: Definitions
) -> list[DefinitionChange]:
    """The changes, with a refusal of each table that the statement is about if names compare in lower case.

    definitions: before the statement. A CREATE TABLE of an existing name is no doubt: it would have failed.
    """
    named = set(tokens.tables)
    changes = [_without_doubted_parent(change, definitions) for change in changes]
    found = {change.name: change for change in changes}
    for spelled, other in _doubted(parsed, tokens, definitions):
        if other not in named:
            found.setdefault(other, refuse(other, CODE, f"a statement names {spelled}"))
    return list(found.values())


def _doubted(parsed: Statement, tokens: Tokens, definitions: Definitions) -> Iterator[tuple[str, TableName]]:
    """Yield (unknown name in the statement, a table that it may be about)."""
    if isinstance(parsed, DropDatabase | AlterDatabase):
        homes = definitions.databases_alike(parsed.name)
        yield from ((parsed.name, TableName(home, table)) for home in homes for table in definitions.tables_of(home))
    is_new = isinstance(parsed, CreateTable) and not (parsed.if_not_exists or parsed.or_replace)
    for name in tokens.tables[1:] if is_new else tokens.tables:
        if not definitions.is_known(name.database, name.table):
            spelled = str(name)
            yield from ((spelled, other) for other in definitions.alike(name.database, name.table))


def _without_doubted_parent(change: DefinitionChange, definitions: Definitions) -> DefinitionChange:
    """Refuse a table if a foreign key may change its rows, and its parent is known only under another name."""
    name = change.name
    keys = change.schema.row_changing_keys if change.schema and change.action != "refuse" else ()
    parents = (key.parent for key in keys if key.parent != name and not definitions.is_known(*key.parent))
    doubted = next((parent for parent in parents if definitions.alike(*parent)), None)
    if doubted is None:
        return change
    return refuse(TableName(*name), CODE, f"a foreign key names {'.'.join(doubted)}", change.schema)
