"""The most memory that this process has had."""

from __future__ import annotations

from pathlib import Path


def peak_bytes() -> int:
    """VmHWM of proc(5), which starts again at exec; ``ru_maxrss`` of a child begins at what its parent has had."""
    status = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) << 10 for line in status if line.startswith("VmHWM:"))
