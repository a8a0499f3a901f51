"""What set-up installs is what the repository says, byte for byte."""

from __future__ import annotations

import ast
import importlib.util
import re
import sys
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.support.setup_file import setup_arguments

ROOT = Path(__file__).resolve().parents[2]
LOCKS = sorted((ROOT / "requirements").glob("*.txt"))
PYTHONS = ("3.10", "3.11", "3.12", "3.13", "3.14")
JARS = Path(sys.prefix) / "delta-jars"


def setup_requirements() -> list[Requirement]:
    """What setup.py asks for, the extras that set-up leaves out too."""
    arguments = setup_arguments()
    extras = ast.literal_eval(arguments["extras_require"])
    texts = ast.literal_eval(arguments["install_requires"]) + [text for extra in extras.values() for text in extra]
    return [Requirement(text) for text in texts]


def locked(file: Path) -> list[tuple[Requirement, list[str]]]:
    """Each package of a lock file with its hashes."""
    lines = re.sub(r"\\\n\s*", " ", file.read_text()).splitlines()
    cells = [re.split(r"\s+--hash=", line) for line in lines if line and not line.startswith("#")]
    return [(Requirement(requirement), hashes) for requirement, *hashes in cells]


def version_for(python: str) -> dict[str, str]:
    """Package -> its version in requirements/packages.txt for this Python on Linux."""
    environment = {
        "python_full_version": f"{python}.1",
        "python_version": python,
        "sys_platform": "linux",
        "implementation_name": "cpython",
        "platform_python_implementation": "CPython",
    }
    packages = [one for one, _ in locked(ROOT / "requirements/packages.txt")]
    chosen = [one for one in packages if one.marker is None or one.marker.evaluate(environment)]
    assert len(chosen) == len({one.name for one in chosen}), "two versions of a package"
    return {one.name: next(iter(one.specifier)).version for one in chosen}


@pytest.fixture(scope="module")
def fetch_jars():
    spec = importlib.util.spec_from_file_location("fetch_jars", ROOT / "scripts/fetch_jars.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("requirement", setup_requirements(), ids=str)
def test_a_dependency_has_a_lower_and_an_upper_bound(requirement):
    operators = {one.operator for one in requirement.specifier}
    assert operators == {"=="} or operators == {">=", "<"}


@pytest.mark.parametrize("file", LOCKS, ids=lambda file: file.stem)
def test_a_lock_names_one_version_and_its_hashes_and_no_registry(file):
    packages = locked(file)
    assert packages
    for requirement, hashes in packages:
        assert [one.operator for one in requirement.specifier] == ["=="], requirement
        assert requirement.url is None
        assert hashes and all(re.fullmatch("sha256:[0-9a-f]{64}", one) for one in hashes), requirement
    assert not re.search(r"://|^\s*-[^-]|--(?!hash=)", file.read_text(), re.M)


@pytest.mark.parametrize("python", PYTHONS)
def test_the_lock_has_what_setup_py_asks_for_within_its_bounds(python):
    versions = version_for(python)
    left_out = {"databricks-sdk"}  # in requirements/databricks.txt: for people with a workspace, and some tests
    requirements = setup_requirements()
    wanted = [one for one in requirements if one.name not in left_out]
    sdk = next(one for one in requirements if one.name in left_out)
    assert str(sdk) in [str(one) for one, _ in locked(ROOT / "requirements/databricks.txt")]
    assert [str(one) for one in wanted if canonicalize_name(one.name) not in versions] == [], "make lock"
    outside = [str(one) for one in wanted if not one.specifier.contains(versions[canonicalize_name(one.name)])]
    assert outside == [], "make lock"


def test_set_up_installs_only_files_with_a_recorded_hash():
    """Each pip of the scripts checks hashes, or takes nothing from a registry at all."""
    scripts = [ROOT / "Makefile", *sorted((ROOT / "scripts").rglob("*.sh"))]
    lines = [line.strip() for script in scripts for line in script.read_text().splitlines()]
    calls = [line for line in lines if re.search(r"-m pip (install|wheel|download)\b", line)]
    from_nowhere = "--no-index --no-deps --no-build-isolation"
    assert [call for call in calls if "--require-hashes" not in call and from_nowhere not in call] == []
    assert len(calls) == 5


def test_the_jars_that_sessions_use_are_the_recorded_ones(fetch_jars):
    fetch_jars.refuse_others(JARS)
    assert fetch_jars.digests(JARS) == fetch_jars.RECORDED.read_text()


@pytest.mark.parametrize("change", ["altered", "missing", "added"])
def test_other_jars_are_refused_by_name(fetch_jars, tmp_path, change):
    for jar in JARS.glob("*.jar"):
        (tmp_path / jar.name).symlink_to(jar)
    first = min(JARS.glob("*.jar"), key=lambda jar: jar.name)
    name = "another.jar" if change == "added" else first.name
    (tmp_path / name).unlink(missing_ok=True)
    if change != "missing":
        (tmp_path / name).write_bytes(first.read_bytes()[:-1] + b"!")
    with pytest.raises(SystemExit, match=rf"by SHA-256: {re.escape(name)}$"):
        fetch_jars.refuse_others(tmp_path)
