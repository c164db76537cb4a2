"""A force that pushes a body from one waypoint to the next, like Gazebo's TrajectoryFollower.

Source: gz-sim, src/systems/trajectory_follower.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from sim_node.simulation.columns import Column, Columns
from sim_node.simulation.physics.force_geometry import forces_of, pushed_bodies
from sim_node.simulation.physics.wind import WindField
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.world.bounds import MAX_DISTANCE, MAX_FORCE
from sim_node.world.declared import Fault, declared, given, rule
from sim_node.world.forces import Force
from sim_node.world.model import World
from sim_node.world.quantities import Flag, ListOf, Number, Vector

if TYPE_CHECKING:
    from mujoco import MjData

    from sim_node.simulation.physics.compiled import Compiled

MAX_WAYPOINTS = 1000


@declared
class WaypointForce(Force):
    """Pushes a body through waypoints in the horizontal plane: turned towards the next one first, then forward.

    While the bearing of the waypoint in body axes exceeds `bearing_tolerance`, a torque about z turns the body;
    otherwise, a force along x pushes its centre of mass. A waypoint is reached within `range_tolerance`.
    """

    type = "waypoints"

    waypoints: tuple[FloatArray, ...] = given(
        ListOf(Vector(2, MAX_DISTANCE), 1, MAX_WAYPOINTS), "Waypoints [x, y] in the fixed frame", "m", default=()
    )
    loop: bool = given(Flag(), "Whether the first one comes after the last", default=False)
    force: float = given(Number(-MAX_FORCE, MAX_FORCE), "Force along x of the body", "N", default=60.0)
    torque: float = given(Number(-MAX_FORCE, MAX_FORCE), "Torque about z of the body", "N m", default=50.0)
    range_tolerance: float = given(Number(0.0, MAX_DISTANCE), "How near a waypoint is reached", "m", default=0.5)
    bearing_tolerance: float = given(
        Number(0.0, math.pi), "Up to which bearing it is pushed, not turned", "rad", default=math.radians(2.0)
    )

    @rule
    def leads_somewhere(self) -> Iterator[Fault]:
        """Yield a fault if there is no waypoint."""
        if not self.waypoints:
            yield "waypoints", "at least one is needed"


class Followers:
    """All bodies that follow waypoints. Their state is the index of the next waypoint of each."""

    def __init__(self, world: World, compiled: Compiled, data: MjData, wind: WindField, columns: Columns) -> None:
        model, self._forces = compiled.model, forces_of(world, WaypointForce)
        self._data = data
        self._bodies = pushed_bodies(model, self._forces)[:, 0]
        names = tuple(force.body for force in self._forces)
        meaning = "which waypoint is next"
        self._next = columns.add(Column("waypoints/next", names, dtype=np.int64, meaning=meaning))

    def reset(self, seed: int) -> None:
        """Start with the first waypoints."""
        self._next[:] = 0

    def act(self) -> None:
        """Turn or push each body in this timestep."""
        data = self._data
        for row, (force, body) in enumerate(zip(self._forces, self._bodies, strict=True)):
            count, turn = len(force.waypoints), data.xmat[body].reshape(3, 3)
            goal = force.waypoints[int(self._next[row])]
            way = turn.T @ np.array([*(goal - data.xpos[body, :2]), 0.0])
            if float(np.linalg.norm(way)) <= force.range_tolerance:
                after = int(self._next[row]) + 1
                self._next[row] = after % count if force.loop else min(after, count - 1)
                continue
            bearing = math.atan2(way[1], way[0])
            if abs(bearing) <= force.bearing_tolerance:
                data.xfrc_applied[body, :3] += force.force * turn[:, 0]
            else:
                data.xfrc_applied[body, 3:] += math.copysign(force.torque, bearing) * turn[:, 2]
