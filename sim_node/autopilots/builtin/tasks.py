"""What a flight is doing at the moment: one task at a time, each moves the setpoint on and says when it is done."""

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

# The setpoint is where it leads to within this, m, and turned there, rad.
ARRIVED, TURNED = 0.1, 0.05
# What leads up by so much lifts a vehicle off the ground, m or m/s.
LIFTS = 0.3
# Landed is who stands still, this slowly (m/s), while the setpoint has gone so far below (m).
STILL, BELOW = 0.1, 0.3


class Guidance(Protocol):
    """What a task sees of a vehicle, and what it moves: reference or demands."""

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
        """Return a velocity that ends before the geofence."""


class Task:
    """One thing to do. direct: it writes the flight's demands and not its reference."""

    direct = False

    def lifts(self, flight: Guidance) -> bool:
        """Whether it is to begin with leaving the ground."""
        return False

    def advance(self, flight: Guidance) -> bool:
        """Moves reference or demands a period on; whether there is nothing left to do."""
        raise NotImplementedError


class Hold(Task):
    """Brake and stay, for some seconds or for good."""

    def __init__(self, seconds: float = math.inf) -> None:
        self._left = seconds

    def advance(self, flight: Guidance) -> bool:
        """Done when the seconds are over."""
        glide(flight.reference, 0.0, 0.0, 0.0, flight.settings.acceleration, flight.period)
        turn_to(flight.reference, float(flight.reference[9]), flight.parameters.yaw_rate, flight.period)
        self._left -= flight.period
        return self._left <= 0.0


class Go(Task):
    """Fly to a position and stay there for a while.

    Attributes:
        goal: (3,), ENU, m. yaw: rad from east, NaN to keep it. speed: m/s, None for the flight's at any time.
        hold: how long to stay once the vehicle is within `radius` metres, s.
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
        """Where the place is above."""
        return bool(self.goal[2] > flight.position[2] + LIFTS)

    def advance(self, flight: Guidance) -> bool:
        """Done when setpoint and vehicle are there, and it has stayed."""
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
    """Follow a position that moves on at a velocity, as setpoints of both have it.

    Attributes:
        goal: (3,), ENU, m. velocity: (3,), ENU, m/s. acceleration: (3,), ENU, m/s², which changes the velocity.
        yaw: rad from east, NaN to keep it.
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
        """Where the place is above, or the velocity leads up."""
        return bool(self.goal[2] > flight.position[2] + LIFTS or self.velocity[2] > LIFTS)

    def advance(self, flight: Guidance) -> bool:
        """Never done."""
        reference, period = flight.reference, flight.period
        self.goal += self.velocity * period
        self.velocity += self.acceleration * period
        reference[:3], reference[3:6], reference[6:9] = self.goal, self.velocity, self.acceleration
        yaw = float(reference[9]) if math.isnan(self.yaw) else self.yaw
        turn_to(reference, yaw, flight.parameters.yaw_rate, period)
        return False


class Turn(Hold):
    """Turn on the spot.

    Attributes:
        yaw: rad from east. rate: rad/s, 0 for the vehicle's. direction: 1 counterclockwise, -1 clockwise, 0 either.
    """

    def __init__(self, yaw: float, rate: float = 0.0, direction: int = 0) -> None:
        super().__init__()
        self.yaw, self._rate, self._direction = yaw, rate, direction

    def advance(self, flight: Guidance) -> bool:
        """Done when it looks there."""
        reference = flight.reference
        glide(reference, 0.0, 0.0, 0.0, flight.settings.acceleration, flight.period)
        most = flight.parameters.yaw_rate
        rate = min(self._rate, most) if self._rate > 0.0 else most
        left = math.remainder(self.yaw - float(reference[9]), 2.0 * math.pi)
        if self._direction * left < 0.0 and abs(left) > TURNED:
            # The longer way round: as far as a right angle at a time, which turn_to does not shorten.
            turn_to(reference, float(reference[9]) + self._direction * 0.5 * math.pi, rate, flight.period)
            return False
        return bool(turn_to(reference, self.yaw, rate, flight.period) <= TURNED)


class Circle(Task):
    """Fly around a position.

    Attributes:
        centre: (3,), ENU, m. radius: m, counterclockwise above zero and clockwise below. turns: how many.
    """

    _BACK = 0.5  # 1/s, by which an error of radius and height decays

    def __init__(self, centre: FloatArray, radius: float, turns: float) -> None:
        self.goal, self._radius, self._sense = np.array(centre), abs(radius), math.copysign(1.0, radius)
        self._left = 2.0 * math.pi * turns
        self._angle = math.nan

    def lifts(self, flight: Guidance) -> bool:
        """Where the position is above."""
        return bool(self.goal[2] > flight.position[2] + LIFTS)

    def advance(self, flight: Guidance) -> bool:
        """Done after the turns; they count from where the circle is reached."""
        reference, acceleration = flight.reference, flight.settings.acceleration
        x, y, z = (reference[:3] - self.goal).tolist()
        distance, angle = math.hypot(x, y), math.atan2(y, x)
        # Half of the acceleration is left for corrections.
        speed = min(flight.speed, math.sqrt(0.5 * acceleration * self._radius))
        away = distance - self._radius
        inwards = max(-speed, min(speed, -self._BACK * away))
        along = self._sense * math.sqrt(max(0.0, speed * speed - inwards * inwards))
        # The centripetal acceleration, which a velocity along the tangent alone would lag behind.
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
    """Flies at a velocity (ENU, m/s), turning at a rate (rad/s), or to a yaw where there is one."""

    def __init__(self, velocity: tuple[float, float, float], yaw_rate: float = 0.0, yaw: float = math.nan) -> None:
        self.velocity, self.yaw_rate, self.yaw = velocity, yaw_rate, yaw

    def lifts(self, flight: Guidance) -> bool:
        """Where it leads up."""
        return self.velocity[2] > LIFTS

    def advance(self, flight: Guidance) -> bool:
        """Never done."""
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
    """Accelerates (ENU, m/s²), whatever comes of it; yaw rad, NaN to keep it."""

    direct = True

    def __init__(self, acceleration: tuple[float, float, float], yaw: float = math.nan) -> None:
        self._acceleration, self._yaw = acceleration, yaw

    def lifts(self, flight: Guidance) -> bool:
        """Where it leads up."""
        return self._acceleration[2] > LIFTS

    def advance(self, flight: Guidance) -> bool:
        """Never done."""
        x, y, z = self._acceleration
        yaw = flight.reference[9] if math.isnan(self._yaw) else self._yaw
        flight.demands[:] = x, y, z + flight.parameters.gravity, yaw, 0.0
        return False


class Tilt(Task):
    """Holds an attitude [x y z w] (FLU in ENU), turning it at rates (FLU, rad/s); thrust 0 to 1 of all there is."""

    direct = True

    def __init__(self, attitude: FloatArray, rates: tuple[float, float, float], thrust: float) -> None:
        self.attitude, self.rates, self.thrust = attitude, rates, thrust

    def lifts(self, flight: Guidance) -> bool:
        """Where its thrust carries the vehicle."""
        return self.thrust * _max_thrust(flight) > flight.parameters.gravity

    def advance(self, flight: Guidance) -> bool:
        """Never done."""
        if any(self.rates):
            turned = quaternions.exp(flight.period * np.array(self.rates))
            self.attitude = quaternions.multiply(self.attitude, turned)
        up = quaternions.rotate(self.attitude, np.array([0.0, 0.0, 1.0]))
        x, y, z, w = self.attitude.tolist()
        flight.demands[:3] = self.thrust * _max_thrust(flight) * up
        flight.demands[3:] = AttitudeEnu((x, y, z, w)).yaw.radians, self.rates[2]
        return False


def _max_thrust(flight: Guidance) -> float:
    """Return the acceleration that full thrust gives, m/s²."""
    airframe = flight.parameters.airframe
    assert isinstance(airframe, Airframe), "a rover refuses attitudes"
    return airframe.lift / airframe.mass


class Land(Task):
    """Goes straight down until the vehicle stands."""

    def advance(self, flight: Guidance) -> bool:
        """Done when it stands."""
        settings, reference = flight.settings, flight.reference
        glide(reference, 0.0, 0.0, -settings.landing_speed, settings.acceleration, flight.period)
        turn_to(reference, float(reference[9]), flight.parameters.yaw_rate, flight.period)
        return bool(reference[2] < flight.states[0, 2] - BELOW and abs(flight.states[0, 9]) < STILL)


class Descend(Land):
    """Goes down without a position: level, so that the wind carries it away, at the velocity that a landing has."""

    direct = True
    # 1/s, by which an error of the vertical velocity decays, m/s² at most, and s of standing until it has landed.
    _BACK, _MOST, _STANDS = 2.0, 4.0, 1.0

    def __init__(self) -> None:
        self._stood = 0.0

    def advance(self, flight: Guidance) -> bool:
        """Done when it has stood for a second."""
        climb = float(flight.states[0, 9])
        error = -flight.settings.landing_speed - climb
        up = max(-self._MOST, min(self._MOST, self._BACK * error))
        flight.demands[:] = 0.0, 0.0, flight.parameters.gravity + up, flight.reference[9], 0.0
        self._stood = self._stood + flight.period if abs(climb) < STILL else 0.0
        return self._stood >= self._STANDS
