"""Keeps the layout of pages in their addresses, over a WebSocket of their script."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Mapping
from typing import Any

from websockets.asyncio.server import ServerConnection
from websockets.exceptions import ConnectionClosed

SOCKET = "/layout"
# Time between two looks at the layout, s; longest request of a page, characters.
PERIOD_S, MAX_MESSAGE = 0.25, 20_000


class LayoutSocket:
    """Sends the layout to the scripts of pages whenever it changes, and sets what the address of a new page says."""

    def __init__(self) -> None:
        self._read: Callable[[], tuple[list[str], dict[str, str]]] | None = None
        self._write: Callable[[Mapping[str, str]], None] | None = None
        # What a page asked for before there was a panel.
        self._asked: dict[str, str] = {}
        self._lock = threading.Lock()
        self._links = 0
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
        """Tell the scripts of all pages the camera of one: that in which the button was pressed takes it."""
        self._camera, self._links = dict(camera), self._links + 1

    async def serve(self, connection: ServerConnection) -> None:
        """Serve the script of a page until it is closed."""
        listening = asyncio.create_task(self._listen(connection))
        shown: Any = None
        links = self._links
        try:
            # A page that is closed sends nothing, and is sent nothing that would fail.
            while not listening.done():
                now = None if self._read is None else self._read()
                if now is not None and now != shown:
                    shown = now
                    await connection.send(json.dumps({"names": now[0], "now": now[1]}))
                if self._links != links:
                    links = self._links
                    await connection.send(json.dumps({"camera": self._camera}))
                await asyncio.wait({listening}, timeout=PERIOD_S)
        except ConnectionClosed:
            return
        finally:
            listening.cancel()
            await asyncio.gather(listening, return_exceptions=True)

    async def _listen(self, connection: ServerConnection) -> None:
        """Set what a page asks for; ignore what is no request of it."""
        async for data in connection:
            try:
                wanted = json.loads(data)["set"] if len(data) <= MAX_MESSAGE else None
            except (ValueError, TypeError, KeyError, RecursionError):
                continue
            if not isinstance(wanted, dict):
                continue
            with self._lock:
                if self._write is None:
                    self._asked = wanted
                    continue
            # Settings take locks; this thread serves all pages.
            await asyncio.to_thread(self._write, wanted)
