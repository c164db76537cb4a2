"""udpin:HOST:PORT listens for autopilots, each answered where it sends from; udpout:HOST:PORT sends to one."""

from __future__ import annotations

import errno
import socket
import struct
import sys
from contextlib import suppress

from sim_node.mavlink.links.endpoint import MAX_READS, READ_SIZE, Address, Endpoint, endpoint, host_and_port

# Holds a second of telemetry from a swarm while this process is delayed.
_RECEIVE_BUFFER = 4 << 20
# Of Linux: the state of a socket's memory as 32-bit numbers (asm-generic/socket.h), and which of them counts datagrams
# that were dropped (linux/sock_diag.h).
_SO_MEMINFO, _DROPS = 55, 8
_MEMORY = struct.Struct("=9I")
# Of Linux: a socket with it is told what became of its datagrams (linux/in.h).
_RECVERR = 11


class UdpEndpoint(Endpoint):
    """Base of endpoints with one datagram socket; subclasses open it and choose whose datagrams they read."""

    datagrams = True

    def __init__(self, url: str, rest: str) -> None:
        self.url = url
        self.address = host_and_port(url, rest)
        self._socket: socket.socket | None = None
        self._dropped = 0

    @property
    def dropped(self) -> int:
        """How many datagrams the system dropped because its buffer was full."""
        opened = self._socket  # another thread may close it
        return self._dropped + (0 if opened is None else drops(opened))

    def close(self) -> None:
        """Close the socket."""
        if self._socket is not None:
            self._dropped = self.dropped
            self._socket.close()
            self._socket = None

    def fileno(self) -> int:
        """Return the socket's file descriptor, -1 while closed."""
        return -1 if self._socket is None else self._socket.fileno()


def udp_socket() -> socket.socket:
    """Return a non-blocking datagram socket."""
    made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    made.setblocking(False)
    with suppress(OSError):  # the system's limit is enough then
        made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _RECEIVE_BUFFER)
    return made


def drops(of_socket: socket.socket) -> int:
    """Return how many datagrams did not fit into a socket's receive buffer; 0 on systems that do not report it."""
    try:
        return int(_MEMORY.unpack(of_socket.getsockopt(socket.SOL_SOCKET, _SO_MEMINFO, _MEMORY.size))[_DROPS])
    except (OSError, struct.error):
        return 0


def received(from_socket: socket.socket) -> list[tuple[bytes, Address]]:
    """Return the datagrams that have arrived. A peer that does not listen yet (ICMP unreachable) is not an error."""
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
    """Send one datagram; it is dropped where the buffer is full or nobody listens."""
    with suppress(BlockingIOError, ConnectionRefusedError):
        by_socket.sendto(data, to)


def refused(by_socket: socket.socket) -> bool:
    """Return whether nobody listened where the last datagram went; False where the system does not tell."""
    if by_socket.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) != errno.ECONNREFUSED:
        return False
    with suppress(OSError):  # else the socket would look readable until somebody takes it
        by_socket.recvmsg(1, 0, socket.MSG_ERRQUEUE)
    return True


@endpoint("udpin")
class UdpIn(UdpEndpoint):
    """A bound socket; it sends to peers that it has received from."""

    def open(self) -> None:
        """Bind the port. Raises OSError if it is in use."""
        made = udp_socket()
        try:
            made.bind(self.address)
        except OSError:
            made.close()
            raise
        self._socket = made

    def read(self) -> list[tuple[bytes, Address]]:
        """Return the datagrams of all senders."""
        return [] if self._socket is None else received(self._socket)

    def write(self, data: bytes, to: Address) -> None:
        """Send to a peer that was received from."""
        if self._socket is not None and to is not None:
            sent(self._socket, data, to)


@endpoint("udpout")
class UdpOut(UdpEndpoint):
    """A socket that sends to one host and ignores datagrams from others.

    source: its own port, 0 for any; a fixed one lets the peer recognise it after a restart.
    unheard: Whether nobody of this machine listened to the last datagram. Linux alone tells.
    """

    def __init__(self, url: str, rest: str, source: int = 0) -> None:
        super().__init__(url, rest)
        self._host, self._source, self._told = "", source, False
        self.unheard = False

    def open(self) -> None:
        """Resolve the host name. Raises OSError if there is no such host, or its own port is in use."""
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
        # Another machine, or a router on the way, may be wrong about it: such a link would go down.
        self._told, self.unheard = on_loopback and sys.platform == "linux", False
        if self._told:
            made.setsockopt(socket.IPPROTO_IP, _RECVERR, 1)
        self._socket = made

    def read(self) -> list[tuple[bytes, Address]]:
        """Return the datagrams of the peer's host."""
        if self._socket is None:
            return []
        return [(data, from_) for data, from_ in received(self._socket) if from_ and from_[0] == self._host]

    def write(self, data: bytes, to: Address) -> None:
        """Send to the peer."""
        if self._socket is not None:
            sent(self._socket, data, to or (self._host, self.address[1]))
            self.unheard = self._told and refused(self._socket)
