"""Read the integers and strings of an event body, one after another, and never past its end."""

from __future__ import annotations

from mirrorlake.errors import RefusedError

_LENGTH_ENCODED = {0xFC: 2, 0xFD: 3, 0xFE: 8}  # first byte -> bytes of the integer that follows


class ByteReader:
    """A cursor over a body. Every method raises RefusedError ``log-event`` if the body is too short."""

    def __init__(self, body: bytes | memoryview, what: str):
        self._body, self._what, self._at = body, what, 0

    @property
    def at_end(self) -> bool:
        return self._at >= len(self._body)

    @property
    def position(self) -> int:
        """Number of bytes read."""
        return self._at

    def take(self, count: int) -> bytes:
        end = self._at + count
        if end > len(self._body):
            raise self.malformed("it ends too early")
        found, self._at = self._body[self._at : end], end
        return bytes(found)

    def uint(self, count: int) -> int:
        """Read a little-endian integer of ``count`` bytes."""
        return int.from_bytes(self.take(count), "little")

    def packed(self) -> int:
        """Read MySQL's length-encoded integer."""
        first = self.uint(1)
        if first < 0xFB:
            return first
        if first not in _LENGTH_ENCODED:
            raise self.malformed("a packed integer starts with a byte that has no meaning")
        return self.uint(_LENGTH_ENCODED[first])

    def name(self, count: int) -> str:
        """Read an identifier of ``count`` bytes; both servers log identifiers in UTF-8."""
        try:
            return self.take(count).decode()
        except UnicodeDecodeError:
            raise self.malformed("a name is not UTF-8") from None

    def malformed(self, why: str) -> RefusedError:
        return RefusedError("log-event", f"malformed {self._what}: {why}")
