"""An airframe: what a controller has to know of a multirotor, and what its rotors can do together."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sim_node.geometry.arrays import FloatArray

# Below this part of the largest singular value rotors have no say over a moment or the thrust.
WITHOUT_SAY = 1e-6


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
    def least(self) -> FloatArray:
        """Thrusts (R,) in N at the slowest speeds."""
        return np.asarray(self.coefficients * self.slowest**2)

    @property
    def most(self) -> FloatArray:
        """Thrusts (R,) in N at the fastest speeds."""
        return np.asarray(self.coefficients * self.fastest**2)


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
        if len(strengths) == 4 and strengths[3] > WITHOUT_SAY * strengths[0]:
            return np.asarray(np.linalg.pinv(matrix), dtype=np.float64)
        missing = ["thrust, roll, pitch and yaw each by themselves"]
    raise ValueError(f"{len(airframe.positions)} rotors cannot command {', '.join(missing)}")
