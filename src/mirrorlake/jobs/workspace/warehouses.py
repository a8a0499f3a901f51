"""Which SQL warehouse of a workspace is asked."""

from __future__ import annotations

from databricks.sdk import WorkspaceClient
from databricks.sdk.service.sql import EndpointInfo

from mirrorlake.errors import UsageError


def find_warehouse(client: WorkspaceClient, wanted: str | None) -> EndpointInfo:
    """The warehouse with this id or name; without one that of the SDK's own settings, else the only one.

    Raises UsageError that names those that there are.
    """
    wanted = wanted or client.config.warehouse_id
    found = list(client.warehouses.list())
    fitting = [one for one in found if wanted in (None, "", one.id, one.name)]
    if len(fitting) == 1:
        return fitting[0]
    there = ", ".join(sorted(f"{one.name} ({one.id})" for one in found)) or "none"
    raise UsageError("usage", f"--warehouse names one of the SQL warehouses: {there}")
