"""The names of views by a template: a schema for each source database, or one for all."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from mirrorlake.core.schema.table_name import TableName

DATABASE = "{database}"


class ViewName(NamedTuple):
    """Where a mirror is found by name, as ``schema.view``."""

    schema: str
    view: str


def check_template(template: str) -> str:
    """The template itself: the name of a schema, in which ``{database}`` means the source's database.

    Raises ValueError for an empty one, and for one with other braces.
    """
    rest = template.replace(DATABASE, "")
    if not template.strip() or "{" in rest or "}" in rest:
        raise ValueError(f"a template is the name of a schema; it may have {DATABASE} and no other braces")
    return template


def view_name(template: str, table: TableName) -> ViewName:
    """The source's name of the table; in a schema of all databases it begins with the database."""
    if DATABASE in template:
        return ViewName(template.replace(DATABASE, table.database), table.table)
    return ViewName(template, "__".join(table))


def named_twice(names: Iterable[ViewName], fold: Callable[[str], str] = str.lower) -> set[ViewName]:
    """The names that are equal to another one of them when folded."""
    alike: dict[tuple[str, ...], list[ViewName]] = {}
    for name in names:
        alike.setdefault(tuple(map(fold, name)), []).append(name)
    return {name for found in alike.values() if len(found) > 1 for name in found}
