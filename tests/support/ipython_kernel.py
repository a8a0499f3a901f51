"""Cells in a real kernel of IPython, a process of its own, as platforms run a task."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
_CLIENT = """
import json, sys
from jupyter_client.manager import start_new_kernel

manager, client = start_new_kernel(kernel_name="python3")
try:
    replies = [client.execute_interactive(cell, timeout=60, output_hook=id) for cell in json.load(sys.stdin)]
    print(json.dumps([reply["content"] for reply in replies]))
finally:
    client.stop_channels()
    manager.shutdown_kernel(now=True)
"""


def run_cells(*cells: str) -> list[dict]:
    """The kernel's reply to each cell: ``status`` (ok or error), of an error also ``ename`` and ``evalue``."""
    script = [ROOT / "scripts/ipykernel.sh"]
    folder = subprocess.run(script, check=True, capture_output=True, text=True).stdout.strip()
    path = os.pathsep.join([str(ROOT / "src"), folder])
    ran = subprocess.run(
        [sys.executable, "-c", _CLIENT], input=json.dumps(cells), capture_output=True, text=True, timeout=120,
        env=os.environ | {"PYTHONPATH": path, "JUPYTER_PATH": f"{folder}/share/jupyter"},
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout.splitlines()[-1])
