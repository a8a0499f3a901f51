"""Cache files of compiled kernels: their content is executed, so only this user may write their folder.

The folder and its files belong to this user and nobody else may write them; the folders above belong to this user or to
root, and strangers cannot write there either. A file begins with the SHA-256 of its name and of what follows: damaged
bytes are never unpickled, and the file is written again. The digest has no key: anyone who can write as this user could
also read this user's key.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import stat
from contextlib import suppress
from pathlib import Path
from typing import Any

import numba
from numba.core.caching import FunctionCache, IndexDataCacheFile, UserProvidedCacheLocator

_CONFIG: Any = numba.config
_DIGEST_BYTES = hashlib.sha256().digest_size


class _Unusable(Exception):
    """A file that is damaged, or not ours alone."""


class _Files(IndexDataCacheFile):
    """One file for each type of arguments, without an index: two processes that write an index at the same time would
    leave types with the other's machine code."""

    def save(self, key: tuple, data: Any) -> None:
        self._save_data(self._name(key), data)

    def load(self, key: tuple) -> Any:
        return self._load_data(self._name(key))

    def _save_data(self, name: str, data: Any) -> None:
        dumped = self._dump(data)
        with self._open_for_write(self._data_path(name)) as file:
            os.fchmod(file.fileno(), 0o600)
            file.write(_digest(name, dumped) + dumped)

    def _load_data(self, name: str) -> Any:
        with open(self._data_path(name), "rb", opener=_open_for_read) as file:
            if not _is_ours(os.fstat(file.fileno())):
                raise _Unusable
            digest, dumped = file.read(_DIGEST_BYTES), file.read()
        if digest != _digest(name, dumped):
            raise _Unusable
        return pickle.loads(dumped)

    def _name(self, key: tuple) -> str:
        digest = hashlib.sha256(repr((self._version, self._source_stamp, key)).encode()).hexdigest()
        return f"{self._index_name.removesuffix('.nbi')}.{digest[:16]}.nbc"


class KernelCache(FunctionCache):
    """Treats a folder or file that cannot be read, written or loaded as absent."""

    def __init__(self, function: Any) -> None:
        super().__init__(function)
        locator = self._impl.locator
        self._cache_file = _Files(locator.get_cache_path(), self._impl.filename_base, locator.get_source_stamp())

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        with suppress(Exception):  # the errors of Numba and pickle are not known, and a kernel can always be compiled
            return super().load_overload(sig, target_context)
        return None

    def save_overload(self, sig: Any, data: Any) -> None:
        with suppress(OSError):
            super().save_overload(sig, data)


class AddressCache(KernelCache):
    """Cache of pieces that Python cannot call."""

    def _index_key(self, *args: Any) -> tuple:
        return "by address", *super()._index_key(*args)


def _cache_folder() -> str:
    """One folder for each state of the package's sources.

    Numba notices a change of a kernel's own file only, not of the kernels it calls.
    """
    digest = hashlib.sha256()
    for source in sorted(Path(__file__).parents[1].rglob("*.py")):
        digest.update(source.read_bytes())
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return str(Path(base) / "mirrorlake" / f"kernels-{digest.hexdigest()[:16]}")


CACHE_FOLDER = os.environ.get("NUMBA_CACHE_DIR") or _cache_folder()


def cache_of(function: Any, kind: type[KernelCache]) -> KernelCache | None:
    """The cache of a function. None: the folder cannot be written or is not ours alone, or the function is not of this
    package; then kernels are compiled in memory. Numba would take another folder, where it cannot notice outdated
    files."""
    source = function.__code__.co_filename
    if not Path(source).is_relative_to(Path(__file__).parents[1]):
        return None
    base = Path(CACHE_FOLDER).resolve()  # a link could lead elsewhere after the check
    folder = base / UserProvidedCacheLocator.get_suitable_cache_subpath(source)
    _CONFIG.CACHE_DIR, others = str(base), _CONFIG.CACHE_DIR
    try:
        for above in reversed(base.parents):  # `parents` of one mkdir would get the umask's mode
            above.mkdir(mode=0o700, exist_ok=True)
        for each in (base, folder):
            each.mkdir(mode=0o700, exist_ok=True)
            _require_ours(each)
        found = kind(function)
    except (RuntimeError, OSError, _Unusable):
        return None
    finally:
        _CONFIG.CACHE_DIR = others
    return found if Path(found.cache_path) == folder else None


def _require_ours(folder: Path) -> None:
    """Raise _Unusable for a folder of another user, or one into which others may write, directly or through a
    parent."""
    real = folder.resolve()
    if not _is_ours(real.stat()) or not all(_is_safe(above.stat()) for above in real.parents):
        raise _Unusable


def _is_ours(found: os.stat_result) -> bool:
    return found.st_uid == os.geteuid() and not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def _is_safe(above: os.stat_result) -> bool:
    """Can nobody else replace a folder inside it? A sticky folder such as /tmp prevents that. The group that many
    systems give to each user, with the user's number, has no other member."""
    if above.st_uid not in (0, os.geteuid()):
        return False
    by_group = above.st_mode & stat.S_IWGRP and above.st_gid not in (0, os.geteuid())
    return bool(above.st_mode & stat.S_ISVTX) or not (by_group or above.st_mode & stat.S_IWOTH)


def _digest(name: str, dumped: bytes) -> bytes:
    return hashlib.sha256(name.encode() + b"\0" + dumped).digest()


def _open_for_read(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK)
