"""Which views a lake should have: one for each mirror, by the register or at a syncpoint."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from mirrorlake.core.schema.table_name import TableName
from mirrorlake.core.schema.tables import TableSchema
from mirrorlake.core.schema.view_names import ViewName, named_twice, view_name
from mirrorlake.lake.gold.control.register import DROPPED, REFUSED, TableEntry, TableRegister
from mirrorlake.lake.gold.control.table import own_columns
from mirrorlake.lake.gold.syncpoint.syncpoints import Syncpoint
from mirrorlake.shown import shown

VIEW_NAME, NO_VERSION = "view-name", "syncpoint"
AMBIGUOUS = "two tables would have this name"


@dataclass(frozen=True, slots=True)
class View:
    """A view of a mirror. version: of Delta; None: the newest. syncpoint: the name of the one it shows; None: it shows
    the present. comment: what a reader should know, in one line.
    columns: all of the mirror, by name, with whether the view shows its JSON parsed; empty: the mirror's as they are.
    """

    name: ViewName
    table: TableName
    mirror_id: str
    comment: str
    version: int | None = None
    syncpoint: str | None = None
    columns: tuple[tuple[str, bool], ...] = ()


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A mirror that has no view. code: a key of ``REFUSALS``."""

    table: TableName
    code: str
    reason: str


def wanted_views(
    register: TableRegister, template: str, objection: Callable[[ViewName], str | None], at: Syncpoint | None = None,
    *, parses_json: bool = False,
) -> tuple[list[View], list[LeftOut]]:  # fmt: skip
    """The views by name, and the mirrors that have none. Shadow tables and dropped tables are in neither.

    objection: why the engine can have no view of a name. at: with ``register`` as it was there. parses_json: views show
    the source's JSON columns as the engine's type for JSON.
    """
    entries = [e for e in register if e.mirror_id and e.state != DROPPED and not register.is_shadow(e)]
    versions = {table.mirror_id: table.version for table in at.tables} if at else {}
    names = {entry.name: view_name(template, entry.name) for entry in entries}
    ambiguous = named_twice(names.values())
    views, left_out = list[View](), list[LeftOut]()
    for entry in entries:
        name, version = names[entry.name], versions.get(entry.mirror_id)
        reason = AMBIGUOUS if name in ambiguous else objection(name)
        if reason:
            left_out.append(LeftOut(entry.name, VIEW_NAME, f"no view {'.'.join(name)}: {reason}"))
        elif at and version is None:
            left_out.append(_without_version(entry, at))
        else:
            columns = _with_json(entry.schema) if parses_json else ()
            views.append(
                View(name, entry.name, entry.mirror_id, _comment(entry, at), version, at.name if at else None, columns)
            )
    return sorted(views, key=lambda view: view.name), left_out


def _without_version(entry: TableEntry, at: Syncpoint) -> LeftOut:
    if entry.state == REFUSED:
        return LeftOut(entry.name, entry.code, f"refused at {at.name}: {entry.reason}")
    return LeftOut(entry.name, NO_VERSION, f"{at.name} has no version of this table")


def _with_json(schema: TableSchema) -> tuple[tuple[str, bool], ...]:
    """See ``View.columns``."""
    columns = tuple((column.name, column.type.name == "json") for column in schema.columns)
    return (*columns, *((name, False) for name in own_columns(schema))) if any(json for _, json in columns) else ()


def _comment(entry: TableEntry, at: Syncpoint | None) -> str:
    if entry.state == REFUSED:
        return f"refused: {entry.code}"
    what = f"mirror of {shown(str(entry.name))}" + (f" at syncpoint {at.name}" if at else "")
    return f"{what}; {entry.code}" if entry.code else what
