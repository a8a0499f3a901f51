"""databricks-sdk for this process: set-up leaves it out, so a folder of its own comes last on the path."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def with_sdk() -> None:
    try:
        is_there = importlib.util.find_spec("databricks.sdk") is not None
    except ModuleNotFoundError:
        is_there = False
    if not is_there:
        script = [ROOT / "scripts/databricks_sdk.sh"]
        sys.path.append(subprocess.run(script, check=True, capture_output=True, text=True).stdout.strip())
        importlib.invalidate_caches()
        # databricks-bundles has the same package, which looks once where its parts are
        sys.modules.pop("databricks", None)
