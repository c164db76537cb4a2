"""Multirotors: their tasks, and the controller that follows the setpoint."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import numpy as np

from sim_node.autopilots.builtin.dialect import Unsupported
from sim_node.autopilots.builtin.tasks import Circle, Drift, Go, Guidance, Hold, Land, Task, Turn
from sim_node.autopilots.builtin.vehicle_parameters import VehicleParameters
from sim_node.simulation.control import Airframe, Controller
from sim_node.spatial.geometry.arrays import FloatArray

# Command of armed motors on the ground.
IDLE = 0.1
_QUADROTOR, _HEXAROTOR, _OCTOROTOR = 2, 13, 14  # MAV_TYPE
_TYPES = {4: _QUADROTOR, 6: _HEXAROTOR, 8: _OCTOROTOR}


class MultirotorCraft:
    """Behaviour of a multirotor. `RoverCraft` has the same members; those that return tasks may raise OrderRefused.

    The controller reads the states and the reference of the flight in place.

    Attributes:
        flies: Whether the vehicle takes off and lands. One that does not is under way as soon as it is armed.
        neutral: Normalised pulse width of SERVO_OUTPUT_RAW at command 0.
        hold: Returns the task to brake and stay.
        go: Returns the task to go to a position.
        turn: Returns the task to turn on the spot.
        circle: Returns the task to circle a position.
        mav_type: MAV_TYPE.
        commands: Actuator commands (R,) to the simulator, 0 to 1 for rotors, otherwise -1 to 1.
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
        """Write `commands` for the next period of a vehicle that is under way."""
        if flight.task.direct:
            self._controller.turn(flight.states, flight.demands[None], self._running, self.commands)
        else:
            self._follow()

    def stand(self, *, armed: bool) -> None:
        """Write `commands` of a vehicle on the ground; armed motors idle."""
        self.commands[:] = IDLE if armed else 0.0

    def load(self) -> float:
        """Return the power of the actuators as a fraction of hover power, on which the battery's endurance is based."""
        cubes = [command * command * command for command in self.commands.tolist()]
        return float(sum(cubes) / (len(cubes) * self._hover))

    def home(self, flight: Guidance, goal: FloatArray) -> Iterator[Task]:
        """Yield the tasks of a return: climb to the return height, fly there, land.

        Args:
            flight: The flight.
            goal: Position (3,) at the minimum height of the return, ENU, m.
        """
        x, y, z = flight.states[0, :3].tolist()
        height = max(z, float(goal[2]))
        for place in ((x, y, height), (goal[0], goal[1], height)):
            yield Go(np.array(place))
        yield Land()

    def by_hand(self, throttle: float, turn: float) -> Task:
        """Refuse manual driving."""
        raise Unsupported("no mode MANUAL")

    def drift(
        self, velocity: tuple[float, float, float], yaw_rate: float, yaw: float, *, along_body: bool, heading: float
    ) -> Task:
        """Return the task to move at a velocity. A velocity along the body keeps its present direction in ENU.

        Args:
            velocity: Velocity (3,), ENU, m/s.
            yaw_rate: Yaw rate, rad/s, if there is no yaw.
            yaw: Yaw from east, rad, or NaN.
            along_body: Whether the setpoint was given in the vehicle's axes.
            heading: Yaw of the vehicle at that time, rad from east.
        """
        return Drift(velocity, yaw_rate, yaw)
