"""udpin:HOST:PORT listens for autopilots, and answers each at its own address; udpout:HOST:PORT sends to one."""

from __future__ import annotations

import errno
import socket
import struct
import sys
from contextlib import suppress

from sim_node.mavlink.links.endpoint import MAX_READS, READ_SIZE, Address, Endpoint, endpoint, host_and_port

# Holds a second of telemetry from a swarm while this process is delayed.
_RECEIVE_BUFFER = 4 << 20
# Linux: the state of a socket's memory as 32-bit numbers (asm-generic/socket.h), and the index of the count of dropped
# datagrams (linux/sock_diag.h).
_SO_MEMINFO, _DROPS = 55, 8
_MEMORY = struct.Struct("=9I")
# Linux: with this option, a socket reports what became of its datagrams (linux/in.h).
_RECVERR = 11


class UdpEndpoint(Endpoint):
    """Base of endpoints with one datagram socket. Subclasses open it and choose the senders they read."""

    datagrams = True

    def __init__(self, url: str, rest: str) -> None:
        self.url = url
        self.address = host_and_port(url, rest)
        self._socket: socket.socket | None = None
        self._dropped = 0

    @property
    def dropped(self) -> int:
        """Number of datagrams that the system dropped because its buffer was full."""
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
    with suppress(OSError):  # otherwise the system's limit must do
        made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _RECEIVE_BUFFER)
    return made


def drops(of_socket: socket.socket) -> int:
    """Return how many datagrams did not fit into a socket's receive buffer; 0 on systems that do not report it."""
    try:
        return int(_MEMORY.unpack(of_socket.getsockopt(socket.SOL_SOCKET, _SO_MEMINFO, _MEMORY.size))[_DROPS])
    except (OSError, struct.error):
        return 0


def received(from_socket: socket.socket) -> list[tuple[bytes, Address]]:
    """Return the datagrams that have arrived. It is not an error if a peer does not listen yet (ICMP unreachable)."""
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
    """Send one datagram. It is dropped if the buffer is full or nothing listens there."""
    with suppress(BlockingIOError, ConnectionRefusedError):
        by_socket.sendto(data, to)


def refused(by_socket: socket.socket) -> bool:
    """Return whether nothing listened at the last datagram's destination; False if the system does not report it."""
    if by_socket.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) != errno.ECONNREFUSED:
        return False
    with suppress(OSError):  # otherwise the socket would look readable until the error is read
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

    Args:
        url: URL it is made from.
        rest: Part of the URL after the scheme.
        source: Its own port, 0 for any. With a fixed one, the peer recognises it after a restart.

    Attributes:
        unheard: Whether nothing on this machine listened to the last datagram. Only Linux reports it.
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
        # Errors from another machine, or from a router on the way, may be wrong: the link would go down.
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
