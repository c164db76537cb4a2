"""The built-in autopilot's flight on the simulation itself, step by step and without links."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from sim_node.autopilot.builtin.dialect import Dialect, Mode
from sim_node.autopilot.builtin.flight import Flight
from sim_node.autopilot.builtin.px4 import PX4
from sim_node.autopilot.builtin.vehicle_parameters import VehicleParameters
from sim_node.simulation import Simulation
from sim_node.world import load

ORIGIN = (47.397742, 8.545594, 488.0)
# Of the Earth at that latitude, m per degree: WGS84's radii of curvature.
E2, A = 6.69437999014e-3, 6378137.0
_W = math.sqrt(1.0 - E2 * math.sin(math.radians(ORIGIN[0])) ** 2)
PER_LATITUDE = math.radians(1.0) * (A * (1.0 - E2) / _W**3 + ORIGIN[2])
PER_LONGITUDE = math.radians(1.0) * (A / _W + ORIGIN[2]) * math.cos(math.radians(ORIGIN[0]))


class Flown:
    """A vehicle of the world `guided` and its flight."""

    def __init__(self, parameters: VehicleParameters, dialect: Dialect = PX4) -> None:
        self.simulation = Simulation(load("guided"), sensors=False)
        self.flight = Flight(parameters, dialect, report=lambda severity, text: self.said.append(text))
        self.said: list[str] = []
        self._motors = self.simulation.vehicles["drone"].command
        self._observe = self.simulation.observer(["drone/base_link"])
        self.path: list[list[float]] = []
        self.run(0.1)

    def run(self, seconds: float) -> None:
        for _ in range(round(seconds * 250)):
            state = self._observe()
            pose, velocity = state.pose[0], state.twist[0, :3]
            rate = Rotation.from_quat(pose[3:]).inv().apply(state.twist[0, 3:])
            time_us = 1_000_000 + self.simulation.time_ns // 1000
            self._motors[:] = self.flight.step(time_us, pose[:3], pose[3:], velocity, rate)
            self.path.append([*pose, *velocity])
            self.simulation.step()

    @property
    def pose(self) -> np.ndarray:
        return np.array(self.path[-1][:7])

    @property
    def velocity(self) -> np.ndarray:
        return np.array(self.path[-1][7:])

    def in_the_air(self, height: float = 5.0) -> None:
        self.flight.arm()
        self.flight.take_off(height)
        self.run(8.0)
        self.flight.set_mode(Mode.GUIDED)


def item(command: int, *params: float, east: float = 0.0, north: float = 0.0, up: float = 0.0) -> dict[str, Any]:
    """A MISSION_ITEM_INT near the origin, its place by the Earth's radii of curvature; up above home."""
    values = {f"param{n}": v for n, v in enumerate((*params, *[0.0] * (4 - len(params))), start=1)}
    x = round((ORIGIN[0] + north / PER_LATITUDE) * 1e7) if north or east else round(ORIGIN[0] * 1e7)
    y = round((ORIGIN[1] + east / PER_LONGITUDE) * 1e7)
    return {"frame": 6, "command": command, "autocontinue": 1, **values, "x": x, "y": y, "z": up}
