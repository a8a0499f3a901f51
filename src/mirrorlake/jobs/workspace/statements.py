"""Run a query in a SQL warehouse, and wait for its rows."""

from __future__ import annotations

import time
from dataclasses import dataclass

from databricks.sdk import WorkspaceClient
from databricks.sdk.service.sql import (
    Disposition,
    ExecuteStatementRequestOnWaitTimeout,
    Format,
    ServiceError,
    StatementResponse,
    StatementState,
)

from mirrorlake.core.sql_text import Sql
from mirrorlake.errors import RefusedError, RetryableError
from mirrorlake.shown import one_line

MOST_S = 600
"""How long a statement may run; a warehouse that was stopped starts first."""
FIRST_PAUSE_S, MOST_PAUSE_S = 0.2, 5.0
_OPEN = (StatementState.PENDING, StatementState.RUNNING)
_ABSENT = ("TABLE_OR_VIEW_NOT_FOUND", "SCHEMA_NOT_FOUND", "NO_SUCH_CATALOG")


@dataclass(frozen=True, slots=True)
class Warehouse:
    client: WorkspaceClient
    warehouse_id: str

    def query(self, sql: Sql) -> list[dict[str, str | None]]:
        """The rows of one query; each value as the text that the warehouse gives for it.

        Raises RefusedError ``lake-missing`` for a table that is not there, ``workspace-refused`` for other faults of
        the statement; RetryableError ``workspace-unreachable`` if it takes too long.
        """
        ended = self._wait(
            self.client.statement_execution.execute_statement(
                sql, self.warehouse_id, wait_timeout="30s", disposition=Disposition.INLINE, format=Format.JSON_ARRAY,
                on_wait_timeout=ExecuteStatementRequestOnWaitTimeout.CONTINUE,
            )
        )  # fmt: skip
        if ended.status.state != StatementState.SUCCEEDED:
            raise _refused(ended.status.error, ended.status.state.value.lower())
        names = [column.name for column in ended.manifest.schema.columns or []]
        return [dict(zip(names, row, strict=True)) for row in self._rows(ended)]

    def _wait(self, found: StatementResponse) -> StatementResponse:
        statements, pause_s, end = self.client.statement_execution, FIRST_PAUSE_S, time.monotonic() + MOST_S
        while found.status.state in _OPEN:
            if time.monotonic() > end:
                statements.cancel_execution(found.statement_id)
                raise RetryableError("workspace-unreachable", f"a statement ran for more than {MOST_S} s")
            time.sleep(pause_s)
            pause_s = min(pause_s * 1.5, MOST_PAUSE_S)
            found = statements.get_statement(found.statement_id)
        return found

    def _rows(self, ended: StatementResponse) -> list[list[str | None]]:
        chunk = ended.result
        rows: list[list[str | None]] = []
        while chunk is not None:
            rows += chunk.data_array or []
            following = chunk.next_chunk_index
            chunk = following and self.client.statement_execution.get_statement_result_chunk_n(
                ended.statement_id, following
            )
        return rows


def _refused(error: ServiceError | None, state: str) -> RefusedError:
    message = one_line(error.message) if error and error.message else f"the statement was {state}"
    is_absent = any(condition in message for condition in _ABSENT)
    return RefusedError("lake-missing" if is_absent else "workspace-refused", message)
