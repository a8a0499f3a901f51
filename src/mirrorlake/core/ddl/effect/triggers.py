"""CREATE and DROP TRIGGER of MySQL: definitions know which columns a BEFORE UPDATE trigger may set.

See ``core.binlog.rows.partial_json``.
"""

from __future__ import annotations

from dataclasses import replace

from mirrorlake.core.ddl.effect.context import Before
from mirrorlake.core.ddl.parse.statements import CreateTrigger, DropTrigger
from mirrorlake.core.schema.history import DefinitionChange
from mirrorlake.core.schema.table_name import TableName
from mirrorlake.core.schema.tables import TableSchema, UpdateTrigger


def create_trigger(parsed: CreateTrigger, before: Before) -> list[DefinitionChange]:
    known = before.known(parsed.table)
    if not isinstance(known, TableSchema) or parsed.columns == ():
        return []
    return _with_triggers(known, (*known.update_triggers, UpdateTrigger(parsed.name, parsed.columns)))


def drop_trigger(parsed: DropTrigger, before: Before) -> list[DefinitionChange]:
    for table in before.definitions.tables_of(parsed.database):
        known = before.known(TableName(parsed.database, table))
        if isinstance(known, TableSchema):
            left = tuple(trigger for trigger in known.update_triggers if trigger.name != parsed.name)
            if left != known.update_triggers:
                return _with_triggers(known, left)
    return []


def _with_triggers(known: TableSchema, triggers: tuple[UpdateTrigger, ...]) -> list[DefinitionChange]:
    return [DefinitionChange("alter", known.database, known.table, replace(known, update_triggers=triggers))]
