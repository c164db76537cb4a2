"""How large numbers may be: positions and stamps of worlds, and each quantity that is set in a run from outside."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

# Stamps are builtin_interfaces/Time, which has 31 bits of seconds.
MAX_STAMP_NS = (2**31 - 1) * 1_000_000_000
# Metres; at this distance a double still resolves a millimetre.
MAX_DISTANCE = 1e12
# kg, kg m^2, and numbers of joints that have no closer bound.
MAX_MASS = 1e9
# Gains: N/m, N m/rad, N s/m, N m s/rad.
MAX_STIFFNESS = 1e12
# m/s and rad/s: more than light has.
MAX_RATE = 1e9
# Of actuators, in the unit of their type. MuJoCo sets all controls to zero if one is above ten times as much.
MAX_TARGET = 1e9
# N and N m, and coefficients of drag.
MAX_FORCE = 1e12
_DISTANCE, _RATE = (-MAX_DISTANCE, MAX_DISTANCE), (-MAX_RATE, MAX_RATE)
_TARGET, _FORCE, _PART = (-MAX_TARGET, MAX_TARGET), (-MAX_FORCE, MAX_FORCE), (0.0, 1.0)

# By quantity: the range of its numbers, in SI units. The quaternion of a pose is checked by its norm.
BOUNDS: Mapping[str, tuple[float, float]] = {
    **dict.fromkeys(("pose", "point", "position", "positions"), _DISTANCE),
    **dict.fromkeys(("twist", "cmd_vel", "velocity", "velocities", "linear_velocity", "angular_velocity"), _RATE),
    **dict.fromkeys(("target", "targets", "position target", "velocity target", "effort target", "selection"), _TARGET),
    **dict.fromkeys(("effort", "efforts"), _TARGET),
    **dict.fromkeys(("wrench", "force", "torque", "least_force", "most_force"), _FORCE),
    "speeds": (0.0, MAX_RATE),
    **dict.fromkeys(("engagement", "thrust"), _PART),
}


def fault(quantity: str, given: npt.ArrayLike) -> str:
    """Check numbers against the bounds of a quantity.

    Args:
        quantity: One of BOUNDS.
        given: The numbers, of any shape.

    Returns:
        What is wrong with them, to follow their name and value in a message; empty if they are in range.
    """
    numbers, (low, high) = np.asarray(given, dtype=np.float64), BOUNDS[quantity]
    if ((numbers >= low) & (numbers <= high)).all():
        return ""
    wrong = "is out of range" if np.isfinite(numbers).all() else "is not finite"
    return f"{wrong}; allowed: {low:g} to {high:g}"
