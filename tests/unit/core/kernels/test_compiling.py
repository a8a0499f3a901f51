"""Kernels: compiled with all that they call, called by their address, kept where a folder can be written."""

from __future__ import annotations

import os
import pickle
import shutil
from pathlib import Path
from random import Random

import numpy as np
import pytest

from mirrorlake.core.kernels import cache as kernel_cache
from mirrorlake.core.kernels.compiling import JIT_DISABLED, address_of, call_at, kernel
from mirrorlake.core.kernels.memory import gather_bytes
from mirrorlake.core.values.column_kinds import KERNELS
from mirrorlake.core.values.kinds import YEAR

DIGEST_BYTES = kernel_cache._DIGEST_BYTES


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
    monkeypatch.setattr(kernel_cache, "CACHE_FOLDER", str(folder))
    folder.write_text("no folder")
    uncached = kernel(of_package)
    assert year_of(uncached) == [16, *(2024).to_bytes(2, "little")] and address_of(uncached)

    folder.unlink()
    cached = kernel(of_package)
    assert year_of(cached) == year_of(uncached)
    assert [file.suffix for file in folder.rglob("column_kinds*")] == [".nbc"]

    lost = kernel(of_package)
    assert lost._piece._cache.cache_path.startswith(str(folder))
    shutil.rmtree(folder)
    folder.write_text("no folder")
    assert year_of(lost) == year_of(uncached)


@pytest.mark.skipif(JIT_DISABLED, reason="nothing is compiled")
def test_processes_that_keep_a_kernel_for_other_types_at_the_same_time_do_not_mix_them_up(tmp_path, monkeypatch):
    monkeypatch.setattr(kernel_cache, "CACHE_FOLDER", str(tmp_path))
    buf, first, second = np.arange(10, dtype=np.uint8), np.array([7, 1]), np.array([2, 3])
    wanted, offsets = [7, 8, 1, 2, 3], {kind: first.astype(kind) for kind in (np.int32, np.int64)}

    def gathered(process, kind) -> list[int]:
        out = np.zeros(5, np.uint8)
        process(buf, offsets[kind], second, out)
        return out.tolist()

    one, other = kernel(gather_bytes.__wrapped__), kernel(gather_bytes.__wrapped__)
    files = one._piece._cache._cache_file
    opened = files._open_for_write

    def opened_when_the_other_has_saved(path):
        monkeypatch.undo()
        assert gathered(other, np.int64) == wanted
        return opened(path)

    assert other._piece._cache.cache_path.startswith(str(tmp_path))
    monkeypatch.setattr(files, "_open_for_write", opened_when_the_other_has_saved)
    assert gathered(one, np.int32) == wanted
    monkeypatch.setattr(kernel_cache, "CACHE_FOLDER", str(tmp_path))
    later = kernel(gather_bytes.__wrapped__)
    assert gathered(later, np.int64) == gathered(later, np.int32) == wanted
    assert later._piece.stats.cache_hits == {sig.args: 1 for sig in later._piece.nopython_signatures}


@pytest.mark.skipif(JIT_DISABLED, reason="nothing is compiled")
def test_a_file_that_was_cut_off_is_written_anew(tmp_path, monkeypatch):
    monkeypatch.setattr(kernel_cache, "CACHE_FOLDER", str(tmp_path))
    year_of(kernel(KERNELS[YEAR].__wrapped__))
    (kept,) = tmp_path.rglob("*.nbc")
    whole = kept.read_bytes()
    for n_bytes in (0, 1, len(whole) // 2):
        kept.write_bytes(whole[:n_bytes])
        assert year_of(kernel(KERNELS[YEAR].__wrapped__)) == [16, *(2024).to_bytes(2, "little")]
        again = kept.read_bytes()  # code that is compiled again may differ by some bytes
        assert again[:DIGEST_BYTES] == kernel_cache._digest(kept.name, again[DIGEST_BYTES:])


@pytest.mark.skipif(JIT_DISABLED, reason="nothing is compiled")
def test_only_kernels_of_the_package_are_kept(tmp_path, monkeypatch):
    monkeypatch.setattr(kernel_cache, "CACHE_FOLDER", str(tmp_path / "cache"))
    assert kernel(value_kernel.__wrapped__)(1, 2, 3, 4, 5, 6) == (12, 315)
    assert not (tmp_path / "cache").exists()


YEAR_2024 = [16, *(2024).to_bytes(2, "little")]


class Poison:
    """Makes a file when it is unpickled."""

    def __init__(self, marker: Path):
        self._marker = marker

    def __reduce__(self):
        return os.mkdir, (str(self._marker),)


def kept_kernel(folder: Path) -> Path:
    """The only file of a cache, made now."""
    assert year_of(kernel(KERNELS[YEAR].__wrapped__)) == YEAR_2024
    (kept,) = folder.rglob("*.nbc")
    return kept


@pytest.mark.skipif(JIT_DISABLED, reason="nothing is compiled")
def test_whatever_is_damaged_in_a_file_it_is_written_anew(tmp_path, monkeypatch, seed):
    monkeypatch.setattr(kernel_cache, "CACHE_FOLDER", str(tmp_path))
    kept = kept_kernel(tmp_path)
    whole = kept.read_bytes()
    assert year_of(kernel(KERNELS[YEAR].__wrapped__)) == YEAR_2024
    offsets = sorted({0, 31, 32, 33, len(whole) - 1, *Random(seed).sample(range(len(whole)), 25)})
    for offset in offsets:
        damaged = bytearray(whole)
        damaged[offset] ^= 1 << offset % 8
        kept.write_bytes(damaged)
        fresh = kernel(KERNELS[YEAR].__wrapped__)
        found = fresh._piece._cache._cache_file
        with pytest.raises(kernel_cache._Unusable):
            found._load_data(kept.name)
    assert year_of(fresh) == YEAR_2024
    assert len(kept.read_bytes()) == len(whole) and kept.read_bytes() != bytes(damaged)


@pytest.mark.skipif(JIT_DISABLED, reason="nothing is compiled")
@pytest.mark.parametrize("head", [b"", bytes(32)])
def test_a_strangers_pickle_in_the_place_of_a_kernel_is_not_loaded(tmp_path, monkeypatch, head):
    folder, marker = tmp_path / "cache", tmp_path / "poisoned"
    monkeypatch.setattr(kernel_cache, "CACHE_FOLDER", str(folder))
    kept = kept_kernel(folder)
    kept.write_bytes(head + pickle.dumps(Poison(marker)))
    assert year_of(kernel(KERNELS[YEAR].__wrapped__)) == YEAR_2024
    assert not marker.exists() and len(kept.read_bytes()) > 1000


@pytest.mark.skipif(JIT_DISABLED, reason="nothing is compiled")
@pytest.mark.parametrize("writable", [".", "..", "below", "file"])
def test_what_others_may_write_is_no_cache(tmp_path, monkeypatch, writable):
    """A whole file that would make a folder when it is loaded."""
    folder, marker = tmp_path / "above" / "cache", tmp_path / "poisoned"
    monkeypatch.setattr(kernel_cache, "CACHE_FOLDER", str(folder))
    kept = kept_kernel(folder)
    poison = pickle.dumps(Poison(marker))
    kept.write_bytes(kernel_cache._digest(kept.name, poison) + poison)
    opened = {".": folder, "..": folder.parent, "below": kept.parent, "file": kept}[writable]
    opened.chmod(0o777)
    assert year_of(kernel(KERNELS[YEAR].__wrapped__)) == YEAR_2024
    assert not marker.exists()


@pytest.mark.skipif(JIT_DISABLED, reason="nothing is compiled")
def test_a_link_to_the_cache_is_followed_once(tmp_path, monkeypatch):
    """Whoever may write where the link is could change it after the check."""
    folder, link = tmp_path / "cache", tmp_path / "link"
    folder.mkdir(mode=0o700)
    link.symlink_to(folder)
    monkeypatch.setattr(kernel_cache, "CACHE_FOLDER", str(link))
    cache = kernel_cache.cache_of(KERNELS[YEAR].__wrapped__, kernel_cache.KernelCache)
    assert cache is not None and Path(cache.cache_path).is_relative_to(folder)


@pytest.mark.skipif(JIT_DISABLED or os.geteuid() != 0, reason="only root can give files away")
@pytest.mark.parametrize("of_stranger", [".", "..", "file"])
def test_what_belongs_to_another_user_is_no_cache(tmp_path, monkeypatch, of_stranger):
    folder, marker = tmp_path / "above" / "cache", tmp_path / "poisoned"
    monkeypatch.setattr(kernel_cache, "CACHE_FOLDER", str(folder))
    kept = kept_kernel(folder)
    poison = pickle.dumps(Poison(marker))
    kept.write_bytes(kernel_cache._digest(kept.name, poison) + poison)
    os.chown({".": folder, "..": folder.parent, "file": kept}[of_stranger], 65534, 65534)
    assert year_of(kernel(KERNELS[YEAR].__wrapped__)) == YEAR_2024
    assert not marker.exists()


@pytest.mark.skipif(JIT_DISABLED, reason="nothing is compiled")
def test_new_folders_and_their_files_are_for_this_user_only(tmp_path, monkeypatch):
    """``~/.cache`` among them, where it does not exist yet."""
    folder = tmp_path / "home" / ".cache" / "mirrorlake" / "kernels"
    monkeypatch.setattr(kernel_cache, "CACHE_FOLDER", str(folder))
    mask = os.umask(0)
    try:
        kept = kept_kernel(folder)
    finally:
        os.umask(mask)
    made = [*(path for path in folder.parents if path.is_relative_to(tmp_path / "home")), folder, kept.parent]
    assert [path.stat().st_mode & 0o777 for path in (*made, kept)] == [0o700] * 5 + [0o600]
