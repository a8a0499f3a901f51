"""MariaDB's CONVERT PARTITION: a partition becomes a table, or a table becomes a partition, with its rows.

https://mariadb.com/docs/server/server-usage/partitioning-tables/partitioning-overview#converting-partitions-to-tables
"""

from __future__ import annotations

from dataclasses import replace

from mirrorlake.core.ddl.effect.context import Before, refuse
from mirrorlake.core.ddl.effect.definition import define_like
from mirrorlake.core.ddl.effect.redefine_keys import Contradiction
from mirrorlake.core.ddl.effect.redefine_partitions import repartition
from mirrorlake.core.ddl.parse.statements import PartitionToTable, TableToPartition
from mirrorlake.core.schema.history import ABSENT, DefinitionChange
from mirrorlake.core.schema.row_steps import Remove, TakeRows
from mirrorlake.core.schema.table_name import TableName
from mirrorlake.core.schema.tables import TableSchema
from mirrorlake.core.schema.versioning import SYSTEM_TIME

_FIRST_COPY, _RESYNC = "needs-first-copy", "needs-resync"


def partition_to_table(name: TableName, clause: PartitionToTable, before: Before) -> list[DefinitionChange]:
    known, made = before.known(name), clause.table
    if not isinstance(known, TableSchema) or known.partitioning is None:
        reason = f"its rows were a partition of {name.database}.{name.table}, which is not mirrored"
        return [refuse(made, _FIRST_COPY, reason), *_mismatch(name, known)]
    try:
        left = repartition(known, [clause])
    except Contradiction as error:
        return [refuse(made, _FIRST_COPY, str(error)), refuse(name, "definition-mismatch", str(error))]
    schema = replace(define_like(known, made.database, made.table), partitioning=None)
    taken = TakeRows(name.database, name.table, known.partitioning, clause.name)
    return [
        DefinitionChange("create", made.database, made.table, schema, (taken,)),
        DefinitionChange("alter", name.database, name.table, left, (Remove(known.partitioning, (clause.name,)),)),
    ]


def table_to_partition(name: TableName, clause: TableToPartition, before: Before) -> list[DefinitionChange]:
    known, source = before.known(name), clause.table
    taken = before.known(source)
    if clause.if_exists and taken is ABSENT:
        return []
    gone = [] if taken is ABSENT else [DefinitionChange("drop", source.database, source.table)]
    if not isinstance(known, TableSchema):
        return gone
    if not isinstance(taken, TableSchema):
        reason = f"rows came from {source.database}.{source.table}, which is not mirrored"
        return [refuse(name, _RESYNC, reason), *gone]
    if known.partitioning and known.partitioning.method == SYSTEM_TIME:
        return [refuse(name, _RESYNC, "rows came into a partition of history"), *gone]
    if not clause.is_validated:
        return [refuse(name, _RESYNC, "rows came into a partition that they may not be of (WITHOUT VALIDATION)"), *gone]
    try:
        grown = repartition(known, [clause])
    except Contradiction as error:
        return [refuse(name, "definition-mismatch", str(error)), *gone]
    return [
        DefinitionChange("alter", name.database, name.table, grown, (TakeRows(source.database, source.table),)),
        *gone,
    ]


def _mismatch(name: TableName, known: object) -> list[DefinitionChange]:
    if not isinstance(known, TableSchema):
        return []
    return [refuse(name, "definition-mismatch", "the table is not partitioned")]
