"""The statements that make a lake's mirrors readable by name in another engine."""

from __future__ import annotations

import re
from dataclasses import dataclass

from mirrorlake.core.schema.view_names import DATABASE
from mirrorlake.core.sql_text import Sql
from mirrorlake.errors import UsageError
from mirrorlake.lake.delta.lake import Lake
from mirrorlake.lake.gold.control.register import TableRegister
from mirrorlake.lake.gold.syncpoint.syncpoints import NEWEST, find
from mirrorlake.lake.gold.views.engines import ENGINES
from mirrorlake.lake.gold.views.wanted import LeftOut, View, wanted_views


@dataclass(frozen=True, slots=True)
class Listed:
    """statements: in the order in which they run, without semicolons."""

    views: list[View]
    statements: list[Sql]
    left_out: list[LeftOut]


def list_views(
    lake: Lake, engine: str, template: str | None = None, at: str | None = None, *, parses_json: bool = False
) -> Listed:
    """The views of all mirrors as they are now, or at a syncpoint.

    engine: one of ``ENGINES``. template: see ``check_template``; without it each source database has a schema of its
    name, and at a syncpoint of its name and the syncpoint's. at: see ``syncpoints.find``. parses_json: see
    ``wanted_views``.
    Raises UsageError ``usage`` for an engine that cannot read this lake; ``syncpoint``.
    """
    if engine not in ENGINES:
        raise UsageError("usage", f"--engine is one of {', '.join(ENGINES)}, not {engine}")
    sql = ENGINES[engine](lake.names)
    point = find(lake, at) if at else None
    register = TableRegister.read(lake, up_to=point.lsn if point else None)
    template = template or _default(NEWEST if at == NEWEST else point.name if point else None)
    views, left_out = wanted_views(register, template, sql.objection, point, parses_json=parses_json)
    schemas = dict.fromkeys(view.name.schema for view in views)
    statements = [sql.create_schema(schema) for schema in schemas]
    statements += [statement for view in views for statement in sql.create_view(view)]
    return Listed(views, statements, left_out)


def _default(syncpoint: str | None) -> str:
    return DATABASE if syncpoint is None else f"{DATABASE}_{re.sub(r'[^A-Za-z0-9_]', '_', syncpoint)}"
