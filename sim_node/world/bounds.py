"""Bounds of numbers: positions and stamps of worlds, and quantities that are set externally during a run."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

# Stamps are builtin_interfaces/Time, which has 31 bits of seconds.
MAX_STAMP_NS = (2**31 - 1) * 1_000_000_000
# Maximum distance, m, at which a double still resolves a millimetre.
MAX_DISTANCE = 1e12
# Maximum mass, kg, and inertia, kg m^2; also for numbers of joints without a tighter bound.
MAX_MASS = 1e9
# Maximum gain: N/m, N m/rad, N s/m, N m s/rad.
MAX_STIFFNESS = 1e12
# Maximum speed, m/s and rad/s: above the speed of light.
MAX_RATE = 1e9
# Maximum target of actuators, in the unit of their type. MuJoCo zeroes all controls if one exceeds ten times this.
MAX_TARGET = 1e9
# Maximum force, N, and torque, N m; also for drag coefficients.
MAX_FORCE = 1e12
_DISTANCE, _RATE = (-MAX_DISTANCE, MAX_DISTANCE), (-MAX_RATE, MAX_RATE)
_TARGET, _FORCE, _PART = (-MAX_TARGET, MAX_TARGET), (-MAX_FORCE, MAX_FORCE), (0.0, 1.0)

# Range of the numbers of each quantity, in SI units. The quaternion of a pose is checked by its norm.
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
        quantity: A key of BOUNDS.
        given: The numbers, of any shape.

    Returns:
        The fault, to follow the name and value in a message; empty if they are in range.
    """
    numbers, (low, high) = np.asarray(given, dtype=np.float64), BOUNDS[quantity]
    if ((numbers >= low) & (numbers <= high)).all():
        return ""
    wrong = "is out of range" if np.isfinite(numbers).all() else "is not finite"
    return f"{wrong}; allowed: {low:g} to {high:g}"
