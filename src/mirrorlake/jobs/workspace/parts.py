"""The names of a lake's parts in a workspace: catalog, schema, volume, secret."""

from __future__ import annotations

from dataclasses import dataclass

from mirrorlake.config import Options
from mirrorlake.errors import UsageError
from mirrorlake.jobs.run.secret import scope_and_key
from mirrorlake.lake.delta.names import STAGING_VOLUME, LakeNames

DEFAULT_SECRET = "mirrorlake/source-password"
"""As in databricks.yml."""


@dataclass(frozen=True, slots=True)
class LakeParts:
    catalog: str
    schema: str
    volume: str = STAGING_VOLUME

    @classmethod
    def of(cls, lake: str) -> LakeParts:
        """lake: ``uc:catalog.schema``. Raises UsageError for a folder."""
        names = LakeNames(lake)
        if not names.is_unity:
            raise UsageError("usage", f"a workspace has lakes in Unity Catalog: --lake uc:catalog.schema, not {lake}")
        return cls(*names.root.split("."))

    @property
    def schema_name(self) -> str:
        return f"{self.catalog}.{self.schema}"

    @property
    def volume_name(self) -> str:
        return f"{self.schema_name}.{self.volume}"


def secret_parts(options: Options) -> tuple[str, str]:
    """Scope and key of the password: of ``--password-secret``, else those of the bundle."""
    return scope_and_key(options.password_secret or DEFAULT_SECRET)


def needs_password(options: Options) -> bool:
    """A folder of binlog files needs none, unless a secret is named all the same."""
    return options.password_secret is not None or not (options.source or "").startswith("files:")
