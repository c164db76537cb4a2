"""The WebSocket of the scripts of pages: the layout in their addresses, where they begin, and what their foot says."""

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
# Time between two looks for new messages, s; longest request of a page, characters.
PERIOD_S, MAX_MESSAGE = 0.1, 20_000


class LayoutSocket:
    """Sends the layout to the scripts of pages whenever it changes, and sets what the address of a new page says.

    Attributes:
        controls: What the foot of pages says and does; None before there is a scene.
        laid_out: Whether pages begin with panels: those that were opened before there was a world do not know.
    """

    controls: FootControls | None = None
    laid_out = False

    def __init__(self) -> None:
        self._read: Callable[[], tuple[list[str], dict[str, str]]] | None = None
        self._write: Callable[[Mapping[str, str]], None] | None = None
        # What a page asked for before there was a panel.
        self._asked: dict[str, str] = {}
        # Whether a page has sent its preferences: only the first one counts, as settings are those of all pages.
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
        """Begin to serve the settings of a panel, after setting what a page asked for before there was one.

        Args:
            read: Returns the names of all settings, and those that have changed, as text.
            write: Sets some of them.
        """
        with self._lock:
            self._write, asked, self._asked = write, self._asked, {}
        if asked:
            write(asked)
        self._read = read

    @property
    def has_asked(self) -> bool:
        """Whether a page has asked for settings before there was a panel."""
        return bool(self._asked)

    def link(self, camera: Mapping[str, str]) -> None:
        """Send the camera of one page to the scripts of all: that in which the button was pressed uses it."""
        self._camera, self._links = dict(camera), self._links + 1

    def open_at(self, opening: Mapping[str, Any], *, anew: bool = False) -> None:
        """Tell the scripts of all pages where their cameras begin; anew: also those whose cameras were moved."""
        self._opening = {**opening, "number": self._opening["number"] + anew}

    def end(self) -> None:
        """Tell the scripts that nothing more comes."""
        self._ended = True
        # The server's thread sends it meanwhile.
        time.sleep(1.5 * PERIOD_S if self._pages else 0.0)

    async def serve(self, connection: ServerConnection) -> None:
        """Serve the script of a page until it is closed."""
        listening = asyncio.create_task(self._listen(connection))
        shown: Any = None
        links, opening, marks, ended = self._links, None, None, False
        self._pages += 1
        try:
            # A page that is closed sends nothing, and is sent nothing that would fail.
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
        """Set and do what a page asks for, in its order; ignore what is no request of it."""
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
            # Both take locks; this thread serves all pages.
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
