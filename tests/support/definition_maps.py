"""What table maps with all metadata say against what is read from the default ones and the log's statements."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pyarrow as pa

from mirrorlake.core.binlog.events import parse_query
from mirrorlake.core.binlog.rows.mapped_table import describe
from mirrorlake.core.binlog.rows.table_map import TableMap, parse_table_map
from mirrorlake.core.binlog.rows.table_map_metadata import TableMapFields
from mirrorlake.core.changes.bronze_events import BronzeEvents
from mirrorlake.core.changes.definition_reader import DefinitionReader
from mirrorlake.core.constants import EventType
from mirrorlake.core.lsn_range import LsnRange
from mirrorlake.core.schema.tables import TableSchema
from tests.support.pure_hops import bronze_of

_SAME_BYTES = {"utf8mb3": "utf8mb4"}
"""MariaDB's ``utf8`` is one or the other by old_mode; both are read as UTF-8."""
_LOGGED_AS_OTHERS = ("uuid", "inet6", "inet4", "vector")


@dataclass
class Account:
    """equal: table maps that say the same. refused: by code, those that are refused. wrong: what would be read in
    another way than it was written, or not at all."""

    equal: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)


def account_of(folder: Path, flavor: str) -> Account:
    """Compare the maps of a server's log, which has all metadata."""
    events, found = bronze_of(folder), Account()
    reader = DefinitionReader(flavor)
    reader.read(events)
    timeline = reader.timeline(LsnRange(-1, 2**62))
    queries = (parse_query(body) for _, body in _bodies(events, EventType.QUERY))
    found.wrong += [f"status variables are not read: {q.statement[:80]}" for q in queries if q.unread_status]
    for lsn, body in _bodies(events, EventType.TABLE_MAP):
        seen = parse_table_map(body, flavor)
        known = timeline.at(seen.database, seen.table, lsn)
        if not isinstance(known, TableSchema):
            found.refused["left out"] += 1
            continue
        truth, told = describe(seen, None, flavor), describe(_with_default_metadata(seen, flavor), known, flavor)
        if told.refusal or truth.refusal:
            found.refused[(told.refusal or truth.refusal)[0]] += 1
        elif difference := _difference(truth.schema, told.schema):
            found.wrong.append(f"{seen.database}.{seen.table}: {difference}")
        else:
            found.equal += 1
    return found


def _bodies(events: list[pa.RecordBatch], kind: EventType) -> Iterator[tuple[int, bytes]]:
    """(lsn, body) of each event of a type."""
    for batch in map(BronzeEvents, events):
        for i in np.flatnonzero(batch.event_type == kind).tolist():
            yield int(batch.lsn[i]), batch.body(i)


def _with_default_metadata(seen: TableMap, flavor: str) -> TableMap:
    fields = TableMapFields(seen.wire_types, flavor)
    if flavor == "mysql":
        fields = replace(fields, unsigned=seen.fields.unsigned, collations=seen.fields.collations)
    return replace(seen, fields=fields)


def _difference(truth: TableSchema, told: TableSchema) -> str | None:
    if truth.primary_key != told.primary_key:
        return f"the key is {truth.primary_key}, not {told.primary_key}"
    for real, read in zip(truth.columns, told.columns, strict=True):
        kinds = [replace(c.type, charset=_SAME_BYTES.get(c.type.charset, c.type.charset)) for c in (real, read)]
        if read.type.name not in _LOGGED_AS_OTHERS and (real.name, kinds[0]) != (read.name, kinds[1]):
            return f"{real.name} {real.type}, not {read.name} {read.type}"
    return None
