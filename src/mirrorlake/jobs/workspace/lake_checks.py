"""Check the parts of a lake in a workspace: catalog, schemas, volume, external location, and the grants on them."""

from __future__ import annotations

from collections.abc import Iterator

from databricks.sdk import WorkspaceClient
from databricks.sdk.errors import NotFound, PermissionDenied

from mirrorlake.config import Options
from mirrorlake.jobs.workspace.findings import ERROR, Finding, looked_up, ok
from mirrorlake.jobs.workspace.grants import User, check_grants
from mirrorlake.jobs.workspace.parts import LakeParts
from mirrorlake.lake.delta.names import SYSTEM_TABLES, kept_in

ON_CATALOG, ON_SCHEMA = ("USE_CATALOG",), ("USE_SCHEMA", "CREATE_TABLE", "SELECT", "MODIFY")
ON_VOLUME, ON_LOCATION = ("READ_VOLUME", "WRITE_VOLUME"), ("CREATE_EXTERNAL_TABLE", "READ_FILES")
_SETUP = "`mirrorlake workspace setup` makes it, or `databricks bundle deploy`."
_LOCATION = (
    "Make one for its storage, or ask the owner of the one that there is for CREATE EXTERNAL TABLE and READ FILES."
)


def check_lake(client: WorkspaceClient, user: User, options: Options) -> Iterator[Finding]:
    """A lake that exists has its tables where it has kept them, whatever the options say."""
    given = LakeParts.of(options)
    lake = given.as_kept(_kept(client, given))
    if given.schemas[1:] and given.schemas[-1].lower() != lake.schemas[-1].lower():
        there = f"the lake has its mirrors in {lake.schema_names[-1]}"
        yield Finding(f"schema {given.schema_names[-1]}", ERROR, there, "Leave out --mirrors-schema.")
    if given.tables_location and given.tables_location != lake.tables_location:
        there = f"the lake has its tables below {lake.tables_location}"
        yield Finding(f"location {given.tables_location}", ERROR, there, "Leave out --tables-location.")
    yield from _parts(client, user, lake)
    if lake.tables_location:
        yield from _location(client, user, lake.tables_location)


def _kept(client: WorkspaceClient, lake: LakeParts) -> dict[str, str]:
    """What the properties of the lake's first table say; nothing if there is no lake, or this user may not see it."""
    try:
        return kept_in(client.tables.get(f"{lake.schema_names[0]}.{SYSTEM_TABLES[0]}").properties or {})
    except (NotFound, PermissionDenied):
        return {}


def _parts(client: WorkspaceClient, user: User, lake: LakeParts) -> Iterator[Finding]:
    """Catalog, schemas and volume, each followed by the grants on it; nothing below what is missing."""
    has_schemas = all(_is_there(client.schemas.get, name) for name in lake.schema_names)
    of_catalog = ON_CATALOG if has_schemas else (*ON_CATALOG, "CREATE_SCHEMA")
    for kind, name, get, wanted, missing in (
        ("catalog", (lake.catalog,), client.catalogs.get, of_catalog, "Make it, or name another one in --lake."),
        *(("schema", (lake.catalog, schema), client.schemas.get, ON_SCHEMA, _SETUP) for schema in lake.schemas),
        ("volume", (lake.catalog, lake.schemas[0], lake.volume), client.volumes.read, ON_VOLUME, _SETUP),
    ):
        found, owner = _thing(kind, name, get, missing)
        yield found
        if found.level == ERROR:
            return
        yield check_grants(client, user, kind, name, owner, wanted)


def _is_there(get, name: str) -> bool:
    try:
        return bool(get(name))
    except (NotFound, PermissionDenied):
        return False


def _thing(kind: str, name: tuple[str, ...], get, missing: str) -> tuple[Finding, str | None]:
    owners: list[str | None] = []

    def look() -> Finding:
        owners.append(get(".".join(name)).owner)
        return ok(title, f"owner {owners[0]}")

    title = f"{kind} {'.'.join(name)}"
    denied = f"Ask its owner for {'READ VOLUME' if kind == 'volume' else f'USE {kind.upper()}'} or BROWSE on it."
    return looked_up(title, look, missing=missing, denied=denied), next(iter(owners), None)


def _location(client: WorkspaceClient, user: User, url: str) -> Iterator[Finding]:
    """The external location of the tables, which is the innermost one that the URL is in."""
    around = {one.url.rstrip("/"): one for one in client.external_locations.list() if one.url}
    inside_of = [each for each in around if f"{url}/".startswith(f"{each}/")]
    if not inside_of:
        yield Finding(f"external location of {url}", ERROR, "not there, or not to be seen", _LOCATION)
        return
    found = around[max(inside_of, key=len)]
    yield ok(f"external location of {url}", f"{found.name}, owner {found.owner}")
    yield check_grants(client, user, "external_location", (found.name or "",), found.owner, ON_LOCATION)
