"""What the wheel says of itself."""

from __future__ import annotations

import ast
from pathlib import Path

from tests.support.setup_file import setup_arguments

ROOT = Path(__file__).resolve().parents[2]


def test_the_wheel_is_under_the_apache_license_and_holds_its_text():
    arguments = setup_arguments()
    assert ast.literal_eval(arguments["license_expression"]) == "Apache-2.0"
    assert ast.literal_eval(arguments["license_files"]) == ["LICENSE"]
    text = (ROOT / "LICENSE").read_text()
    assert text.split()[:6] == ["Apache", "License", "Version", "2.0,", "January", "2004"]
    assert f"Copyright 2026 {ast.literal_eval(arguments['author'])}\n" in text


def test_the_wheel_holds_its_data_and_the_mark_of_a_typed_package():
    (patterns,) = ast.literal_eval(setup_arguments()["package_data"]).values()
    package = ROOT / "src/mirrorlake"
    held = {file for pattern in patterns for file in package.glob(pattern) if file.is_file()}
    data = {file for file in package.rglob("*") if file.is_file() and file.suffix not in (".py", ".pyc")}
    assert held == data and package / "py.typed" in held
