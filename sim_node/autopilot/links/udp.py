"""What the two UDP links share."""

from __future__ import annotations

import socket
from contextlib import suppress

from sim_node.autopilot.links.link import MAX_READS, READ_SIZE, Address, host_and_port

# Room for a second of telemetry from a swarm while this process was held up.
_RECEIVE_BUFFER = 4 << 20


class UdpLink:
    """A link over one datagram socket; how it is opened, and who is heard, is each kind's own."""

    datagrams = True
    connecting = False

    def __init__(self, url: str, rest: str) -> None:
        self.url = url
        self.address = host_and_port(url, rest)
        self._socket: socket.socket | None = None

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


def udp_socket() -> socket.socket:
    """A datagram socket that never blocks."""
    made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    made.setblocking(False)
    with suppress(OSError):  # the system's limit is enough then
        made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _RECEIVE_BUFFER)
    return made


def received(from_socket: socket.socket) -> list[tuple[bytes, Address]]:
    """The datagrams that have come; a peer that is not there yet (ICMP port unreachable) is no fault."""
    got: list[tuple[bytes, Address]] = []
    for _ in range(MAX_READS):
        try:
            data, address = from_socket.recvfrom(READ_SIZE)
        except BlockingIOError:
            break
        except ConnectionRefusedError:
            continue
        got.append((data, address[:2]))
    return got


def sent(by_socket: socket.socket, data: bytes, to: tuple[str, int]) -> None:
    """One datagram, dropped where there is no room or nobody yet."""
    with suppress(BlockingIOError, ConnectionRefusedError):
        by_socket.sendto(data, to)
