"""A vehicle under MAVROS' names: what is published of each message that it sends."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sim_node.mavlink.mavros.functions import publish_state
from sim_node.mavlink.mavros.names import MavrosNames
from sim_node.mavlink.mavros.telemetry import readers
from sim_node.mavlink.telemetry import Telemetry
from sim_node.mavlink.topics import FrameNames, VehicleTopic


class MavrosVehicle:
    """Publishes a vehicle as MAVROS does. Belongs to the bridge's thread.

    Args:
        vehicle: The vehicle's telemetry, which has translated each message before.
        frames: The names of frames in MAVROS' messages.
        send: Called with a topic and its message as CDR.

    Attributes:
        names: The state that its topics have beside the vehicle's own.
    """

    def __init__(self, vehicle: Telemetry, frames: FrameNames, send: Callable[[VehicleTopic, bytes], None]) -> None:
        self.names = MavrosNames(vehicle, frames, send)
        self._readers = readers()

    def reads(self, name: str) -> bool:
        """Return whether a message by this name is read.

        Args:
            name: The name of the message.

        Returns:
            Whether it is.
        """
        return name in self._readers

    def receive(self, name: str, fields: Any) -> None:
        """Publish what MAVROS publishes of a message.

        Args:
            name: The name of the message.
            fields: Its fields.
        """
        self.names.seen.add(name)
        for read in self._readers[name]:
            read(fields, self.names)

    def disconnected(self) -> None:
        """Publish that nothing is received from the vehicle, and forget which messages it sends."""
        self.names.forget()
        publish_state(self.names, connected=False)
