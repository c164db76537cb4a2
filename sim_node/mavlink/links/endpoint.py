"""The endpoint interface, the registry of endpoints, and the endpoint of a URL."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, runtime_checkable

from sim_node.registry import Registry
from sim_node.text import did_you_mean

# Host and port of the sender, for an endpoint with several peers; None for an endpoint with one peer.
Address = tuple[str, int] | None
LOOPBACK = "127.0.0.1"
READ_SIZE = 65536
# Maximum number of reads per wake-up, so that one busy link does not starve the others.
MAX_READS = 64


class EndpointFault(ValueError):
    """An invalid URL; the message states what is allowed."""


@runtime_checkable
class Endpoint(Protocol):
    """A connection to one or more autopilots. Not thread-safe; no method blocks.

    Attributes:
        url: URL it was made from.
        datagrams: Whether each chunk that is read holds whole frames.
        connecting: Whether `finish` must be called once the file descriptor is writable.
    """

    url: str
    datagrams: bool
    connecting: bool = False

    def open(self) -> None:
        """Open it, or begin to connect. Raises OSError."""

    def finish(self) -> None:
        """Finish connecting, for endpoints that connect asynchronously. Raises OSError if the connection failed."""
        return

    def close(self) -> None:
        """Close it; it can be opened again."""

    def fileno(self) -> int:
        """Return the file descriptor, for `select`."""

    def read(self) -> list[tuple[bytes, Address]]:
        """Return the chunks that have arrived, each with its sender. Raises OSError if the peer is gone."""

    def write(self, data: bytes, to: Address) -> None:
        """Send one frame. Like any datagram, it is dropped if the buffer is full.

        Args:
            data: The frame.
            to: Peer to send to, as returned by `read`.

        Raises:
            OSError: The peer or the device is gone.
        """


@runtime_checkable
class DropCounter(Protocol):
    """An endpoint that counts received data dropped by the system."""

    @property
    def dropped(self) -> int:
        """Number of datagrams dropped since the endpoint was made. Any thread may ask."""


# Makers of endpoints by scheme, called with the URL and its part after the scheme. They raise EndpointFault.
ENDPOINTS: Registry[str, Callable[[str, str], Endpoint]] = Registry(
    "link",
    shipped=tuple(f"sim_node.mavlink.links.{name}" for name in ("serial_line", "tcp", "udp")),
    group="sim_node.links",
)
# Decorator that registers the maker of the endpoints of a scheme.
endpoint = ENDPOINTS.add


def endpoint_of(url: str) -> Endpoint:
    """Return the endpoint of a URL, not open yet.

    Args:
        url: SCHEME:REST, for example udpin:127.0.0.1:14540, tcp:127.0.0.1:5760 or serial:/dev/ttyACM0:57600.

    Returns:
        The endpoint.

    Raises:
        EndpointFault: The scheme is unknown, or the rest is invalid for it.
        PluginFault: The maker of another package returns something else.
    """
    scheme, colon, rest = url.partition(":")
    make = ENDPOINTS.get(scheme)
    if not colon or make is None:
        known = ", ".join(sorted(ENDPOINTS))
        raise EndpointFault(f"url {url!r}: unknown kind {scheme!r}{did_you_mean(scheme, ENDPOINTS)} (known: {known})")
    made = make(url, rest.removeprefix("//"))
    ENDPOINTS.expect(scheme, made, Endpoint, "an Endpoint")
    return made if ENDPOINTS.is_shipped(scheme) else WatchedEndpoint(scheme, made)


class WatchedEndpoint:
    """An endpoint of another package. Its results are checked, so that a mistake is attributed to that package."""

    def __init__(self, scheme: str, link: Endpoint) -> None:
        self._scheme, self._link = scheme, link
        self.url, self.datagrams, self.connecting = link.url, link.datagrams, link.connecting
        self.finish, self.close, self.write = link.finish, link.close, link.write

    def open(self) -> None:
        """Open it, or begin to connect. Raises OSError."""
        self._link.open()
        self.connecting = self._link.connecting

    def fileno(self) -> int:
        """Return the file descriptor. Raises PluginFault if it is not a number."""
        number = self._link.fileno()
        ENDPOINTS.expect(self._scheme, number, int, "from fileno(), a number")
        return number

    def read(self) -> list[tuple[bytes, Address]]:
        """Return what has arrived. Raises OSError if the peer is gone, PluginFault for a result of another type."""
        chunks = self._link.read()
        for chunk in chunks if isinstance(chunks, list) else [chunks]:
            if not (isinstance(chunk, tuple) and len(chunk) == 2 and isinstance(chunk[0], bytes)):
                needed = "a list of (bytes, address) is needed"
                ENDPOINTS.refuse(self._scheme, f"read() returned {chunks!r:.60}; {needed}", self._link)
        return chunks


def host_and_port(url: str, rest: str) -> tuple[str, int]:
    """Parse HOST:PORT, or PORT alone for this machine. Raises EndpointFault."""
    host, _, port = rest.rpartition(":")
    if not port.isdecimal() or not 0 < int(port) < 65536:
        raise EndpointFault(f"url {url!r}: {port!r} is no port; needs HOST:PORT with a port from 1 to 65535")
    return host or LOOPBACK, int(port)
