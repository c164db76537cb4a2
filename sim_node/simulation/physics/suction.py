"""Suction grippers in a MuJoCo specification, as adhesion actuators, which pull a body towards what it touches."""

from __future__ import annotations

import mujoco

from sim_node.simulation.physics.compiled import InitialState
from sim_node.world.model import World
from sim_node.world.suction import Suction


def suction_name(name: str) -> str:
    """Return the name of a suction gripper's MuJoCo actuator."""
    return f"{name}#suction"


def add_suction(spec: mujoco.MjSpec, world: World) -> None:
    """Add a MuJoCo actuator for each suction gripper of a world."""
    for each in world.of(Suction):
        made = spec.add_actuator(name=suction_name(each.name), target=each.body)
        made.trntype = mujoco.mjtTrn.mjTRN_BODY
        for geom in spec.body(each.body).geoms:
            # Contacts are detected within the margin, but repel only from a distance of zero.
            geom.margin = geom.gap = each.reach
        made.gainprm[0] = each.force
        made.ctrllimited, made.ctrlrange = True, (0.0, 1.0)


def set_suction(model: mujoco.MjModel, world: World, start: InitialState) -> None:
    """Write the initial engagements to the controls."""
    for each in world.of(Suction):
        start.ctrl[model.actuator(suction_name(each.name)).id] = each.engagement
