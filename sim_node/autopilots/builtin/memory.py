"""State that survives the process, in a file that the simulation holds open and that vanishes with it."""

from __future__ import annotations

import json
import os
import zlib
from typing import Any

import numpy as np

from sim_node.autopilots.builtin.dialect import WARNING, Mode
from sim_node.autopilots.builtin.fence import Fence
from sim_node.autopilots.builtin.flight import Flight
from sim_node.autopilots.builtin.mission import Mission


class Memory:
    """A file for the state of a flight. Incomplete content counts as none.

    Args:
        descriptor: File descriptor; -1 to keep nothing.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._kept = b""

    def load(self) -> dict[str, Any] | None:
        """Return the state that was kept last, or None."""
        if self._descriptor < 0:
            return None
        data = os.pread(self._descriptor, os.fstat(self._descriptor).st_size, 0)
        check, _, text = data.partition(b"\n")
        if not text or check != _check(text):
            return None
        found: dict[str, Any] = json.loads(text)
        return found

    def keep(self, flight: Flight) -> None:
        """Replace the kept state by that of a flight, if it has changed."""
        if self._descriptor < 0:
            return
        text = json.dumps(saved(flight)).encode()
        if text == self._kept:
            return
        self._kept = text
        os.ftruncate(self._descriptor, 0)
        os.pwrite(self._descriptor, _check(text) + b"\n" + text, 0)


def saved(flight: Flight) -> dict[str, Any]:
    """Return the state of a flight for `restore`, as JSON types."""
    climb = flight.climb
    return {
        "armed": flight.armed,
        "airborne": flight.airborne,
        "mode": int(flight.mode),
        "climb": None if climb is None else [climb[0], None if climb[1] is None else climb[1].tolist(), climb[2]],
        "home": flight.places.home,
        "waits": flight.waits_for_mission,
        "items": [dict(item) for item in flight.mission.items],
        "current": flight.mission.current,
        "jumped": list(flight.mission.jumped.items()),
        "fences": flight.fences,
        "fence": [dict(item) for item in flight.fence.items],
        "rally": [dict(item) for item in flight.rally],
        "settings": flight.settings.saved(),
        "speed": flight.speed,
        "charge": flight.battery.remaining,
    }


def restore(flight: Flight, memory: dict[str, Any]) -> None:
    """Continue the flight of another process from the vehicle's present position. Call it before the first step."""
    flight.armed, flight.airborne = memory["armed"], memory["airborne"]
    flight.mode = Mode(memory["mode"])
    if memory["climb"] is not None:
        height, over, yaw = memory["climb"]
        flight.climb = height, None if over is None else np.array(over), yaw
    flight.places.home = tuple(memory["home"]) if memory["home"] else None
    flight.waits_for_mission = memory["waits"]
    flight.mission = Mission(memory["items"], memory["current"], int(flight.dialect.home_first))
    flight.mission.jumped.update(memory["jumped"])
    flight.fence, flight.rally = Fence(memory["fence"], flight.places), tuple(memory["rally"])
    flight.settings.restore(memory["settings"])
    flight.fences = memory["fences"]
    flight.speed, flight.battery.remaining = memory["speed"], memory["charge"]
    flight.begin()
    if flight.airborne:
        flight.report(WARNING, f"started again in the air: {flight.dialect.modes[flight.mode].name} goes on")


def _check(text: bytes) -> bytes:
    return b"%08x" % zlib.crc32(text)
