"""Ports of this machine for pages: find a free one, or report why the requested one is not."""

from __future__ import annotations

import errno
import socket

HOST = "127.0.0.1"
DEFAULT_PORT = 8080
# How many ports from the default one on are tried.
TRIES = 100


class PagePortInUse(Exception):
    """A port cannot be opened; the message names the port and the reason."""


def free_port(port: int | None, default: int = DEFAULT_PORT) -> int:
    """Return a free port: the requested one or, for None, the default one or the next that is free.

    0 means any free port. Raises PagePortInUse.
    """
    for candidate in [port] if port is not None else range(default, default + TRIES):
        with socket.socket() as probe:
            # As asyncio's servers do: closed connections do not hold a port.
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
