"""A logical camera: which bodies are in its field of view, and where, instead of an image."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

import numpy as np

from sim_node.simulation.sensors.context import SensorContext
from sim_node.simulation.sensors.noise import Quantities
from sim_node.simulation.sensors.parameters import listing, parameter
from sim_node.simulation.sensors.registry import Channels, Measure, Message, Report, SensorType, sensor
from sim_node.simulation.sensors.touch import check_bodies
from sim_node.simulation.sensors.truth import FrameState
from sim_node.spatial.geometry import poses
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.world.bodies import body_names
from sim_node.world.declared import declared
from sim_node.world.model import Sensor, World

MAX_BODIES = 1000


@sensor("logical_camera")
@declared
class LogicalCamera(SensorType):
    """Measures the poses of bodies in its frame: of those whose origin is in its field of view; NaN for all others.

    The field of view is a pyramid around the frame's x axis, cut by two planes. It has no noise, and nothing hides a
    body from it.
    """

    rate: float = parameter(15.0, "Hz", "measurements per second", above=0.0)
    bodies: tuple[str, ...] = listing("bodies to look for; by default all")
    horizontal_fov: float = parameter(1.05, "rad", "horizontal field of view", above=0.0, high=3.1)
    aspect_ratio: float = parameter(1.78, "1", "width over height of the field of view", above=0.0, high=1e3)
    near: float = parameter(0.01, "m", "distance of the near plane", low=0.0, high=1e6)
    far: float = parameter(100.0, "m", "distance of the far plane", above=0.0, high=1e6)

    channels: ClassVar = ("x", "y", "z", "qx", "qy", "qz", "qw")

    def in_world(self, mounting: Sensor, world: World) -> LogicalCamera:
        """Return the sensor with all bodies that it looks for. Raises ValueError for an unknown body."""
        check_bodies(self.bodies, world)
        found = self.bodies or body_names(world)
        if not 0 < len(found) <= MAX_BODIES:
            raise ValueError(f"bodies: it looks for 1 to {MAX_BODIES} bodies, found {len(found)}")
        return replace(self, bodies=found)

    def shape(self) -> tuple[int, ...]:
        """Return (N, 7): the poses of N bodies."""
        return (len(self.bodies), 7)

    def quantities(self) -> Quantities:
        """Return no quantities: it has no noise."""
        return ()

    def messages(self, frame: str, fixed_frame: str) -> tuple[Message, ...]:
        """Return a sensor_msgs/MultiDOFJointState, which has names and transforms; NaN for what it does not see."""
        fields = {"joint_names": self.bodies, "transforms": Channels()}
        return (Message("models", "sensor_msgs/msg/MultiDOFJointState", fields),)

    @classmethod
    def measure(cls, sensors: Sequence[LogicalCamera], context: SensorContext) -> Measure:
        """Return the function that measures the poses (S, 7 N)."""
        where = context.environment.poses([name for each in sensors for name in each.bodies])
        near, far = (np.array([[getattr(each, key)] for each in sensors]) for key in ("near", "far"))
        across = np.tan([[0.5 * each.horizontal_fov] for each in sensors])
        up = across / np.array([[each.aspect_ratio] for each in sensors])

        def read(state: FrameState) -> FloatArray:
            found = poses.relative(state.pose[:, None], where().reshape(len(sensors), -1, 7))
            x, y, z = np.moveaxis(found[..., :3], -1, 0)
            seen = (near <= x) & (x <= far) & (np.abs(y) <= x * across) & (np.abs(z) <= x * up)
            return np.where(seen[..., None], found, np.nan).reshape(len(sensors), -1)

        return read

    @classmethod
    def report(cls, sensors: Sequence[LogicalCamera], context: SensorContext) -> Report:
        """Return the function that reshapes the poses to (S, N, 7)."""
        return lambda measured: measured.reshape(len(sensors), len(sensors[0].bodies), 7)
