"""Rovers: tasks that demand a speed and a yaw rate, and the commands of a base that follow them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import ClassVar

import numpy as np

from sim_node.autopilots.builtin.dialect import OrderRefused
from sim_node.autopilots.builtin.tasks import ARRIVED, TURNED, Circle, Drift, Go, Guidance, Hold, Task, Turn
from sim_node.autopilots.builtin.vehicle_parameters import Chassis, VehicleParameters
from sim_node.simulation.control.trajectories import TURNING, braking_speed
from sim_node.spatial.frames import AttitudeEnu
from sim_node.spatial.geometry.arrays import FloatArray

# A rover that can turn on the spot does so while its goal is further aside than TURN_FROM, until TURN_TO (rad).
TURN_FROM, TURN_TO = 0.6, 0.15
# One that has arrived goes on once it has been moved away by so much (m).
AWAY = 0.3
# A car keeps this much of its speed in turns (m/s), and leaves a goal that is inside of its turning circle by so much
# of the circle's radius.
SLOW, CLEAR = 0.4, 1.1


class Brake(Hold):
    """Brake and stand, for some seconds or for good."""

    def advance(self, flight: Guidance) -> bool:
        """Done when the seconds are over."""
        demand(flight, 0.0, 0.0)
        self._left -= flight.period
        return self._left <= 0.0


class DriveTo(Go):
    """Drive to a position on the ground, brake there, and turn to a yaw if there is one."""

    def __init__(self, *args: object, **keys: object) -> None:
        super().__init__(*args, **keys)  # type: ignore[arg-type]
        self._turns = self._has_arrived = self._leaves_circle = False
        self._reached = False

    lifts = Task.lifts

    def advance(self, flight: Guidance) -> bool:
        """Done when it has come within the radius, or is there where it is to stay, and has stayed."""
        east, north, yaw = place_of(flight)
        dx, dy = float(self.goal[0]) - east, float(self.goal[1]) - north
        left = math.hypot(dx, dy)
        flight.reference[:3] = self.goal[0], self.goal[1], flight.position[2]
        turning = 0.0
        self._has_arrived = left <= (AWAY if self._has_arrived else ARRIVED)
        if self._has_arrived:
            turning = 0.0 if math.isnan(self.yaw) else wrapped(self.yaw - yaw)
            demand(flight, 0.0, rate_to(turning, flight) if abs(turning) > TURNED else 0.0)
        else:
            self._drive(flight, left, wrapped(math.atan2(dy, dx) - yaw))
        stays = self._hold > 0.0 or not math.isnan(self.yaw)
        self._reached = self._reached or (self._has_arrived if stays else left <= max(self._radius, ARRIVED))
        if not self._reached or abs(turning) > TURNED:
            return False
        self._held = max(self._held, 0.0) + flight.period
        return self._held >= self._hold

    def _drive(self, flight: Guidance, left: float, aside: float) -> None:
        speed = flight.speed if self.speed is None else self.speed
        # As Python: for one call per step, loading machine code is not worth it.
        speed = min(speed, braking_speed.py_func(left, flight.settings.acceleration))
        radius = chassis_of(flight).turning_radius
        if radius > 0.0:
            self._steer(flight, speed, left, aside, radius)
        else:
            self._turns = abs(aside) > (TURN_TO if self._turns else TURN_FROM)
            demand(flight, 0.0 if self._turns else speed * math.cos(aside), rate_to(aside, flight))

    def _steer(self, flight: Guidance, speed: float, left: float, aside: float, radius: float) -> None:
        """Drive an arc to the goal, or as tight a turn as there is (pure pursuit of the goal itself).

        Coulter, Implementation of the pure pursuit path tracking algorithm, CMU-RI-TR-92-01: the curvature of the arc
        through the goal is 2 sin(aside) over the distance.
        """
        # The distance of the goal from the middle of the tightest turn to its side.
        away = math.hypot(left * math.cos(aside), abs(left * math.sin(aside)) - radius)
        self._leaves_circle = away < radius * (CLEAR if self._leaves_circle else 1.0) and abs(aside) > TURN_TO
        bend = 0.0
        if not self._leaves_circle:
            bend = 2.0 * math.sin(aside) / left
            if abs(aside) > 0.5 * math.pi or abs(bend) > 1.0 / radius:
                bend = math.copysign(1.0 / radius, aside)
        if self._leaves_circle or abs(aside) > TURN_FROM:
            speed = max(min(speed, SLOW), 0.5 * SLOW)
        demand(flight, speed, speed * bend)


class FaceTo(Turn):
    """Turn on the spot."""

    def advance(self, flight: Guidance) -> bool:
        """Done when it looks there."""
        left = wrapped(self.yaw - place_of(flight)[2])
        done = abs(left) <= TURNED
        if self._direction * left < 0.0 and not done:
            # The longer way round.
            left = math.copysign(math.pi, float(self._direction))
        elif self._direction and not done:
            self._direction = 0 if abs(left) < 0.5 * math.pi else self._direction
        rate = 0.0 if done else rate_to(left, flight)
        most = self._rate if self._rate > 0.0 else abs(rate)
        demand(flight, 0.0, max(-most, min(most, rate)))
        return done


class DriveRound(Circle):
    """Drive around a position."""

    lifts = Task.lifts

    def advance(self, flight: Guidance) -> bool:
        """Done after the turns; they count from where the circle is reached."""
        east, north, yaw = place_of(flight)
        x, y = east - float(self.goal[0]), north - float(self.goal[1])
        distance, angle = math.hypot(x, y), math.atan2(y, x)
        away = distance - self._radius
        # Along the tangent, and towards the circle by how far it is from it.
        course = angle + self._sense * (0.5 * math.pi + math.atan(self._BACK * 2.0 * away))
        speed = min(flight.speed, 0.8 * flight.parameters.yaw_rate * self._radius)
        aside = wrapped(course - yaw)
        turn = self._sense * speed / self._radius if abs(away) < self._radius else 0.0
        chassis = chassis_of(flight)
        ahead = speed if chassis.turning_radius > 0.0 else speed * max(math.cos(aside), 0.0)
        demand(flight, ahead, turn + rate_to(aside, flight))
        if abs(away) < 0.1 * self._radius + ARRIVED:
            if not math.isnan(self._angle):
                self._left -= self._sense * wrapped(angle - self._angle)
            self._angle = angle
        return self._left <= 0.0


class Course(Drift):
    """Drive at a velocity, along its own axes or those of the world, turning at a rate or to a yaw."""

    def __init__(
        self, velocity: tuple[float, float], yaw_rate: float = 0.0, yaw: float = math.nan, *, along_body: bool = True
    ) -> None:
        super().__init__((*velocity, 0.0), yaw_rate, yaw)
        self._along_body = along_body
        self._turns = False

    lifts = Task.lifts

    def advance(self, flight: Guidance) -> bool:
        """Never done."""
        yaw = place_of(flight)[2]
        ahead, left, _ = self.velocity
        chassis = chassis_of(flight)
        aside = math.nan if math.isnan(self.yaw) else wrapped(self.yaw - yaw)
        turn = self.yaw_rate if math.isnan(aside) else rate_to(aside, flight)
        if not self._along_body:
            if chassis.sideways:
                ahead, left = _turned(ahead, left, -yaw)
            else:
                speed = math.hypot(ahead, left)
                self._turns = abs(aside) > (TURN_TO if self._turns else TURN_FROM)
                if chassis.turning_radius > 0.0:
                    ahead = min(speed, SLOW) if self._turns else speed
                else:
                    ahead = 0.0 if self._turns else speed * math.cos(aside)
                left = 0.0
        east, north, _ = flight.within_fence((*_turned(ahead, left, yaw), 0.0))
        ahead, along_left = _turned(east, north, -yaw)
        demand(flight, ahead, turn, along_left if chassis.sideways else 0.0)
        return False


def _turned(x: float, y: float, angle: float) -> tuple[float, float]:
    """Return a vector turned counterclockwise (rad)."""
    cosine, sine = math.cos(angle), math.sin(angle)
    return cosine * x - sine * y, sine * x + cosine * y


def demand(flight: Guidance, ahead: float, turn: float, left: float = 0.0) -> None:
    """Demand a twist along the rover's axes, m/s and rad/s, within its yaw rate."""
    most = flight.parameters.yaw_rate
    flight.demands[:3] = ahead, left, min(max(turn, -most), most)
    yaw = place_of(flight)[2]
    if not isinstance(flight.task, Go):
        flight.reference[:3] = flight.position
    flight.reference[3:6] = *_turned(ahead, left, yaw), 0.0
    flight.reference[9], flight.reference[10] = yaw, flight.demands[2]


def rate_to(left: float, flight: Guidance) -> float:
    """Return the yaw rate towards a yaw that is `left` rad away, as in control.trajectories.turn_to."""
    most = flight.parameters.yaw_rate
    return min(max(TURNING * left, -most), most)


def place_of(flight: Guidance) -> tuple[float, float, float]:
    """Return [x y yaw] of the rover, ENU."""
    yaw = AttitudeEnu(flight.states[0, 3:7].tolist()).yaw.radians
    return float(flight.position[0]), float(flight.position[1]), yaw


def wrapped(angle: float) -> float:
    """Return an angle within -pi to pi."""
    return math.remainder(angle, 2.0 * math.pi)


def chassis_of(flight: Guidance) -> Chassis:
    """Return what the rover can do."""
    chassis = flight.parameters.airframe
    assert isinstance(chassis, Chassis), "a rover carries out these tasks"
    return chassis


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
