"""Imports point down: core knows nobody, mysql and lake never meet, hops know only their upstream's table."""

from __future__ import annotations

import ast
import re
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[2] / "src"
ROOT = "mirrorlake"
VALUES = ("errors", "config", "shown")

OF_CORE = (
    "core.constants", "core.digits", "core.gtid", "core.intervals", "core.lsn_range", "core.mariadb_gtid",
    "core.mysql_gtid", "core.position", "core.sql_text",
)  # fmt: skip
CONTROL = ("core", "lake.delta", "lake.gold.control")
CONVERT = (*CONTROL, "lake.gold.convert")
MERGE = (*CONVERT, "lake.gold.partition", "lake.gold.generated", "lake.gold.merge", "lake.silver.table")
RUN = ("core", "mysql", "lake", "jobs.run")

# Package or module -> what else of ours its modules may import, beside the package itself and VALUES.
# A name means itself and everything in it; the longest entry that fits a module is its rule.
MAY_IMPORT: dict[str, tuple[str, ...]] = {
    "__init__": (),
    "errors": ("shown",),
    "shown": (),
    "config": (
        "core.schema.column_patterns",
        "core.schema.lower_case_names",
        "core.schema.table_patterns",
        "core.schema.view_names",
    ),
    "core": (),
    "core.kernels": (),
    "core.schema": OF_CORE,
    "core.ddl.parse": (*OF_CORE, "core.schema"),
    "core.ddl.effect": (*OF_CORE, "core.schema", "core.ddl.parse"),
    "core.values": (*OF_CORE, "core.kernels", "core.schema"),
    "core.binlog": (*OF_CORE, "core.kernels", "core.schema"),
    "core.binlog.rows": (*OF_CORE, "core.kernels", "core.schema", "core.values", "core.binlog"),
    "core.changes": ("core",),
    "mysql": ("core",),
    "lake": ("core",),
    "lake.delta": ("core",),
    "lake.bronze": ("core", "lake.delta"),
    "lake.silver": ("core", "lake.delta", "lake.bronze.table"),
    "lake.gold": ("core", "lake.delta", "lake.silver.table"),
    "lake.gold.control": CONTROL,
    "lake.gold.convert": CONTROL,
    "lake.gold.partition": CONVERT,
    "lake.gold.generated": (*CONVERT, "lake.gold.partition"),
    "lake.gold.merge": MERGE,
    "lake.gold.cascade": MERGE,
    "lake.gold.ddl": MERGE,
    "lake.gold.syncpoint": (*CONTROL, "lake.silver.table"),
    "lake.gold.views": (*CONTROL, "lake.gold.syncpoint"),
    "lake.compare": CONTROL,
    "jobs": ("core", "mysql", "lake"),
    "jobs.run": RUN,
    "jobs.show": RUN,
    "jobs.inspect": (*RUN, "jobs.show"),
    "jobs.workspace": (*RUN, "jobs.show"),
    "jobs.notebook": (*RUN, "jobs.show", "jobs.inspect"),
    "jobs.demo": (*RUN, "jobs.show", "jobs.inspect"),
    "cli": ("core", "mysql", "lake", "jobs"),
    "__main__": ("cli",),
    "task": ("cli",),
    "operate": ("cli", "task"),
}
SPARK = {"pyspark", "delta"}
INPUT_OUTPUT = {"pymysql", "socket", "ssl", "subprocess", "urllib", "http", "asyncio"}
# The outermost rule that fits a module -> libraries its modules may not import.
FORBIDDEN_LIBRARIES = {
    "core": SPARK | INPUT_OUTPUT,
    "mysql": SPARK,
    "errors": SPARK,
    "config": SPARK,
    "lake": {"pymysql"},
}


def modules() -> dict[str, Path]:
    """Name below mirrorlake -> file; a package goes by the name of its __init__."""
    files = sorted((SOURCE / ROOT).rglob("*.py"))
    return {".".join(file.relative_to(SOURCE / ROOT).with_suffix("").parts): file for file in files}


MODULES = modules()


def imported_names(module: str) -> set[str]:
    """Every dotted name the module imports, wherever in the file: ``from a.b import c`` gives ``a.b.c``."""
    names: set[str] = set()
    package = [ROOT, *module.split(".")][:-1]
    for node in ast.walk(ast.parse(MODULES[module].read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            parts = [*base, *(node.module or "").split(".")] if node.module else base
            names |= {".".join([*parts, alias.name]) for alias in node.names}
    return names


def is_within(name: str, package: str) -> bool:
    return name == package or name.startswith(package + ".")


def rule_of(module: str) -> str:
    return max((rule for rule in MAY_IMPORT if is_within(module, rule)), key=len)


def offences(module: str, imports: set[str]) -> set[str]:
    rule = rule_of(module)
    allowed = (rule, *VALUES, *MAY_IMPORT[rule]) if rule not in VALUES else (rule, "errors", *MAY_IMPORT[rule])
    ours = {name.removeprefix(ROOT + ".") for name in imports if is_within(name, ROOT)} - {ROOT, "__version__"}
    libraries = FORBIDDEN_LIBRARIES.get(rule.split(".")[0], set())
    return {name for name in ours if not any(is_within(name, package) for package in allowed)} | {
        name for name in imports if name.split(".")[0] in libraries
    }


def test_every_module_has_a_rule():
    assert len(MODULES) > 20
    assert not [module for module in MODULES if not any(is_within(module, rule) for rule in MAY_IMPORT)]


@pytest.mark.parametrize("module", MODULES)
def test_module_imports_only_downwards(module):
    assert offences(module, imported_names(module)) == set()


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("core.position", "mirrorlake.lake.delta.lake.Lake"),
        ("core.position", "pyspark.sql.Row"),
        ("core.position", "socket"),
        ("mysql.connection", "mirrorlake.lake.delta.names.quote"),
        ("mysql.connection", "pyspark"),
        ("lake.bronze.ingest", "mirrorlake.mysql.connection"),
        ("lake.silver.assemble", "mirrorlake.lake.bronze.ingest"),
        ("lake.gold.apply", "mirrorlake.lake.silver.assemble.x"),
        ("lake.gold.apply", "mirrorlake.jobs"),
        ("jobs.run", "mirrorlake.cli"),
        ("errors", "mirrorlake.config"),
    ],
)
def test_rules_catch(module, name):
    assert offences(module, {name}) == {name.removeprefix(ROOT + ".")}


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("lake.silver.assemble", "mirrorlake.lake.bronze.table"),
        ("lake.silver.assemble", "mirrorlake.lake.bronze.table.COLUMNS"),
        ("lake.gold.apply", "mirrorlake.lake.delta.progress.append_from"),
        ("mysql.connection", "pymysql"),
        ("jobs.run", "mirrorlake.mysql.connection"),
        ("config", "mirrorlake.errors.UsageError"),
    ],
)
def test_rules_allow(module, name):
    assert offences(module, {name}) == set()


def folder_of(name: str) -> str:
    """The folder of the module that a dotted name means or stands in; empty for one at the top."""
    while name and name not in MODULES:
        name = name.rpartition(".")[0]
    return name.rpartition(".")[0]


def folder_imports() -> dict[str, set[str]]:
    """Folder -> the other folders that its modules import from."""
    found: dict[str, set[str]] = {}
    for module in MODULES:
        ours = {name.removeprefix(ROOT + ".") for name in imported_names(module) if is_within(name, ROOT)}
        found.setdefault(folder_of(module), set()).update(folder_of(name) for name in ours)
    return {folder: others - {folder, ""} for folder, others in found.items() if folder}


def test_no_two_folders_import_each_other():
    assert tuple(TopologicalSorter(folder_imports()).static_order())  # raises CycleError


def test_no_test_module_imports_another():
    """What two of them need is in tests/support."""
    imported = re.compile(r"^(?:from|import) tests\.(?:unit|lake|server)\b.*", re.MULTILINE)
    found = {
        file.name: imported.findall(file.read_text(encoding="utf-8"))
        for file in (SOURCE.parent / "tests").rglob("*.py")
    }
    assert {name: lines for name, lines in found.items() if lines} == {}
