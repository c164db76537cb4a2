"""Ports of this machine for pages: one that is free, or why the one asked for is not."""

from __future__ import annotations

import errno
import socket

HOST = "127.0.0.1"
DEFAULT_PORT = 8080
# How many ports after the default one are tried.
TRIES = 100


class PagePortInUse(Exception):
    """A port that cannot be listened at; the message says which and why."""


def free_port(port: int | None) -> int:
    """A port that can be listened at: the one asked for, or, for None, the default one or the next that is free.

    0 is any that is free. Raises PagePortTaken.
    """
    for candidate in [port] if port is not None else range(DEFAULT_PORT, DEFAULT_PORT + TRIES):
        with socket.socket() as probe:
            # As asyncio's servers do: connections that have ended hold no port.
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((HOST, candidate))
                probe.listen()
            except OSError as error:
                if port is not None:
                    in_use = error.errno == errno.EADDRINUSE
                    why = "something else listens there" if in_use else error.strerror or str(error)
                    raise PagePortInUse(f"port {port}: {why}; another port, or 0 for any, is needed") from None
            else:
                found: int = probe.getsockname()[1]
                return found
    raise PagePortInUse(f"ports {DEFAULT_PORT} to {DEFAULT_PORT + TRIES - 1} are all taken; another port is needed")
