"""The page's server, which accepts only the page's own origin."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http import HTTPStatus
from typing import Any

import rich
import viser
import websockets.asyncio.server
from websockets.asyncio.server import ServerConnection
from websockets.datastructures import Headers
from websockets.http11 import Request, Response

from sim_node.viewing.ports import HOST, free_port

# Names of this machine in addresses. Ports may differ from the server's, for example with ssh -L.
OWN_NAMES = ("127.0.0.1", "localhost")
_SWAPPING = threading.Lock()


def refusal(headers: Headers) -> str:
    """Return why a request is refused, or an empty string.

    A page of any site may open a WebSocket to this machine; browsers then send the site in Origin (RFC 6455, section
    10.2). A site whose name resolves to this machine (DNS rebinding) sends that name in Host. Other programs send no
    Origin.
    """
    hosts, origins = headers.get_all("Host"), headers.get_all("Origin")
    if len(hosts) != 1 or not _is_own(hosts[0]):
        return f"Host is {', '.join(hosts) or 'missing'}; this server is {' or '.join(OWN_NAMES)}"
    foreign = [origin for origin in origins if origin.lower() != f"http://{hosts[0].lower()}"]
    return f"a page of {', '.join(foreign)} may not connect" if foreign else ""


@contextmanager
def own_pages_only() -> Iterator[None]:
    """Make servers that websockets starts inside this context answer 403 to what `refusal` refuses.

    For servers started by libraries that offer no such check, such as viser. Raises RuntimeError if none starts.
    """
    serve, started = websockets.asyncio.server.serve, []

    def guarded(*arguments: Any, process_request: Callable[..., Any] | None = None, **options: Any) -> Any:
        started.append(True)
        return serve(*arguments, process_request=_checked(process_request), **options)

    with _SWAPPING:
        websockets.asyncio.server.serve = guarded  # type: ignore[assignment, misc]
        try:
            yield
        finally:
            websockets.asyncio.server.serve = serve  # type: ignore[misc]
    if not started:
        raise RuntimeError("the server was not started by websockets: other web sites could reach it")


def _checked(process_request: Callable[..., Any] | None) -> Callable[[ServerConnection, Request], Any]:
    def check(connection: ServerConnection, request: Request) -> Response | Any | None:
        why = refusal(request.headers)
        if why:
            return connection.respond(HTTPStatus.FORBIDDEN, f"{why}\n")
        return None if process_request is None else process_request(connection, request)

    return check


def _is_own(host: str) -> bool:
    """Return whether a Host is one of OWN_NAMES, with or without a port."""
    name, colon, port = host.partition(":")
    return name.lower() in OWN_NAMES and (not colon or (port.isascii() and port.isdecimal()))


class Server(viser.ViserServer):  # type: ignore[misc]
    """viser's server, on this machine only and without output. Ports as for `free_port`. Raises PagePortInUse."""

    def __init__(self, port: int | None, title: str) -> None:
        # viser prints messages to standard output, which belongs to the program.
        rich.get_console().quiet = True
        with own_pages_only():
            super().__init__(host=HOST, port=free_port(port), label=title, verbose=False)
        self.gui.configure_theme(show_logo=False, show_share_button=False)
        self.gui.set_panel_label(title)

    @property
    def url(self) -> str:
        """Address of the page."""
        return f"http://{HOST}:{self.get_port()}"

    def request_share_url(self, verbose: bool = True) -> str | None:
        """Return None: viser would open a tunnel to its makers' host for any page that asks."""
        return None
