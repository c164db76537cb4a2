"""The page of panels, served beside viser's page on the same port."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import cache
from html import escape
from http import HTTPStatus
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import parse_qs, unquote_to_bytes

from websockets.asyncio.server import ServerConnection
from websockets.datastructures import Headers
from websockets.exceptions import ConnectionClosed
from websockets.http11 import Request, Response

from sim_node.viewing.browser.layout_socket import SOCKET as LAYOUT
from sim_node.viewing.browser.layout_socket import LayoutSocket
from sim_node.viewing.graph_axes import LOOK

PAGE = Path(__file__).with_name("panels.html")
SOCKET = "/panels"
VIEWPORT = re.compile(r"/viewport/(\d{1,4})/?")
# Update rate, Hz.
RATE = 30.0
_TITLE = re.compile(rb"<title>[^<]*</title>")
_ICON = re.compile(rb'(<link\s+rel="icon"\s+href=")[^"]*')
# Icon: the axes of a frame
_OUR_ICON = (
    b"data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 32 32' fill='none' stroke-width='5' "
    b"stroke-linecap='round'%3E%3Cpath stroke='%232b6cd4' d='M15 18V4'/%3E%3Cpath stroke='%23d6352f' d='M15 18L5 28'"
    b"/%3E%3Cpath stroke='%232f9e44' d='M15 18l14 4'/%3E%3C/svg%3E"
)
# Hides viser's panel and its button: each viewport is a viser page embedded in ours.
_HIDDEN = b"<style>.mantine-Paper-root, .mantine-Notifications-root { display: none !important; }</style>"
# Colours of viser's page with a contrast of at least 4.5 (WCAG 2, 1.4.3). Hides viser's developer menu, which appears
# until the panel arrives. Tabs are in a single row, which scrolls and fades if there are more.
_CONTRAST = b"""<style>
body:has(#foot) .mantine-Paper-root:has(.tabler-icon-home-move):not(:has([role="tablist"])) { visibility: hidden; }
button:has(.tabler-icon-adjustments), .mantine-Slider-markLabel, .mantine-Slider-mark { display: none !important; }
@property --more-left { syntax: "<length>"; inherits: false; initial-value: 0px; }
@property --more-right { syntax: "<length>"; inherits: false; initial-value: 0px; }
@keyframes more-tabs {
  from { --more-right: 28px; } 10% { --more-left: 28px; } 90% { --more-right: 28px; } to { --more-left: 28px; }
}
[role="tablist"]:not([data-dock-bar]) {
  background-image: none !important; padding: 0 4px; flex-wrap: nowrap !important; overflow: auto hidden !important;
  scrollbar-width: none; scroll-padding-inline: 28px; animation: more-tabs linear; animation-timeline: scroll(self x);
  mask-image: linear-gradient(90deg, #0000, #000 var(--more-left) calc(100% - var(--more-right)), #0000);
}
[role="tablist"] [role="tab"] { flex: none; padding: 0 0.35em !important; font-size: 0.8rem; }
[role="tab"] > :has(svg), [role="tab"]::after { display: none !important; }
:root[data-mantine-color-scheme="light"] {
  --mantine-color-dimmed: #5c6470 !important; --mantine-color-blue-outline: #1864ab !important;
  --mantine-color-blue-filled: #1864ab !important; --mantine-color-blue-text: #1864ab !important;
  --mantine-primary-color-filled: #1864ab !important; --mantine-color-blue-6: #1864ab !important;
}
:root[data-mantine-color-scheme="dark"] { --mantine-color-dimmed: #a8adb4 !important; }
:root[data-mantine-color-scheme="dark"] [role="tab"][aria-selected="true"] * { color: #74b7f5 !important; }
@media (max-width: 700px) {
  .mantine-Paper-root[style*="position: fixed"],
  .mantine-Paper-root[style*="position: fixed"] [style="width: 20em;"] { width: 100% !important; }
  [role="tablist"] [role="tab"] { padding: 0.5em !important; font-size: 0.95rem; }
}
</style>"""


class PanelsContent(Protocol):
    """The content of the page. Methods are called from the server's thread."""

    def layout(self) -> dict[str, Any]:
        """Return the panels, for JSON."""

    @property
    def laid_out(self) -> bool:
        """Whether pages begin with panels, rather than the scene alone."""

    def version(self) -> int:
        """Return a number that changes with the layout."""

    def since(self, cursors: dict[int, int]) -> dict[str, Any]:
        """Return the samples after the cursors, for JSON, and advance the cursors."""


Respond = Callable[[ServerConnection, Request], Any]


class PanelsPage:
    """Serves the page while it has content, and viser's page with an added script. Everything else is viser's.

    Args:
        title: Title of viser's page.

    Attributes:
        content: The content, or None.
        layout: Keeps the layout of viser's page in its address.
    """

    def __init__(self, title: str) -> None:
        self.content: PanelsContent | None = None
        self._title = f"<title>{escape(title)}</title>".encode()
        self.layout = LayoutSocket()

    def answer(self, connection: ServerConnection, request: Request, other: Respond) -> Any:
        """Return the response to a request; viser's own if it is not for this page."""
        path, _, query = request.path.partition("?")
        if request.headers.get("Upgrade", "").lower() == "websocket":
            return other(connection, request)
        if path == "/favicon.ico":  # what browsers ask for by themselves where they have read no other name
            return response(unquote_to_bytes(_OUR_ICON.partition(b",")[2]), "image/svg+xml")
        laid_out = "layout" in parse_qs(query) or (self.content is not None and self.content.laid_out)
        if path == "/" and laid_out:
            return response(_page(), "text/html; charset=utf-8")
        is_viewport = self.content is not None and VIEWPORT.fullmatch(path)
        if path in ("/", "/plain") or is_viewport:
            found = other(connection, replace(uncompressed(request), path="/"))
            if isinstance(found, Response) and found.status_code == HTTPStatus.OK:
                added = _viewport_script() if is_viewport else _script()
                body = _TITLE.sub(lambda _: self._title, bytes(found.body), count=1)
                body = _ICON.sub(lambda link: link[1] + _OUR_ICON, body, count=1)
                return response(body.replace(b"</head>", added, 1), "text/html; charset=utf-8")
            return found
        return other(connection, request)

    def handler(self, connection: ServerConnection) -> Awaitable[None] | None:
        """Return the handler of one of this page's connections; None for viser's."""
        request = connection.request
        if request is not None and request.path == LAYOUT:
            return self.layout.serve(connection)
        if request is None or request.path != SOCKET:
            return None
        return self._serve(connection)

    async def _serve(self, connection: ServerConnection) -> None:
        now = asyncio.get_running_loop().time
        due = now()
        try:
            shown = None
            cursors: dict[int, int] = {}
            while True:
                content = self.content
                if content is None:  # the world does not exist yet
                    await asyncio.sleep(1.0 / RATE)
                    continue
                version = content.version()
                if version != shown:
                    shown, cursors = version, {}
                    await connection.send(json.dumps(content.layout()))
                await connection.send(json.dumps(content.since(cursors)))
                due = max(due + 1.0 / RATE, now())
                await asyncio.sleep(due - now())
        except ConnectionClosed:
            return


def viewport_of(connection: ServerConnection | None) -> int | None:
    """Return the number of the viewport that a viser page's connection belongs to, or None."""
    request = None if connection is None else connection.request
    found = None if request is None else VIEWPORT.fullmatch(request.path.partition("?")[0])
    return None if found is None else int(found[1])


@cache
def _page() -> bytes:
    graph = b"<script>const GRAPH = %b;</script>" % json.dumps(LOOK._asdict()).encode()
    scripts = graph + _scripts("foot.js", "page.js", "panel_contents.js", "panels.js")
    icon = b'<link rel="icon" href="%b">' % _OUR_ICON
    return PAGE.read_bytes().replace(b"<style>", icon + b"<style>", 1).replace(b"</html>", scripts + b"</html>", 1)


@cache
def _script() -> bytes:
    return _CONTRAST + _scripts("quality.js", "together.js", "camera.js", "triad.js", "foot.js", "page.js") + b"</head>"


@cache
def _viewport_script() -> bytes:
    return _HIDDEN + _scripts("quality.js", "together.js") + b"</head>"


def own_page(page: str, title: str, script: str) -> str:
    """Return viser's page without a server, with a title, the icon and a script that may move the camera."""
    body = _ICON.sub(lambda link: link[1] + _OUR_ICON, page.encode(), count=1)
    body = _TITLE.sub(lambda _: f"<title>{escape(title)}</title>".encode(), body, count=1)
    added = (
        _CONTRAST
        + _scripts("quality.js", "together.js", "night.js", "camera.js", "triad.js")
        + b"<script>%b</script></head>" % script.replace("</", "<\\/").encode()
    )
    return body.replace(b"</head>", added, 1).decode()


def _scripts(*names: str) -> bytes:
    return b"".join(b"<script>%b</script>" % Path(__file__).with_name(name).read_bytes() for name in names)


def uncompressed(request: Request) -> Request:
    """Return a copy of a request that asks for an uncompressed body, which can be modified."""
    headers = Headers([each for each in request.headers.raw_items() if each[0].lower() != "accept-encoding"])
    return replace(request, headers=headers)


def response(body: bytes, kind: str) -> Response:
    """Return a response that browsers do not cache."""
    headers = Headers({"Content-Type": kind, "Content-Length": str(len(body)), "Cache-Control": "no-store"})
    return Response(HTTPStatus.OK, "OK", headers, body)
