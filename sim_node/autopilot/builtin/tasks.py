"""What a flight is doing at the moment: one task at a time, each moves the setpoint on and says when it is done."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Protocol

import numpy as np

from sim_node.autopilot.axes import yaw_of
from sim_node.control.trajectories import approach, glide, turn_to
from sim_node.geometry import quaternions
from sim_node.geometry.arrays import FloatArray

if TYPE_CHECKING:
    from sim_node.autopilot.builtin.flight import Flight

# The setpoint is where it leads to within this, m, and turned there, rad.
ARRIVED, TURNED = 0.1, 0.05
# What leads up by so much lifts a vehicle off the ground, m or m/s.
LIFTS = 0.3
# Landed is who stands still, this slowly (m/s), while the setpoint has gone so far below (m).
STILL, BELOW = 0.1, 0.3


class Task(Protocol):
    """One thing to do. direct: it writes the flight's demands and not its reference."""

    direct: bool

    def lifts(self, flight: Flight) -> bool:
        """Whether it is to begin with leaving the ground."""

    def advance(self, flight: Flight) -> bool:
        """Moves reference or demands a period on; whether there is nothing left to do."""


class Hold:
    """Brakes and stays."""

    direct = False

    def lifts(self, flight: Flight) -> bool:
        """It leaves a vehicle where it is."""
        return False

    def advance(self, flight: Flight) -> bool:
        """Never done."""
        glide(flight.reference, 0.0, 0.0, 0.0, flight.parameters.acceleration, flight.period)
        turn_to(flight.reference, float(flight.reference[9]), flight.parameters.yaw_rate, flight.period)
        return False


class Go:
    """Flies to a place (ENU, m) and stays `hold` seconds once the vehicle is within radius; yaw rad, NaN to keep it."""

    direct = False

    def __init__(
        self, goal: FloatArray, yaw: float = math.nan, *, speed: float, hold: float = 0.0, radius: float = 0.5
    ) -> None:
        self.goal, self.yaw, self.speed = np.array(goal, dtype=np.float64), yaw, speed
        self._hold, self._radius, self._held = hold, radius, -1.0

    def lifts(self, flight: Flight) -> bool:
        """Where the place is above."""
        return bool(self.goal[2] > flight.position[2] + LIFTS)

    def advance(self, flight: Flight) -> bool:
        """Done when setpoint and vehicle are there, and it has stayed."""
        parameters, reference, period = flight.parameters, flight.reference, flight.period
        left = approach(reference, self.goal, self.speed, parameters.acceleration, period)
        yaw = float(reference[9]) if math.isnan(self.yaw) else self.yaw
        turning = turn_to(reference, yaw, parameters.yaw_rate, period)
        if self._held < 0.0:
            if left > ARRIVED or turning > TURNED or math.dist(flight.position, self.goal) > self._radius:
                return False
            self._held = 0.0
        self._held += period
        return self._held >= self._hold


class Drift:
    """Flies at a velocity (ENU, m/s), turning at a rate (rad/s), or to a yaw where there is one."""

    direct = False

    def __init__(self, velocity: tuple[float, float, float], yaw_rate: float = 0.0, yaw: float = math.nan) -> None:
        self.velocity, self.yaw_rate, self.yaw = velocity, yaw_rate, yaw

    def lifts(self, flight: Flight) -> bool:
        """Where it leads up."""
        return self.velocity[2] > LIFTS

    def advance(self, flight: Flight) -> bool:
        """Never done."""
        reference, period = flight.reference, flight.period
        glide(reference, *self.velocity, flight.parameters.acceleration, period)
        if math.isnan(self.yaw):
            rate = min(max(self.yaw_rate, -flight.parameters.yaw_rate), flight.parameters.yaw_rate)
            reference[9] += period * rate
            reference[10] = rate
        else:
            turn_to(reference, self.yaw, flight.parameters.yaw_rate, period)
        return False


class Accelerate:
    """Accelerates (ENU, m/s²), whatever comes of it; yaw rad, NaN to keep it."""

    direct = True

    def __init__(self, acceleration: tuple[float, float, float], yaw: float = math.nan) -> None:
        self._acceleration, self._yaw = acceleration, yaw

    def lifts(self, flight: Flight) -> bool:
        """Where it leads up."""
        return self._acceleration[2] > LIFTS

    def advance(self, flight: Flight) -> bool:
        """Never done."""
        x, y, z = self._acceleration
        yaw = flight.reference[9] if math.isnan(self._yaw) else self._yaw
        flight.demands[:] = x, y, z + flight.parameters.gravity, yaw, 0.0
        return False


class Tilt:
    """Holds an attitude [x y z w] (FLU in ENU), turning it at rates (FLU, rad/s); thrust 0 to 1 of all there is."""

    direct = True

    def __init__(self, attitude: FloatArray, rates: tuple[float, float, float], thrust: float) -> None:
        self.attitude, self.rates, self.thrust = attitude, rates, thrust

    def lifts(self, flight: Flight) -> bool:
        """Where its thrust carries the vehicle."""
        return self.thrust * flight.max_thrust > flight.parameters.gravity

    def advance(self, flight: Flight) -> bool:
        """Never done."""
        if any(self.rates):
            turned = quaternions.exp(flight.period * np.array(self.rates))
            self.attitude = quaternions.multiply(self.attitude, turned)
        up = quaternions.rotate(self.attitude, np.array([0.0, 0.0, 1.0]))
        x, y, z, w = self.attitude.tolist()
        flight.demands[:3] = self.thrust * flight.max_thrust * up
        flight.demands[3:] = yaw_of(x, y, z, w), self.rates[2]
        return False


class Land:
    """Goes straight down until the vehicle stands."""

    direct = False

    def lifts(self, flight: Flight) -> bool:
        """Never."""
        return False

    def advance(self, flight: Flight) -> bool:
        """Done when it stands."""
        parameters, reference = flight.parameters, flight.reference
        glide(reference, 0.0, 0.0, -parameters.landing_speed, parameters.acceleration, flight.period)
        turn_to(reference, float(reference[9]), parameters.yaw_rate, flight.period)
        return bool(reference[2] < flight.states[0, 2] - BELOW and abs(flight.states[0, 9]) < STILL)
