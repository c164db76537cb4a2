"""Accept only the viewer's own page, and only messages that one of its users can cause."""

from __future__ import annotations

import logging
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from http import HTTPStatus
from typing import Any, Protocol

import websockets.asyncio.server
from websockets.asyncio.server import ServerConnection
from websockets.datastructures import Headers
from websockets.http11 import Request, Response

from sim_node.viewing.browser.page_messages import MAX_BYTES

# Host names of this machine in addresses. Ports may differ from the server's, for example with ssh -L.
OWN_NAMES = ("127.0.0.1", "localhost")
_SWAPPING = threading.Lock()


_LOG = logging.getLogger("sim_node.page")


class Pages(Protocol):
    """Additional pages of a server."""

    def answer(self, connection: ServerConnection, request: Request, other: Callable[..., Any]) -> Any:
        """Return the response to a request. `other` returns the library's own response."""

    def handler(self, connection: ServerConnection) -> Awaitable[None] | None:
        """Return the handler of a connection; None for the library's own."""


class _OneLine(logging.Filter):
    """Logs connection errors on one line, and nothing about normal operation or connections without a request."""

    def filter(self, record: logging.LogRecord) -> bool:
        if record.levelno < logging.WARNING or record.getMessage() == "opening handshake failed":
            return False
        if record.exc_info:
            record.msg, record.args = f"{record.getMessage()}: {record.exc_info[1]!r}", ()
            record.exc_info = record.exc_text = None
        return True


_LOG.addFilter(_OneLine())


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
def own_pages_only(
    refuses: Callable[[bytes | str], str] = lambda data: "",
    warn: Callable[[str], None] = lambda text: None,
    pages: Pages | None = None,
) -> Iterator[None]:
    """Make servers that websockets starts inside this context answer 403 to what `refusal` refuses.

    For servers started by libraries that offer no such check, such as viser.

    Args:
        refuses: Returns why a message of a page is ignored, or an empty string.
        warn: Called with a line for the first ignored message of a page.
        pages: Additional pages of the server.

    Raises:
        RuntimeError: No server was started inside this context.
    """
    serve, started = websockets.asyncio.server.serve, []

    def guarded(
        handler: Callable[[ServerConnection], Any], *arguments: Any,
        process_request: Callable[..., Any] | None = None, **options: Any,
    ) -> Any:  # fmt: skip
        started.append(True)
        options |= {"process_request": _checked(process_request, pages), "max_size": MAX_BYTES, "logger": _LOG}
        return serve(_sieved(handler, refuses, warn, pages), *arguments, **options)

    with _SWAPPING:
        websockets.asyncio.server.serve = guarded  # type: ignore[assignment, misc]
        try:
            yield
        finally:
            websockets.asyncio.server.serve = serve  # type: ignore[misc]
    if not started:
        raise RuntimeError("the server was not started by websockets: other web sites could reach it")


def _checked(
    process_request: Callable[..., Any] | None, pages: Pages | None
) -> Callable[[ServerConnection, Request], Any]:
    def check(connection: ServerConnection, request: Request) -> Response | Any | None:
        why = refusal(request.headers)
        if why:
            return connection.respond(HTTPStatus.FORBIDDEN, f"{why}\n")
        if process_request is None:
            return None
        return (
            process_request(connection, request)
            if pages is None
            else pages.answer(connection, request, process_request)
        )

    return check


def _sieved(
    handler: Callable[[ServerConnection], Any],
    refuses: Callable[[bytes | str], str],
    warn: Callable[[str], None],
    pages: Pages | None,
) -> Callable[[ServerConnection], Any]:
    """Return a connection handler that receives only messages that are not refused."""

    async def handle(connection: ServerConnection) -> None:
        own = None if pages is None else pages.handler(connection)
        if own is not None:
            await own
            return
        receive, warned = connection.recv, False

        async def received(*arguments: Any, **options: Any) -> Any:
            nonlocal warned
            while True:
                data = await receive(*arguments, **options)
                why = refuses(data)
                if not why:
                    return data
                if not warned:
                    warn(f"ignored a message of a page: {why}; further ones of this page are not reported")
                    warned = True

        connection.recv = received  # type: ignore[method-assign]
        await handler(connection)

    return handle


def _is_own(host: str) -> bool:
    """Return whether a Host is one of OWN_NAMES, with or without a port."""
    name, colon, port = host.partition(":")
    return name.lower() in OWN_NAMES and (not colon or (port.isascii() and port.isdecimal()))
