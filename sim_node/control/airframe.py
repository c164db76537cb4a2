"""An airframe: what a controller has to know of a multirotor, and the gains that follow from it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sim_node.geometry.arrays import FloatArray

# Below this part of the largest singular value rotors have no authority over a moment or the thrust.
MIN_AUTHORITY = 1e-6


@dataclass(frozen=True, slots=True, eq=False)
class Airframe:
    """A multirotor in its body's axes (FLU).

    mass kg; inertia (3, 3) about the centre of mass, kg m^2. For R rotors: positions (R, 3) from the centre of mass, m;
    axes (R, 3), unit, along which they thrust; moments (R,): torque on the body about that axis over thrust, m, below
    zero for a rotor that turns counter-clockwise; coefficients (R,): thrust over squared speed, N s^2/rad^2; slowest
    and fastest (R,), rad/s, the speeds of the commands 0+ and 1; lag: time constant of the speed, s.
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
    """The thrust along z and the moments about x, y, z (4, R) that each rotor makes of 1 N."""
    moments = np.cross(airframe.positions, airframe.axes) + airframe.moments[:, None] * airframe.axes
    return np.asarray(np.concatenate([airframe.axes[:, 2:], moments], axis=1).T)


def allocation(airframe: Airframe) -> FloatArray:
    """The thrusts (R, 4) in N that make a unit of thrust and of each moment with the least effort.

    The pseudo-inverse: Johansen & Fossen, Control allocation - A survey, Automatica 49(5), 2013, section 2.2.1.
    Raises ValueError where the rotors do not command all four.
    """
    matrix = effectiveness(airframe)
    # What a rotor can do, in units of the largest: metres and newtons do not compare.
    scale = np.abs(matrix).max(axis=1)
    names = ("thrust along z", "roll", "pitch", "yaw")
    missing = [name for name, most in zip(names, scale.tolist(), strict=True) if most <= 1e-12]
    if not missing:
        strengths: npt.NDArray[np.float64] = np.linalg.svd(matrix / scale[:, None], compute_uv=False)
        if len(strengths) == 4 and strengths[3] > MIN_AUTHORITY * strengths[0]:
            return np.asarray(np.linalg.pinv(matrix), dtype=np.float64)
        missing = ["thrust, roll, pitch and yaw each by themselves"]
    raise ValueError(f"{len(airframe.positions)} rotors cannot command {', '.join(missing)}")


# Each loop is so many times slower than the one inside it, which it then need not model.
APART = 3.0
# Of rotors without lag, rad/s.
MAX_LOOP_RATE = 20.0
# A loop on a lag T at 0.4/T is damped by 0.8: the roots of T s^2 + s + 0.4/T.
OF_LAG = 0.4
# Yaw's moment is but the drag of propellers: its attitude loop is slower than those of roll and pitch by this.
YAW = 0.4
# Thrust points at most this far from the vertical, and keeps this part of what would hover, at least.
MAX_TILT, MIN_HOVER = math.radians(35.0), 0.3
# Of the maximum thrust: the rest is for turning.
MAX_THRUST = 0.9
# Of the turn rate from which an airframe can brake, as the attitude loop asks it to.
BRAKING = 0.7


class Gains(NamedTuple):
    """A row of the controller's parameters; rates 1/s."""

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
    """The gains of an airframe that is asked for at most `max_speed` m/s and `max_yaw` rad/s.

    Raises ValueError where its rotors do not command it.
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
    """The angular acceleration, rad/s^2, that the rotors give about x and y around half of their thrust."""
    headroom = 0.5 * (airframe.max_thrusts - airframe.min_thrusts)
    moments = allocation(airframe)[:, 1:3]
    with np.errstate(divide="ignore"):
        most = np.min(headroom[:, None] / np.abs(moments), axis=0)
    return float(np.min(most / np.diagonal(airframe.inertia)[:2]))
