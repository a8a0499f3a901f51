"""Which jobs of a workspace mirror a lake."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from databricks.sdk import WorkspaceClient
from databricks.sdk.service.jobs import JobSettings, Task

from mirrorlake.lake.delta.names import UNITY

PACKAGE = "mirrorlake"


@dataclass(frozen=True, slots=True)
class DeployedJob:
    job_id: int
    settings: JobSettings

    @property
    def name(self) -> str:
        return self.settings.name or str(self.job_id)


def deployed_jobs(client: WorkspaceClient, lake: str) -> list[DeployedJob]:
    """The jobs whose parameters have the lake, by name; also those that run this package and name no lake at all."""
    found = (DeployedJob(job.job_id, job.settings) for job in client.jobs.list(expand_tasks=True, limit=100))
    return sorted((job for job in found if _is_of(job.settings, lake)), key=lambda job: job.name)


def _is_of(settings: JobSettings, lake: str) -> bool:
    tasks = settings.tasks or []
    values = [parameter.default for parameter in settings.parameters or []]
    values += [value for task in tasks for value in _values(task)]
    lakes = {value for value in values if value and value.startswith(UNITY)}
    return lake in lakes or (not lakes and any(map(_runs_us, tasks)))


def _values(task: Task) -> Iterator[str]:
    if wheel := task.python_wheel_task:
        yield from wheel.parameters or []
        yield from (wheel.named_parameters or {}).values()
    if notebook := task.notebook_task:
        yield from (notebook.base_parameters or {}).values()


def _runs_us(task: Task) -> bool:
    return bool(task.python_wheel_task and task.python_wheel_task.package_name == PACKAGE)
