"""Run options, validated once: from the command line, a YAML file, or both (the command line overrides the file)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    ValidationInfo,
    field_validator,
)

from mirrorlake.core.schema.column_patterns import ColumnPatterns, column_fault_of
from mirrorlake.core.schema.lower_case_names import NameCase
from mirrorlake.core.schema.table_patterns import TablePatterns, fault_of
from mirrorlake.core.schema.view_names import DATABASE, check_template
from mirrorlake.errors import UsageError

InvalidValues = Annotated[
    Literal["null", "text", "refuse"],
    BeforeValidator(lambda policy: "null" if policy is None else policy),  # YAML's null, without quotes
]
MOST_CONFIG_BYTES = 1_000_000
MOST_DAYS = 36_500
"""Limit of each retention: a date before the year 1 has no form."""
TlsMode = Literal["off", "required", "verify"]
TlsOption = Annotated[
    TlsMode | None,
    BeforeValidator(lambda mode: "off" if mode is False else mode or None),  # YAML's off, without quotes
]
Unset = BeforeValidator(lambda text: text or None)
"""A job's template gives an option that its user left empty."""
IgnoredDdl = Annotated[
    tuple[Literal["truncate", "drop-partition", "drop-table"], ...],
    BeforeValidator(lambda kinds: _split(kinds)),
]


UNITS_S = {"s": 1, "m": 60, "h": 3600, "d": 86400}
Duration = Annotated[float, BeforeValidator(lambda text: _seconds(text)), Field(gt=0)]
NO_VIEWS = "none"
SYNCPOINT_VIEWS_EVERY_S = 600.0
ViewTemplate = Annotated[str, AfterValidator(check_template)]
Generated = Literal["refuse", "leave-out"]
PartialImages = Literal["refuse", "replica"]
DROP, HASH = "drop", "hash"
ColumnRule = Literal["drop", "hash"]


class Options(BaseModel):
    """Options of the hops; the command line has the same names, with dashes.

    source: ``mysql://user@host:port`` or ``files:DIR``. lake: a folder or ``uc:catalog.schema``. tables: which tables
    to mirror, see ``core.schema.table_patterns``. start: ``earliest``, ``current``, FILE:POS or a GTID set, for an
    empty lake. until: ``current``, FILE:POS, a GTID set or a time. follow: keep running until stopped. group: ``2/4``,
    of ``apply``. views: the schema of a mirror's view in the catalog, with ``{database}`` for the source's; ``none``:
    no views. syncpoint_views: the same for views of the newest syncpoint. fail_on: what fails a run at its end: refused
    tables. max_lag: in seconds, the largest lag that a run may have at its end. invalid_values: what happens to values
    that no mirror can hold unchanged: NULL, text, or the table is refused; invalid_values_of: another policy by pattern
    of ``database.table``; the first pattern that matches is used. failover: what to do with another server than the one
    before: refuse it, or follow it if GTIDs prove that it took over. ignore_ddl: kinds of DDL that leave the mirrors
    unchanged; ignore_ddl_of: other kinds by pattern, as above. generated: for MariaDB's generated columns whose values
    the log leaves out and that are not computed: their table is refused, or its mirror is made without them.
    partial_images: an UPDATE of MariaDB that may be a REPLACE refuses its table, or columns that were not logged keep
    their values, as on a replica. generated_of, partial_images_of: by pattern. change_feed: mirrors get Delta's change
    data feed. commit_columns: new mirrors say of each row when the source committed it, and with which GTID. json:
    views show a JSON column as the mirror's text, or parsed. columns: what silver and gold have of a column, by pattern
    of ``database.table.column``: ``drop``, nothing; ``hash``, a digest. password_secret, column_secret: ``scope/key``
    of a Databricks secret scope. lower_case_table_names: the server's, for files. mirrors_schema: the schema of the
    lake's catalog with its mirrors; None: where the lake has them, and for a new lake its own schema. tables_location:
    the URL below which a new lake in a catalog has its tables, which are external; None: the catalog manages them. tls,
    tls_ca, tls_cert, tls_key, server_public_key: see ``mysql.login.ServerLogin``; an empty text means none.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    lake: str = Field(min_length=1)
    source: str | None = None
    tables: tuple[str, ...] = ("*",)
    start: str = "earliest"
    until: str = "current"
    follow: bool = False
    failover: Literal["refuse", "follow"] = "refuse"
    lower_case_table_names: Literal[0, 1, 2] | None = None
    mirrors_schema: Annotated[str | None, Unset] = None
    tables_location: Annotated[str | None, Unset] = None
    group: str | None = None
    views: ViewTemplate | None = None
    syncpoint_views: Annotated[ViewTemplate | None, Unset] = None
    fail_on: Literal["refused"] | None = None
    max_lag: Duration | None = None
    invalid_values: InvalidValues = "null"
    invalid_values_of: dict[str, InvalidValues] = {}
    columns: dict[str, ColumnRule] = {}
    column_secret: Annotated[str | None, Unset] = None
    ignore_ddl: IgnoredDdl = ()
    ignore_ddl_of: dict[str, IgnoredDdl] = {}
    generated: Generated = "refuse"
    generated_of: dict[str, Generated] = {}
    partial_images: PartialImages = "refuse"
    partial_images_of: dict[str, PartialImages] = {}
    change_feed: bool = False
    commit_columns: bool = False
    json_columns: Literal["text", "variant"] = Field("text", alias="json")
    password_file: Path | None = None
    password_secret: str | None = None
    tls: TlsOption = None
    tls_ca: Annotated[str | None, Unset] = None
    tls_cert: Annotated[str | None, Unset] = None
    tls_key: Annotated[str | None, Unset] = None
    server_public_key: Annotated[str | None, Unset] = None
    bronze_batch_mb: int = Field(256, ge=1, le=8192, description="log bytes of one bronze commit")
    silver_batch_mb: int = Field(512, ge=16, le=8192, description="log bytes of one silver commit")
    epoch_changes: int = Field(2_000_000, ge=1, description="about how many row changes one epoch of gold takes")
    syncpoint_every: float | None = Field(
        None, gt=0, description="seconds between syncpoints; without it none, or 600 with syncpoint_views"
    )
    bronze_days: Annotated[int | None, BeforeValidator(lambda days: None if days == "" else days)] = Field(
        None, ge=0, le=MOST_DAYS, description="how long maintenance keeps the log; for good without it"
    )
    syncpoint_days: int = Field(7, ge=1, le=MOST_DAYS, description="how long maintenance keeps a syncpoint")
    staging: Annotated[str | None, Unset] = Field(
        None, pattern="^/", description="folder for files on their way into the lake; in the lake without it"
    )
    poll_s: float = Field(0.1, gt=0, le=60, description="pause between looks at a source that has nothing new")

    @field_validator("source")
    @classmethod
    def _known_source(cls, source: str | None) -> str | None:
        if source is not None and not source.startswith(("files:", "mysql://")):
            raise ValueError("a source is written mysql://user@host:port or files:DIR")
        return source

    @field_validator("syncpoint_views")
    @classmethod
    def _other_schema(cls, template: str | None, known: ValidationInfo) -> str | None:
        if template is not None and template == (known.data.get("views") or DATABASE):
            raise ValueError("the views of the present are in this schema; name another one")
        return template

    @field_validator("tables", mode="before")
    @classmethod
    def _split_patterns(cls, tables: Any) -> Any:
        return _split(tables)

    @field_validator("tables")
    @classmethod
    def _some_pattern(cls, tables: tuple[str, ...]) -> tuple[str, ...]:
        if not tables:
            raise ValueError("no table pattern is given")
        return _without_fault(tables)

    @field_validator("invalid_values_of", "ignore_ddl_of", "generated_of", "partial_images_of")
    @classmethod
    def _patterns(cls, by_pattern: dict[str, Any]) -> dict[str, Any]:
        _without_fault(by_pattern)
        if excluding := next((pattern for pattern in by_pattern if pattern.startswith("!")), None):
            raise ValueError(f"{excluding!r} excludes nothing here: the first pattern that fits decides")
        return by_pattern

    @field_validator("columns")
    @classmethod
    def _column_patterns(cls, columns: dict[str, ColumnRule]) -> dict[str, ColumnRule]:
        if fault := next(filter(None, map(column_fault_of, columns)), None):
            raise ValueError(fault)
        return columns

    def hidden(self, name_case: NameCase) -> ColumnPatterns:
        """The columns that silver and gold leave out or hash. name_case: how the source compares names."""
        hidden, hashed = (tuple(p for p, rule in self.columns.items() if rule == wanted) for wanted in (DROP, HASH))
        return ColumnPatterns(hidden, name_case, hashed)

    @property
    def hashes_columns(self) -> bool:
        return HASH in self.columns.values()

    @property
    def parses_json(self) -> bool:
        return self.json_columns == "variant"

    @property
    def patterns(self) -> TablePatterns:
        """The patterns of ``tables``; their names compare as ``lower_case_table_names`` says."""
        return TablePatterns(self.tables, NameCase(self.lower_case_table_names))

    def wants(self, database: str, table: str) -> bool:
        """Should this table be mirrored?"""
        return self.patterns.why_not(database, table) is None

    @property
    def view_template(self) -> str | None:
        """The template that was chosen; None: none was."""
        return None if self.views == NO_VIEWS else self.views

    def kept_views(self, is_unity: bool) -> str | None:
        """The template of the views that a run keeps in the catalog; None: it keeps none, as for a lake in a folder
        unless it is asked to."""
        return DATABASE if is_unity and self.views is None else self.view_template

    @property
    def syncpoint_interval(self) -> float | None:
        """Seconds between two syncpoints of a run; None: it takes none of its own accord."""
        return self.syncpoint_every or (SYNCPOINT_VIEWS_EVERY_S if self.syncpoint_views else None)

    def policy_for_invalid(self, database: str, table: str) -> str:
        """The policy for this table's values that no mirror can hold unchanged."""
        return self._of(self.invalid_values_of, self.invalid_values, database, table)

    def policy_for_generated(self, database: str, table: str) -> str:
        """The policy for this table's generated columns that the log leaves out and that are not computed."""
        return self._of(self.generated_of, self.generated, database, table)

    def policy_for_partial_images(self, database: str, table: str) -> str:
        """The policy for this table at an UPDATE that may be a REPLACE."""
        return self._of(self.partial_images_of, self.partial_images, database, table)

    def ignores(self, database: str, table: str, kind: str) -> bool:
        """Does this kind of DDL leave the mirror of the table unchanged?"""
        return kind in self._of(self.ignore_ddl_of, self.ignore_ddl, database, table)

    def _of(self, by_pattern: dict[str, Any], default: Any, database: str, table: str) -> Any:
        """The value for the first pattern that matches."""
        fits = self.patterns.fits
        return next((said for pattern, said in by_pattern.items() if fits(pattern, database, table)), default)


def _without_fault(patterns: Iterable[str]) -> tuple[str, ...]:
    if fault := next(filter(None, map(fault_of, patterns)), None):
        raise ValueError(fault)
    return tuple(patterns)


def _seconds(text: Any) -> Any:
    """Seconds from ``90``, ``90s``, ``10m``, ``2h`` or ``1d``."""
    number, unit = (text[:-1], text[-1]) if isinstance(text, str) and text[-1:] in UNITS_S else (text, "s")
    try:
        return float(number) * UNITS_S[unit]
    except (TypeError, ValueError):
        raise ValueError("a duration is written 90s, 10m, 2h or 1d") from None


def _split(value: Any) -> Any:
    return tuple(part.strip() for part in value.split(",") if part.strip()) if isinstance(value, str) else value


class _Loader(yaml.SafeLoader):
    """Refuses a key that a mapping has twice: the second one would replace the first, such as a rule for a column; and
    a NUL, which no path and no name of a server has."""

    def compose_scalar_node(self, anchor: Any) -> yaml.ScalarNode:
        node = super().compose_scalar_node(anchor)
        if "\0" in node.value:
            raise UsageError("usage", "a NUL character")
        return node

    def compose_mapping_node(self, anchor: Any) -> yaml.MappingNode:
        """As written: what ``<<`` brings is no second one."""
        node = super().compose_mapping_node(anchor)
        keys = Counter(key.value for key, _ in node.value if isinstance(key, yaml.ScalarNode))
        if twice := next((key for key, count in keys.items() if count > 1), None):
            raise UsageError("usage", f"{twice} is there twice")
        return node


def _read_yaml(config: Path) -> dict[str, Any]:
    content = _content(config)
    try:
        values = yaml.load(content.decode("utf-8"), _Loader)
    except UsageError as error:
        raise UsageError("usage", f"cannot read {config}: {error.message}") from None
    except UnicodeDecodeError:
        raise UsageError("usage", f"cannot read {config}: not UTF-8") from None
    except Exception:  # besides YAMLError, whatever its constructors raise: ValueError, RecursionError, ...
        raise UsageError("usage", f"cannot read {config}: not valid YAML") from None
    if values is None:
        return {}
    if not isinstance(values, dict) or not all(isinstance(name, str) for name in values):
        raise UsageError("usage", f"{config} is not a mapping of option names to values")
    return values


def _content(config: Path) -> bytes:
    """Bounded, since a pipe or a device has no size to look at."""
    try:
        with config.open("rb") as file:
            content = file.read(MOST_CONFIG_BYTES + 1)
    except OSError as error:
        raise UsageError("usage", f"cannot read {config}: {error.strerror}") from None
    if len(content) > MOST_CONFIG_BYTES:
        raise UsageError("usage", f"{config} has more than {MOST_CONFIG_BYTES:,} bytes")
    return content


def load_options(config: Path | None, given: dict[str, Any], **defaults: Any) -> Options:
    """Options of a YAML file, overruled by those given (None: not given); else the defaults.

    Raises UsageError with the first thing that is wrong; it never repeats a source's text, which might hold a password.
    """
    values = defaults
    if config is not None:
        values |= _read_yaml(config)
    values |= {name: value for name, value in given.items() if value is not None}
    for name, value in values.items():
        if isinstance(value, str) and "\0" in value:
            raise UsageError("usage", f"option {name}: a NUL character")
    try:
        return Options(**values)
    except OverflowError:
        raise UsageError("usage", "an option has a number that is too large") from None
    except ValidationError as error:
        first = error.errors()[0]
        what = first["msg"].removeprefix("Value error, ")  # pydantic's, before our own words
        raise UsageError("usage", f"option {'.'.join(map(str, first['loc']))}: {what}") from None
