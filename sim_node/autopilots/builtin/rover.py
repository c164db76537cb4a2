"""Rovers: tasks that demand a speed and a yaw rate, and the actuator commands that follow."""

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

# Hysteresis of turns on the spot: they begin if the goal is further aside than TURN_FROM, and end within TURN_TO (rad).
TURN_FROM, TURN_TO = 0.6, 0.15
# A rover that has arrived drives on once it is this far from its goal (m).
AWAY = 0.3
# Speed of a car in sharp turns (m/s), and, for a goal inside of its turning circle, the distance of the goal from the
# circle's centre, as a fraction of the radius, at which it turns to the goal again.
SLOW, CLEAR = 0.4, 1.1


class Brake(Hold):
    """Brake and stand, for some seconds or indefinitely."""

    def advance(self, flight: Guidance) -> bool:
        """Brake. The task is done when its time is over."""
        demand(flight, 0.0, 0.0)
        self._left -= flight.period
        return self._left <= 0.0


class DriveTo(Go):
    """Drive to a position on the ground, brake there, and turn to a yaw if one is given."""

    def __init__(self, *args: object, **keys: object) -> None:
        super().__init__(*args, **keys)  # type: ignore[arg-type]
        self._turns = self._has_arrived = self._leaves_circle = False
        self._reached = False

    lifts = Task.lifts

    def advance(self, flight: Guidance) -> bool:
        """Drive. The task is done once the rover has reached the goal for the hold time.

        It has reached the goal within the radius, or, if it must hold or turn there, within ARRIVED.
        """
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
        # In Python: for one call per step, the compiled kernel is not worth loading.
        speed = min(speed, braking_speed.py_func(left, flight.settings.acceleration))
        radius = chassis_of(flight).turning_radius
        if radius > 0.0:
            self._steer(flight, speed, left, aside, radius)
        else:
            self._turns = abs(aside) > (TURN_TO if self._turns else TURN_FROM)
            demand(flight, 0.0 if self._turns else speed * math.cos(aside), rate_to(aside, flight))

    def _steer(self, flight: Guidance, speed: float, left: float, aside: float, radius: float) -> None:
        """Drive an arc to the goal, no tighter than the minimum turning radius (pure pursuit of the goal itself).

        Coulter, Implementation of the pure pursuit path tracking algorithm, CMU-RI-TR-92-01: the curvature of the arc
        through the goal is 2 sin(aside) over the distance.
        """
        # Distance of the goal from the centre of the tightest turn towards it.
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
        """Turn. The task is done at the yaw."""
        left = wrapped(self.yaw - place_of(flight)[2])
        done = abs(left) <= TURNED
        if self._direction * left < 0.0 and not done:
            # The longer way.
            left = math.copysign(math.pi, float(self._direction))
        elif self._direction and not done:
            self._direction = 0 if abs(left) < 0.5 * math.pi else self._direction
        rate = 0.0 if done else rate_to(left, flight)
        most = self._rate if self._rate > 0.0 else abs(rate)
        demand(flight, 0.0, max(-most, min(most, rate)))
        return done


class DriveRound(Circle):
    """Circle a position."""

    lifts = Task.lifts

    def advance(self, flight: Guidance) -> bool:
        """Circle. The task is done after its turns, which count from where the circle is reached."""
        east, north, yaw = place_of(flight)
        x, y = east - float(self.goal[0]), north - float(self.goal[1])
        distance, angle = math.hypot(x, y), math.atan2(y, x)
        away = distance - self._radius
        # Along the tangent, and towards the circle in proportion to the distance from it.
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
    """Drive at a velocity, at a yaw rate or towards a yaw.

    Args:
        velocity: Velocity (2,), m/s, in the rover's axes (FLU) or in ENU.
        yaw_rate: Yaw rate, rad/s, if there is no yaw.
        yaw: Yaw from east, rad, or NaN.
        along_body: Whether the velocity is in the rover's axes.
    """

    def __init__(
        self, velocity: tuple[float, float], yaw_rate: float = 0.0, yaw: float = math.nan, *, along_body: bool = True
    ) -> None:
        super().__init__((*velocity, 0.0), yaw_rate, yaw)
        self._along_body = along_body
        self._turns = False

    lifts = Task.lifts

    def advance(self, flight: Guidance) -> bool:
        """Drive. The task never ends."""
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
    """Return a vector rotated counterclockwise by an angle, rad."""
    cosine, sine = math.cos(angle), math.sin(angle)
    return cosine * x - sine * y, sine * x + cosine * y


def demand(flight: Guidance, ahead: float, turn: float, left: float = 0.0) -> None:
    """Demand a twist along the rover's axes.

    Args:
        flight: The flight, whose demands and reference are written.
        ahead: Speed ahead, m/s.
        turn: Yaw rate, rad/s, limited to the vehicle's maximum.
        left: Speed to the left, m/s.
    """
    most = flight.parameters.yaw_rate
    flight.demands[:3] = ahead, left, min(max(turn, -most), most)
    yaw = place_of(flight)[2]
    if not isinstance(flight.task, Go):
        flight.reference[:3] = flight.position
    flight.reference[3:6] = *_turned(ahead, left, yaw), 0.0
    flight.reference[9], flight.reference[10] = yaw, flight.demands[2]


def rate_to(left: float, flight: Guidance) -> float:
    """Return the yaw rate towards a yaw that is `left` rad away, as in `control.trajectories.turn_to`."""
    most = flight.parameters.yaw_rate
    return min(max(TURNING * left, -most), most)


def place_of(flight: Guidance) -> tuple[float, float, float]:
    """Return [x y yaw] of the rover in ENU, m and rad."""
    yaw = AttitudeEnu(flight.states[0, 3:7].tolist()).yaw.radians
    return float(flight.position[0]), float(flight.position[1]), yaw


def wrapped(angle: float) -> float:
    """Return an angle wrapped to -pi to pi."""
    return math.remainder(angle, 2.0 * math.pi)


def chassis_of(flight: Guidance) -> Chassis:
    """Return the limits of the rover."""
    chassis = flight.parameters.airframe
    assert isinstance(chassis, Chassis), "a rover carries out these tasks"
    return chassis


_GROUND_ROVER = 10  # MAV_TYPE
# Speeds (m/s) and yaw rates (rad/s) below this count as zero.
NOTHING = 1e-3
# Integral gain on errors of speed and yaw rate (1/s), and the maximum of the integral as a fraction of the limits.
INTEGRAL, MOST = 1.5, 0.4


class RoverCraft:
    """Behaviour of a rover. Its commands are throttle, turn and lateral, see `Base.channels` of `sim_node.world.bases`.

    Wheels slip, those of skid-steered bases most. The commanded twist is the demanded one plus the integral of its
    error.
    """

    flies: ClassVar = False
    neutral: ClassVar = 0.5
    hold = Brake

    def __init__(self, parameters: VehicleParameters, chassis: Chassis) -> None:
        self.chassis = chassis
        self.mav_type = _GROUND_ROVER
        self.commands = np.zeros(3)
        self._full = np.array([chassis.linear, chassis.linear, chassis.angular])
        # Demanded twist [vx vy wz], limited in acceleration, and the integral of its error.
        self._twist, self._added = np.zeros(3), np.zeros(3)

    def command(self, flight: Guidance) -> None:
        """Write `commands` for the next period of a vehicle that is under way."""
        period, acceleration = flight.period, flight.settings.acceleration
        wanted = flight.demands[:3]
        most = np.array([acceleration, acceleration, self.chassis.angular_acceleration]) * period
        change = np.clip(wanted - self._twist, -most, most)
        self._twist += change
        # The lag during acceleration must not be integrated.
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
        """Write `commands` of a vehicle that stands."""
        self.commands[:] = self._twist[:] = self._added[:] = 0.0

    def load(self) -> float:
        """Return the power of the actuators as a fraction of that at full speed."""
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
        """Return the task to go to a position, whose height is ignored. A car ignores the yaw, too."""
        yaw = math.nan if self.chassis.turning_radius > 0.0 else yaw
        return DriveTo(goal, yaw, speed=speed, hold=hold, radius=radius)

    def turn(self, yaw: float, rate: float = 0.0, direction: int = 0) -> Turn:
        """Return the task to turn on the spot."""
        self._refuse_turn()
        return FaceTo(yaw, rate, direction)

    def circle(self, centre: FloatArray, radius: float, turns: float) -> Task:
        """Return the task to circle a position."""
        if abs(radius) < self.chassis.turning_radius:
            raise OrderRefused(f"a circle of {abs(radius):g} m; {self.chassis.turning_radius:.3g} m is the tightest")
        return DriveRound(centre, radius, turns)

    def home(self, flight: Guidance, goal: FloatArray) -> Iterator[Task]:
        """Yield the task of a return: drive to a position and stop."""
        yield self.go(goal, radius=flight.settings.radius)

    def by_hand(self, throttle: float, turn: float) -> Task:
        """Return the task to drive at fractions, -1 to 1, of the maximum speed and yaw rate."""
        return Course((throttle * self.chassis.linear, 0.0), turn * self.chassis.angular)

    def drift(
        self, velocity: tuple[float, float, float], yaw_rate: float, yaw: float, *, along_body: bool, heading: float
    ) -> Task:
        """Return the task to move at a velocity; see `MultirotorCraft.drift`.

        A velocity in the rover's axes with a yaw rate is an arc; a velocity in ENU is a course to follow.
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
    """Return the twist (3,) [vx vy wz] of a rover in its own axes, projected onto the plane, m/s and rad/s."""
    state = flight.states[0]
    yaw = AttitudeEnu(state[3:7].tolist()).yaw.radians
    cosine, sine = math.cos(yaw), math.sin(yaw)
    vx, vy = state[7:9].tolist()
    return np.array([cosine * vx + sine * vy, cosine * vy - sine * vx, state[12]])
