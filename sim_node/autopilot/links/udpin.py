"""udpin:HOST:PORT listens for autopilots, each answered where it sends from."""

from __future__ import annotations

import socket

from sim_node.autopilot.links.link import Address, host_and_port, link
from sim_node.autopilot.links.udp import received, sent, udp_socket


@link("udpin")
class UdpIn:
    """A bound socket; it sends to nobody that it has not heard."""

    datagrams = True
    connecting = False

    def __init__(self, url: str, rest: str) -> None:
        self.url = url
        self.address = host_and_port(url, rest)
        self._socket: socket.socket | None = None

    def open(self) -> None:
        """Binds. Raises OSError where somebody else has the port."""
        made = udp_socket()
        try:
            made.bind(self.address)
        except OSError:
            made.close()
            raise
        self._socket = made

    def finish(self) -> None:
        """Nothing is left to do."""

    def close(self) -> None:
        """Gives the port back."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def fileno(self) -> int:
        """Of the socket, -1 while closed."""
        return -1 if self._socket is None else self._socket.fileno()

    def read(self) -> list[tuple[bytes, Address]]:
        """Datagrams of whoever sends here."""
        return [] if self._socket is None else received(self._socket)

    def write(self, data: bytes, to: Address) -> None:
        """To one who was heard."""
        if self._socket is not None and to is not None:
            sent(self._socket, data, to)
