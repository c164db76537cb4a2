"""A vehicle under PX4's names: what is published of each message that it sends."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sim_node.mavlink.px4.names import Px4Names
from sim_node.mavlink.px4.telemetry import readers
from sim_node.mavlink.telemetry import Telemetry
from sim_node.mavlink.topics import VehicleTopic


class Px4Vehicle:
    """Publishes a vehicle as PX4 does. Belongs to the bridge's thread.

    Args:
        vehicle: The vehicle's telemetry, which has translated each message before.
        send: Called with a topic and its message as CDR.

    Attributes:
        names: The state that its topics have beside the vehicle's own.

    Raises:
        UnknownMessage: px4_msgs is not installed.
    """

    def __init__(self, vehicle: Telemetry, send: Callable[[VehicleTopic, bytes], None]) -> None:
        self.names = Px4Names(vehicle, send)
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
        """Publish what PX4 publishes of a message.

        Args:
            name: The name of the message.
            fields: Its fields.
        """
        self.names.last[name] = fields
        for read in self._readers[name]:
            read(fields, self.names)

    def disconnected(self) -> None:
        """Forget which messages the vehicle sends. PX4's topics then fall silent."""
        self.names.last.clear()
