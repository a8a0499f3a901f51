"""What setup.py says, read without running it."""

from __future__ import annotations

import ast
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def setup_arguments() -> dict[str, ast.expr]:
    """The arguments of its call of setup(), by name. ``ast.literal_eval`` gives the value of a plain one."""
    nodes = ast.walk(ast.parse((ROOT / "setup.py").read_text()))
    (call,) = [node for node in nodes if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "setup"]
    return {keyword.arg: keyword.value for keyword in call.keywords}
