"""The web server: on this machine alone, on a port that is free, without other hosts, for its own page alone."""

from __future__ import annotations

import errno
import socket

import rich
import viser

from sim_node.viewing.browser.same_origin import own_pages_only

HOST = "127.0.0.1"
DEFAULT_PORT = 8080
# How many ports after the default one are tried.
TRIES = 100


class PortTaken(Exception):
    """A port that cannot be listened at; the message says which and why."""


class Server(viser.ViserServer):  # type: ignore[misc]
    """viser's server, on this machine alone and quiet. Ports are as `free_port` has them. Raises PortTaken."""

    def __init__(self, port: int | None, title: str) -> None:
        # viser tells of its start and end on the standard output, which is the program's.
        rich.get_console().quiet = True
        with own_pages_only():
            super().__init__(host=HOST, port=free_port(port), label=title, verbose=False)
        self.gui.configure_theme(show_logo=False, show_share_button=False)
        self.gui.set_panel_label(title)

    @property
    def url(self) -> str:
        """Where the page is."""
        return f"http://{HOST}:{self.get_port()}"

    def request_share_url(self, verbose: bool = True) -> str | None:
        """Nothing: viser would open a tunnel to a host of its makers for any page that asks."""
        return None


def free_port(port: int | None) -> int:
    """A port that can be listened at: the one asked for, or, for None, the default one or the next that is free.

    0 is any that is free. Raises PortTaken.
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
                    taken = error.errno == errno.EADDRINUSE
                    why = "something else listens there" if taken else error.strerror or str(error)
                    raise PortTaken(f"port {port}: {why}; another port, or 0 for any, is needed") from None
            else:
                found: int = probe.getsockname()[1]
                return found
    raise PortTaken(f"ports {DEFAULT_PORT} to {DEFAULT_PORT + TRIES - 1} are all taken; another port is needed")
