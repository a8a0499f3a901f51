"""What happened to one row, and which DDL changed one table, as far as the lake knows."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import pandas as pd
from pyspark.sql import functions as F

from mirrorlake.core.schema.history import NOTES
from mirrorlake.core.schema.table_name import TableName
from mirrorlake.core.sql_text import Sql, literal, quote
from mirrorlake.errors import UsageError
from mirrorlake.jobs.inspect.trace import ROW_CHANGES, in_images, key_parts
from mirrorlake.lake.delta.lake import Lake
from mirrorlake.lake.delta.names import one_of, table_exists
from mirrorlake.lake.gold.control.register import STREAMING, TableEntry, TableRegister
from mirrorlake.lake.gold.control.table import LSN_COLUMN

SNAPSHOT = "SNAPSHOT"


def some_table(lake: Lake) -> str:
    """The table that changed last, of those with a mirror and a key; else UsageError ``usage``."""
    keyed = [e for e in TableRegister.read(lake) if e.state == STREAMING and e.schema and e.schema.primary_key]
    newest = lake.spark.sql(
        f"""SELECT database, table FROM {lake.names.silver_changes}
            WHERE {ROW_CHANGES} AND {one_of([entry.name for entry in keyed])}
            GROUP BY ALL ORDER BY max(lsn) DESC LIMIT 1"""
    ).collect()
    if newest:
        return str(TableName(*newest[0]))
    if keyed:
        return str(keyed[0].name)
    raise UsageError("usage", "no table with a key has a mirror yet; `mirrorlake tables` lists them")


def newest_key(lake: Lake, table: str) -> list[str] | None:
    """The key of the mirror's row that changed last, as texts; None for a table without a key or without rows."""
    _, entry = known(lake, table)
    names = entry.schema.primary_key if entry.schema else ()
    if not names or not entry.mirror_id or not table_exists(lake.spark, lake.names.mirror(entry.mirror_id)):
        return None
    rows = lake.spark.table(lake.names.mirror(entry.mirror_id))
    kinds = dict(rows.dtypes)
    texts = [f"{'hex' if kinds[name] == 'binary' else 'string'}({quote(name)})" for name in names]
    newest = rows.orderBy(F.desc(LSN_COLUMN)).limit(1).selectExpr(*texts).collect()
    return list(newest[0]) if newest else None


def row_history(lake: Lake, table: str, key: Sequence[str] | None, most: int) -> pd.DataFrame:
    """Every change of a row, newest first, and the snapshots of its table.

    key: as ``trace_row`` takes it; None: the changes of all rows. committed: on the source; of a snapshot, when it was
    taken. Row images are JSON text. Changes of an earlier table of the same name are among them.
    """
    register, entry = known(lake, table)
    keyed = "true"
    if key is not None:
        if entry.schema is None:
            raise UsageError("usage", "this table has no definition; `mirrorlake tables` shows why", table=table)
        keyed = in_images(key_parts(table, entry.schema, key))
    names = one_of(sorted(register.names_of(entry)))
    return frame(
        lake,
        f"""SELECT commit_ts AS committed, op, gtid, to_json(before) AS before, to_json(after) AS after, statement,
                   lsn, tx_lsn
            FROM {lake.names.silver_changes} WHERE {names} AND {ROW_CHANGES} AND {keyed}
            UNION ALL
            SELECT at, '{SNAPSHOT}', NULL, NULL, NULL, NULL, lsn, NULL FROM {lake.names.control_answers}
            WHERE {names} AND copy_id IS NOT NULL
            ORDER BY lsn DESC LIMIT {most}""",
    )


def ddl_history(
    lake: Lake, table: str, most: int, since: datetime | None = None, until: datetime | None = None
) -> pd.DataFrame:
    """The statements that changed a table's definition, newest first. table: empty: all tables.

    action: see ``silver_table_schemas``. effect: see ``control_barriers``, ``none`` if nothing was done. code, reason:
    of a refusal. committed: NULL for what no statement of the log says, such as a snapshot.
    """
    names = "true"
    if table:
        register, entry = known(lake, table)
        names = one_of(sorted(register.names_of(entry)))
    return frame(
        lake,
        f"""SELECT c.commit_ts AS committed, concat_ws('.', s.database, nullif(s.table, '')) AS table_name, s.action,
                   c.statement, coalesce(b.kind, 'none') AS effect, s.refusal AS code, s.reason, s.lsn
            FROM (SELECT * FROM {lake.names.silver_table_schemas}
                  WHERE {names} AND action NOT IN ({", ".join(map(literal, NOTES))})
                  QUALIFY row_number() OVER (PARTITION BY lsn, database, table ORDER BY answer DESC) = 1) s
            LEFT JOIN (SELECT * FROM {lake.names.silver_changes} WHERE op = 'DDL') c ON c.lsn = s.lsn
            LEFT JOIN (SELECT lsn, max(kind) AS kind FROM {lake.names.control_barriers} WHERE phase = 'executed'
                       GROUP BY lsn) b ON b.lsn = s.lsn
            WHERE {during("c.commit_ts", since, until)} ORDER BY s.lsn DESC, table_name LIMIT {most}""",
    )


def known(lake: Lake, table: str) -> tuple[TableRegister, TableEntry]:
    """The register, and the newest entry of a table. Raises UsageError ``usage`` for one that it does not have."""
    register, name = TableRegister.read(lake), lake.name_case.fold(table)
    for entry in register:
        if name == str(entry.name):
            return register, entry
    raise UsageError("usage", "the lake does not know this table; `mirrorlake tables` lists them", table=table)


def during(column: Sql, since: datetime | None, until: datetime | None) -> Sql:
    """The condition that a time is at or after the one and before the other; None: no bound."""
    bounds = [(">=", since), ("<", until)]
    return " AND ".join(
        ["true", *(f"{column} {sign} TIMESTAMP{literal(bound.isoformat())}" for sign, bound in bounds if bound)]
    )


def frame(lake: Lake, query: Sql) -> pd.DataFrame:
    """The rows of a query. Not by ``toPandas``: that repeats a query which fails, and warns with all its trace."""
    return lake.spark.sql(query).toArrow().to_pandas()
