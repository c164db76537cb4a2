"""Tasks of a flight. Each step, the present task moves the setpoint, and tells whether it is done."""

from __future__ import annotations

import math
from typing import Protocol

import numpy as np
import numpy.typing as npt

from sim_node.autopilots.builtin.settings import Settings
from sim_node.autopilots.builtin.vehicle_parameters import VehicleParameters
from sim_node.simulation.control import Airframe
from sim_node.simulation.control.trajectories import approach, glide, turn_to
from sim_node.spatial.frames import AttitudeEnu
from sim_node.spatial.geometry import quaternions
from sim_node.spatial.geometry.arrays import FloatArray

# Tolerances at which a setpoint counts as at its goal: position (m) and yaw (rad).
ARRIVED, TURNED = 0.1, 0.05
# A task makes a vehicle take off if its goal is this far above the vehicle (m), or its velocity (m/s) or acceleration
# (m/s²) upwards is larger than this.
LIFTS = 0.3
# A vehicle has landed if it is slower than this (m/s) while the setpoint is this far below it (m).
STILL, BELOW = 0.1, 0.3


class Guidance(Protocol):
    """The part of `Flight` that tasks use. They write its reference or its demands; see `Flight` for the attributes."""

    states: FloatArray
    position: FloatArray
    reference: FloatArray
    demands: FloatArray
    speed: float
    period: float
    time_us: int
    task: Task
    settings: Settings
    parameters: VehicleParameters

    def within_fence(self, velocity: tuple[float, float, float]) -> tuple[float, float, float]:
        """Reduce a velocity (3,), ENU, m/s, so that it stops before the geofence."""


class Task:
    """A task of a flight.

    Attributes:
        direct: Whether it writes the flight's demands instead of its reference.
    """

    direct = False

    def lifts(self, flight: Guidance) -> bool:
        """Return whether the task makes a vehicle on the ground take off."""
        return False

    def advance(self, flight: Guidance) -> bool:
        """Advance the reference or the demands by one period, and return whether the task is done."""
        raise NotImplementedError


class Hold(Task):
    """Brake and stay, for some seconds or indefinitely."""

    def __init__(self, seconds: float = math.inf) -> None:
        self._left = seconds

    def advance(self, flight: Guidance) -> bool:
        """Brake. The task is done when its time is over."""
        glide(flight.reference, 0.0, 0.0, 0.0, flight.settings.acceleration, flight.period)
        turn_to(flight.reference, float(flight.reference[9]), flight.parameters.yaw_rate, flight.period)
        self._left -= flight.period
        return self._left <= 0.0


class Go(Task):
    """Fly to a position and stay there for some time.

    Attributes:
        goal: Position (3,), ENU, m.
        yaw: Yaw from east, rad; NaN to keep it.
        speed: Speed, m/s; None for the flight's cruise speed, even if that changes.

    Args:
        hold: Time to stay once the vehicle is within `radius`, s.
        radius: Acceptance radius, m.
    """

    def __init__(
        self,
        goal: FloatArray,
        yaw: float = math.nan,
        *,
        speed: float | None = None,
        hold: float = 0.0,
        radius: float = 0.5,
    ) -> None:
        self.goal, self.yaw, self.speed = np.array(goal, dtype=np.float64), yaw, speed
        self._hold, self._radius, self._held = hold, radius, -1.0

    def lifts(self, flight: Guidance) -> bool:
        """Return whether the goal is above the vehicle."""
        return bool(self.goal[2] > flight.position[2] + LIFTS)

    def advance(self, flight: Guidance) -> bool:
        """Approach the goal. The task is done when setpoint and vehicle have been there for the hold time."""
        reference, period = flight.reference, flight.period
        speed = flight.speed if self.speed is None else self.speed
        left = approach(reference, self.goal, speed, flight.settings.acceleration, period)
        yaw = float(reference[9]) if math.isnan(self.yaw) else self.yaw
        turning = turn_to(reference, yaw, flight.parameters.yaw_rate, period)
        if self._held < 0.0:
            if left > ARRIVED or turning > TURNED or math.dist(flight.position, self.goal) > self._radius:
                return False
            self._held = 0.0
        self._held += period
        return self._held >= self._hold


class Track(Task):
    """Follow a position that moves at a velocity, as in setpoints that contain both.

    Attributes:
        goal: Position (3,), ENU, m.
        velocity: Velocity (3,), ENU, m/s.
        acceleration: Acceleration (3,), ENU, m/s², which changes the velocity.
        yaw: Yaw from east, rad; NaN to keep it.
    """

    def __init__(
        self,
        goal: FloatArray,
        velocity: npt.ArrayLike,
        acceleration: npt.ArrayLike = (0.0, 0.0, 0.0),
        yaw: float = math.nan,
    ) -> None:
        self.goal, self.yaw = np.array(goal, dtype=np.float64), yaw
        self.velocity = np.array(velocity, dtype=np.float64)
        self.acceleration = np.array(acceleration, dtype=np.float64)

    def lifts(self, flight: Guidance) -> bool:
        """Return whether the position is above the vehicle, or the velocity climbs."""
        return bool(self.goal[2] > flight.position[2] + LIFTS or self.velocity[2] > LIFTS)

    def advance(self, flight: Guidance) -> bool:
        """Move the setpoint. The task never ends."""
        reference, period = flight.reference, flight.period
        self.goal += self.velocity * period
        self.velocity += self.acceleration * period
        reference[:3], reference[3:6], reference[6:9] = self.goal, self.velocity, self.acceleration
        yaw = float(reference[9]) if math.isnan(self.yaw) else self.yaw
        turn_to(reference, yaw, flight.parameters.yaw_rate, period)
        return False


class Turn(Hold):
    """Turn on the spot.

    Args:
        yaw: Yaw from east, rad.
        rate: Yaw rate, rad/s; 0 for the vehicle's maximum.
        direction: 1 for counterclockwise, -1 for clockwise, 0 for the shorter way.
    """

    def __init__(self, yaw: float, rate: float = 0.0, direction: int = 0) -> None:
        super().__init__()
        self.yaw, self._rate, self._direction = yaw, rate, direction

    def advance(self, flight: Guidance) -> bool:
        """Turn. The task is done at the yaw."""
        reference = flight.reference
        glide(reference, 0.0, 0.0, 0.0, flight.settings.acceleration, flight.period)
        most = flight.parameters.yaw_rate
        rate = min(self._rate, most) if self._rate > 0.0 else most
        left = math.remainder(self.yaw - float(reference[9]), 2.0 * math.pi)
        if self._direction * left < 0.0 and abs(left) > TURNED:
            # The longer way: a right angle at a time, so that turn_to does not take the shorter one.
            turn_to(reference, float(reference[9]) + self._direction * 0.5 * math.pi, rate, flight.period)
            return False
        return bool(turn_to(reference, self.yaw, rate, flight.period) <= TURNED)


class Circle(Task):
    """Circle a position.

    Args:
        centre: Position (3,), ENU, m.
        radius: Radius, m; positive for counterclockwise, negative for clockwise.
        turns: Number of turns.
    """

    _BACK = 0.5  # decay rate of errors of radius and height, 1/s

    def __init__(self, centre: FloatArray, radius: float, turns: float) -> None:
        self.goal, self._radius, self._sense = np.array(centre), abs(radius), math.copysign(1.0, radius)
        self._left = 2.0 * math.pi * turns
        self._angle = math.nan

    def lifts(self, flight: Guidance) -> bool:
        """Return whether the circle is above the vehicle."""
        return bool(self.goal[2] > flight.position[2] + LIFTS)

    def advance(self, flight: Guidance) -> bool:
        """Circle. The task is done after its turns, which count from where the circle is reached."""
        reference, acceleration = flight.reference, flight.settings.acceleration
        x, y, z = (reference[:3] - self.goal).tolist()
        distance, angle = math.hypot(x, y), math.atan2(y, x)
        # Half of the acceleration is reserved for corrections.
        speed = min(flight.speed, math.sqrt(0.5 * acceleration * self._radius))
        away = distance - self._radius
        inwards = max(-speed, min(speed, -self._BACK * away))
        along = self._sense * math.sqrt(max(0.0, speed * speed - inwards * inwards))
        # Centripetal acceleration: a velocity along the tangent alone would lag behind.
        ahead = 0.5 * along / max(distance, 1.0) * flight.period
        cosine, sine = math.cos(angle + ahead), math.sin(angle + ahead)
        climb = max(-speed, min(speed, -self._BACK * z))
        velocity = inwards * cosine - along * sine, inwards * sine + along * cosine, climb
        glide(reference, *velocity, acceleration, flight.period)
        turn_to(reference, float(reference[9]), flight.parameters.yaw_rate, flight.period)
        if abs(away) < 0.1 * self._radius + ARRIVED and abs(z) < 0.5:
            if not math.isnan(self._angle):
                self._left -= self._sense * math.remainder(angle - self._angle, 2.0 * math.pi)
            self._angle = angle
        return self._left <= 0.0


class Drift(Task):
    """Move at a velocity, at a yaw rate or towards a yaw.

    Attributes:
        velocity: Velocity (3,), ENU, m/s.
        yaw_rate: Yaw rate, rad/s, if there is no yaw.
        yaw: Yaw from east, rad, or NaN.
    """

    def __init__(self, velocity: tuple[float, float, float], yaw_rate: float = 0.0, yaw: float = math.nan) -> None:
        self.velocity, self.yaw_rate, self.yaw = velocity, yaw_rate, yaw

    def lifts(self, flight: Guidance) -> bool:
        """Return whether the velocity climbs."""
        return self.velocity[2] > LIFTS

    def advance(self, flight: Guidance) -> bool:
        """Move the setpoint. The task never ends."""
        reference, period = flight.reference, flight.period
        glide(reference, *flight.within_fence(self.velocity), flight.settings.acceleration, period)
        if math.isnan(self.yaw):
            rate = min(max(self.yaw_rate, -flight.parameters.yaw_rate), flight.parameters.yaw_rate)
            reference[9] += period * rate
            reference[10] = rate
        else:
            turn_to(reference, self.yaw, flight.parameters.yaw_rate, period)
        return False


class Accelerate(Task):
    """Accelerate, without any limit of velocity or position.

    Args:
        acceleration: Acceleration (3,), ENU, m/s².
        yaw: Yaw from east, rad; NaN to keep it.
    """

    direct = True

    def __init__(self, acceleration: tuple[float, float, float], yaw: float = math.nan) -> None:
        self._acceleration, self._yaw = acceleration, yaw

    def lifts(self, flight: Guidance) -> bool:
        """Return whether the acceleration points up."""
        return self._acceleration[2] > LIFTS

    def advance(self, flight: Guidance) -> bool:
        """Write the demands. The task never ends."""
        x, y, z = self._acceleration
        yaw = flight.reference[9] if math.isnan(self._yaw) else self._yaw
        flight.demands[:] = x, y, z + flight.parameters.gravity, yaw, 0.0
        return False


class Tilt(Task):
    """Hold an attitude, or turn it at given rates.

    Attributes:
        attitude: Attitude (4,) [x, y, z, w] of the body (FLU) in ENU.
        rates: Angular rates (3,) in the body's axes (FLU), rad/s.
        thrust: Fraction of the maximum thrust, 0 to 1.
    """

    direct = True

    def __init__(self, attitude: FloatArray, rates: tuple[float, float, float], thrust: float) -> None:
        self.attitude, self.rates, self.thrust = attitude, rates, thrust

    def lifts(self, flight: Guidance) -> bool:
        """Return whether the thrust exceeds the weight."""
        return self.thrust * _max_thrust(flight) > flight.parameters.gravity

    def advance(self, flight: Guidance) -> bool:
        """Write the demands. The task never ends."""
        if any(self.rates):
            turned = quaternions.exp(flight.period * np.array(self.rates))
            self.attitude = quaternions.multiply(self.attitude, turned)
        up = quaternions.rotate(self.attitude, np.array([0.0, 0.0, 1.0]))
        x, y, z, w = self.attitude.tolist()
        flight.demands[:3] = self.thrust * _max_thrust(flight) * up
        flight.demands[3:] = AttitudeEnu((x, y, z, w)).yaw.radians, self.rates[2]
        return False


def _max_thrust(flight: Guidance) -> float:
    """Return the maximum thrust over the mass, m/s²."""
    airframe = flight.parameters.airframe
    assert isinstance(airframe, Airframe), "a rover refuses attitudes"
    return airframe.lift / airframe.mass


class Land(Task):
    """Descend vertically until the vehicle stands."""

    def advance(self, flight: Guidance) -> bool:
        """Descend. The task is done when the vehicle stands."""
        settings, reference = flight.settings, flight.reference
        glide(reference, 0.0, 0.0, -settings.landing_speed, settings.acceleration, flight.period)
        turn_to(reference, float(reference[9]), flight.parameters.yaw_rate, flight.period)
        return bool(reference[2] < flight.states[0, 2] - BELOW and abs(flight.states[0, 9]) < STILL)


class Descend(Land):
    """Descend level, at landing speed, without a position estimate. The wind may carry the vehicle away."""

    direct = True
    # Decay rate of errors of the vertical velocity (1/s), maximum correction (m/s²), and time for which the vehicle
    # must stand before it has landed (s).
    _BACK, _MOST, _STANDS = 2.0, 4.0, 1.0

    def __init__(self) -> None:
        self._stood = 0.0

    def advance(self, flight: Guidance) -> bool:
        """Descend. The task is done when the vehicle has stood for a second."""
        climb = float(flight.states[0, 9])
        error = -flight.settings.landing_speed - climb
        up = max(-self._MOST, min(self._MOST, self._BACK * error))
        flight.demands[:] = 0.0, 0.0, flight.parameters.gravity + up, flight.reference[9], 0.0
        self._stood = self._stood + flight.period if abs(climb) < STILL else 0.0
        return self._stood >= self._STANDS
