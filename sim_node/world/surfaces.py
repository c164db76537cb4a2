"""What shapes do where they touch, and how they look: friction, restitution, collision layers, materials."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

import numpy as np

from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.world.problems import Place

CONES = ("pyramidal", "elliptic")
# Parts of MuJoCo's pipeline that `physics.flags` switches on or off, by MuJoCo's names.
FLAGS = (
    *("equality", "frictionloss", "limit", "clampctrl", "warmstart", "filterparent", "refsafe", "midphase"),
    *("eulerdamp", "nativeccd", "multiccd", "island"),
)
# With pyramidal cones, and with elliptic ones at impratio 1, shapes creep on slopes that they should stick to.
STICKING_CONE, STICKING_IMPRATIO = "elliptic", 10.0
DEFAULT_LAYER = "default"
# MuJoCo's defaults: dimensionless, m, m.
DEFAULT_FRICTION = (1.0, 0.005, 0.0001)
DEFAULT_CONTACT_TIME = 0.02
# Key of a shape: smallest value, largest value, unit.
RANGES: dict[str, tuple[float, float, str]] = {
    "sliding": (0.0, 100.0, ""),
    "torsional": (0.0, 100.0, "m"),
    "rolling": (0.0, 100.0, "m"),
    "restitution": (0.0, 0.95, ""),
    "contact_time": (1e-4, 1.0, "s"),
    "roughness": (0.0, 1.0, ""),
    "texture_size": (1e-6, 1e6, "m"),
}
# What a shape is for besides its mass. "" stands for both.
ONLY = ("visual", "collision")
TEXTURES = (".png", ".jpg", ".jpeg")
# An impedance that does not depend on penetration makes a contact a linear spring and damper.
IMPEDANCE = 0.99
# The bounce that a world gets may differ by this much from the restitution.
BOUNCE_TOLERANCE = 0.03
# A restitution of 0 would need infinite damping.
_LEAST_BOUNCE = 0.05
_MAX_STEPS, _PHASES = 60, 16


@dataclass(frozen=True, slots=True)
class Surface:
    """What a shape does where it touches others.

    Attributes:
        sliding: Coefficient of friction against sliding; None for DEFAULT_FRICTION.
        torsional: Friction against turning about the contact's normal (m): torque per force. None for none.
        rolling: Friction against rolling (m): torque per force. None for none.
        restitution: Speed after a bounce as a fraction of the speed before it; None for MuJoCo's default contact.
        contact_time: Duration of a bounce, s. The longer it is, the further shapes penetrate: see `penetration`.
        layer: The collision layer.
        touches: Layers whose shapes it makes contact with, if they do with its own; None for all.
        contact_material: The material whose contact materials apply to it; empty for none.
        places: Where the file gives each key.
    """

    sliding: float | None = None
    torsional: float | None = None
    rolling: float | None = None
    restitution: float | None = None
    contact_time: float = DEFAULT_CONTACT_TIME
    layer: str = DEFAULT_LAYER
    touches: tuple[str, ...] | None = None
    contact_material: str = ""
    places: Mapping[str, Place] = field(default_factory=dict, compare=False)

    @property
    def has_friction(self) -> bool:
        """Whether any friction is given."""
        return any(value is not None for value in (self.sliding, self.torsional, self.rolling))

    @property
    def decides(self) -> bool:
        """Whether friction or restitution is given: such a shape decides its contacts with shapes without."""
        return self.has_friction or self.restitution is not None


@dataclass(frozen=True, slots=True)
class Material:
    """How a shape looks besides its colour.

    Attributes:
        texture: An image (PNG or JPEG); the colour of the shape tints it. None for none.
        texture_size: Edge of one repetition on a plane or a heightmap, m. Other shapes show the image once per side.
        roughness: 0 (a mirror's highlights) to 1 (matt); None for the renderer's default, 0.5.
        places: Where the file gives each key.
    """

    texture: Path | None = None
    texture_size: float = 1.0
    roughness: float | None = None
    places: Mapping[str, Place] = field(default_factory=dict, compare=False)


def bounce(damping_ratio: float) -> float:
    """Return the coefficient of restitution of a linear spring and damper that cannot pull.

    For a damping ratio z < 1 it is exp(-z / w (pi - atan2(2 z w, 1 - 2 z^2))) with w = sqrt(1 - z^2), for z > 1 it is
    exp(-z / W ln((z + W) / (z - W))) with W = sqrt(z^2 - 1): T. Schwager and T. Poeschel, Coefficient of restitution
    and linear-dashpot model revisited, Granular Matter 9 (2007), equations 20 and 21. The contact ends when the force
    vanishes, not the penetration.
    """
    z = damping_ratio
    if abs(z - 1.0) < 1e-9:
        return math.exp(-2.0)
    if z < 1.0:
        w = math.sqrt(1.0 - z * z)
        return math.exp(-z / w * (math.pi - math.atan2(2.0 * z * w, 1.0 - 2.0 * z * z)))
    w = math.sqrt(z * z - 1.0)
    return math.exp(-z / w * math.log((z + w) / (z - w)))


@lru_cache(maxsize=256)
def damping_ratio(restitution: float) -> float:
    """Return the damping ratio at which a contact has a coefficient of restitution, by bisection of `bounce`.

    It grows without limit towards 0: restitutions below 0.05 get the ratio of 0.05.
    """
    wanted, low, high = max(restitution, _LEAST_BOUNCE), 0.0, 10.0
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if bounce(middle) > wanted else (low, middle)
    return low


def solref(restitution: float, contact_time: float) -> tuple[float, float]:
    """Return MuJoCo's solref of a contact with a coefficient of restitution.

    With a constant impedance, MuJoCo's contact obeys r'' = -b r' - k r for the penetration r, whatever the masses are
    (MuJoCo, Computation, Solver parameters); solref as (-k, -b) gives both. A half-period of pi / omega is the
    duration of a bounce: k = omega^2 and b = 2 z omega with omega = pi / contact_time and z = `damping_ratio`.
    """
    frequency = math.pi / contact_time
    return -(frequency**2), -2.0 * damping_ratio(restitution) * frequency


def penetration(restitution: float, contact_time: float, speed: float) -> float:
    """Return how far a shape penetrates another one in a bounce, m.

    It is v / omega exp(-z / w atan2(w, z)), where the velocity of the damped spring of `solref` is zero.

    Args:
        restitution: Coefficient of restitution.
        contact_time: Duration of the bounce, s.
        speed: Speed at which they meet, m/s.
    """
    z, omega = damping_ratio(restitution), math.pi / contact_time
    if z < 1.0:
        w = math.sqrt(1.0 - z * z)
        return speed / omega * math.exp(-z / w * math.atan2(w, z))
    w = math.sqrt(max(z * z - 1.0, 1e-12))
    return speed / omega * math.exp(-z / (2.0 * w) * math.log((z + w) / (z - w)))


def largest_timestep(restitution: float, contact_time: float, integrator: str) -> float:
    """Return the largest timestep (s) at which bounces have a restitution and gain no energy.

    The bounce of `solref` is integrated as MuJoCo does, with 2 to 60 timesteps per bounce and for any phase of the
    impact in a timestep. The result is the largest timestep from which on all smaller ones are within
    BOUNCE_TOLERANCE of the wish, and within half of what is left to 1.

    Args:
        restitution: Coefficient of restitution.
        contact_time: Duration of a bounce, s.
        integrator: One of INTEGRATORS. All but rk4 take contacts as explicit.
    """
    return contact_time / _least_steps(restitution, integrator == "rk4")


@lru_cache(maxsize=256)
def _least_steps(restitution: float, is_rk4: bool) -> float:
    """Return the smallest number of timesteps per bounce."""
    steps = np.arange(_MAX_STEPS, 1.5, -0.5)[:, None]
    omega = math.pi / steps  # per timestep
    k, b = omega**2, 2.0 * damping_ratio(restitution) * omega
    # Impacts at speed 1, as early and as late in the timestep before as can be.
    r = -np.linspace(0.0, 1.0, _PHASES, endpoint=False) * np.ones_like(steps)
    v = -np.ones_like(r)

    def push(r: FloatArray, v: FloatArray) -> FloatArray:
        return np.where(r < 0.0, np.maximum(-k * r - b * v, 0.0), 0.0)

    for _ in range(2 * _MAX_STEPS):
        if is_rk4:
            v1, a1 = v, push(r, v)
            v2 = v + 0.5 * a1
            a2 = push(r + 0.5 * v1, v2)
            v3 = v + 0.5 * a2
            a3 = push(r + 0.5 * v2, v3)
            v4 = v + a3
            a4 = push(r + v3, v4)
            r, v = r + (v1 + 2.0 * v2 + 2.0 * v3 + v4) / 6.0, v + (a1 + 2.0 * a2 + 2.0 * a3 + a4) / 6.0
        else:
            v = v + push(r, v)
            r = r + v
    error = v - max(restitution, _LEAST_BOUNCE)
    # With much damping shapes may still be in contact: slower than the wish, which is no fault of the timestep.
    below = np.where(restitution > bounce(1.0), -error, 0.0).max(axis=1)
    fits = (error.max(axis=1) <= min(BOUNCE_TOLERANCE, 0.5 * (1.0 - restitution))) & (below <= BOUNCE_TOLERANCE)
    wrong = np.flatnonzero(~fits)
    return float(steps[wrong[0] - 1, 0] if len(wrong) and wrong[0] > 0 else steps[0 if len(wrong) else -1, 0])
