"""tcp:HOST:PORT connects to an autopilot that listens there (ArduPilot's simulator on 5760)."""

from __future__ import annotations

import errno
import os
import socket

from sim_node.mavlink.links.endpoint import READ_SIZE, Address, endpoint, host_and_port

# Maximum number of unsent bytes. Above it the peer does not read, and frames are dropped, as on any full link.
MAX_UNSENT = 1 << 16


@endpoint("tcp")
class Tcp:
    """A TCP stream. Bytes that could not be sent at once are sent with the next frame."""

    datagrams = False

    def __init__(self, url: str, rest: str) -> None:
        self.url = url
        self.address = host_and_port(url, rest)
        self.connecting = False
        self._socket: socket.socket | None = None
        self._unsent = b""

    def open(self) -> None:
        """Begin to connect. Raises OSError."""
        made = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        made.setblocking(False)
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        code = made.connect_ex(self.address)
        if code not in (0, errno.EINPROGRESS):
            made.close()
            raise OSError(code, os.strerror(code))
        self._socket, self._unsent, self.connecting = made, b"", True

    def finish(self) -> None:
        """Finish connecting. Raises OSError if the connection failed."""
        assert self._socket is not None
        self.connecting = False
        code = self._socket.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if code:
            raise OSError(code, os.strerror(code))

    def close(self) -> None:
        """Close the connection."""
        self.connecting = False
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def fileno(self) -> int:
        """Return the socket's file descriptor, -1 while closed."""
        return -1 if self._socket is None else self._socket.fileno()

    def read(self) -> list[tuple[bytes, Address]]:
        """Return what has arrived. Raises ConnectionResetError if the peer closed the connection."""
        assert self._socket is not None
        try:
            data = self._socket.recv(READ_SIZE)
        except BlockingIOError:
            return []
        if not data:
            raise ConnectionResetError(errno.ECONNRESET, "the other end hung up")
        return [(data, None)]

    def write(self, data: bytes, to: Address) -> None:
        """Send a frame, after the bytes not sent yet. Raises OSError if the connection is broken."""
        if self._socket is None or self.connecting or len(self._unsent) > MAX_UNSENT:
            return
        self._unsent += data
        try:
            self._unsent = self._unsent[self._socket.send(self._unsent) :]
        except BlockingIOError:
            return
