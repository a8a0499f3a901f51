"""Check what a lake needs in a workspace of Databricks: one check per function, each with its fix."""

from __future__ import annotations

import os
import re
import socket
from collections.abc import Iterator

from databricks.sdk import WorkspaceClient
from databricks.sdk.errors import PermissionDenied
from databricks.sdk.service.jobs import JobSettings

from mirrorlake.config import Options
from mirrorlake.errors import UsageError
from mirrorlake.jobs.workspace.client import find_warehouse
from mirrorlake.jobs.workspace.findings import ERROR, WARNING, Finding, looked_up, ok
from mirrorlake.jobs.workspace.grants import User
from mirrorlake.jobs.workspace.jobs import deployed_jobs
from mirrorlake.jobs.workspace.lake_checks import check_lake
from mirrorlake.jobs.workspace.parts import needs_password, secret_parts
from mirrorlake.mysql.login import ServerLogin

OLDEST_RUNTIME = (17, 3)
WAIT_S = 5
_SETUP = "`mirrorlake workspace setup` makes it."
_REACH = (
    "Open the way between the two: firewall, peering, or the network connectivity configuration of serverless; then "
    "run this check on the compute of the job."
)
_NEWER = f"Give the cluster Databricks Runtime {OLDEST_RUNTIME[0]}.{OLDEST_RUNTIME[1]} or later."


def run_checks(client: WorkspaceClient, options: Options, warehouse: str | None) -> list[Finding]:
    """Make all checks in order. Raises only if the workspace cannot be reached, or lets nobody in."""
    user = User.read(client)
    return [
        ok("workspace", f"{client.config.host} as {user.name}"),
        *check_lake(client, user, options),
        *_secret(client, options, user),
        *_source(client, options),
        check_offered_runtime(client),
        *check_jobs(client, options.lake),
        check_warehouse(client, warehouse),
    ]


def _secret(client: WorkspaceClient, options: Options, user: User) -> Iterator[Finding]:
    """The scope and the key of the password. Only names are asked for, never the value."""
    if not needs_password(options):
        return
    scope, key = secret_parts(options)

    def look() -> Finding:
        keys = [secret.key for secret in client.secrets.list_secrets(scope)]
        if key in keys:
            return ok(name, "there")
        return Finding(name, ERROR, "the scope has no such key", _SETUP)

    name = f"secret {scope}/{key}"
    denied = f"databricks secrets put-acl {scope} {user.name} READ"
    yield looked_up(name, look, missing=_SETUP, denied=denied)


def _source(client: WorkspaceClient, options: Options) -> Iterator[Finding]:
    source = options.source or ""
    if source.startswith("mysql://"):
        yield check_reach(ServerLogin.parse(source))
    elif source.startswith("files:/Volumes/"):
        folder = source.removeprefix("files:")

        def look() -> Finding:
            client.files.get_directory_metadata(folder)
            return ok(f"folder {folder}", "there")

        yield looked_up(
            f"folder {folder}", look, missing="Correct --source.", denied="GRANT READ VOLUME on its volume."
        )


def check_reach(login: ServerLogin) -> Finding:
    """Open a connection to the source. Elsewhere than on Databricks a failure proves little."""
    name, is_compute = f"network to {login.host}:{login.port}", bool(os.environ.get("DATABRICKS_RUNTIME_VERSION"))
    here = f"from {socket.gethostname()}, " + ("compute of Databricks" if is_compute else "no compute of Databricks")
    try:
        socket.create_connection((login.host, login.port), WAIT_S).close()
    except OSError as error:
        reason = error.strerror or str(error)
        return Finding(name, ERROR if is_compute else WARNING, f"not reached {here}: {reason}", _REACH)
    return ok(name, f"reached {here}")


def check_offered_runtime(client: WorkspaceClient) -> Finding:
    name = "runtimes that the workspace offers"
    try:
        keys = [version.key for version in client.clusters.spark_versions().versions or []]
    except PermissionDenied:
        return Finding(name, WARNING, "this user may not see them", "Look into the list of runtimes of a new cluster.")
    new = sorted({number for key in keys if (number := _number(key)) >= OLDEST_RUNTIME})
    if not new:
        return Finding(name, WARNING, "none that is new enough for a cluster", "Run the jobs on serverless.")
    return ok(name, ", ".join(f"{major}.{minor}" for major, minor in new))


def check_jobs(client: WorkspaceClient, lake: str) -> Iterator[Finding]:
    """For each deployed job the runtimes of its clusters."""
    found = deployed_jobs(client, lake)
    if not found:
        yield Finding("jobs", WARNING, "no job of this lake is deployed", "databricks bundle deploy")
    for job in found:
        versions = sorted(_runtimes(client, job.settings))
        old = [version for version in versions if _number(version) < OLDEST_RUNTIME]
        name = f"runtime of job {job.name}"
        if old:
            yield Finding(name, ERROR, f"too old: {', '.join(old)}", _NEWER)
        else:
            yield ok(name, ", ".join(versions) or "serverless")


def _runtimes(client: WorkspaceClient, settings: JobSettings) -> set[str]:
    specs = [cluster.new_cluster for cluster in settings.job_clusters or []]
    specs += [task.new_cluster for task in settings.tasks or [] if task.new_cluster]
    others = {task.existing_cluster_id for task in settings.tasks or [] if task.existing_cluster_id}
    found = {spec.spark_version for spec in specs} | {client.clusters.get(other).spark_version for other in others}
    return {version for version in found if version}


def _number(version: str) -> tuple[int, int]:
    """Of ``17.3.x-scala2.13``; versions without a number come first."""
    found = re.match(r"([0-9]+)\.([0-9]+)", version or "")
    return (int(found[1]), int(found[2])) if found else (0, 0)


def check_warehouse(client: WorkspaceClient, wanted: str | None) -> Finding:
    """The warehouse that the alerts and ``workspace status`` ask."""
    try:
        found = find_warehouse(client, wanted)
    except UsageError as error:
        return Finding(
            "SQL warehouse", WARNING, error.message, "Name one with --warehouse: `workspace status` needs it."
        )
    state = found.state.value.lower() if found.state else "unknown"
    return ok(f"SQL warehouse {found.name}", state)
