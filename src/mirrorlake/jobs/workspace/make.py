"""Make what a lake needs in a workspace: schemas, volume, secret scope and secret. What is there stays as it is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any, TextIO

from databricks.sdk import WorkspaceClient
from databricks.sdk.errors import NotFound, ResourceConflict
from databricks.sdk.service.catalog import VolumeType

from mirrorlake.config import Options
from mirrorlake.jobs.workspace.parts import LakeParts, needs_password, secret_parts
from mirrorlake.shown import json_text, say

MADE, WAS_THERE, REPLACED = "made", "was there", "replaced"
COMMENT = "Mirror tables and the events and changes they come from"


@dataclass(frozen=True, slots=True)
class Part:
    """state: ``made``, ``was there`` or ``replaced``."""

    part: str
    state: str


def set_up(
    client: WorkspaceClient, options: Options, password: Callable[[], str], *, only_secret: bool, new_password: bool
) -> list[Part]:
    """Make what is missing; a second call makes nothing. password: is called only if a secret is to be written.

    new_password: write the secret also if it is there. only_secret: for a bundle, which makes schemas and volume
    itself.
    """
    write_secret = _secret(client, options, password, new_password) if needs_password(options) else list
    return [*([] if only_secret else _lake(client, LakeParts.of(options))), *write_secret()]


def _lake(client: WorkspaceClient, lake: LakeParts) -> list[Part]:
    made_schemas = [
        _make(partial(client.schemas.get, name), partial(client.schemas.create, schema, lake.catalog, comment=COMMENT))
        for name, schema in zip(lake.schema_names, lake.schemas, strict=True)
    ]
    made_volume = _make(
        lambda: client.volumes.read(lake.volume_name),
        lambda: client.volumes.create(lake.catalog, lake.schemas[0], lake.volume, VolumeType.MANAGED),
    )
    parts = [Part(f"schema {name}", made) for name, made in zip(lake.schema_names, made_schemas, strict=True)]
    return [*parts, Part(f"volume {lake.volume_name}", made_volume)]


def _make(look: Callable[[], Any], make: Callable[[], Any]) -> str:
    try:
        look()
        return WAS_THERE
    except NotFound:
        return _made(make)


def _made(make: Callable[[], Any]) -> str:
    try:
        make()
        return MADE
    except ResourceConflict:  # somebody made it in the meantime
        return WAS_THERE


def _secret(
    client: WorkspaceClient, options: Options, password: Callable[[], str], new_password: bool
) -> Callable[[], list[Part]]:
    """Look what is there and take the password, so that without one nothing is made; return what writes it."""
    scope, key = secret_parts(options)
    has_scope = scope in [one.name for one in client.secrets.list_scopes()]
    has_key = has_scope and key in [one.key for one in client.secrets.list_secrets(scope)]
    value = password() if new_password or not has_key else None

    def write() -> list[Part]:
        of_scope = WAS_THERE if has_scope else _made(lambda: client.secrets.create_scope(scope))
        if value is not None:
            client.secrets.put_secret(scope, key, string_value=value)
        of_key = WAS_THERE if value is None else REPLACED if has_key else MADE
        return [Part(f"secret scope {scope}", of_scope), Part(f"secret {scope}/{key}", of_key)]

    return write


def show_parts(parts: list[Part], as_json: bool, stream: TextIO) -> None:
    if as_json:
        print(json_text([asdict(part) for part in parts]), file=stream)
    for part in () if as_json else parts:
        say(f"{part.state:9}  {part.part}", stream)
