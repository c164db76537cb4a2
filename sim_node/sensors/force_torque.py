"""A force and torque sensor in a joint."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from sim_node.sensors.contact import along_axes
from sim_node.sensors.noise import Noise, Quantities
from sim_node.sensors.parameters import group, parameter
from sim_node.sensors.registry import Measure, SensorType, sensor
from sim_node.sensors.setting import Setting


@sensor("force_torque")
@dataclass(frozen=True)
class ForceTorque(SensorType):
    """Reads the wrench that the body it is fixed to feels through its joint, about its frame's origin, along its axes.

    A body with a frozen joint is felt too: one between flange and tool is what a wrist sensor measures. A body that
    hangs from it at rest reads +m g along up.
    """

    rate: float = parameter(100.0, "Hz", "readings per second", above=0.0)
    latency: float = parameter(0.0, "s", "from a reading until it is out", low=0.0, high=10.0)
    force: Noise = group(Noise(), "N", "force")
    torque: Noise = group(Noise(), "N m", "torque")

    channels: ClassVar = ("force_x", "force_y", "force_z", "torque_x", "torque_y", "torque_z")

    def quantities(self) -> Quantities:
        """Force and torque, three axes each."""
        return (self.force, 3), (self.torque, 3)

    @classmethod
    def measure(cls, sensors: Sequence[ForceTorque], setting: Setting) -> Measure:
        """The same for all of them."""
        return lambda state: along_axes(state, setting.surroundings.joint(setting.frames, state.pose[:, :3]))
