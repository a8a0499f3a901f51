"""The pages that list tables, columns and types say what the code says."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from mirrorlake.core.schema.lower_case_names import NAME_CASE
from mirrorlake.core.schema.types import MIRRORED, ColumnType
from mirrorlake.lake.bronze import table as bronze
from mirrorlake.lake.bronze.ingest import KNOWS_BEFORE, SERVER, SKIP
from mirrorlake.lake.delta.lake import DEFAULT_ENGINE, Lake
from mirrorlake.lake.delta.names import LakeNames
from mirrorlake.lake.delta.notes import NOTE_FORMAT, new_note
from mirrorlake.lake.delta.types import spark_type
from mirrorlake.lake.gold.control import table as gold
from mirrorlake.lake.silver import table as silver
from mirrorlake.lake.silver.assemble import HIDDEN, PREPARED

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PACKAGE = ROOT / "src/mirrorlake"
MODULES = sorted(PACKAGE.rglob("*.py"))
TABLES = {
    "bronze_events": bronze.COLUMNS,
    "silver_changes": silver.CHANGE_COLUMNS,
    "silver_table_schemas": silver.DEFINITION_COLUMNS,
    "control_tables": gold.TABLES_COLUMNS,
    "control_epochs": gold.EPOCHS_COLUMNS,
    "control_barriers": gold.BARRIERS_COLUMNS,
    "control_syncpoints": gold.SYNCPOINTS_COLUMNS,
    "control_answers": silver.ANSWER_COLUMNS,
    "control_runs": gold.RUNS_COLUMNS,
    "Mirror tables": f"{gold.LSN_COLUMN} BIGINT",
}


def rows(text: str) -> list[list[str]]:
    """Cells of the tables in a page, without heads and rules."""
    lines = [line for line in text.splitlines() if line.startswith("|") and not line.startswith("|---")]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return [row for row in cells if row[0] not in ("column", "source type", "folder")]


def columns(ddl: str) -> list[list[str]]:
    """Name and type of each column; commas inside <> belong to the type."""
    return [part.split(None, 1) for part in re.split(r",(?![^<]*>)", " ".join(ddl.split()))]


@pytest.mark.parametrize("table", TABLES)
def test_every_column_of_a_lakes_tables_is_documented_in_order(table):
    sections = dict(re.findall(r"^## (.+)\n((?:(?!## ).*\n?)*)", (DOCS / "lake-tables.md").read_text(), re.M))
    assert list(sections) == list(TABLES)
    documented = rows(sections[table])
    assert [row[:2] for row in documented] == columns(TABLES[table])
    assert all(row[2] for row in documented)


def documented_types() -> list[tuple[ColumnType, str]]:
    """Every source type of the page, spelled out, with its mirror type."""
    found = []
    for source, mirror, _ in rows((DOCS / "types.md").read_text()):
        if source.startswith("bit"):
            found += [(ColumnType("bit", length=int(n)), mirror) for n in re.findall(r"\d+", source)]
        elif source.startswith("decimal"):
            digits = ColumnType("decimal", precision=38, scale=7)
            found.append((digits, mirror.replace("p", "38", 1).replace("(38,s", "(38,7")))
        else:
            names = [name.split() for name in source.split(", ")]
            found += [(ColumnType(name[0], unsigned=name[1:] == ["unsigned"]), mirror) for name in names]
    return found


@pytest.mark.parametrize(("column_type", "mirror"), documented_types(), ids=lambda value: getattr(value, "name", value))
def test_a_documented_type_is_the_one_a_mirror_gets(column_type, mirror):
    assert spark_type(column_type) == mirror


def test_every_mirrored_type_is_documented():
    assert {column_type.name for column_type, _ in documented_types()} == MIRRORED


@pytest.mark.parametrize("page", [*sorted(ROOT.glob("*.md")), *sorted(DOCS.rglob("*.md"))], ids=lambda page: page.name)
def test_links_files_and_tests_that_a_page_names_exist(page):
    text = page.read_text()
    for link in re.findall(r"\]\(([^)#:]+)\)", text):
        assert (page.parent / link).exists(), link
    for path in re.findall(r"`((?:src|tests|bench|notebooks|resources|docs)/[\w./-]*\w)`", text):
        assert (ROOT / path).exists(), path
    for path, name in re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", text):
        assert f"def {name}(" in (ROOT / path).read_text(), f"{path}::{name}"


def test_every_scenario_has_a_test_or_says_why_not():
    scenarios = [row for row in rows((DOCS / "guarantees.md").read_text()) if row[0].isdigit()]
    assert [int(row[0]) for row in scenarios] == list(range(1, 41))
    says_what = re.compile(r"`tests/|cannot occur: |open: |scenario \d+'s test|the same test|as in \d+")
    assert [row for row in scenarios if not says_what.search(row[2])] == []


def payload_keys() -> set[str]:
    """The keys that the hops give to ``Lake.payload`` by name."""
    calls = (
        node
        for file in (PACKAGE / "lake").rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "payload"
    )
    return {keyword.arg for call in calls for keyword in call.keywords if keyword.arg}


def test_the_format_of_notes_and_all_their_keys_are_documented():
    text = (DOCS / "lake-format.md").read_text()
    assert f"The format of notes is **{NOTE_FORMAT}**" in text
    told = {SERVER, SKIP, KNOWS_BEFORE, HIDDEN, PREPARED, silver.ANSWERS, NAME_CASE, DEFAULT_ENGINE}
    names = LakeNames("uc:main.shop", mirrors_schema="shop_mirrors", tables_location="s3://b")
    keys = new_note({}, 1).keys() | Lake(None, names, "s", "mysql").payload("h").keys() | payload_keys() | told
    assert len(payload_keys()) > 10
    assert sorted(key for key in keys if f"`{key}`" not in text) == []


def folders_of(cell: str) -> list[Path]:
    """The folders of a row of the architecture page; the last one is what its files are in."""
    names = re.findall(r"`([^`]+)`", cell)
    return [PACKAGE if name == "src/mirrorlake" else PACKAGE / name for name in names]


def test_the_architecture_page_lists_every_folder_and_where_to_begin():
    listed = [row for row in rows((DOCS / "architecture.md").read_text()) if len(row) == 4]
    folders = {folder for row in listed for folder in folders_of(row[0])}
    assert {module.parent for module in MODULES} <= folders
    named = {folders_of(row[0])[-1] / file for row in listed for file in re.findall(r"`([\w/]+\.py)`", row[3])}
    assert sorted(path for path in folders | named if not path.exists()) == []


def first_line(module: Path) -> str:
    return (ast.get_docstring(ast.parse(module.read_text()), clean=False) or "").split("\n")[0]


def test_every_module_says_in_one_line_what_it_is():
    lines = {module.relative_to(PACKAGE).as_posix(): first_line(module) for module in MODULES}
    assert {name: line for name, line in lines.items() if not line.endswith((".", "?")) or len(line) > 117} == {}


def test_no_page_has_the_marks_of_an_unfinished_merge():
    pages = [*ROOT.glob("*.md"), *ROOT.rglob("docs/**/*.md")]
    marks = ("<" * 7, "=" * 7, ">" * 7)
    assert [page.name for page in pages for line in page.read_text().splitlines() if line.startswith(marks)] == []
