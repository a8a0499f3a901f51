"""Kernels: compiled with all that they call, called by their address, kept where a folder can be written."""

from __future__ import annotations

import shutil

import pytest

from mirrorlake.core import compiling
from mirrorlake.core.compiling import JIT_DISABLED, address_of, call_at, kernel


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


@pytest.mark.skipif(JIT_DISABLED, reason="nothing is compiled")
def test_a_folder_that_cannot_be_written_fails_nothing(tmp_path, monkeypatch):
    folder = tmp_path / "cache"
    monkeypatch.setattr(compiling, "_CACHE_FOLDER", str(folder))
    folder.write_text("no folder")
    uncached = kernel(value_kernel.__wrapped__)
    assert uncached(1, 2, 3, 4, 5, 6) == (12, 315) and address_of(uncached)

    folder.unlink()
    cached = kernel(value_kernel.__wrapped__)
    assert cached(1, 2, 3, 4, 5, 6) == (12, 315)
    assert sorted(file.suffix for file in folder.rglob("test_compiling*")) == [".nbc", ".nbi"]

    lost = kernel(value_kernel.__wrapped__)
    assert lost._piece._cache.cache_path.startswith(str(folder))
    shutil.rmtree(folder)
    folder.write_text("no folder")
    assert lost(1, 2, 3, 4, 5, 6) == (12, 315)
