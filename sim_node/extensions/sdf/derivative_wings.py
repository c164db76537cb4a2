"""An aircraft by its stability derivatives, as Gazebo's AdvancedLiftDrag has it: a force, and what applies it.

Source: gz-sim, src/systems/advanced_lift_drag/AdvancedLiftDrag.cc. The derivatives are those of AVL.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from sim_node.extensions.sdf.derivatives import derivatives_of
from sim_node.extensions.sdf.wings import AIR_DENSITY
from sim_node.simulation.columns import Columns
from sim_node.simulation.physics.force_elements import CompiledForces
from sim_node.simulation.physics.force_geometry import angle_of, forces_of, pushed_bodies
from sim_node.simulation.physics.wind import WindField
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.world.declared import Fault, declared, given, rule
from sim_node.world.forces import Force
from sim_node.world.model import World
from sim_node.world.part import Rename
from sim_node.world.quantities import Flag, ListOf, Number, PartOf, Text, Vector

if TYPE_CHECKING:
    from mujoco import MjData
    from typing_extensions import Self

    from sim_node.simulation.physics.compiled import Compiled

# Coefficients: drag, side force, lift; rolling, pitching and yawing moment.
COEFFICIENTS = ("CD", "CY", "CL", "Cell", "Cem", "Cen")
# Static coefficients, and their slopes with the angles of attack (a) and sideslip (b), 1/rad.
_STEADY = ("CD0", "CL0", "Cem0", "CLa", "CYa", "Cella", "Cema", "Cena", "CLb", "CYb", "Cellb", "Cemb", "Cenb")
# Slopes with the normalized rates of roll (p), pitch (q) and yaw (r): rate times half a span or chord over speed.
_RATES = tuple(f"{name}{rate}" for rate in "pqr" for name in COEFFICIENTS)
DERIVATIVES = (*_STEADY, "Cema_stall", *_RATES)
# Sharpness of the blend from linear coefficients to those of a flat plate, and the plate's drag (Ostowari and Naik).
_BLEND, _PLATE = 15.0, (-0.224, -0.115)
_ANY, _POSITIVE = Number(), Number(0.0)
MAX_SURFACES = 16


@declared
class ControlSurface:
    """What a joint adds to coefficients for each degree of its angle."""

    joint: str = given(Text(), "The body whose joint deflects it")
    drag: float = given(_ANY, "Coefficient of drag", "1/deg", default=0.0)
    side: float = given(_ANY, "Coefficient of the side force", "1/deg", default=0.0)
    lift: float = given(_ANY, "Coefficient of lift", "1/deg", default=0.0)
    roll: float = given(_ANY, "Coefficient of the rolling moment", "1/deg", default=0.0)
    pitch: float = given(_ANY, "Coefficient of the pitching moment", "1/deg", default=0.0)
    yaw: float = given(_ANY, "Coefficient of the yawing moment", "1/deg", default=0.0)


@declared
class DerivativeWing(Force):
    """Lift, drag, side force and moments of an aircraft by its stability derivatives, with a stall.

    Raises:
        ValueError: An array has the wrong shape.
    """

    type = "stability_derivatives"

    forward: FloatArray = given(Vector(3), "Where it flies, in the body", default=(1.0, 0.0, 0.0))
    upward: FloatArray = given(Vector(3), "Where its lift acts, in the body", default=(0.0, 0.0, 1.0))
    centre: FloatArray = given(
        Vector(3), "Point that they are about, in the body", "m", default=(0, 0, 0), key="center"
    )
    area: float = given(_POSITIVE, "Area", "m^2", default=1.0)
    aspect_ratio: float = given(Number(above=0.0), "Square of the span over the area", default=1.0)
    chord: float = given(_POSITIVE, "Mean aerodynamic chord; area / span if 0", "m", default=0.0)
    efficiency: float = given(Number(above=0.0), "Oswald's factor", default=1.0)
    density: float = given(_POSITIVE, "Density of the air", "kg/m^3", default=AIR_DENSITY)
    alpha_stall: float = given(_POSITIVE, "Angle of attack at which it stalls", "rad", default=0.5 * np.pi)
    derivatives: Mapping[str, float] = given(
        derivatives_of(DERIVATIVES, "Coefficient or slope."),
        "Coefficients and their slopes, by AVL's names; 0 if not given",
        default_factory=dict,
    )
    surfaces: tuple[ControlSurface, ...] = given(
        ListOf(PartOf(ControlSurface), 0, MAX_SURFACES), "Control surfaces", default=()
    )
    whole_pitch: bool = given(
        Flag(), "Whether the pitching moment has all its terms; without, none of alpha, as in Gazebo", default=False
    )

    @rule
    def has_axes(self) -> Iterator[Fault]:
        """Yield a fault for each direction of zero length."""
        for key in ("forward", "upward"):
            if not np.linalg.norm(getattr(self, key)) > 0.0:
                yield key, "a direction needs a length"

    def renamed(self, rename: Rename) -> Self:
        """Return the force with renamed bodies, for a world that includes its own.

        Args:
            rename: Renames the names of its own world.

        Returns:
            The force.
        """
        surfaces = tuple(replace(each, joint=rename.frame(each.joint)) for each in self.surfaces)
        return replace(Force.renamed(self, rename), surfaces=surfaces)

    @property
    def span(self) -> float:
        """The wing span, m."""
        return float(np.sqrt(self.area * self.aspect_ratio))


def open_derivative_wings(
    world: World, compiled: Compiled, data: MjData, wind: WindField, columns: Columns
) -> CompiledForces:
    """Return the forces of all such aircraft of a world."""
    model, forces = compiled.model, forces_of(world, DerivativeWing)
    rows = [
        (Coefficients(force), body, root, [angle_of(model, each.joint, force.place, f"surfaces[{index}].joint")
         for index, each in enumerate(force.surfaces)])
        for force, (body, root) in zip(forces, pushed_bodies(model, forces).tolist(), strict=True)
    ]  # fmt: skip

    def act() -> None:
        for of, body, root, joints in rows:
            turn = data.xmat[body].reshape(3, 3)
            at = data.xpos[body] + turn @ of.wing.centre
            rate = data.cvel[body, :3]
            velocity = data.cvel[body, 3:] + _cross(rate, at - data.subtree_com[root]) - wind.current
            force, moment = of.wrench(turn.T @ velocity, turn.T @ rate, data.qpos[joints])
            force, moment = turn @ force, turn @ moment
            data.xfrc_applied[body, :3] += force
            data.xfrc_applied[body, 3:] += moment + _cross(at - data.xipos[body], force)

    return CompiledForces(act)


class Coefficients:
    """The coefficients of an aircraft as arrays, in axes x forward, y right, z down.

    Args:
        wing: The aircraft.
    """

    def __init__(self, wing: DerivativeWing) -> None:
        self.wing = wing
        x, z = wing.forward / np.linalg.norm(wing.forward), -wing.upward / np.linalg.norm(wing.upward)
        self._axes = np.array([x, _cross(z, x), z])
        self._of = {name: wing.derivatives.get(name, 0.0) for name in DERIVATIVES}
        self._span, area = wing.span, wing.area
        self._chord = wing.chord or (area / self._span if self._span else 0.0)
        self._rates = np.array([[self._of[f"{name}{rate}"] for rate in "pqr"] for name in COEFFICIENTS])
        self._halves = 0.5 * np.array([self._span, -self._chord, -self._span])  # rates of pitch and yaw are FRD
        self._lengths = area * np.array([1.0, 1.0, 1.0, self._span, self._chord, self._span])
        names = ("drag", "side", "lift", "roll", "pitch", "yaw")
        self._controls = np.array([[getattr(each, name) for name in names] for each in wing.surfaces]).reshape(-1, 6)
        ratio = max(wing.aspect_ratio, 1.0 / wing.aspect_ratio)
        self._plate = 2.0 / (1.0 + np.exp(_PLATE[0] + _PLATE[1] * ratio))

    def wrench(self, velocity: FloatArray, rate: FloatArray, angles: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the force (3,) at its centre, N, and the moment (3,), N m, in body axes.

        Args:
            velocity: Velocity (3,) of the centre relative to the air, in body axes, m/s.
            rate: Angular velocity (3,) in body axes, rad/s.
            angles: Angles of the joints of its control surfaces, rad.
        """
        x, y, z = self._axes
        u, v, w = (self._axes @ velocity).tolist()
        speed = float(np.hypot(u, w))
        if speed <= 1e-9:
            return np.zeros(3), np.zeros(3)
        alpha, beta = float(np.arctan2(w, u)), float(np.arctan2(v, u))
        found = self._steady(alpha, beta, np.degrees(angles) @ self._controls if len(angles) else np.zeros(6))
        pressure = 0.5 * self.wing.density * speed**2
        drag, side, lift, roll, pitch, yaw = (
            pressure * self._lengths * (found + self._rates @ (self._halves * rate) / speed)
        ).tolist()
        along = (u * x + w * z) / speed
        return side * y - drag * along - lift * _cross(along, y), roll * x + pitch * y + yaw * z

    def _steady(self, alpha: float, beta: float, control: FloatArray) -> FloatArray:
        """Return the coefficients (6,) without the contributions of rates."""
        of, wing, stall = self._of, self.wing, self.wing.alpha_stall
        low, high = np.exp(-_BLEND * (alpha - stall)), np.exp(_BLEND * (alpha + stall))
        blend = (1.0 + low + high) / ((1.0 + low) * (1.0 + high))
        sine, sign = np.sin(alpha), np.sign(alpha)
        lift = (1.0 - blend) * (of["CL0"] + of["CLa"] * alpha) + blend * 2.0 * sign * sine**2 * np.cos(alpha)
        lift += of["CLb"] * beta + control[2]
        drag = (1.0 - blend) * (of["CD0"] + lift**2 / (np.pi * wing.aspect_ratio * wing.efficiency))
        drag += blend * abs(self._plate * (0.5 - 0.5 * np.cos(2.0 * alpha))) + control[0]
        pitch = of["Cemb"] * beta + control[4]
        if wing.whole_pitch:
            beyond = alpha - np.clip(alpha, -stall, stall)
            pitch += of["Cem0"] + of["Cema"] * (alpha - beyond) + of["Cema_stall"] * beyond
        side = of["CYa"] * alpha + of["CYb"] * beta + control[1]
        roll = of["Cella"] * alpha + of["Cellb"] * beta + control[3]
        yaw = of["Cena"] * alpha + of["Cenb"] * beta + control[5]
        return np.array([drag, side, lift, roll, pitch, yaw])


def _cross(a: FloatArray, b: FloatArray) -> FloatArray:
    """Return the cross product of two vectors (3,), without the overhead of NumPy's for other shapes."""
    (ax, ay, az), (bx, by, bz) = a.tolist(), b.tolist()
    return np.array([ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx])
