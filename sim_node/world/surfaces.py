"""Surfaces of shapes: friction, restitution, collision layers and materials."""

from __future__ import annotations

import math
from collections.abc import Iterator
from collections.abc import Mapping as AnyMapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.world.declared import Fault, Nested, declared, given, places_of, rule
from sim_node.world.image_files import image_fault
from sim_node.world.problems import Place
from sim_node.world.quantities import Direction, FileOf, FrameName, Label, ListOf, Number, PartOf, Word
from sim_node.world.readers.yaml_nodes import Mapping
from sim_node.world.readers.yaml_values import Table, Value

CONES = ("pyramidal", "elliptic")
SOLVERS = ("newton", "cg", "pgs")
# Parts of MuJoCo's pipeline that `physics.flags` switches on or off, by MuJoCo's names.
FLAGS = (
    *("equality", "frictionloss", "limit", "clampctrl", "warmstart", "filterparent", "refsafe", "midphase"),
    *("eulerdamp", "nativeccd", "multiccd", "island", "sleep"),
)
# With pyramidal cones, or elliptic ones at impratio 1, shapes creep on slopes that they should stick to.
STICKING_CONE, STICKING_IMPRATIO = "elliptic", 10.0
DEFAULT_LAYER = "default"
# MuJoCo's default friction: sliding (dimensionless), torsional (m), rolling (m).
DEFAULT_FRICTION = (1.0, 0.005, 0.0001)
DEFAULT_CONTACT_TIME = 0.02
# The purpose of a shape besides its mass; "" stands for both.
ONLY = ("visual", "collision")
# Which of two friction coefficients applies: MuJoCo's rule, and that of Gazebo's DART.
COMBINE = ("larger", "smaller")
# An impedance that does not depend on penetration makes a contact a linear spring and damper.
IMPEDANCE = 0.99
# Tolerance of the restitution that a bounce is simulated with.
BOUNCE_TOLERANCE = 0.03
# Minimum restitution: 0 would need infinite damping.
_LEAST_BOUNCE = 0.05
_MAX_STEPS, _PHASES = 60, 16


LAYER, MADE_OF = Label(of="layer"), Label(of="contact material")
COEFFICIENT, RESTITUTION, CONTACT_TIME = Number(0.0, 100.0), Number(0.0, 0.95), Number(1e-4, 1.0)


def _some_kind(found: dict[str, Any], value: Value, context: Any) -> None:
    if isinstance(value.node, Mapping) and not value.node.entries:
        value.error(f"is empty; allowed: a number, or {', '.join(FRICTION.names)}")


FRICTION = Nested(
    ("sliding", "torsional", "rolling"),
    "Friction: a number, against sliding, or each kind.",
    short="sliding",
    needs={"": ("sliding", "torsional", "rolling")},
    then=_some_kind,
    written=lambda given: given["sliding"] if given.keys() == {"sliding"} else given or None,
)


@declared
class SurfaceVelocity:
    """How a surface runs around its shape, as a belt does, while the shape stays where it is.

    At its normal n it moves along `axis` x n: with the axis y, forwards (x) on the upper side and back on the lower.
    """

    speed: float = given(Number(-1e3, 1e3), "Speed", "m/s", default=0.0)
    joint: str = given(FrameName(), "The joint that drives it, in addition", default="")
    radius: float = given(Number(1e-6, 1e3), "Speed of the surface over the joint's", "m", default=1.0, omit=True)
    axis: FloatArray = given(Direction(), "What it runs about, in the axes of the shape", default=(0.0, 1.0, 0.0))
    places: AnyMapping[str, Place] = places_of()

    @rule
    def is_driven(self) -> Iterator[Fault]:
        """Yield a fault for a radius without a joint."""
        if not self.joint and "radius" in self.places:
            yield "radius", "has no effect without a joint"


@declared(spread={"friction": FRICTION})
class Surface:
    """What a shape does where it touches others."""

    sliding: float | None = given(COEFFICIENT, "Coefficient of sliding friction; usually 1", default=None)
    torsional: float | None = given(COEFFICIENT, "Torque per force against turning on the spot", "m", default=None)
    rolling: float | None = given(COEFFICIENT, "Torque per force against rolling", "m", default=None)
    restitution: float | None = given(RESTITUTION, "Share of the speed that a bounce keeps", default=None)
    # The longer a bounce, the deeper the penetration: see `penetration`.
    contact_time: float = given(CONTACT_TIME, "Duration of a bounce", "s", default=DEFAULT_CONTACT_TIME, omit=True)
    layer: str = given(LAYER, "The collision layer of the shape", default=DEFAULT_LAYER, omit=True)
    touches: tuple[str, ...] | None = given(ListOf(LAYER), "Layers that it touches, if they do its own", default=None)
    contact_material: str = given(MADE_OF, "What it is made of, for contact_materials", default="", omit=True)
    velocity: SurfaceVelocity | None = given(
        PartOf(SurfaceVelocity, "speed"), "How it runs around the shape", default=None, key="surface_velocity"
    )
    # "smaller" applies if either of two shapes states it.
    combine: str = given(Word(COMBINE), "Which of two coefficients of friction applies", default="larger", omit=True)
    places: AnyMapping[str, Place] = places_of()

    @rule
    def bounces(self) -> Iterator[Fault]:
        """Yield a fault for a duration of bounces without a restitution."""
        if self.restitution is None and "contact_time" in self.places:
            yield "contact_time", "has no effect without restitution"

    @property
    def has_friction(self) -> bool:
        """Whether any friction is given."""
        return any(value is not None for value in (self.sliding, self.torsional, self.rolling))

    def stated(self) -> tuple[str, ...]:
        """Return the keys of contacts that differ from the defaults."""
        usual, given = Surface(), {"friction": "has_friction", "surface_velocity": "velocity"}
        keys = ("friction", "restitution", "combine", "layer", "touches", "surface_velocity")
        of = ((key, given.get(key, key)) for key in keys)
        return tuple(key for key, name in of if getattr(self, name) != getattr(usual, name))

    @property
    def decides(self) -> bool:
        """Whether friction or restitution is given. Such a shape determines its contacts with shapes without either."""
        return self.has_friction or self.restitution is not None


@declared(define="material")
class Material:
    """Texture and roughness."""

    texture: Path | None = given(FileOf(image_fault), "An image, which the colour of the shape tints", default=None)
    # Shapes other than planes and heightmaps show it once per side.
    texture_size: float = given(Number(1e-6, 1e6), "Edge of the square that the image covers", "m", default=1.0)
    roughness: float | None = given(Number(0.0, 1.0), "0 for a mirror, 1 for a dull surface", default=None)

    @property
    def _derived(self) -> tuple[str, ...]:
        return ("texture_size",) if self.texture is None else ()

    @staticmethod
    def _derive(found: dict[str, Any], table: Table) -> None:
        """Record a fault for a size without a texture."""
        if (size := table.get("texture_size")) is not None and "texture" not in table:
            size.error("needs a texture")


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

    It is unbounded as the restitution goes to 0: restitutions below 0.05 get the ratio of 0.05.
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
    """Return the maximum penetration of two shapes in a bounce, m.

    It is v / omega exp(-z / w atan2(w, z)), at which the velocity of the damped spring of `solref` is zero.

    Args:
        restitution: Coefficient of restitution.
        contact_time: Duration of the bounce, s.
        speed: Impact speed, m/s.
    """
    z, omega = damping_ratio(restitution), math.pi / contact_time
    if z < 1.0:
        w = math.sqrt(1.0 - z * z)
        return speed / omega * math.exp(-z / w * math.atan2(w, z))
    w = math.sqrt(max(z * z - 1.0, 1e-12))
    return speed / omega * math.exp(-z / (2.0 * w) * math.log((z + w) / (z - w)))


def largest_timestep(restitution: float, contact_time: float, integrator: str) -> float:
    """Return the largest timestep (s) at which bounces have the given restitution and gain no energy.

    The bounce of `solref` is integrated as in MuJoCo, with 2 to 60 timesteps per bounce and for any phase of the impact
    within a timestep. The result is the largest timestep such that, for it and all smaller ones, the restitution
    deviates from the desired one by at most BOUNCE_TOLERANCE and half of its difference from 1.

    Args:
        restitution: Coefficient of restitution.
        contact_time: Duration of a bounce, s.
        integrator: One of INTEGRATORS. All but rk4 treat contacts explicitly.
    """
    return contact_time / _least_steps(restitution, integrator == "rk4")


@lru_cache(maxsize=256)
def _least_steps(restitution: float, is_rk4: bool) -> float:
    """Return the smallest number of timesteps per bounce."""
    steps = np.arange(_MAX_STEPS, 1.5, -0.5)[:, None]
    omega = math.pi / steps  # per timestep
    k, b = omega**2, 2.0 * damping_ratio(restitution) * omega
    # Impacts at speed 1, at the earliest and the latest time in the preceding timestep.
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
    # With strong damping, shapes may still be in contact: too slow, but not because of the timestep.
    below = np.where(restitution > bounce(1.0), -error, 0.0).max(axis=1)
    fits = (error.max(axis=1) <= min(BOUNCE_TOLERANCE, 0.5 * (1.0 - restitution))) & (below <= BOUNCE_TOLERANCE)
    wrong = np.flatnonzero(~fits)
    return float(steps[wrong[0] - 1, 0] if len(wrong) and wrong[0] > 0 else steps[0 if len(wrong) else -1, 0])
