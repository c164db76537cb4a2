"""Rovers: tasks that demand a speed and a yaw rate, and the commands of a base that follow them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import ClassVar

import numpy as np

from sim_node.autopilots.builtin.dialect import OrderRefused
from sim_node.autopilots.builtin.rover_tasks import Brake, Course, DriveRound, DriveTo, FaceTo
from sim_node.autopilots.builtin.tasks import Go, Guidance, Task, Turn
from sim_node.autopilots.builtin.vehicle_parameters import Chassis, VehicleParameters
from sim_node.spatial.frames import AttitudeEnu
from sim_node.spatial.geometry.arrays import FloatArray

_GROUND_ROVER = 10  # MAV_TYPE
# What is slower than this (m/s, rad/s) was not meant.
NOTHING = 1e-3
# By which the errors of speed and yaw rate are made up for, 1/s, and how much of the limits may be added for it.
INTEGRAL, MOST = 1.5, 0.4


class RoverCraft:
    """A craft on wheels. Its commands are throttle, turn and lateral, see `control.bases.channels`.

    Wheels slip, those of a skid base most of all. The twist that is commanded is the demanded one, and the integral of
    what is missing of it.
    """

    flies: ClassVar = False
    neutral: ClassVar = 0.5
    hold = Brake

    def __init__(self, parameters: VehicleParameters, chassis: Chassis) -> None:
        self.chassis = chassis
        self.mav_type = _GROUND_ROVER
        self.commands = np.zeros(3)
        self._full = np.array([chassis.linear, chassis.linear, chassis.angular])
        # [vx vy wz] that is demanded, within the acceleration, and what is added to it.
        self._twist, self._added = np.zeros(3), np.zeros(3)

    def command(self, flight: Guidance) -> None:
        """Write `commands` for the next period, while the vehicle is under way."""
        period, acceleration = flight.period, flight.settings.acceleration
        wanted = flight.demands[:3]
        most = np.array([acceleration, acceleration, self.chassis.angular_acceleration]) * period
        change = np.clip(wanted - self._twist, -most, most)
        self._twist += change
        # While it speeds up it lags behind, which is not to be made up for.
        steady = np.abs(change) < 0.1 * most
        error = np.where(steady, self._twist - measured(flight), 0.0)
        self._added = np.where(np.abs(self._twist) > NOTHING, self._added + INTEGRAL * period * error, 0.0)
        np.clip(self._added, -MOST * self._full, MOST * self._full, out=self._added)
        twist = self._twist + self._added
        if not self.chassis.sideways:
            twist[1] = 0.0
        ahead, left, turn = np.clip(twist / self._full, -1.0, 1.0).tolist()
        self.commands[:] = ahead, -turn, -left

    def stand(self, *, armed: bool) -> None:
        """Write `commands` of a vehicle that is not under way."""
        self.commands[:] = self._twist[:] = self._added[:] = 0.0

    def load(self) -> float:
        """Return the power that its actuators draw, as a part of that at full speed."""
        return min(1.0, float(np.abs(self.commands).sum()))

    def go(
        self,
        goal: FloatArray,
        yaw: float = math.nan,
        *,
        speed: float | None = None,
        hold: float = 0.0,
        radius: float = 0.5,
    ) -> Go:
        """Return the task to go to a position on the ground, whatever its height. A car stops in any yaw."""
        yaw = math.nan if self.chassis.turning_radius > 0.0 else yaw
        return DriveTo(goal, yaw, speed=speed, hold=hold, radius=radius)

    def turn(self, yaw: float, rate: float = 0.0, direction: int = 0) -> Turn:
        """Return the task to turn on the spot."""
        self._refuse_turn()
        return FaceTo(yaw, rate, direction)

    def circle(self, centre: FloatArray, radius: float, turns: float) -> Task:
        """Return the task to go around a position."""
        if abs(radius) < self.chassis.turning_radius:
            raise OrderRefused(f"a circle of {abs(radius):g} m; {self.chassis.turning_radius:.3g} m is the tightest")
        return DriveRound(centre, radius, turns)

    def home(self, flight: Guidance, goal: FloatArray) -> Iterator[Task]:
        """Yield the task to return to a position: drive there, and stop."""
        yield self.go(goal, radius=flight.settings.radius)

    def by_hand(self, throttle: float, turn: float) -> Task:
        """Return the task to drive at parts of the largest speed and yaw rate, -1 to 1."""
        return Course((throttle * self.chassis.linear, 0.0), turn * self.chassis.angular)

    def drift(
        self, velocity: tuple[float, float, float], yaw_rate: float, yaw: float, *, along_body: bool, heading: float
    ) -> Task:
        """Return the task to move at a velocity; see `MultirotorCraft.drift`.

        Along its own axes with a yaw rate it is an arc, in the world it is a course to follow.
        """
        x, y, z = velocity
        if abs(z) > NOTHING:
            raise OrderRefused("a rover stays on the ground: vz must be 0")
        speed = math.hypot(x, y)
        if along_body or self.chassis.sideways:
            cosine, sine = math.cos(heading), math.sin(heading)
            ahead, left = (cosine * x + sine * y, cosine * y - sine * x) if along_body else (x, y)
            if abs(left) > NOTHING and not self.chassis.sideways:
                raise OrderRefused("these wheels do not move sideways: vy along the body must be 0")
            if abs(yaw_rate) > NOTHING and speed <= NOTHING:
                self._refuse_turn()
            return Course((ahead, left), yaw_rate, yaw, along_body=along_body)
        if abs(yaw_rate) > NOTHING and speed > NOTHING:
            raise OrderRefused("its yaw follows its velocity: a yaw rate needs a velocity along the body's axes")
        if speed <= NOTHING:
            if abs(yaw_rate) > NOTHING:
                self._refuse_turn()
            return Course((0.0, 0.0), yaw_rate, math.nan if self.chassis.turning_radius > 0.0 else yaw)
        return Course((x, y), 0.0, math.atan2(y, x), along_body=False)

    def _refuse_turn(self) -> None:
        if self.chassis.turning_radius > 0.0:
            raise OrderRefused("a car cannot turn on the spot")


def measured(flight: Guidance) -> FloatArray:
    """Return the twist (3,) [vx vy wz] of a rover along its own axes in the plane, m/s and rad/s."""
    state = flight.states[0]
    yaw = AttitudeEnu(state[3:7].tolist()).yaw.radians
    cosine, sine = math.cos(yaw), math.sin(yaw)
    vx, vy = state[7:9].tolist()
    return np.array([cosine * vx + sine * vy, cosine * vy - sine * vx, state[12]])
