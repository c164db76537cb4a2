"""A gamepad at the browser: a script in the viewer's page reads it and drives a vehicle through a separate socket.

viser has no access to gamepads, so an additional script is injected into the page that it serves.
"""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Awaitable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from websockets.asyncio.server import ServerConnection
from websockets.exceptions import ConnectionClosed
from websockets.http11 import Request, Response

from sim_node.simulation import Refused
from sim_node.viewing.browser.drive import Steering
from sim_node.viewing.browser.panels_page import PanelsPage, Respond, response, uncompressed

SCRIPT = Path(__file__).with_name("gamepad.js")
SCRIPT_PATH, SOCKET = "/gamepad.js", "/gamepad"
# If a page is silent for this long, s, its vehicle brakes: the page may be hidden, hung or disconnected.
DEAD_MAN_S = 0.5
MAX_MESSAGE = 1000
_TITLE = b"</title>"
_TAG = b'<script src="%s" defer></script>' % SCRIPT_PATH.encode()
_AXES = ("ahead", "left", "up", "turn")


class StickRequest(NamedTuple):
    """A page's request: the deflection of each stick, -1 to 1, or a stop of everything."""

    vehicle: str
    ahead: float
    left: float
    up: float
    turn: float
    stop: bool

    @property
    def centred(self) -> bool:
        """Whether nothing should move."""
        return not (self.ahead or self.left or self.up or self.turn)


class GamepadPage:
    """Serves the script and its socket while there is something to drive. Other requests go to the other pages.

    Args:
        others: The other pages of the server.

    Attributes:
        steering: Drives vehicles, or None.
    """

    def __init__(self, others: PanelsPage) -> None:
        self.steering: Steering | None = None
        self._others = others

    def answer(self, connection: ServerConnection, request: Request, other: Respond) -> Any:
        """Return the response to a request: the script, or a page with the script added."""
        path = request.path.partition("?")[0]
        upgrades = request.headers.get("Upgrade", "").lower() == "websocket"
        if self.steering is None or upgrades or path not in ("/", "/plain", SCRIPT_PATH):
            return self._others.answer(connection, request, other)
        if path == SCRIPT_PATH:
            return response(_script(), "text/javascript; charset=utf-8")
        found = self._others.answer(connection, uncompressed(request), other)
        if not isinstance(found, Response) or _TITLE not in bytes(found.body):
            return found
        return response(bytes(found.body).replace(_TITLE, _TITLE + _TAG, 1), "text/html; charset=utf-8")

    def handler(self, connection: ServerConnection) -> Awaitable[None] | None:
        """Return the handler of a connection from the script; for others, that of the other pages."""
        request = connection.request
        if self.steering is None or request is None or request.path != SOCKET:
            return self._others.handler(connection)
        return _serve(connection, self.steering)


async def _serve(connection: ServerConnection, steering: Steering) -> None:
    """Drive as a page requests until it is closed. Stop its vehicle when it falls silent and at the end."""
    driven = ""
    try:
        vehicles = await asyncio.to_thread(steering.vehicles)
        named = [{"name": name, "sideways": each.sideways, "climbs": each.climbs} for name, each in vehicles.items()]
        await connection.send(json.dumps({"vehicles": named}))
        while True:
            try:
                data = await asyncio.wait_for(connection.recv(), DEAD_MAN_S if driven else None)
            except TimeoutError:
                driven = await _brake(steering, driven)
                continue
            sticks = sticks_of(data)
            if sticks is None:
                continue
            if sticks.stop:
                driven = ""
                await asyncio.to_thread(steering.stop)
            elif (stick := (await asyncio.to_thread(steering.vehicles)).get(sticks.vehicle)) is not None:
                if driven and driven != sticks.vehicle:
                    await _brake(steering, driven)
                up = sticks.up * stick.speed if stick.climbs else 0.0
                axes = sticks.ahead * stick.speed, sticks.left * stick.speed, up, sticks.turn * stick.turn
                driven = "" if sticks.centred else sticks.vehicle
                await asyncio.to_thread(steering.drive, sticks.vehicle, *axes)
    except (ConnectionClosed, Refused, KeyError):  # the page is gone, the run has ended, or a change removed it
        pass
    finally:
        await _brake(steering, driven)


async def _brake(steering: Steering, vehicle: str) -> str:
    """Make a vehicle brake, if one is named. Return an empty name."""
    if vehicle:
        with suppress(Refused, KeyError):  # the run has ended, or a change has removed it
            await asyncio.to_thread(steering.drive, vehicle, 0.0, 0.0, 0.0, 0.0)
    return ""


def sticks_of(data: str | bytes) -> StickRequest | None:
    """Parse a message of a page. Return None if it is not a message of the script."""
    if len(data) > MAX_MESSAGE:
        return None
    try:
        message = json.loads(data)
        vehicle, axes = message["vehicle"], [message[axis] for axis in _AXES]
        stop = message.get("stop", False)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None
    if not isinstance(vehicle, str) or not isinstance(stop, bool):
        return None
    if not all(isinstance(each, int | float) and not isinstance(each, bool) for each in axes):
        return None
    if not all(math.isfinite(each) and -1.0 <= each <= 1.0 for each in axes):
        return None
    ahead, left, up, turn = map(float, axes)
    return StickRequest(vehicle, ahead, left, up, turn, stop)


@cache
def _script() -> bytes:
    return SCRIPT.read_bytes()
