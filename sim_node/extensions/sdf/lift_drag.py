"""Gazebo's forces in world files: `lift_drag` and others. The module of a force is imported on its first use."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

from sim_node.simulation.columns import Columns
from sim_node.simulation.physics.force_elements import ForceElement, force_element
from sim_node.simulation.physics.wind import WindField
from sim_node.world.forces import declared_force
from sim_node.world.layout import Layout
from sim_node.world.model import World

if TYPE_CHECKING:
    from mujoco import MjData

    from sim_node.simulation.physics.compiled import Compiled


class LateForce(NamedTuple):
    """A lazily imported type of force: its module, its class, and the function that opens the force element."""

    module: str
    kind: str
    opener: str

    def load(self, name: str) -> Any:
        """Return the object with a given name in the module."""
        return getattr(import_module(f"sim_node.extensions.sdf.{self.module}"), name)


FORCES = {
    "lift_drag": LateForce("wings", "LiftDrag", "open_wings"),
    "stability_derivatives": LateForce("derivative_wings", "DerivativeWing", "open_derivative_wings"),
    "hydrodynamics": LateForce("water", "Hydrodynamics", "open_waters"),
    "thruster": LateForce("water", "Thruster", "open_thrusters"),
    "bladder": LateForce("water", "Bladder", "open_bladders"),
    "waypoints": LateForce("waypoints", "WaypointForce", "Followers"),
    # Before wheel_slip, which changes the directions of a contact again.
    "directional_friction": LateForce("directional_friction", "DirectionalFriction", "Frictions"),
    "wheel_slip": LateForce("wheel_slip", "WheelSlip", "Slips"),
}


def _opener(name: str, of: LateForce) -> Callable[..., ForceElement | None]:
    def open_forces(
        world: World, layout: Layout, compiled: Compiled, data: MjData, wind: WindField, columns: Columns
    ) -> ForceElement | None:
        if not any(force.type == name for force in world.forces):
            return None
        made: ForceElement = of.load(of.opener)(world, compiled, data, wind, columns)
        return made

    return open_forces


for _name, _of in FORCES.items():
    declared_force(_name, partial(_of.load, _of.kind))
    force_element(_name)(_opener(_name, _of))
