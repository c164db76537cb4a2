"""Multirotors: tasks that lead a setpoint through the air, and the controller that follows it."""

from __future__ import annotations

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
    """A craft with rotors. `RoverCraft` has the same members; those that make tasks raise OrderRefused.

    It follows the reference of its flight from the flight's states, both in place.

    Attributes:
        flies: Whether it takes off and lands; what does not is under way as soon as it is armed.
        neutral: The command at which an actuator stands still.
        hold: Returns the task to brake and stay.
        go: Returns the task to go to a position.
        turn: Returns the task to turn on the spot.
        circle: Returns the task to go around a position.
        mav_type: MAV_TYPE.
        commands: To its actuators, as the simulator gets them: (R,), 0 to 1 for rotors, -1 to 1 otherwise.
    """

    flies: ClassVar = True
    neutral: ClassVar = 0.0
    hold, go, turn, circle = Hold, Go, Turn, Circle

    def __init__(
        self, parameters: VehicleParameters, airframe: Airframe, states: FloatArray, reference: FloatArray
    ) -> None:
        limits = np.array([[parameters.max_speed, parameters.yaw_rate]])
        self._controller = Controller([airframe], limits, 1.0 / parameters.rate, parameters.gravity)
        self._running = np.ones(1, dtype=np.int64)
        lift = airframe.lift
        # Thrust is proportional to the square of the command, and power to its cube.
        hover = min(1.0, airframe.mass * parameters.gravity / lift) if lift > 0.0 else 1.0
        self._hover = max(hover**1.5, 1e-6)
        self.commands = np.zeros(len(airframe.positions))
        self._follow = self._controller.flying(states, reference[None], self._running, self.commands)
        self.mav_type = _TYPES.get(len(self.commands), 0)

    def command(self, flight: Guidance) -> None:
        """Write `commands` for the next period, while the vehicle is under way."""
        if flight.task.direct:
            self._controller.turn(flight.states, flight.demands[None], self._running, self.commands)
        else:
            self._follow()

    def stand(self, *, armed: bool) -> None:
        """Write `commands` of a vehicle that is not under way: armed motors idle."""
        self.commands[:] = IDLE if armed else 0.0

    def load(self) -> float:
        """Return the power that its actuators draw, as a part of hover, for which the battery's endurance is given."""
        cubes = [command * command * command for command in self.commands.tolist()]
        return float(sum(cubes) / (len(cubes) * self._hover))

    def home(self, flight: Guidance, goal: FloatArray) -> Iterator[Task]:
        """Yield the tasks to return to a position (3,), ENU, m, at the height of the return: climb, fly, land."""
        x, y, z = flight.states[0, :3].tolist()
        height = max(z, float(goal[2]))
        for place in ((x, y, height), (goal[0], goal[1], height)):
            yield Go(np.array(place))
        yield Land()

    def by_hand(self, throttle: float, turn: float) -> Task:
        """Refuse to be driven."""
        raise Unsupported("no mode MANUAL")

    def drift(
        self, velocity: tuple[float, float, float], yaw_rate: float, yaw: float, *, along_body: bool, heading: float
    ) -> Task:
        """Return the task to move at a velocity; one along the body keeps the direction that it has now.

        Args:
            velocity: (3,), ENU, m/s.
            yaw_rate: rad/s, where there is no yaw.
            yaw: rad from east, or NaN.
            along_body: Whether the velocity was given along the axes of the vehicle, whose yaw was `heading`.
            heading: rad from east.
        """
        return Drift(velocity, yaw_rate, yaw)
