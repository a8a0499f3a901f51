"""What the operator says of a table: what stands in a refused statement's place, or where a copy of it begins.

A snapshot says the same way what character set a database had.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from mirrorlake.core.schema.ddl_apply import interpret_shown
from mirrorlake.core.schema.history import DefinitionChange, Definitions
from mirrorlake.core.schema.lower_case_names import NameCase
from mirrorlake.core.schema.row_steps import Copied
from mirrorlake.core.schema.tables import TableSchema
from mirrorlake.core.sql_text import quote


@dataclass(frozen=True, slots=True)
class Answer:
    """number: from 1, in the order of the answers. lsn: of the statement. text: what it is to be read as; None: it
    leaves the table's definition and rows as they were.

    copy_id: of a copy of the whole table. text is its CREATE TABLE then, and lsn stands between two transactions: the
    copy has what those before it have done. table "": of a database, whose ALTER DATABASE is as if logged at such a
    place.
    """

    number: int
    lsn: int
    database: str
    table: str
    text: str | None = None
    copy_id: str | None = None

    @property
    def name(self) -> tuple[str, str]:
        return self.database, self.table

    @property
    def is_of_database(self) -> bool:
        return not self.table

    @property
    def is_between_transactions(self) -> bool:
        return self.is_of_database or self.copy_id is not None


def set_charset(number: int, lsn: int, database: str, charset: str) -> Answer:
    """That new tables of a database get this character set from there on."""
    return Answer(number, lsn, database, "", f"ALTER DATABASE {quote(database)} CHARACTER SET {charset}")


def placed(answer: Answer, flavor: str, definitions: Definitions, name_case: NameCase) -> list[DefinitionChange]:
    """What becomes of the tables where a copy begins, or of a database. definitions: what holds there; of the table it
    does not matter.
    """
    assert answer.text and answer.is_between_transactions, "the answer is not to a statement"
    if answer.is_of_database:
        return interpret_shown(answer.text, answer.database, flavor, definitions, name_case)
    return [
        replace(change, steps=(Copied(answer.copy_id),)) if change.action == "create" else change
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
    """changes: of a statement as it was logged; of a table with an answer those that the answer makes.

    definitions: what holds before the statement. interpret(text): as if that text had been logged there.
    """
    for answer in answers:
        others = [change for change in changes if (change.database, change.table) != answer.name]
        if answer.text is not None:
            changes = others + interpret(answer.text)
        elif isinstance(known := definitions.get(*answer.name), TableSchema):
            changes = [*others, DefinitionChange("alter", *answer.name, known)]
    return changes
