"""The force: a belt that takes along what lies on it. Its type in world files, and what pushes bodies by it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from sim_node.simulation.columns import Columns
from sim_node.simulation.physics.force_elements import force_element
from sim_node.simulation.physics.force_geometry import forces_of, pushed_bodies
from sim_node.simulation.physics.wind import WindField
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.world import Layout, World
from sim_node.world.fields import floats
from sim_node.world.forces import Force, force
from sim_node.world.readers.yaml_section import Context, frame_name
from sim_node.world.readers.yaml_values import Value

if TYPE_CHECKING:
    from mujoco import MjData

    from sim_node.simulation.physics.compiled import Compiled


@dataclass(frozen=True, slots=True, eq=False)
class BeltDrive(Force):
    """The force coefficient * (velocity - v) at a body's centre of mass, whose velocity is v. In N s/m and m/s."""

    velocity: FloatArray = field(default_factory=lambda: np.zeros(3))
    coefficient: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "velocity", floats(self.velocity, (3,), self.body, "velocity"))

    def data(self) -> dict[str, Any]:
        """What `read_drive` reads."""
        words = {"type": "belt_drive", "body": self.body}
        return {**words, "velocity": self.velocity, "coefficient": self.coefficient}


@force("belt_drive")
def read_drive(entry: Value, context: Context) -> None:
    """forces: [{type: belt_drive, body: parcel, velocity: [0.5, 0, 0], coefficient: 8}]"""
    table = entry.table(("type", "body", "velocity", "coefficient"), required=("body", "velocity", "coefficient"))
    body, velocity, coefficient = (table.get(key) for key in ("body", "velocity", "coefficient"))
    if body and velocity and coefficient:
        towards = velocity.vector(3, limit=20.0) or (0.0, 0.0, 0.0)
        drive = BeltDrive(frame_name(body), np.array(towards), coefficient.number(0.0, 1e6), place=body.place)
        context.add(drive)


@force_element("belt_drive")
def open_drives(
    world: World, layout: Layout, compiled: Compiled, data: MjData, wind: WindField, columns: Columns
) -> Drives | None:
    """What all drives of a world do; None where there are none."""
    forces = forces_of(world, BeltDrive)
    return Drives(forces, compiled, data) if forces else None


class Drives:
    """Adds to MuJoCo's xfrc_applied before each timestep. It keeps nothing."""

    def __init__(self, forces: list[BeltDrive], compiled: Compiled, data: MjData) -> None:
        self._bodies, self._roots = pushed_bodies(compiled.model, forces).T
        self._velocities = np.array([force.velocity for force in forces])
        self._coefficients = np.array([force.coefficient for force in forces])
        self._data = data

    def reset(self, seed: int) -> None:
        """Draws nothing."""

    def act(self) -> None:
        """MuJoCo's cvel is the velocity at the centre of mass of the whole tree of bodies."""
        data, bodies = self._data, self._bodies
        arms = data.xipos[bodies] - data.subtree_com[self._roots]
        velocities = data.cvel[bodies, 3:] + np.cross(data.cvel[bodies, :3], arms)
        forces = self._coefficients[:, None] * (self._velocities - velocities)
        np.add.at(data.xfrc_applied, (bodies[:, None], [[0, 1, 2]]), forces)
