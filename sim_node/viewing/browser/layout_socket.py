"""The WebSocket of the pages' scripts: layout in the address, initial camera, and the playback bar."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

from websockets.asyncio.server import ServerConnection
from websockets.exceptions import ConnectionClosed

from sim_node.viewing.browser.transport import FootControls

SOCKET = "/layout"
# Polling period for new messages, s, and the maximum length of a page's request, characters.
PERIOD_S, MAX_MESSAGE = 0.1, 20_000


class LayoutSocket:
    """Sends the layout to the pages' scripts whenever it changes, and applies the address of a new page.

    Attributes:
        controls: The playback bar of pages; None before there is a scene.
        laid_out: Whether pages begin with panels. Pages opened before there was a world do not know yet.
    """

    controls: FootControls | None = None
    laid_out = False

    def __init__(self) -> None:
        self._read: Callable[[], tuple[list[str], dict[str, str]]] | None = None
        self._write: Callable[[Mapping[str, str]], None] | None = None
        # Settings that a page requested before there was a panel.
        self._asked: dict[str, str] = {}
        # Whether a page has sent its preferences. Only the first one counts, because settings are shared by all pages.
        self._preferred = False
        self._lock = threading.Lock()
        self._links = self._pages = 0
        self._ended = False
        self._opening: dict[str, Any] = {"number": 0}
        self._camera: dict[str, str] = {}

    def connect(
        self,
        read: Callable[[], tuple[list[str], dict[str, str]]],
        write: Callable[[Mapping[str, str]], None],
    ) -> None:
        """Begin to serve the settings of a panel, after applying what a page requested before.

        Args:
            read: Returns the names of all settings, and the changed ones as text.
            write: Applies some of them.
        """
        with self._lock:
            self._write, asked, self._asked = write, self._asked, {}
        if asked:
            write(asked)
        self._read = read

    @property
    def has_asked(self) -> bool:
        """Whether a page has requested settings before there was a panel."""
        return bool(self._asked)

    def link(self, camera: Mapping[str, str]) -> None:
        """Send the camera of one page to all scripts. The page whose button was pressed uses it."""
        self._camera, self._links = dict(camera), self._links + 1

    def open_at(self, opening: Mapping[str, Any], *, anew: bool = False) -> None:
        """Send the initial camera to the scripts of all pages. anew: also apply it to pages whose camera was moved."""
        self._opening = {**opening, "number": self._opening["number"] + anew}

    def end(self) -> None:
        """Tell the scripts that no further messages follow."""
        self._ended = True
        # Meanwhile, the server's thread sends it.
        time.sleep(1.5 * PERIOD_S if self._pages else 0.0)

    async def serve(self, connection: ServerConnection) -> None:
        """Serve the script of a page until it is closed."""
        listening = asyncio.create_task(self._listen(connection))
        shown: Any = None
        links, opening, marks, ended = self._links, None, None, False
        self._pages += 1
        try:
            # The loop ends when the page is closed.
            while not listening.done():
                now = None if self._read is None else self._read()
                if now is not None and now != shown:
                    shown = now
                    await connection.send(json.dumps({"names": now[0], "now": now[1], "panels": self.laid_out}))
                if self.controls is not None:
                    await connection.send(json.dumps({"state": self.controls.state()}))
                    if (found := self.controls.marks()) != marks:
                        marks = found
                        await connection.send(json.dumps({"marks": marks}))
                if self._ended and not ended:
                    ended = True
                    await connection.send(json.dumps({"ended": True}))
                if self._opening is not opening and len(self._opening) > 1:
                    opening = self._opening
                    await connection.send(json.dumps({"opening": opening}))
                if self._links != links:
                    links = self._links
                    await connection.send(json.dumps({"camera": self._camera}))
                await asyncio.wait({listening}, timeout=PERIOD_S)
        except ConnectionClosed:
            return
        finally:
            self._pages -= 1
            listening.cancel()
            await asyncio.gather(listening, return_exceptions=True)

    async def _listen(self, connection: ServerConnection) -> None:
        """Process the requests of a page in order. Ignore invalid ones."""
        async for data in connection:
            try:
                message: Any = json.loads(data) if len(data) <= MAX_MESSAGE else None
                wanted, word, to = message.get("set"), message.get("do"), float(message.get("to", 0.0))
                what = str(message.get("what", ""))
                if isinstance(prefers := message.get("prefers"), dict) and isinstance(wanted, dict):
                    wanted = wanted if self._preferred else {**prefers, **wanted}
                    self._preferred = True
            except (ValueError, TypeError, AttributeError, RecursionError):
                continue
            # Both take locks, and this thread serves all pages.
            if isinstance(word, str) and self.controls is not None:
                answer = await asyncio.to_thread(self.controls.act, word, to, what)
                if answer:
                    await connection.send(json.dumps({"said": answer}))
            if not isinstance(wanted, dict):
                continue
            with self._lock:
                if self._write is None:
                    self._asked = wanted
                    continue
            await asyncio.to_thread(self._write, wanted)
