"""What touches a body: the force and torque of its contacts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sim_node.sensors.context import SensorContext
from sim_node.sensors.registry import Measure, sensor
from sim_node.sensors.wrench import WrenchSensor, along_axes


@sensor("contact")
@dataclass(frozen=True)
class Contact(WrenchSensor):
    """Reads the wrench of all contacts of the body that it is fixed to, about its frame's origin, along its axes.

    It is what the body feels: +m g along up for one that lies on the ground, zero in a free fall.
    """

    @classmethod
    def measure(cls, sensors: Sequence[Contact], context: SensorContext) -> Measure:
        """The same for all of them."""
        return lambda state: along_axes(state, context.environment.contact(context.frames, state.pose[:, :3]))
