"""Lift and drag of a wing or a control surface, as in Gazebo's LiftDrag: the force and its force element.

Source: gz-sim, src/systems/lift_drag/LiftDrag.cc, after J. D. Anderson, Fundamentals of Aerodynamics.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sim_node.simulation.columns import Columns
from sim_node.simulation.physics.force_elements import CompiledForces
from sim_node.simulation.physics.force_geometry import FieldArrays, angle_of, forces_of, pushed_bodies
from sim_node.simulation.physics.wind import WindField
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.world.declared import declared, given
from sim_node.world.forces import Force
from sim_node.world.model import World
from sim_node.world.quantities import Flag, Number, Text, Vector

if TYPE_CHECKING:
    from mujoco import MjData

    from sim_node.simulation.physics.compiled import Compiled

# Below this airspeed there is no force, m/s.
MIN_SPEED = 0.01
AIR_DENSITY = 1.2041
_ANY, _POSITIVE = Number(), Number(0.0)


@declared
class LiftDrag(Force):
    """Lift, drag and moment of a surface, linear in the angle of attack with a stall.

    Raises:
        ValueError: An array has the wrong shape.
    """

    type, refers = "lift_drag", ("control",)

    forward: FloatArray = given(Vector(3), "Where it flies, in the body", default=(1.0, 0.0, 0.0))
    upward: FloatArray = given(Vector(3), "Where its lift acts, in the body", default=(0.0, 0.0, 1.0))
    centre: FloatArray = given(Vector(3), "Centre of pressure in the body", "m", default=(0.0, 0.0, 0.0), key="center")
    area: float = given(_POSITIVE, "Area", "m^2", default=1.0)
    density: float = given(_POSITIVE, "Density of the air", "kg/m^3", default=AIR_DENSITY)
    a0: float = given(_ANY, "Angle of attack of the body's axes", "rad", default=0.0)
    alpha_stall: float = given(_POSITIVE, "Angle of attack at which it stalls", "rad", default=0.5 * np.pi)
    cla: float = given(_ANY, "Slope of the coefficient of lift", "1/rad", default=1.0)
    cda: float = given(_ANY, "Slope of the coefficient of drag", "1/rad", default=0.01)
    cma: float = given(_ANY, "Slope of the coefficient of the moment", "1/rad", default=0.01)
    cla_stall: float = given(_ANY, "Slope of the coefficient of lift after the stall", "1/rad", default=0.0)
    cda_stall: float = given(_ANY, "Slope of the coefficient of drag after the stall", "1/rad", default=1.0)
    cma_stall: float = given(_ANY, "Slope of the coefficient of the moment after the stall", "1/rad", default=0.0)
    cm_delta: float = given(_ANY, "Coefficient of the moment per angle of the control joint", "1/rad", default=0.0)
    control: str = given(Text(), "The body whose joint deflects it", default="")
    control_cl: float = given(_ANY, "Coefficient of lift per angle of the control joint", "1/rad", default=4.0)
    radial_symmetry: bool = given(Flag(), "Whether up is where the air comes from", default=False)
    reversible: bool = given(Flag(), "Whether it also works backwards", default=False)


@dataclass(frozen=True)
class Air:
    """The flow conditions of F surfaces.

    Attributes:
        velocity: Velocity (F, 3) of their centres relative to the air, in the world, m/s.
        forward: Unit vectors (F, 3) in the world.
        upward: Unit vectors (F, 3) in the world.
        control: Angles (F,) of their control joints, rad.
    """

    velocity: FloatArray
    forward: FloatArray
    upward: FloatArray
    control: FloatArray


def wrenches(of: FieldArrays, air: Air) -> tuple[FloatArray, FloatArray]:
    """Return forces (F, 3) at the centres of pressure, N, and moments (F, 3), N m, in the world.

    Args:
        of: The fields of F LiftDrags.
        air: Their flow conditions.
    """
    velocity = air.velocity
    speed = np.linalg.norm(velocity, axis=1)
    flying = (speed > MIN_SPEED) & (of.reversible | (_dot(air.forward, velocity) > 0.0))
    direction = velocity / np.where(speed > 0.0, speed, 1.0)[:, None]
    across = direction - _dot(direction, air.forward)[:, None] * air.forward
    upward = np.where(of.radial_symmetry[:, None], -_unit(across), air.upward)
    # The spanwise direction, and the velocity in the plane normal to it.
    span = _unit(np.cross(air.forward, upward))
    sweep = np.clip(_dot(span, direction), -1.0, 1.0)
    cos2 = 1.0 - sweep**2
    in_plane = velocity - _dot(velocity, span)[:, None] * span
    drag_along = -_unit(in_plane)
    lift_along = _unit(np.cross(span, in_plane))
    between = np.arctan2(np.linalg.norm(np.cross(lift_along, upward), axis=1), _dot(lift_along, upward))
    sign = np.where(_dot(lift_along, air.forward) >= 0.0, 1.0, -1.0)
    alpha = of.a0 + sign * between
    alpha = alpha - np.pi * np.round(alpha / np.pi)
    pressure = 0.5 * of.density * np.einsum("ij,ij->i", in_plane, in_plane)
    cl = _stalled(alpha, of.alpha_stall, of.cla, of.cla_stall) * cos2 + of.control_cl * air.control
    cd = np.abs(_stalled(alpha, of.alpha_stall, of.cda, of.cda_stall, keeps_sign=False) * cos2)
    cm = _stalled(alpha, of.alpha_stall, of.cma, of.cma_stall) * cos2 + of.cm_delta * air.control
    scale = np.where(flying, pressure * of.area, 0.0)[:, None]
    force = scale * (cl[:, None] * lift_along + cd[:, None] * drag_along)
    return force, scale * cm[:, None] * span


def _stalled(
    alpha: FloatArray, stall: FloatArray, slope: FloatArray, after: FloatArray, *, keeps_sign: bool = True
) -> FloatArray:
    """Return a coefficient that is linear in the angle of attack, with a different slope after stall."""
    sign, size = np.sign(alpha), np.abs(alpha)
    beyond = slope * stall + after * (size - stall)
    if keeps_sign:
        beyond = np.maximum(beyond, 0.0)
    return np.asarray(np.where(size > stall, sign * beyond, slope * alpha))


def open_wings(world: World, compiled: Compiled, data: MjData, wind: WindField, columns: Columns) -> CompiledForces:
    """Return the forces of all surfaces of a world."""
    model, forces = compiled.model, forces_of(world, LiftDrag)
    of, (bodies, roots) = FieldArrays(forces), pushed_bodies(model, forces).T
    joints = np.array([angle_of(model, f.control, f.place, "control") if f.control else 0 for f in forces])
    controlled = np.array([bool(f.control) for f in forces])
    forward, upward, centre = _unit(of.forward), _unit(of.upward), of.centre

    def act() -> None:
        turn = data.xmat[bodies].reshape(-1, 3, 3)
        at = data.xpos[bodies] + _turned(turn, centre)
        velocity = data.cvel[bodies, 3:] + np.cross(data.cvel[bodies, :3], at - data.subtree_com[roots])
        control = np.where(controlled, data.qpos[joints], 0.0) if data.qpos.size else np.zeros(len(bodies))
        air = Air(velocity - wind.current, _turned(turn, forward), _turned(turn, upward), control)
        force, moment = wrenches(of, air)
        np.add.at(data.xfrc_applied[:, :3], bodies, force)
        np.add.at(data.xfrc_applied[:, 3:], bodies, moment + np.cross(at - data.xipos[bodies], force))

    return CompiledForces(act)


def _dot(a: FloatArray, b: FloatArray) -> FloatArray:
    return np.asarray(np.einsum("ij,ij->i", a, b))


def _unit(rows: FloatArray) -> FloatArray:
    length = np.linalg.norm(rows, axis=-1, keepdims=True)
    return np.asarray(rows / np.where(length > 0.0, length, 1.0))


def _turned(turn: FloatArray, rows: FloatArray) -> FloatArray:
    return np.asarray(np.einsum("ijk,ik->ij", turn, rows))
