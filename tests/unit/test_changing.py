"""What docs/changing.md says: its files exist, and every type, clause and option is in each file that it names."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple, get_args

import pytest

from mirrorlake.config import Options
from mirrorlake.core.binlog.rows.layout import RowLayouts
from mirrorlake.core.binlog.rows.mapped_table import MappedTable, describe
from mirrorlake.core.binlog.rows.stored_default import NotKnown, stored_default
from mirrorlake.core.binlog.rows.table_map import TableMap
from mirrorlake.core.binlog.rows.table_map_metadata import TableMapFields
from mirrorlake.core.ddl.effect.types import resolve_type
from mirrorlake.core.ddl.parse.session import SourceServer
from mirrorlake.core.ddl.parse.statements import Clause
from mirrorlake.core.ddl.parse.tokens import Tokens
from mirrorlake.core.ddl.parse.types import read_type
from mirrorlake.core.schema.keys import CASCADE, ForeignKey
from mirrorlake.core.schema.row_steps import ZERO, ServerMode
from mirrorlake.core.schema.tables import Column, Default, TableSchema
from mirrorlake.core.schema.types import BLOBS, MIRRORED, TEXTS, ColumnType
from mirrorlake.core.values import column_value, kinds
from mirrorlake.core.values.column_kinds import KERNELS
from mirrorlake.core.values.column_value import KIND
from mirrorlake.errors import RefusedError
from mirrorlake.lake.compare.row_text import row_text
from mirrorlake.lake.delta.types import spark_type
from mirrorlake.lake.gold.cascade.foreign_keys import references
from mirrorlake.lake.gold.control.register import STREAMING, TableEntry, TableRegister
from mirrorlake.lake.gold.control.rules import TableRules
from mirrorlake.lake.gold.convert.by_type import conversion
from mirrorlake.lake.gold.convert.column_values import value_of
from mirrorlake.lake.gold.convert.conversion import NotDerivable
from mirrorlake.lake.gold.merge.net_effect import arrow_type

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src/mirrorlake"
PAGE = (ROOT / "docs/changing.md").read_text()
SECTIONS = dict(re.findall(r"^## (.+)\n((?:(?!## ).*\n?)*)", PAGE, re.M))
STRICT = ServerMode("mysql", is_strict=True, time_zone="+00:00")


class Sample(NamedTuple):
    """A column of a type, and how a table map has it: the number of its type, and its metadata as one number."""

    type: ColumnType
    wire_type: int = 0
    metadata: int = 0
    flavor: str = "mysql"

    @property
    def column(self) -> Column:
        return Column("c", self.type, nullable=False)

    def table(self, **more) -> TableSchema:
        return TableSchema("d", "t", (self.column,), ("c",), **more)


_PLAIN = {"tinyint": 1, "smallint": 2, "mediumint": 9, "int": 3, "bigint": 8, "year": 13, "date": 10}
_KNOWN = [
    *(Sample(ColumnType(name), number) for name, number in _PLAIN.items()),
    Sample(ColumnType("decimal", precision=10, scale=2), 246, 10 << 8 | 2),
    Sample(ColumnType("float"), 4, 4),
    Sample(ColumnType("double"), 5, 8),
    Sample(ColumnType("bit", length=8), 16, 1 << 8),
    Sample(ColumnType("timestamp", fraction_digits=3), 17, 3),
    Sample(ColumnType("datetime", fraction_digits=3), 18, 3),
    Sample(ColumnType("time", fraction_digits=3), 19, 3),
    Sample(ColumnType("enum", labels=("a", "b"), charset="utf8mb4"), 247, 1),
    Sample(ColumnType("set", labels=("a", "b"), charset="utf8mb4"), 248, 1),
    Sample(ColumnType("char", length=3, charset="utf8mb4"), 254, 12),
    Sample(ColumnType("varchar", length=3, charset="utf8mb4"), 15, 12),
    Sample(ColumnType("binary", length=3), 254, 3),
    Sample(ColumnType("varbinary", length=3), 15, 3),
    *(Sample(ColumnType(name, charset="utf8mb4"), 252, size) for size, name in enumerate(TEXTS, 1)),
    *(Sample(ColumnType(name), 252, size) for size, name in enumerate(BLOBS, 1)),
    Sample(ColumnType("json"), 245, 4),
    Sample(ColumnType("geometry"), 255, 4),
    Sample(ColumnType("vector"), 242, 4),
    Sample(ColumnType("uuid"), 254, 16, "mariadb"),
    Sample(ColumnType("inet6"), 254, 16, "mariadb"),
    Sample(ColumnType("inet4"), 254, 4, "mariadb"),
]
SAMPLES = {name: Sample(ColumnType(name)) for name in sorted(MIRRORED)} | {known.type.name: known for known in _KNOWN}


def is_in_ddl(sample: Sample) -> bool:
    tokens = Tokens(sample.type.sql(), SourceServer(sample.flavor, 120000))
    return resolve_type(read_type(tokens), sample.flavor, "utf8mb4") == sample.type


def table_map(sample: Sample) -> TableMap:
    fields = TableMapFields((sample.wire_type,), sample.flavor)
    return TableMap("d", "t", (sample.wire_type,), (sample.metadata,), (False,), fields)


def is_in_table_maps(sample: Sample) -> bool:
    return describe(table_map(sample), sample.table(), sample.flavor).refusal is None


def has_a_kind(sample: Sample) -> bool:
    """Plain bytes are what a type has for which no kind was chosen."""
    layouts = RowLayouts()
    layouts.add(MappedTable(table_map(sample), sample.flavor, sample.table(), None, True))
    kind = layouts.arrays.columns.layout[0][KIND]
    return kind != kinds.BINARY or sample.type.name in ("binary", "varbinary", *BLOBS, "geometry", "vector")


def has_a_stored_default(sample: Sample) -> bool:
    try:
        return stored_default(sample.column, sample.wire_type, sample.metadata) is not None
    except NotKnown:
        return False


def has_a_spark_type(sample: Sample) -> bool:
    try:
        return bool(spark_type(sample.type))
    except RefusedError:
        return False


def is_an_arrow_column(sample: Sample) -> bool:
    return has_a_spark_type(sample) and arrow_type(spark_type(sample.type)) is not None


def has_a_text_to_compare(sample: Sample) -> bool:
    """The text that both sides show is what a type has for which no text was chosen."""
    shown = row_text([Column("c", ColumnType("time"))], as_text=False)
    return row_text([sample.column], as_text=False) != shown


def has_a_zero(sample: Sample) -> bool:
    try:
        return bool(value_of(Default(ZERO), sample.column, STRICT))
    except NotDerivable:
        return False


def is_converted(sample: Sample) -> bool:
    return any(converts(sample, other) for other in SAMPLES.values() if other.type != sample.type)


def converts(old: Sample, new: Sample) -> bool:
    try:
        return bool(conversion("c", old.column, new.column, STRICT))
    except NotDerivable:
        return False


def is_compared_by_a_foreign_key(sample: Sample) -> bool:
    key = ForeignKey("f", ("c",), "d", "p", ("c",), on_delete=CASCADE)
    schemas = {"p": sample.table(), "t": sample.table(foreign_keys=(key,))}
    register = TableRegister(TableEntry(1, "d", name, STREAMING, name, schema) for name, schema in schemas.items())
    (found,), _ = references(register, TableRules())
    return found.doubt is None


class Mapping(NamedTuple):
    """left_out: types that it does not have on purpose."""

    has: Callable[[Sample], bool]
    left_out: tuple[str, ...] = ()


OPAQUE = ("geometry", "vector", "uuid", "inet6", "inet4")
NOT_COMPARED = ("float", "double", "time", "json", "geometry", "vector", "enum", "set", *TEXTS, *BLOBS)
MAPPINGS = {
    "core/ddl/parse/types.py": Mapping(is_in_ddl),
    "core/binlog/rows/table_map.py": Mapping(is_in_table_maps),
    "core/binlog/rows/layout.py": Mapping(has_a_kind),
    "core/binlog/rows/stored_default.py": Mapping(
        has_a_stored_default, ("json", "geometry", "vector", "time", "timestamp")
    ),
    "lake/delta/types.py": Mapping(has_a_spark_type),
    "lake/gold/merge/net_effect.py": Mapping(is_an_arrow_column),
    "lake/gold/convert/column_values.py": Mapping(has_a_zero, OPAQUE),
    "lake/gold/convert/by_type.py": Mapping(is_converted, OPAQUE),
    "lake/gold/cascade/foreign_keys.py": Mapping(is_compared_by_a_foreign_key, NOT_COMPARED),
    "lake/compare/row_text.py": Mapping(has_a_text_to_compare, ("time", "decimal", "uuid", "inet6", "inet4")),
}


@pytest.fixture(autouse=True)
def _without_compiling(monkeypatch):
    monkeypatch.setattr(column_value, "address_of", lambda kernel: 0)


@pytest.mark.parametrize("name", MAPPINGS)
def test_every_mirrored_type_is_in_each_mapping_or_left_out_on_purpose(name):
    mapping = MAPPINGS[name]
    missing = {sample.type.name for sample in SAMPLES.values() if not mapping.has(sample)}
    assert missing == set(mapping.left_out), f"{name}: see 'A type' in docs/changing.md"


def test_every_mirrored_type_is_in_a_case_of_real_servers():
    sources = "\n".join(file.read_text().lower() for file in (ROOT / "tests/cases").glob("*/source.sql"))
    assert sorted(MIRRORED - set(re.findall(r"\w+", sources))) == []


def test_every_kind_of_column_has_a_kernel():
    numbers = {value for name, value in vars(kinds).items() if name.isupper() and type(value) is int}
    assert set(KERNELS) == numbers == set(range(len(numbers)))


def named(section: str) -> list[str]:
    """The files of the table in a section of the page, in their order."""
    cells = re.findall(r"^\| (.+?) \|", SECTIONS[section], re.M)
    return [name for cell in cells for name in re.findall(r"`([^`]+)`", cell)]


@pytest.mark.parametrize("section", SECTIONS)
def test_every_file_that_the_page_names_exists(section):
    files = named(section)
    assert files and [name for name in files if not any((top / name).exists() for top in (PACKAGE, ROOT))] == []


def test_the_page_names_each_mapping_of_types():
    assert sorted(set(MAPPINGS) - set(named("A type"))) == []


def test_every_clause_has_an_effect_in_a_file_that_the_page_names():
    effects = [PACKAGE / name for name in named("A DDL clause") if name.startswith("core/ddl/effect/")]
    words = set(re.findall(r"\w+", "\n".join(file.read_text() for file in effects)))
    assert [clause.__name__ for clause in get_args(Clause) if clause.__name__ not in words] == []


def test_every_option_is_documented():
    text = (ROOT / "docs/command-line.md").read_text()
    names = (field.alias or name for name, field in Options.model_fields.items())
    spellings = {name: {f"`{name}`", f"`--{name.replace('_', '-')}`"} for name in names}
    assert [name for name, either in spellings.items() if not any(spelling in text for spelling in either)] == []
