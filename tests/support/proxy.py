"""A TCP proxy in front of a real server: it cuts connections at any byte, lets them go silent, and changes servers.

with Proxy(server.host, server.port) as proxy:
    proxy.cut_stream_after = 1000        # the next dump's connection breaks after so many bytes of the stream
    login = ServerLogin(proxy.host, proxy.port, ...)
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable

_DUMP_COMMANDS = (0x12, 0x1E)  # COM_BINLOG_DUMP, COM_BINLOG_DUMP_GTID
_CHUNK_BYTES = 1 << 16


class Proxy:
    """cut_stream_after, stall_stream_after: bytes of the log stream that still pass on the next connection that asks
    for one; then it is cut, or stays open and silent. Each holds for one connection. sent_at_cut: what comes in place
    of the rest. is_down: nobody gets through. next_targets: of the next connections, in place of ``target``. streams:
    what each dump connection has brought, in order.
    """

    host = "127.0.0.1"

    def __init__(self, host: str, port: int):
        self.target = host, port
        self.next_targets: list[tuple[str, int]] = []
        self.cut_stream_after: int | None = None
        self.stall_stream_after: int | None = None
        self.sent_at_cut = b""
        self.is_down = False
        self.streams: list[bytearray] = []
        self._open: set[socket.socket] = set()
        self._lock = threading.Lock()
        self._listener = socket.create_server((self.host, 0))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self) -> Proxy:
        return self

    def __exit__(self, *_) -> None:
        self._listener.close()
        self.cut_all()

    def cut_all(self) -> None:
        """Break every connection that is open."""
        with self._lock:
            connections = list(self._open)
        for connection in connections:
            _reset(connection)

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            try:
                if self.is_down:
                    raise OSError
                server = socket.create_connection(self._take_target(), timeout=5)
                server.settimeout(None)
            except OSError:
                _reset(client)
                continue
            with self._lock:
                self._open |= {client, server}
            _Connection(self, client, server)

    def _take_target(self) -> tuple[str, int]:
        return self.next_targets.pop(0) if self.next_targets else self.target

    def forget(self, *connections: socket.socket) -> None:
        for connection in connections:
            _reset(connection)
        with self._lock:
            self._open -= set(connections)


class _Connection:
    def __init__(self, proxy: Proxy, client: socket.socket, server: socket.socket):
        self._proxy, self._client, self._server = proxy, client, server
        self._stream: bytearray | None = None
        self._cut_after: int | None = None
        self._stall_after: int | None = None
        for pump in (self._to_server, self._to_client):
            threading.Thread(target=self._run, args=(pump,), daemon=True).start()

    def _run(self, pump: Callable[[], None]) -> None:
        try:
            pump()
        except OSError:
            pass
        self._proxy.forget(self._client, self._server)

    def _to_server(self) -> None:
        while data := self._client.recv(_CHUNK_BYTES):
            if len(data) > 4 and data[3] == 0 and data[4] in _DUMP_COMMANDS:
                proxy, self._stream = self._proxy, bytearray()
                self._cut_after, proxy.cut_stream_after = proxy.cut_stream_after, None
                self._stall_after, proxy.stall_stream_after = proxy.stall_stream_after, None
                proxy.streams.append(self._stream)
            self._server.sendall(data)

    def _to_client(self) -> None:
        while data := self._server.recv(_CHUNK_BYTES):
            if self._stream is None:
                self._client.sendall(data)
                continue
            limits = [limit for limit in (self._cut_after, self._stall_after) if limit is not None]
            allowed = min(limits) - len(self._stream) if limits else len(data)
            passed = data[: max(0, allowed)]
            self._stream += passed
            self._client.sendall(passed)
            if len(passed) < len(data) and self._cut_after is not None:
                self._client.sendall(self._proxy.sent_at_cut)
                return


def _reset(connection: socket.socket) -> None:
    """Close at once; what has been sent still arrives only if it was read already or the peer is quick."""
    try:
        connection.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass
    connection.close()


def packet_ends(stream: bytes) -> list[int]:
    """Offsets after every packet of a dump stream."""
    ends, at = [], 0
    while at + 4 <= len(stream):
        at += 4 + int.from_bytes(stream[at : at + 3], "little")
        ends.append(at)
    return [end for end in ends if end <= len(stream)]
