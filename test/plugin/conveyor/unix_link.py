"""The link: MAVLink through a UNIX socket, as in unix:/run/autopilot.sock."""

from __future__ import annotations

import socket
from contextlib import suppress

from sim_node.mavlink.links.endpoint import READ_SIZE, Address, EndpointFault, endpoint


@endpoint("unix")
class UnixLink:
    """A stream to whoever listens at a path."""

    datagrams = False
    connecting = False

    def __init__(self, url: str, path: str) -> None:
        if not path:
            raise EndpointFault(f"url {url!r}: needs unix:PATH")
        self.url, self._path = url, path
        self._socket: socket.socket | None = None

    def open(self) -> None:
        """Raises OSError where nobody listens."""
        opened = socket.socket(socket.AF_UNIX)
        try:
            opened.connect(self._path)
        except OSError:
            opened.close()
            raise
        opened.setblocking(False)
        self._socket = opened

    def finish(self) -> None:
        """A UNIX socket connects at once."""

    def close(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def fileno(self) -> int:
        return -1 if self._socket is None else self._socket.fileno()

    def read(self) -> list[tuple[bytes, Address]]:
        """Raises OSError where the other end is gone."""
        if self._socket is None:
            return []
        try:
            data = self._socket.recv(READ_SIZE)
        except BlockingIOError:
            return []
        if not data:
            raise ConnectionResetError(None, "the other end has closed")
        return [(data, None)]

    def write(self, data: bytes, to: Address) -> None:
        if self._socket is not None:
            with suppress(BlockingIOError):
                self._socket.sendall(data)
