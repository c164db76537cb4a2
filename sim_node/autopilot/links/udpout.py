"""udpout:HOST:PORT sends to an autopilot that listens there."""

from __future__ import annotations

import socket

from sim_node.autopilot.links.link import Address, link
from sim_node.autopilot.links.udp import UdpLink, received, sent, udp_socket


@link("udpout")
class UdpOut(UdpLink):
    """A socket with a port of its own; answers from anywhere else than its peer's host are not for it.

    source: which port, 0 for any; always the same where it has to be known again.
    """

    def __init__(self, url: str, rest: str, source: int = 0) -> None:
        super().__init__(url, rest)
        self._host, self._source = "", source

    def open(self) -> None:
        """Looks the host up. Raises OSError where there is none of that name, or its own port is taken."""
        [(*_, found), *_] = socket.getaddrinfo(*self.address, socket.AF_INET, socket.SOCK_DGRAM)
        self._host = str(found[0])
        made = udp_socket()
        on_loopback = self._host.startswith("127.")
        if self._source or on_loopback:
            # A socket that the system binds on sending is on all interfaces.
            try:
                made.bind(("127.0.0.1" if on_loopback else "", self._source))
            except OSError:
                made.close()
                raise
        self._socket = made

    def read(self) -> list[tuple[bytes, Address]]:
        """Datagrams of the peer's host."""
        if self._socket is None:
            return []
        return [(data, from_) for data, from_ in received(self._socket) if from_ and from_[0] == self._host]

    def write(self, data: bytes, to: Address) -> None:
        """To the peer."""
        if self._socket is not None:
            sent(self._socket, data, to or (self._host, self.address[1]))
