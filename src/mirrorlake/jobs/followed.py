"""The tables that a lake follows now, and those that it will follow after the next run."""

from __future__ import annotations

from mirrorlake.core.schema.history import Definitions
from mirrorlake.core.schema.table_name import TableName
from mirrorlake.core.schema.tables import TableSchema
from mirrorlake.lake.delta.lake import Lake
from mirrorlake.lake.gold.control.epochs import EpochLog
from mirrorlake.lake.gold.control.register import STREAMING, TableRegister
from mirrorlake.lake.silver.definitions import recorded
from mirrorlake.lake.silver.overrides import read_answers


def streaming(lake: Lake) -> set[TableName]:
    """Tables whose mirrors take changes."""
    return {entry.name for entry in TableRegister.read(lake) if entry.state == STREAMING}


def awaited(lake: Lake) -> set[TableName]:
    """Tables whose CREATE TABLE or snapshot gold has not reached."""
    register, changes = TableRegister.read(lake), [change for _, change in recorded(lake)]
    definitions, names = Definitions(changes), {change.name for change in changes}
    ahead = {name for name in names if isinstance(definitions.get(*name), TableSchema) and not register.get(name)}
    waiting = {answer.name for answer in read_answers(lake)[EpochLog(lake).answers :] if answer.copy_id}
    return ahead | waiting
