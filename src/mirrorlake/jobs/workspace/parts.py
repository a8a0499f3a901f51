"""The names of a lake's parts in a workspace: catalog, schema, volume, secret."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from mirrorlake.config import Options
from mirrorlake.errors import UsageError
from mirrorlake.jobs.run.secret import scope_and_key
from mirrorlake.lake.delta.names import MIRRORS_SCHEMA, STAGING_VOLUME, TABLES_LOCATION, LakeNames

DEFAULT_SECRET = "mirrorlake/source-password"
"""As in databricks.yml."""


@dataclass(frozen=True, slots=True)
class LakeParts:
    catalog: str
    schemas: tuple[str, ...]
    """The lake's own, and that of its mirrors if it is another one."""
    tables_location: str | None = None
    """Of external tables; None: the catalog manages them."""
    volume: str = STAGING_VOLUME

    @classmethod
    def of(cls, options: Options) -> LakeParts:
        """Raises UsageError for a lake in a folder."""
        names = LakeNames(options.lake, None, options.mirrors_schema, options.tables_location)
        if not names.is_unity:
            wanted = "a workspace has lakes in Unity Catalog: --lake uc:catalog.schema"
            raise UsageError("usage", f"{wanted}, not {options.lake}")
        catalog, schema = names.root.split(".")
        return cls(catalog, (schema, *filter(None, [names.mirrors_schema])), names.tables_location)

    def as_kept(self, kept: Mapping[str, str]) -> LakeParts:
        """The parts of a lake that exists. kept: see ``LakeNames.kept``; what it lacks may be as given."""
        schema, location = kept.get(MIRRORS_SCHEMA), kept.get(TABLES_LOCATION, self.tables_location)
        return replace(self, schemas=(self.schemas[0], schema) if schema else self.schemas, tables_location=location)

    @property
    def schema_names(self) -> list[str]:
        return [f"{self.catalog}.{schema}" for schema in self.schemas]

    @property
    def volume_name(self) -> str:
        return f"{self.schema_names[0]}.{self.volume}"


def secret_parts(options: Options) -> tuple[str, str]:
    """Scope and key of the password: of ``--password-secret``, else those of the bundle."""
    return scope_and_key(options.password_secret or DEFAULT_SECRET)


def needs_password(options: Options) -> bool:
    """A folder of binlog files needs none, unless a secret is named all the same."""
    return options.password_secret is not None or not (options.source or "").startswith("files:")
