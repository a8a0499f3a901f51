"""Memory that ends where the process ends when a kernel reads or writes beyond it."""

from __future__ import annotations

import ctypes
import mmap

import numpy as np

_PAGE = mmap.PAGESIZE


class Guarded:
    """Memory whose last byte lies before a page that nobody may touch."""

    def __init__(self, n_bytes: int):
        self._size = -(-n_bytes // _PAGE) * _PAGE + _PAGE
        self._map = mmap.mmap(-1, self._size)
        address = ctypes.addressof(ctypes.c_char.from_buffer(self._map))
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.mprotect(ctypes.c_void_p(address + self._size - _PAGE), _PAGE, 0):
            raise OSError(ctypes.get_errno(), "mprotect")

    def last(self, n_bytes: int) -> np.ndarray:
        """The last bytes before the page, as uint8; the same memory every time."""
        end = self._size - _PAGE
        if n_bytes > end:
            raise MemoryError(n_bytes)
        return np.frombuffer(self._map, np.uint8, end)[end - n_bytes :]
