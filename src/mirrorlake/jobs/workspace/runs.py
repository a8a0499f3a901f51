"""The last runs of the deployed jobs, as the workspace has them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timezone
from itertools import chain, islice
from typing import Any, TextIO

from databricks.sdk import WorkspaceClient
from databricks.sdk.errors import InvalidParameterValue, NotFound, PermissionDenied
from databricks.sdk.service.jobs import BaseRun, RunState, RunTask

from mirrorlake.jobs.show.output import show_list
from mirrorlake.jobs.workspace.jobs import DeployedJob, deployed_jobs
from mirrorlake.shown import one_line

MOST_OF_A_PAGE = 25
"""The most runs that the workspace lists at once."""
_WENT_WELL = ("SUCCESS", "SUCCESS_WITH_FAILURES")
_NO_OUTPUT = (NotFound, PermissionDenied, InvalidParameterValue)


@dataclass(frozen=True, slots=True)
class JobRun:
    """state: the workspace's word in lower case. duration_s: until now if it runs. error: its first line; None: it has
    none, or none yet."""

    job: str
    run_id: int
    state: str
    started: datetime
    duration_s: float
    error: str | None
    page: str | None

    def to_json(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__} | {"started": self.started.isoformat()}


def last_runs(client: WorkspaceClient, lake: str, n_runs: int) -> list[JobRun]:
    """The runs of the lake's jobs that started last, newest first."""
    found = chain.from_iterable(_runs_of(client, job, n_runs) for job in deployed_jobs(client, lake))
    newest = sorted(found, key=lambda pair: pair[1].start_time or 0, reverse=True)[:n_runs]
    return [_job_run(client, job, run) for job, run in newest]


def _runs_of(client: WorkspaceClient, job: DeployedJob, n_runs: int) -> Iterable[tuple[DeployedJob, BaseRun]]:
    listed = client.jobs.list_runs(job_id=job.job_id, expand_tasks=True, limit=min(n_runs, MOST_OF_A_PAGE))
    return ((job, run) for run in islice(listed, n_runs))


def _job_run(client: WorkspaceClient, job: DeployedJob, run: BaseRun) -> JobRun:
    started = datetime.fromtimestamp((run.start_time or 0) / 1000, timezone.utc)
    ended = datetime.fromtimestamp(run.end_time / 1000, timezone.utc) if run.end_time else datetime.now(timezone.utc)
    duration_s = round((ended - started).total_seconds(), 3)
    return JobRun(job.name, run.run_id, _word(run.state), started, duration_s, _error_of(client, run), run.run_page_url)


def _word(state: RunState) -> str:
    word = state.result_state or state.life_cycle_state
    return word.value.lower() if word else "unknown"


def _failed(state: RunState | None) -> bool:
    return bool(state and state.result_state and state.result_state.value not in _WENT_WELL)


def _error_of(client: WorkspaceClient, run: BaseRun) -> str | None:
    """The error of the first task that failed, else what the workspace says of the whole run."""
    if not _failed(run.state):
        return None
    failed = sorted((task for task in run.tasks or [] if _failed(task.state)), key=lambda task: task.start_time or 0)
    texts = chain((_output_of(client, task) for task in failed), (run.state.state_message,))
    return next((line for text in texts if (line := _first_line(text))), None)


def _output_of(client: WorkspaceClient, task: RunTask) -> str | None:
    try:
        error = client.jobs.get_run_output(task.run_id).error
    except _NO_OUTPUT:  # too old, of another user, or a task that has none
        error = None
    return error or task.state.state_message


def _first_line(text: str | None) -> str | None:
    return next((one_line(line) for line in (text or "").splitlines() if line.strip()), None)


def show_runs(runs: list[JobRun], as_json: bool, stream: TextIO) -> None:
    columns = ("started (UTC)", "job", "state", "duration", "error")
    rows = [(f"{r.started:%Y-%m-%d %H:%M:%S}", r.job, r.state, f"{r.duration_s:,.0f} s", r.error or "") for r in runs]
    show_list([run.to_json() for run in runs], columns, rows, as_json, stream)
