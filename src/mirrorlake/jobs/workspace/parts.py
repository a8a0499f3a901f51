"""The names of a lake's parts in a workspace: catalog, schema, volume, secret."""

from __future__ import annotations

from dataclasses import dataclass, replace

from mirrorlake.config import Options
from mirrorlake.errors import UsageError
from mirrorlake.jobs.run.secret import scope_and_key
from mirrorlake.lake.delta.names import STAGING_VOLUME, LakeNames

DEFAULT_SECRET = "mirrorlake/source-password"
"""As in databricks.yml."""


@dataclass(frozen=True, slots=True)
class LakeParts:
    catalog: str
    schemas: tuple[str, ...]
    """The lake's own, and that of its mirrors if it is another one."""
    volume: str = STAGING_VOLUME

    @classmethod
    def of(cls, options: Options) -> LakeParts:
        """Raises UsageError for a lake in a folder."""
        names = LakeNames(options.lake, mirrors_schema=options.mirrors_schema)
        if not names.is_unity:
            wanted = "a workspace has lakes in Unity Catalog: --lake uc:catalog.schema"
            raise UsageError("usage", f"{wanted}, not {options.lake}")
        catalog, schema = names.root.split(".")
        return cls(catalog, (schema, *filter(None, [names.mirrors_schema])))

    def with_mirrors_in(self, schema: str) -> LakeParts:
        return replace(self, schemas=(self.schemas[0], schema))

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
