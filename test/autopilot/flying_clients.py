"""A simulation with the built-in autopilot, for clients that others wrote to fly."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from claims import free_instance
from waiting import PATIENCE

from sim_node.autopilots.vehicle_co_simulator import attach_autopilots
from sim_node.simulation import Loop, Simulation
from sim_node.world import load

# Home, and metres per degree there, by WGS84's radii of curvature.
LATITUDE, LONGITUDE, ALTITUDE = 47.397742, 8.545594, 488.0
# The height of EGM96 above the ellipsoid there, m: by the package egm96 (5 arc minutes).
GEOID = 47.232
_E2, _A = 6.69437999014e-3, 6378137.0
_W = math.sqrt(1.0 - _E2 * math.sin(math.radians(LATITUDE)) ** 2)
NORTH = math.radians(1.0) * (_A * (1.0 - _E2) / _W**3 + ALTITUDE)
EAST = math.radians(1.0) * (_A / _W + ALTITUDE) * math.cos(math.radians(LATITUDE))
STANDS = 0.13
WORLD = """\
origin: {{latitude: 47.397742, longitude: 8.545594, altitude: 488.0}}
time: {{step: 0.004}}
physics: {{integrator: euler, timestep: 0.001}}
bodies: [{{name: ground, geometry: [{{plane: true}}]}}]
vehicles:
  - name: v
    model: iris
    pose: {{position: [0, 0, 0.13]}}
    autopilot: {{type: mavlink_builtin, instance: {instance}, like: {like}, links: [{links}]}}
"""


ROVER = """\
origin: {{latitude: 47.397742, longitude: 8.545594, altitude: 488.0}}
time: {{step: 0.004}}
physics: {{integrator: implicitfast, timestep: 0.002}}
ground: {{friction: 0.9}}
bases:
  - name: v
    model: rover
    transforms: truth
    autopilot: {{type: mavlink_builtin, instance: {instance}, like: {like}, links: [{links}]}}
"""


class Flown:
    """A simulation in a loop. `until` looks at its ground truth, 60 times a simulated second.

    Attributes:
        texts: what the autopilot's process and the simulation say.
    """

    def __init__(self, folder: Path, like: str = "px4", links: str = "", speed: float = 2.0, text: str = WORLD) -> None:
        self.instance = free_instance()
        world = folder / f"{like}.yaml"
        world.write_text(text.format(instance=self.instance, like=like, links=links))
        self.texts: list[str] = []
        self._simulation = Simulation(load(world), seed=5)
        attach_autopilots(self._simulation, self.texts.append)
        self._row = self._simulation.frames.names.index("v/base_link")
        self._changed = threading.Condition()
        self.path: list[np.ndarray] = []
        self._loop = Loop(self._simulation, (self,), real_time_factor=speed)
        self._loop.start()

    def open(self, world: Any, frames: Any) -> None:
        """As a sink of the loop."""

    def write(self, snapshot: Any) -> None:
        """As a sink of the loop."""
        with self._changed:
            self.path.append(np.array([snapshot.time_ns * 1e-9, *snapshot.poses[self._row]]))
            self._changed.notify_all()

    def close(self) -> None:
        """As a sink of the loop."""

    def stop(self) -> None:
        self._loop.stop()
        self._simulation.close()

    @property
    def place(self) -> np.ndarray:
        return self.path[-1][1:4]

    def velocity(self, seconds: float = 0.2) -> np.ndarray:
        """The mean over the last seconds."""
        rows = self.path[-max(2, round(seconds * 60)) :]
        if len(rows) < 2 or rows[-1][0] <= rows[0][0]:
            return np.zeros(3)
        return np.asarray((rows[-1][1:4] - rows[0][1:4]) / (rows[-1][0] - rows[0][0]))

    @property
    def yaw(self) -> float:
        """Degrees clockwise from north."""
        x, y, z, w = self.path[-1][4:]
        return (90.0 - math.degrees(math.atan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z)))) % 360.0

    def until(self, fits: Callable[[], Any], what: str) -> None:
        deadline = time.monotonic() + PATIENCE
        with self._changed:
            while not (self.path and fits()):
                assert time.monotonic() < deadline, f"{what}: at {self.place}, moving {self.velocity()}; {self.texts}"
                self._changed.wait(0.5)

    def until_at(self, east: float, north: float, up: float, within: float = 0.25) -> None:
        goal = np.array([east, north, up])
        self.until(
            lambda: np.linalg.norm(self.place - goal) < within and np.linalg.norm(self.velocity()) < 0.3, f"at {goal}"
        )

    def until_moving(self, east: float, north: float, up: float, within: float = 0.3) -> None:
        goal = np.array([east, north, up])
        self.until(lambda: np.abs(self.velocity() - goal).max() < within, f"velocity {goal}")
