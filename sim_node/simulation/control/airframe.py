"""Airframe: the mass, inertia and rotors of a multirotor, and the controller gains that follow from them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sim_node.spatial.geometry.arrays import FloatArray

# Below this fraction of the largest singular value, rotors have no authority over a moment or the thrust.
MIN_AUTHORITY = 1e-6


@dataclass(frozen=True, slots=True, eq=False)
class Airframe:
    """A multirotor with R rotors, in its body's axes (FLU).

    Attributes:
        mass: Mass, kg.
        inertia: Inertia tensor (3, 3) about the centre of mass, kg m^2.
        positions: Positions (R, 3) of the rotors from the centre of mass, m.
        axes: Unit vectors (R, 3) along which the rotors thrust.
        moments: Torque on the body about a rotor's axis per thrust (R,), m; negative for a rotor that turns
            counter-clockwise.
        coefficients: Thrust per squared rotor speed (R,), N s^2/rad^2.
        slowest: Rotor speeds (R,) at the smallest command above 0, rad/s.
        fastest: Rotor speeds (R,) at command 1, rad/s.
        lag: Time constant of the rotor speeds, s.
    """

    mass: float
    inertia: FloatArray
    positions: FloatArray
    axes: FloatArray
    moments: FloatArray
    coefficients: FloatArray
    slowest: FloatArray
    fastest: FloatArray
    lag: float

    @property
    def min_thrusts(self) -> FloatArray:
        """Thrusts (R,) in N at the slowest speeds."""
        return np.asarray(self.coefficients * self.slowest**2)

    @property
    def max_thrusts(self) -> FloatArray:
        """Thrusts (R,) in N at the fastest speeds."""
        return np.asarray(self.coefficients * self.fastest**2)

    @property
    def lift(self) -> float:
        """Maximum thrust along the body's z axis, N."""
        return float(self.max_thrusts @ self.axes[:, 2])


def effectiveness(airframe: Airframe) -> FloatArray:
    """Return the thrust along z and the moments about x, y, z (4, R) that each rotor produces with 1 N of thrust."""
    moments = np.cross(airframe.positions, airframe.axes) + airframe.moments[:, None] * airframe.axes
    return np.asarray(np.concatenate([airframe.axes[:, 2:], moments], axis=1).T)


def allocation(airframe: Airframe) -> FloatArray:
    """Return the rotor thrusts (R, 4) in N for a unit of thrust and of each moment, of least squared norm.

    The pseudo-inverse: Johansen & Fossen, Control allocation - A survey, Automatica 49(5), 2013, section 2.2.1.

    Raises:
        ValueError: The rotors cannot command all four.
    """
    matrix = effectiveness(airframe)
    # Rows are scaled by their largest entry: metres and newtons cannot be compared.
    scale = np.abs(matrix).max(axis=1)
    names = ("thrust along z", "roll", "pitch", "yaw")
    missing = [name for name, most in zip(names, scale.tolist(), strict=True) if most <= 1e-12]
    if not missing:
        strengths: npt.NDArray[np.float64] = np.linalg.svd(matrix / scale[:, None], compute_uv=False)
        if len(strengths) == 4 and strengths[3] > MIN_AUTHORITY * strengths[0]:
            return np.asarray(np.linalg.pinv(matrix), dtype=np.float64)
        missing = ["thrust, roll, pitch and yaw each by themselves"]
    raise ValueError(f"{len(airframe.positions)} rotors cannot command {', '.join(missing)}")


# Ratio of the bandwidths of neighbouring loops, so that the outer one need not model the inner one.
APART = 3.0
# Bandwidth of the rate loop for rotors without lag, rad/s.
MAX_LOOP_RATE = 20.0
# A loop on a lag T at 0.4/T is damped by 0.8: the roots of T s^2 + s + 0.4/T.
OF_LAG = 0.4
# Ratio of the yaw loop to those of roll and pitch: the yaw moment is only the drag of propellers.
YAW = 0.4
# Maximum tilt of the thrust from the vertical, and its minimum vertical part as a fraction of hover thrust.
MAX_TILT, MIN_HOVER = math.radians(35.0), 0.3
# Fraction of the maximum thrust that setpoints may use; the rest is reserved for attitude control.
MAX_THRUST = 0.9
# Fraction of the turn rate from which an airframe can brake as fast as the attitude loop demands.
BRAKING = 0.7


class Gains(NamedTuple):
    """A row of the controller's parameters.

    Attributes:
        position: Gain of the position loop, 1/s.
        velocity: Gain of the velocity loop, 1/s.
        integral: Integral gain of the velocity loop, 1/s^2.
        attitude: Gain of the attitude loop for roll and pitch, 1/s.
        yaw: Gain of the attitude loop for yaw, 1/s.
        rate: Gain of the rate loop, 1/s.
        max_speed: Maximum speed of the position loop, m/s.
        max_turn: Maximum roll and pitch rate, rad/s.
        max_yaw: Maximum yaw rate, rad/s.
        max_thrust: Maximum thrust over mass, m/s^2.
        mass: Mass, kg.
    """

    position: float
    velocity: float
    integral: float
    attitude: float
    yaw: float
    rate: float
    max_speed: float
    max_turn: float
    max_yaw: float
    max_thrust: float
    mass: float


def gains(airframe: Airframe, max_speed: float, max_yaw: float) -> Gains:
    """Return the gains of an airframe for speeds up to `max_speed` m/s and yaw rates up to `max_yaw` rad/s.

    Raises:
        ValueError: The rotors cannot command thrust and all three moments.
    """
    rate = MAX_LOOP_RATE if airframe.lag <= 0.0 else min(MAX_LOOP_RATE, OF_LAG / airframe.lag)
    attitude = rate / APART
    velocity = attitude / APART
    position = velocity / APART
    return Gains(
        position=position,
        velocity=velocity,
        integral=0.5 * velocity * position,
        attitude=attitude,
        yaw=YAW * attitude,
        rate=rate,
        max_speed=max_speed,
        max_turn=BRAKING * _max_acceleration(airframe) / attitude,
        max_yaw=max_yaw,
        max_thrust=MAX_THRUST * airframe.lift / airframe.mass,
        mass=airframe.mass,
    )


def _max_acceleration(airframe: Airframe) -> float:
    """Return the angular acceleration, rad/s^2, available about x and y at half of the rotors' thrust."""
    headroom = 0.5 * (airframe.max_thrusts - airframe.min_thrusts)
    moments = allocation(airframe)[:, 1:3]
    with np.errstate(divide="ignore"):
        most = np.min(headroom[:, None] / np.abs(moments), axis=0)
    return float(np.min(most / np.diagonal(airframe.inertia)[:2]))
