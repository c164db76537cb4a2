"""What touches a body: the force and torque of its contacts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sim_node.geometry.arrays import FloatArray
from sim_node.sensors.noise import Noise, Quantities
from sim_node.sensors.parameters import group, parameter
from sim_node.sensors.registry import Measure, SensorType, sensor
from sim_node.sensors.setting import Setting
from sim_node.sensors.truth import FrameState


@sensor("contact")
@dataclass(frozen=True)
class Contact(SensorType):
    """Reads the wrench of all contacts of the body that it is fixed to, about its frame's origin, along its axes.

    It is what the body feels: +m g along up for one that lies on the ground, zero in a free fall.
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
    def measure(cls, sensors: Sequence[Contact], setting: Setting) -> Measure:
        """The same for all of them."""
        return lambda state: along_axes(state, setting.surroundings.contact(setting.frames, state.pose[:, :3]))


def along_axes(state: FrameState, wrenches: FloatArray) -> FloatArray:
    """Wrenches (S, 6) about frames' origins along the fixed frame's axes, along each frame's own."""
    return np.concatenate([state.to_frame(wrenches[:, :3]), state.to_frame(wrenches[:, 3:])], axis=1)
