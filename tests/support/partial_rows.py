"""The same history, logged with binlog_row_image MINIMAL and NOBLOB for some of its statements."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from random import Random

from mirrorlake.core.schema.tables import TableSchema
from mirrorlake.core.schema.types import BLOBS, TEXTS
from tests.support.binlog_spec import Delete, Item, Query, Row, RowsPart, Statement, Transaction, Update


def with_partial_rows(items: Iterable[Item], random: Random, flavor: str) -> list[Item]:
    """MariaDB's updates of whole keys stay full, and so do its NOBLOB ones: they could be a REPLACE.

    Of a table without a key MariaDB logs whole rows, and MySQL whole before images.
    """
    return [
        replace(item, statements=[_statement(each, random, flavor) for each in item.statements])
        if isinstance(item, Transaction)
        else item
        for item in items
    ]


def _statement(statement: Statement | RowsPart | Query, random: Random, flavor: str):
    if isinstance(statement, Statement):
        return replace(statement, parts=[_part(part, random, flavor) for part in statement.parts])
    return statement if isinstance(statement, Query) else _part(statement, random, flavor)


def _part(part: RowsPart, random: Random, flavor: str) -> RowsPart:
    image, table = random.choice(("FULL", "MINIMAL", "NOBLOB")), part.table
    if image == "FULL" or not isinstance(part, Update | Delete) or not table.primary_key and flavor == "mariadb":
        return part
    named = _named(table, image)
    if isinstance(part, Delete):
        return replace(part, rows=[_only(row, named) for row in part.rows])
    changed = {name for before, after in part.rows for name in after if before[name] != after[name]}
    logged = changed if image == "MINIMAL" else changed | set(named)
    if flavor == "mariadb" and (image == "NOBLOB" or changed.issuperset(table.primary_key)):
        return part
    return replace(part, rows=[(_only(before, named), _only(after, logged)) for before, after in part.rows])


def _named(table: TableSchema, image: str) -> Sequence[str]:
    """The columns of a before image."""
    if not table.primary_key:
        return [column.name for column in table.columns]
    if image == "MINIMAL":
        return table.primary_key
    return [c.name for c in table.columns if c.type.name not in (*BLOBS, *TEXTS) or c.name in table.primary_key]


def _only(row: Row, names: Iterable[str]) -> Row:
    chosen = set(names)
    return {name: value for name, value in row.items() if name in chosen}
