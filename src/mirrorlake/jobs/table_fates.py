"""The fate of each table of a server: mirrored, to be copied, refused, left out, and why. No Spark."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from mirrorlake.config import Options
from mirrorlake.core.schema.column_patterns import ColumnPatterns
from mirrorlake.core.schema.lower_case_names import NameCase
from mirrorlake.core.schema.table_name import TableName
from mirrorlake.errors import REFUSALS, RefusedError, next_step
from mirrorlake.jobs.source_look import no_versions, shown_definition
from mirrorlake.mysql.connection import ServerConnection
from mirrorlake.mysql.consistent_read import CurrentRead, TableChanged
from mirrorlake.mysql.source_tables import Ask, SourceTable

if TYPE_CHECKING:
    from mirrorlake.lake.gold.control.register import TableEntry  # needs Spark

MIRRORED, AWAITED = "mirrored", "next run"
NEEDS_SNAPSHOT, NO_SNAPSHOT = "needs a snapshot", "no snapshot"
REFUSED, LEFT_OUT, NOT_THERE = "refused", "left out", "no table of the server"
_WITHOUT_SNAPSHOT = (
    "ALTER TABLE ... ENGINE = InnoDB, then `mirrorlake snapshot`; or create the table again while a run follows."
)


@dataclass(frozen=True, slots=True)
class TableFate:
    """fate: one of those above. code: of a refusal. reason: why; None if the fate says it. todo: what to do, or
    None."""

    database: str
    table: str
    fate: str
    code: str | None = None
    reason: str | None = None
    todo: str | None = None

    @property
    def name(self) -> TableName:
        return TableName(self.database, self.table)

    @property
    def why(self) -> str:
        """Code and reason as a text for a person."""
        return ": ".join(filter(None, (self.code, self.reason)))


@dataclass(frozen=True, slots=True)
class Known:
    """What a lake knows of tables. entries: its register, by name. awaited: see ``jobs.followed``."""

    entries: dict[TableName, TableEntry] = field(default_factory=dict)
    awaited: Collection[TableName] = ()


def table_fates(
    control: ServerConnection, options: Options, tables: list[SourceTable], known: Known | None = None
) -> list[TableFate]:
    """The fate of each table, in their order. options, tables: from ``seen_tables``. known: nothing if there is no
    lake.

    Views and sequences have no fate. Raises what ``CurrentRead`` raises.
    """
    name_case, known, read = NameCase(options.lower_case_table_names), known or Known(), CurrentRead(control.login)

    def why_undefined(name: TableName) -> str | None:
        return _why_undefined(read.rows, name, control.flavor, options.hidden(name_case))

    try:
        return list(_fates(tables, options, known, why_undefined))
    finally:
        read.close()


def _fates(
    tables: list[SourceTable], options: Options, known: Known, why_undefined: Callable[[TableName], str | None]
) -> Iterator[TableFate]:
    for table in tables:
        try:
            yield _fate(table, options, known, why_undefined)
        except TableChanged:  # dropped meanwhile
            continue


def _fate(
    table: SourceTable, options: Options, known: Known, why_undefined: Callable[[TableName], str | None]
) -> TableFate:
    name, entry = table.name, known.entries.get(table.name)
    if entry and entry.is_streaming:
        return TableFate(*name, MIRRORED, entry.code, entry.reason)
    if reason := options.patterns.why_not(*name):
        return TableFate(*name, LEFT_OUT, reason=reason)
    if name in known.awaited:
        return TableFate(*name, AWAITED)
    if entry and entry.is_refused and entry.code:
        return TableFate(*name, REFUSED, entry.code, entry.reason, next_step(entry.code))
    if not table.has_versions:
        return TableFate(*name, NO_SNAPSHOT, reason=no_versions(table), todo=_WITHOUT_SNAPSHOT)
    if refusal := why_undefined(name):
        code, _, reason = refusal.partition(": ")
        return TableFate(*name, REFUSED, code, reason, REFUSALS[code])
    return TableFate(*name, NEEDS_SNAPSHOT, todo="`mirrorlake snapshot` copies it")


def _why_undefined(ask: Ask, name: TableName, flavor: str, hidden: ColumnPatterns) -> str | None:
    """Code and reason why no mirror can have the table's definition. Raises what ``ask`` raises."""
    try:
        return shown_definition(ask, name, flavor, hidden.name_case, hidden)[2]
    except RefusedError as error:
        if error.code != "server-privilege":
            raise
        return "server-privilege: SELECT is missing"
