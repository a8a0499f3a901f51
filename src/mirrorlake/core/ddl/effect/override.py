"""Operator overrides: a replacement for a refused statement, or the start of a table's snapshot.

A snapshot records in the same way the character set of a database.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from mirrorlake.core.ddl.effect.interpret import interpret_shown
from mirrorlake.core.schema.history import DefinitionChange, Definitions
from mirrorlake.core.schema.lower_case_names import NameCase
from mirrorlake.core.schema.row_steps import FromSnapshot
from mirrorlake.core.schema.table_name import TableName
from mirrorlake.core.schema.tables import TableSchema
from mirrorlake.core.sql_text import quote


@dataclass(frozen=True, slots=True)
class Answer:
    """number: from 1, in the order of the answers. lsn: of the statement. text: the statement to read instead; None: it
    leaves the table's definition and rows unchanged.

    copy_id: of a snapshot of the whole table. Then text is its CREATE TABLE, and lsn is between two transactions: the
    snapshot has the results of those before it. table "": for a database, whose ALTER DATABASE counts as logged at
    such a position.
    """

    number: int
    lsn: int
    database: str
    table: str
    text: str | None = None
    copy_id: str | None = None

    @property
    def name(self) -> TableName:
        return TableName(self.database, self.table)

    @property
    def is_of_database(self) -> bool:
        return not self.table

    @property
    def is_between_transactions(self) -> bool:
        return self.is_of_database or self.copy_id is not None


def set_charset(number: int, lsn: int, database: str, charset: str) -> Answer:
    """Answer that new tables of a database get this character set from there on."""
    return Answer(number, lsn, database, "", f"ALTER DATABASE {quote(database)} CHARACTER SET {charset}")


def definition_changes(
    answer: Answer, flavor: str, definitions: Definitions, name_case: NameCase
) -> list[DefinitionChange]:
    """Changes at the start of a table's snapshot, or for a database. definitions: in force there; that of the table
    itself is not used.
    """
    assert answer.text and answer.is_between_transactions, "the answer is not to a statement"
    if answer.is_of_database:
        return interpret_shown(answer.text, answer.database, flavor, definitions, name_case)
    return [
        replace(change, steps=(FromSnapshot(answer.copy_id),)) if change.action == "create" else change
        for change in interpret_shown(
            answer.text, answer.database, flavor, definitions.without(*answer.name), name_case
        )
    ]


def put_in_place(
    changes: list[DefinitionChange],
    answers: Iterable[Answer],
    definitions: Definitions,
    interpret: Callable[[str], list[DefinitionChange]],
) -> list[DefinitionChange]:
    """Apply overrides to the changes of a logged statement: a table with an answer gets the answer's changes.

    definitions: those in force before the statement. interpret(text): interprets a text as if logged there.
    """
    for answer in answers:
        others = [change for change in changes if change.name != answer.name]
        if answer.text is not None:
            changes = others + interpret(answer.text)
        elif isinstance(known := definitions.get(*answer.name), TableSchema):
            changes = [*others, DefinitionChange("alter", *answer.name, known)]
    return changes
