"""Only the viewer's own page may talk to it, and only as a person uses it: other web sites may not."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http import HTTPStatus
from typing import Any

import websockets.asyncio.server
from websockets.asyncio.server import ServerConnection
from websockets.datastructures import Headers
from websockets.http11 import Request, Response

from sim_node.viewing.browser.page_messages import MAX_BYTES

# What this machine is called in the address line. Ports may differ from the server's: ssh -L brings it to others.
OWN_NAMES = ("127.0.0.1", "localhost")
_SWAPPING = threading.Lock()


_LOG = logging.getLogger("sim_node.page")


class _OneLine(logging.Filter):
    """What goes wrong with a connection, in one line; nothing of those that end before they asked for anything."""

    def filter(self, record: logging.LogRecord) -> bool:
        if record.getMessage() == "opening handshake failed":
            return False
        if record.exc_info:
            record.msg, record.args = f"{record.getMessage()}: {record.exc_info[1]!r}", ()
            record.exc_info = record.exc_text = None
        return True


_LOG.addFilter(_OneLine())


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
def own_pages_only(
    refuses: Callable[[bytes | str], str] = lambda data: "", warn: Callable[[str], None] = lambda text: None
) -> Iterator[None]:
    """Servers that websockets starts inside answer 403 to what `refusal` refuses. Raises RuntimeError if none starts.

    For servers that are started by others, who leave no room for a check of their own: as viser does.

    Args:
        refuses: Says why a message of a page is left out; empty where it is not.
        warn: Called with a line for the first message of a page that is left out.
    """
    serve, started = websockets.asyncio.server.serve, []

    def guarded(
        handler: Callable[[ServerConnection], Any], *arguments: Any,
        process_request: Callable[..., Any] | None = None, **options: Any,
    ) -> Any:  # fmt: skip
        started.append(True)
        options |= {"process_request": _checked(process_request), "max_size": MAX_BYTES, "logger": _LOG}
        return serve(_sieved(handler, refuses, warn), *arguments, **options)

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


def _sieved(
    handler: Callable[[ServerConnection], Any], refuses: Callable[[bytes | str], str], warn: Callable[[str], None]
) -> Callable[[ServerConnection], Any]:
    """Return a handler of connections that gets only the messages that are not refused."""

    async def handle(connection: ServerConnection) -> None:
        receive, warned = connection.recv, False

        async def received(*arguments: Any, **options: Any) -> Any:
            nonlocal warned
            while True:
                data = await receive(*arguments, **options)
                why = refuses(data)
                if not why:
                    return data
                if not warned:
                    warn(f"a page sent a message that is left out: {why}; more of this page are left out in silence")
                    warned = True

        connection.recv = received  # type: ignore[method-assign]
        await handler(connection)

    return handle


def _is_own(host: str) -> bool:
    """Whether a Host is one of OWN_NAMES, with a port or without."""
    name, colon, port = host.partition(":")
    return name.lower() in OWN_NAMES and (not colon or (port.isascii() and port.isdecimal()))
