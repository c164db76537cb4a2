"""udpin:HOST:PORT listens for autopilots, each answered where it sends from."""

from __future__ import annotations

from sim_node.autopilot.links.link import Address, link
from sim_node.autopilot.links.udp import UdpLink, received, sent, udp_socket


@link("udpin")
class UdpIn(UdpLink):
    """A bound socket; it sends to nobody that it has not heard."""

    def open(self) -> None:
        """Binds. Raises OSError where somebody else has the port."""
        made = udp_socket()
        try:
            made.bind(self.address)
        except OSError:
            made.close()
            raise
        self._socket = made

    def read(self) -> list[tuple[bytes, Address]]:
        """Datagrams of whoever sends here."""
        return [] if self._socket is None else received(self._socket)

    def write(self, data: bytes, to: Address) -> None:
        """To one who was heard."""
        if self._socket is not None and to is not None:
            sent(self._socket, data, to)
