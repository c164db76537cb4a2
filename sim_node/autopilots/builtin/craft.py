"""What kinds of vehicles differ in: the tasks that they carry out, and the commands that follow from them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import ClassVar, Protocol

from sim_node.autopilots.builtin.multirotor import MultirotorCraft
from sim_node.autopilots.builtin.rover import RoverCraft
from sim_node.autopilots.builtin.tasks import Go, Guidance, Hold, Task, Turn
from sim_node.autopilots.builtin.vehicle_parameters import Chassis, VehicleParameters
from sim_node.spatial.geometry.arrays import FloatArray


class Craft(Protocol):
    """A kind of vehicle. Its methods that make tasks raise Refused for what it cannot do.

    Attributes:
        flies: Whether it takes off and lands; what does not is under way as soon as it is armed.
        mav_type: MAV_TYPE.
        commands: To its actuators, as the simulator gets them: (R,), 0 to 1 for rotors, -1 to 1 otherwise.
        neutral: The command at which an actuator stands still.
    """

    flies: ClassVar[bool]
    neutral: ClassVar[float]
    mav_type: int
    commands: FloatArray

    def command(self, flight: Guidance) -> None:
        """Write `commands` for the next period, while the vehicle is under way."""

    def stand(self, *, armed: bool) -> None:
        """Write `commands` of a vehicle that is not under way."""

    def load(self) -> float:
        """Return the power that its actuators draw, as a part of what the battery's endurance is given for."""

    def hold(self, seconds: float = math.inf) -> Hold:
        """Return the task to brake and stay."""

    def go(
        self,
        goal: FloatArray,
        yaw: float = math.nan,
        *,
        speed: float | None = None,
        hold: float = 0.0,
        radius: float = 0.5,
    ) -> Go:
        """Return the task to go to a position; see `Go`."""

    def turn(self, yaw: float, rate: float = 0.0, direction: int = 0) -> Turn:
        """Return the task to turn on the spot; see `Turn`."""

    def circle(self, centre: FloatArray, radius: float, turns: float) -> Task:
        """Return the task to go around a position; see `Circle`."""

    def home(self, flight: Guidance, goal: FloatArray) -> Iterator[Task]:
        """Yield the tasks to return to a position (3,), ENU, m, whose height is that of the return."""

    def by_hand(self, throttle: float, turn: float) -> Task:
        """Return the task to drive at parts of the largest speed and yaw rate, -1 to 1."""

    def drift(
        self, velocity: tuple[float, float, float], yaw_rate: float, yaw: float, *, along_body: bool, heading: float
    ) -> Task:
        """Return the task to move at a velocity.

        Args:
            velocity: (3,), ENU, m/s.
            yaw_rate: rad/s, where there is no yaw.
            yaw: rad from east, or NaN.
            along_body: Whether the velocity was given along the axes of the vehicle, whose yaw was `heading`.
            heading: rad from east.
        """


def craft_of(parameters: VehicleParameters) -> Craft:
    """Return the craft of a vehicle."""
    if isinstance(parameters.airframe, Chassis):
        return RoverCraft(parameters, parameters.airframe)
    return MultirotorCraft(parameters, parameters.airframe)
