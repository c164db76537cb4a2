"""Multirotors: tasks that lead a setpoint through the air, and the controller that follows it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import ClassVar

import numpy as np

from sim_node.autopilots.builtin.dialect import Unsupported
from sim_node.autopilots.builtin.tasks import Circle, Drift, Go, Guidance, Hold, Land, Task, Turn
from sim_node.autopilots.builtin.vehicle_parameters import VehicleParameters
from sim_node.simulation.control import Airframe, Controller
from sim_node.spatial.geometry.arrays import FloatArray

# What motors do that are armed on the ground, of their speed.
IDLE = 0.1
_QUADROTOR, _HEXAROTOR, _OCTOROTOR = 2, 13, 14  # MAV_TYPE
_TYPES = {4: _QUADROTOR, 6: _HEXAROTOR, 8: _OCTOROTOR}


class MultirotorCraft:
    """A craft with rotors."""

    flies: ClassVar = True
    neutral: ClassVar = 0.0

    def __init__(self, parameters: VehicleParameters, airframe: Airframe) -> None:
        limits = np.array([[parameters.max_speed, parameters.yaw_rate]])
        self._controller = Controller([airframe], limits, 1.0 / parameters.rate, parameters.gravity)
        self._running = np.ones(1, dtype=np.int64)
        lift = airframe.lift
        # Thrust is proportional to the square of the command, and power to its cube.
        hover = min(1.0, airframe.mass * parameters.gravity / lift) if lift > 0.0 else 1.0
        self._hover = max(hover**1.5, 1e-6)
        self.commands = np.zeros(len(airframe.positions))
        self.mav_type = _TYPES.get(len(self.commands), 0)

    def command(self, flight: Guidance) -> None:
        """See Craft."""
        if flight.task.direct:
            self._controller.turn(flight.states, flight.demands[None], self._running, self.commands)
        else:
            self._controller.fly(flight.states, flight.reference[None], self._running, self.commands)

    def stand(self, *, armed: bool) -> None:
        """See Craft: armed motors idle."""
        self.commands[:] = IDLE if armed else 0.0

    def load(self) -> float:
        """See Craft: of hover."""
        cubes = [command * command * command for command in self.commands.tolist()]
        return float(sum(cubes) / (len(cubes) * self._hover))

    def hold(self, seconds: float = math.inf) -> Hold:
        """See Craft."""
        return Hold(seconds)

    def go(
        self,
        goal: FloatArray,
        yaw: float = math.nan,
        *,
        speed: float | None = None,
        hold: float = 0.0,
        radius: float = 0.5,
    ) -> Go:
        """See Craft."""
        return Go(goal, yaw, speed=speed, hold=hold, radius=radius)

    def turn(self, yaw: float, rate: float = 0.0, direction: int = 0) -> Turn:
        """See Craft."""
        return Turn(yaw, rate, direction)

    def circle(self, centre: FloatArray, radius: float, turns: float) -> Task:
        """See Craft."""
        return Circle(centre, radius, turns)

    def home(self, flight: Guidance, goal: FloatArray) -> Iterator[Task]:
        """See Craft: climb, fly there, and land."""
        x, y, z = flight.states[0, :3].tolist()
        height = max(z, float(goal[2]))
        for place in ((x, y, height), (goal[0], goal[1], height)):
            yield Go(np.array(place))
        yield Land()

    def by_hand(self, throttle: float, turn: float) -> Task:
        """See Craft."""
        raise Unsupported("no mode MANUAL")

    def drift(
        self, velocity: tuple[float, float, float], yaw_rate: float, yaw: float, *, along_body: bool, heading: float
    ) -> Task:
        """See Craft: a velocity along the body keeps the direction that it has now."""
        return Drift(velocity, yaw_rate, yaw)
