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

_MAKES = ("create", "rename")
"""Actions of ``DefinitionChange`` after which there is a table of this name."""


def streaming(lake: Lake) -> set[TableName]:
    """Tables whose mirrors take changes."""
    return {entry.name for entry in TableRegister.read(lake) if entry.state == STREAMING}


def awaited(lake: Lake) -> set[TableName]:
    """Tables whose CREATE TABLE or snapshot gold has not reached. What it left out earlier is not among them."""
    epochs, register, changes = EpochLog(lake), TableRegister.read(lake), list(recorded(lake))
    definitions = Definitions(change for _, change in changes)
    made = {change.name for lsn, change in changes if lsn > epochs.applied_lsn and change.action in _MAKES}
    ahead = {name for name in made if isinstance(definitions.get(*name), TableSchema) and not register.get(name)}
    waiting = {answer.name for answer in read_answers(lake)[epochs.answers :] if answer.copy_id}
    return ahead | waiting
