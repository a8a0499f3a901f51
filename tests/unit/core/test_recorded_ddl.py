"""The DDL that real servers logged for ``tests/cases``: every table map agrees with the definition in force."""

from __future__ import annotations

import numpy as np
import pytest

from mirrorlake.core.binlog.events import parse_query
from mirrorlake.core.binlog.log_reader import LogReader
from mirrorlake.core.binlog.row_layout import RowLayouts
from mirrorlake.core.binlog.table_slots import TABLE_MAP, TableSlots
from mirrorlake.core.changes.bronze_events import BronzeEvents
from mirrorlake.core.gtid import parse_gtid_set
from mirrorlake.core.schema.charsets import charset_of_collation_id
from mirrorlake.core.schema.ddl_apply import interpret
from mirrorlake.core.schema.history import Definitions
from mirrorlake.core.schema.tables import TableSchema, same_definition
from mirrorlake.mysql.binlog_files import FileSource
from tests.record_cases import LOGS
from tests.support.servers import FLAVORS

QUERY = 2


@pytest.mark.parametrize("flavor", FLAVORS)
def test_every_table_map_agrees_with_the_definition_in_force(flavor):
    source, definitions, n_compared, differences = FileSource(LOGS / flavor), Definitions(), 0, []
    chunks = LogReader(source.earliest(), parse_gtid_set(flavor, "")).read(
        source.read(source.earliest(), source.current())
    )
    for events in (BronzeEvents(chunk.batch) for chunk in chunks):
        layouts = RowLayouts()
        slots = TableSlots(flavor, layouts).resolve(
            events.buf, events.offset, events.length, events.trailer, events.event_type
        )
        for i in np.flatnonzero((events.event_type == QUERY) | (events.event_type == TABLE_MAP)):
            if events.event_type[i] == QUERY:
                definitions.apply(_interpreted(events.body(int(i)), flavor, definitions))
                continue
            seen = layouts.table_maps[slots[i]]
            known = definitions.get(seen.database, seen.table)
            if isinstance(known, TableSchema) and seen.schema:
                n_compared += 1
                differences += filter(None, [same_definition(seen.schema, known)])
    assert differences == []
    assert n_compared > 200


def _interpreted(body: bytes, flavor: str, definitions: Definitions) -> list:
    query = parse_query(body)
    if query.statement in ("BEGIN", "COMMIT", "ROLLBACK"):
        return []
    return interpret(
        query.statement, database=query.database, sql_mode=query.sql_mode, flavor=flavor,
        default_charset=charset_of_collation_id(query.charset[2], flavor) if query.charset else None,
        definitions=definitions, explicit_timestamps=query.explicit_timestamps(flavor),
    )  # fmt: skip
