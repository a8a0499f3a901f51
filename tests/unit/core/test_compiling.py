"""Kernels: compiled with all that they call, called by their address, kept where a folder can be written."""

from __future__ import annotations

import shutil

import numpy as np
import pytest

from mirrorlake.core import compiling
from mirrorlake.core.compiling import JIT_DISABLED, address_of, call_at, kernel
from mirrorlake.core.values.column_kinds import KERNELS
from mirrorlake.core.values.kinds import YEAR


@kernel
def scaled(a, factor):
    return a * factor


@kernel
def value_kernel(a, b, c, d, e, f):
    return scaled(a, 10) + b, scaled(c, 100) + d + e + f


@kernel
def by_address(address):
    return call_at(address, 1, 2, 3, 4, 5, 6)


def test_a_kernel_is_called_by_python_by_kernels_and_by_its_address():
    assert scaled(3, 7) == 21
    assert value_kernel(1, 2, 3, 4, 5, 6) == (12, 315)
    assert by_address(address_of(value_kernel)) == (12, 315)
    assert address_of(value_kernel) == address_of(value_kernel) or JIT_DISABLED


def year_of(year_kernel) -> list[int]:
    """What the kernel of YEAR columns makes of 2024: a VARIANT int16."""
    stored, written = np.array([124], np.uint8), np.zeros(3, np.uint8)
    start, o = stored.ctypes.data, written.ctypes.data
    assert year_kernel(start, start + 1, 0, 0, o, o + 3) == (start + 1, o + 3)
    return written.tolist()


@pytest.mark.skipif(JIT_DISABLED, reason="nothing is compiled")
def test_a_folder_that_cannot_be_written_fails_nothing(tmp_path, monkeypatch):
    folder, of_package = tmp_path / "cache", KERNELS[YEAR].__wrapped__
    monkeypatch.setattr(compiling, "_CACHE_FOLDER", str(folder))
    folder.write_text("no folder")
    uncached = kernel(of_package)
    assert year_of(uncached) == [16, *(2024).to_bytes(2, "little")] and address_of(uncached)

    folder.unlink()
    cached = kernel(of_package)
    assert year_of(cached) == year_of(uncached)
    assert sorted(file.suffix for file in folder.rglob("column_kinds*")) == [".nbc", ".nbi"]

    lost = kernel(of_package)
    assert lost._piece._cache.cache_path.startswith(str(folder))
    shutil.rmtree(folder)
    folder.write_text("no folder")
    assert year_of(lost) == year_of(uncached)


@pytest.mark.skipif(JIT_DISABLED, reason="nothing is compiled")
def test_only_kernels_of_the_package_are_kept(tmp_path, monkeypatch):
    monkeypatch.setattr(compiling, "_CACHE_FOLDER", str(tmp_path / "cache"))
    assert kernel(value_kernel.__wrapped__)(1, 2, 3, 4, 5, 6) == (12, 315)
    assert not (tmp_path / "cache").exists()
