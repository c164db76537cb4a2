"""Ports for pages on localhost: find a free one, or report why the requested one cannot be used."""

from __future__ import annotations

import errno
import socket

HOST = "127.0.0.1"
DEFAULT_PORT = 8080
# Number of ports to try, starting at the default.
TRIES = 100


class PagePortInUse(Exception):
    """A port cannot be opened. The message gives the port and the reason."""


def free_port(port: int | None, default: int = DEFAULT_PORT) -> int:
    """Return a free port: the requested one, or for None the default one or the next free one.

    0 means any free port. Raises PagePortInUse.
    """
    for candidate in [port] if port is not None else range(default, default + TRIES):
        with socket.socket() as probe:
            # Like asyncio's servers, so that closed connections do not block a port
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((HOST, candidate))
                probe.listen()
            except OSError as error:
                if port is not None:
                    in_use = error.errno == errno.EADDRINUSE
                    why = "another program listens on it" if in_use else error.strerror or str(error)
                    raise PagePortInUse(f"port {port}: {why}; give another port, or 0 for any") from None
            else:
                found: int = probe.getsockname()[1]
                return found
    raise PagePortInUse(f"ports {default} to {default + TRIES - 1} are all in use; give another port")
