"""How kernels are compiled: as pieces, or, if Numba's inner parts have changed, in Numba's plain way.

Both ways give the same results (decision 014). ``NUMBA_DISABLE_JIT=1`` compiles nothing, for debugging.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numba

from mirrorlake.core.kernels import plain

PLAIN_VARIABLE = "MIRRORLAKE_PLAIN_NUMBA"
"""Environment variable: 1 takes the plain way, for tests."""

_CONFIG: Any = numba.config
JIT_DISABLED = bool(_CONFIG.DISABLE_JIT)


LAST_TRIED = (0, 68)
"""The newest version of Numba whose inner parts are known, as in setup.py."""


def _way() -> ModuleType:
    """``pieces``, if Numba has all that they need, or else ``plain``."""
    if os.environ.get(PLAIN_VARIABLE) == "1":
        return plain
    try:
        from mirrorlake.core.kernels import pieces

        if numba.version_info.short > LAST_TRIED:
            pieces.try_out()
    except Exception as error:  # what a Numba that we do not know raises is not known either
        print(
            f"mirrorlake does not know Numba {numba.__version__} ({type(error).__name__}: {error}); each process"
            " compiles its kernels in Numba's plain way, which takes a minute or more",
            file=sys.stderr,
        )
        return plain
    return pieces


_INTERPRETED: list = []


def _interpreted_address(function: Any) -> int:
    _INTERPRETED.append(function)
    return len(_INTERPRETED) - 1


def _interpreted_call(address: Any, *args: Any) -> Any:
    return _INTERPRETED[int(address)](*args)


def _itself(function: Any) -> Any:
    return function


kernel: Callable[[Any], Any]
"""A function over numbers, addresses and arrays, which Python or other kernels call; without the GIL."""
address_of: Callable[[Any], int]
"""The address by which ``call_at`` calls a ``VALUE_KERNEL``; compiles it on the first request."""
call_at: Callable
"""Function: (address of a ``VALUE_KERNEL``, its six arguments) -> its two results; for kernels."""

if JIT_DISABLED:
    kernel, address_of, call_at = _itself, _interpreted_address, _interpreted_call
else:
    _chosen = _way()
    kernel, address_of, call_at = _chosen.kernel, _chosen.address_of, _chosen.call_at
