"""Transactions of silver whose row changes are not what was written: counted and hashed again, in Spark's workers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from mirrorlake.core.changes.image_checksums import KINDS, READ, damaged
from mirrorlake.core.ddl.effect.override import Answer
from mirrorlake.core.position import show_lsn
from mirrorlake.lake.delta.lake import Lake
from mirrorlake.lake.delta.names import named


@dataclass(frozen=True, slots=True)
class DamagedTransaction:
    """lsn: where it begins. changes: as its COMMIT row counts them; found: that silver has."""

    lsn: int
    gtid: str | None
    changes: int
    found: int

    @property
    def name(self) -> str:
        return f"transaction {self.gtid or 'without GTID'} at {show_lsn(self.lsn)}"

    @property
    def difference(self) -> str:
        if self.found != self.changes:
            return f"silver has {self.found:,} of its {self.changes:,} row changes"
        return "silver has other values than were written"


def damaged_transactions(lake: Lake, up_to: int, answers: Iterable[Answer]) -> list[DamagedTransaction]:
    """Return those up to an lsn, in the order of the log.

    Rows that an override has brought are in no COMMIT row's count, so a transaction may fit without them.
    answers: all overrides of the lake.
    """
    rows = lake.spark.table(lake.names.silver_changes).where(F.col("op").isin(*KINDS) & (F.col("lsn") <= up_to))
    found = _damaged(rows)
    answered = [F.expr(named(answer.name)) & (F.col("lsn") >= answer.lsn) for answer in answers]
    if found and answered:
        again = rows.where(F.col("tx_lsn").isin([transaction.lsn for transaction in found]))
        for is_brought in answered:
            again = again.where(~F.coalesce(is_brought, F.lit(False)))
        found = _damaged(again)
    return found


def _damaged(rows: DataFrame) -> list[DamagedTransaction]:
    whole = rows.select(*READ).repartitionByRange("tx_lsn").sortWithinPartitions("tx_lsn", "ordinal")
    found = whole.mapInArrow(damaged, "tx_lsn BIGINT, gtid STRING, changes BIGINT, found BIGINT")
    return sorted((DamagedTransaction(*row) for row in found.collect()), key=lambda transaction: transaction.lsn)
