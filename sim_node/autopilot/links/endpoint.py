"""What an endpoint of a link is, and the one of a URL."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, runtime_checkable

from sim_node.registry import Registry
from sim_node.text import did_you_mean

# Where bytes came from on an endpoint with several peers; None where there is one.
Address = tuple[str, int] | None
LOOPBACK = "127.0.0.1"
READ_SIZE = 65536
# Of a wake-up, so that one busy link does not starve the others.
MAX_READS = 64


class EndpointFault(ValueError):
    """A URL that names no link; says what is allowed."""


@runtime_checkable
class Endpoint(Protocol):
    """One way to one or more autopilots. Not for several threads; nothing here blocks.

    datagrams: whether frames end with what one read gives; connecting: whether `finish` is due when it can be written.
    """

    url: str
    datagrams: bool
    connecting: bool

    def open(self) -> None:
        """Opens it, or begins to. Raises OSError."""

    def finish(self) -> None:
        """Ends what `open` began. Raises OSError where it came to nothing."""

    def close(self) -> None:
        """Closes it; it can be opened again."""

    def fileno(self) -> int:
        """For select."""

    def read(self) -> list[tuple[bytes, Address]]:
        """What has come, nothing where nothing has. Raises OSError where the other end is gone."""

    def write(self, data: bytes, to: Address) -> None:
        """Sends one frame; dropped where the way is full, like any datagram. Raises OSError."""


# By scheme: makes a link of what stands behind it in the URL. Raises EndpointFault.
ENDPOINTS: Registry[str, Callable[[str, str], Endpoint]] = Registry(
    "link",
    shipped=tuple(f"sim_node.autopilot.links.{name}" for name in ("serial_line", "tcp", "udp")),
    group="sim_node.links",
)
# Registers what makes the links of a scheme.
endpoint = ENDPOINTS.add


def endpoint_of(url: str) -> Endpoint:
    """Return the endpoint of a URL as in udpin:127.0.0.1:14540, closed as yet. Raises EndpointFault."""
    scheme, colon, rest = url.partition(":")
    make = ENDPOINTS.get(scheme)
    if not colon or make is None:
        known = ", ".join(sorted(ENDPOINTS))
        raise EndpointFault(f"url {url!r}: unknown kind {scheme!r}{did_you_mean(scheme, ENDPOINTS)} (known: {known})")
    made = make(url, rest.removeprefix("//"))
    ENDPOINTS.expect(scheme, made, Endpoint, "an Endpoint")
    return made if ENDPOINTS.is_shipped(scheme) else Watched(scheme, made)


class Watched:
    """An endpoint of another package. What it reads is checked, so that a mistake is reported as its own."""

    def __init__(self, scheme: str, link: Endpoint) -> None:
        self._scheme, self._link = scheme, link
        self.url, self.datagrams, self.connecting = link.url, link.datagrams, link.connecting
        self.finish, self.close, self.write = link.finish, link.close, link.write

    def open(self) -> None:
        """Opens it, or begins to. Raises OSError."""
        self._link.open()
        self.connecting = self._link.connecting

    def fileno(self) -> int:
        """For select. Raises PluginFault for what is no number."""
        number = self._link.fileno()
        ENDPOINTS.expect(self._scheme, number, int, "from fileno(), a number")
        return number

    def read(self) -> list[tuple[bytes, Address]]:
        """What has come. Raises OSError where the other end is gone, PluginFault for what is no bytes."""
        chunks = self._link.read()
        for chunk in chunks if isinstance(chunks, list) else [chunks]:
            if not (isinstance(chunk, tuple) and len(chunk) == 2 and isinstance(chunk[0], bytes)):
                needed = "a list of (bytes, address) is needed"
                ENDPOINTS.refuse(self._scheme, f"read() returned {chunks!r:.60}; {needed}", self._link)
        return chunks


def host_and_port(url: str, rest: str) -> tuple[str, int]:
    """HOST:PORT, or PORT alone on this machine. Raises EndpointFault."""
    host, _, port = rest.rpartition(":")
    if not port.isdecimal() or not 0 < int(port) < 65536:
        raise EndpointFault(f"url {url!r}: {port!r} is no port; needs HOST:PORT with a port from 1 to 65535")
    return host or LOOPBACK, int(port)
