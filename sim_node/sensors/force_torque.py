"""A force and torque sensor in a joint."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sim_node.sensors.context import SensorContext
from sim_node.sensors.registry import Measure, sensor
from sim_node.sensors.wrench import WrenchSensor, along_axes


@sensor("force_torque")
@dataclass(frozen=True)
class ForceTorque(WrenchSensor):
    """Reads the wrench that the body it is fixed to feels through its joint, about its frame's origin, along its axes.

    A body with a frozen joint is felt too: one between flange and tool is what a wrist sensor measures. A body that
    hangs from it at rest reads +m g along up.
    """

    @classmethod
    def measure(cls, sensors: Sequence[ForceTorque], context: SensorContext) -> Measure:
        """The same for all of them."""
        return lambda state: along_axes(state, context.environment.joint(context.frames, state.pose[:, :3]))
