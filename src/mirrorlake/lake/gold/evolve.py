"""DDL on the mirrors: what a change of definition does to a mirror table and to its register entry.

Every step is repeatable: a table is created if it is not there; an ALTER's commit carries the DDL's lsn and step, and
is looked up in the table's own history before it runs; a drop only changes the register (the files stay for time
travel until maintenance removes them).
"""

from __future__ import annotations

from pyspark.sql import SparkSession

from mirrorlake.core.schema.history import DefinitionChange
from mirrorlake.core.schema.tables import TableSchema, why_not_mirrored
from mirrorlake.lake.delta.lake import Lake
from mirrorlake.lake.delta.names import quote, remove_unborn
from mirrorlake.lake.delta.notes import read_notes
from mirrorlake.lake.delta.progress import run_ddl
from mirrorlake.lake.gold.register import DROPPED, REFUSED, STREAMING, TableEntry, mirror_id
from mirrorlake.lake.gold.table import create_mirror_statement, mirror_types

HOP = "apply/ddl"


def evolve(
    session: SparkSession, lake: Lake, lsn: int, change: DefinitionChange, entry: TableEntry | None
) -> list[TableEntry]:
    """Carry one change out on its mirror; the table's new entry, none when nothing is mirrored and nothing begins."""
    name = (change.database, change.table)
    if change.action == "create":
        return [_create(session, lake, lsn, change)]
    if change.action == "drop":
        return [TableEntry(lsn, *name, DROPPED)] if entry else []
    if change.action == "refuse":
        kept = (entry.mirror_id, entry.schema) if entry else (None, None)
        return [TableEntry(lsn, *name, REFUSED, *kept, change.code, change.reason)]
    if entry is None or entry.state != STREAMING:
        return []
    return [_alter(session, lake, lsn, change, entry)]


def _create(session: SparkSession, lake: Lake, lsn: int, change: DefinitionChange) -> TableEntry:
    refusal = why_not_mirrored(change.schema)
    if refusal:
        return TableEntry(lsn, change.database, change.table, REFUSED, None, change.schema, *refusal)
    identity = mirror_id(change.database, change.table, lsn)
    remove_unborn(lake.names.mirror(identity))
    statement = create_mirror_statement(lake.names.mirror(identity), change.schema)
    run_ddl(session, statement, lake.payload(HOP, ddl_lsn=lsn, step="create"), lsn=lsn)
    return TableEntry(lsn, change.database, change.table, STREAMING, identity, change.schema)


def _alter(session: SparkSession, lake: Lake, lsn: int, change: DefinitionChange, entry: TableEntry) -> TableEntry:
    refusal = why_not_mirrored(change.schema)
    if refusal:
        return entry.refused(lsn, *refusal)
    mirror = lake.names.mirror(entry.mirror_id)
    done = {
        note["payload"].get("step") for note, _ in read_notes(session, mirror) if note["payload"].get("ddl_lsn") == lsn
    }
    for step, clause in _clauses(change, entry.schema):
        if step not in done:
            payload = lake.payload(HOP, ddl_lsn=lsn, step=step)
            run_ddl(session, f"ALTER TABLE {mirror} {clause}", payload, lsn=lsn)
    return TableEntry(lsn, *entry.name, STREAMING, entry.mirror_id, change.schema)


def _clauses(change: DefinitionChange, old: TableSchema) -> list[tuple[str, str]]:
    """At most one DROP COLUMNS and one ADD COLUMNS, each a single commit; columns end up in the source's order."""
    new = change.schema
    dropped = [step[1] for step in change.steps if step[0] == "drop"]
    known = [
        column.name.casefold()
        for column in old.columns
        if column.name.casefold() not in {d.casefold() for d in dropped}
    ]
    clauses = []
    if dropped:
        clauses.append(("drop", f"DROP COLUMNS ({', '.join(map(quote, dropped))})"))
    types, adds = mirror_types(new), []
    for i, column in enumerate(new.columns):
        if column.name.casefold() not in known:
            place = f"AFTER {quote(new.columns[i - 1].name)}" if i else "FIRST"
            adds.append(f"{quote(column.name)} {types[column.name]} {place}")
    if adds:
        clauses.append(("add", f"ADD COLUMNS ({', '.join(adds)})"))
    return clauses
