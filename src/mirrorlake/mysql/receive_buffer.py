"""Buffer for bytes that came from a server and were not parsed yet, read from the socket in large pieces."""

from __future__ import annotations

import math
import select
import socket
import ssl
import time
from collections.abc import Callable

import numpy as np

from mirrorlake.core.binlog.framing import SLACK_BYTES
from mirrorlake.core.kernels.memory import reusable_bytes
from mirrorlake.errors import RetryableError

BUFFER_BYTES = 8 << 20
GATHER_S = 0.002
"""Seconds to wait for more bytes before the present ones are returned."""
_MIN_ROOM_BYTES = 64 << 10


class ReceiveBuffer:
    """Bytes low..high of ``array`` have arrived and are not taken. Arrays are never written again below ``high``, and
    end with ``SLACK_BYTES``.

    lost(why): makes the error for a broken connection. deadline_s: on the monotonic clock; requested bytes must arrive
    by then.
    """

    def __init__(self, sock: socket.socket, silence_limit_s: float, lost: Callable[[str], RetryableError]):
        self._socket, self._silence_limit_s, self._lost = sock, silence_limit_s, lost
        self.deadline_s = math.inf
        self.low = self.high = 0
        self._renew(BUFFER_BYTES)

    def receive_more(self) -> None:
        """Append more bytes: all that arrive without a pause, while there is room."""
        if len(self._view) - self.high < _MIN_ROOM_BYTES:
            unread = self.array[self.low : self.high]
            packet_bytes = 4 + int.from_bytes(unread[:3].tobytes(), "little")
            self._renew(max(BUFFER_BYTES, packet_bytes + _MIN_ROOM_BYTES), unread)
        self.high += self._receive_into(self._view[self.high :])
        while self.high < len(self._view) and self._has_more():
            try:
                self.high += self._receive_into(self._view[self.high :])
            except RetryableError:  # bytes from before the connection broke are parsed first: they may say why
                break

    def take_into(self, target: memoryview) -> None:
        """Fill ``target`` with the next bytes, first from the buffer, then directly from the socket."""
        filled = min(len(target), self.high - self.low)
        target[:filled] = self._view[self.low : self.low + filled]
        self.low += filled
        while filled < len(target):
            filled += self._receive_into(target[filled:])

    def take(self, n_bytes: int) -> bytes:
        taken = bytearray(n_bytes)
        self.take_into(memoryview(taken))
        return bytes(taken)

    def _renew(self, n_bytes: int, kept: np.ndarray | tuple = ()) -> None:
        self.array = reusable_bytes(n_bytes + SLACK_BYTES)
        self._view = self.array.data[:n_bytes]
        self.array[: len(kept)] = kept
        self.low, self.high = 0, len(kept)

    def _has_more(self) -> bool:
        if isinstance(self._socket, ssl.SSLSocket) and self._socket.pending():
            return True
        poll = select.poll()
        poll.register(self._socket, select.POLLIN)
        return bool(poll.poll(GATHER_S * 1000))

    def _receive_into(self, target: memoryview) -> int:
        left_s = self.deadline_s - time.monotonic()
        if left_s <= 0:
            raise self._lost("the server sends, but not what it was asked for")
        self._socket.settimeout(min(self._silence_limit_s, left_s))
        try:
            n_bytes = self._socket.recv_into(target)
        except TimeoutError:
            raise self._lost(f"nothing came for {min(self._silence_limit_s, left_s):.0f} s") from None
        except OSError as error:
            raise self._lost(str(error)) from None
        if not n_bytes:
            raise self._lost("the server closed the connection")
        return n_bytes
