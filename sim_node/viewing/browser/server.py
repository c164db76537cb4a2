"""The page's server, which serves the page's own origin only."""

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

# What this machine is called in the address line. Ports may differ from the server's: ssh -L brings it to others.
OWN_NAMES = ("127.0.0.1", "localhost")
_SWAPPING = threading.Lock()


def refusal(headers: Headers) -> str:
    """Why a request is not answered, empty where it is.

    A page of any site may open a WebSocket to this machine, and the browser then says which site in Origin (RFC 6455,
    section 10.2); a site whose name is made to lead here (DNS rebinding) has that name in Host. Programs that are no
    browsers send no Origin.
    """
    hosts, origins = headers.get_all("Host"), headers.get_all("Origin")
    if len(hosts) != 1 or not _is_own(hosts[0]):
        return f"Host is {', '.join(hosts) or 'missing'}; this server is {' or '.join(OWN_NAMES)}"
    foreign = [origin for origin in origins if origin.lower() != f"http://{hosts[0].lower()}"]
    return f"a page of {', '.join(foreign)} may not come here" if foreign else ""


@contextmanager
def own_pages_only() -> Iterator[None]:
    """Servers that websockets starts inside answer 403 to what `refusal` refuses. Raises RuntimeError if none starts.

    For servers that are started by others, who leave no room for a check of their own: as viser does.
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
        raise RuntimeError("the server was started in another way: other web sites could reach it")


def _checked(process_request: Callable[..., Any] | None) -> Callable[[ServerConnection, Request], Any]:
    def check(connection: ServerConnection, request: Request) -> Response | Any | None:
        why = refusal(request.headers)
        if why:
            return connection.respond(HTTPStatus.FORBIDDEN, f"{why}\n")
        return None if process_request is None else process_request(connection, request)

    return check


def _is_own(host: str) -> bool:
    """Whether a Host is one of OWN_NAMES, with a port or without."""
    name, colon, port = host.partition(":")
    return name.lower() in OWN_NAMES and (not colon or (port.isascii() and port.isdecimal()))


class Server(viser.ViserServer):  # type: ignore[misc]
    """viser's server, on this machine alone and quiet. Ports are as `free_port` has them. Raises PagePortTaken."""

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
