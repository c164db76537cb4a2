"""The settings of a bridge, and the listener that it reports to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from sim_node.mavlink.axes import Quaternion
from sim_node.mavlink.topics import Deviations, FrameNames, VehicleTopic
from sim_node.mavlink.vehicle import Vehicle


@dataclass(frozen=True)
class BridgeSettings:
    """Settings of a bridge.

    Attributes:
        frames: Returns the names of a vehicle's frames for its system id.
        setpoint_rate: Rate of the stream that keeps a setpoint active (Hz).
        setpoint_timeout: How long a setpoint is repeated without a new message (s).
        stream_rate: Rate of the messages to request from ArduPilot (Hz); 0 for none.
        timesync: Whether to request the time of autopilots.
        heartbeat_timeout: A vehicle that sends nothing for this long (s) is not connected.
        deviations: Standard deviations of what the autopilots' sensors measured.
        max_vehicles: Further system ids are ignored with a warning.
    """

    frames: Callable[[int], FrameNames] = field(default=lambda system: FrameNames())
    setpoint_rate: float = 20.0
    setpoint_timeout: float = 0.5
    stream_rate: float = 50.0
    timesync: bool = True
    heartbeat_timeout: float = 3.0
    max_vehicles: int = 32
    deviations: Deviations = field(default_factory=Deviations)


class BridgeListener(Protocol):
    """Receives what the bridge publishes and reports; called in the bridge's thread."""

    def vehicle_found(self, vehicle: Vehicle) -> None:
        """Handle a new system id.

        Args:
            vehicle: The vehicle with this system id.
        """

    def publish(self, system: int, topic: VehicleTopic, data: bytes) -> None:
        """Publish a message of a vehicle's telemetry.

        Args:
            system: The vehicle's system id.
            topic: The topic.
            data: The message as CDR.
        """

    def static_frame(self, system: int, child: str, rotation: Quaternion) -> None:
        """Publish a frame that is fixed to a vehicle's.

        Args:
            system: The vehicle's system id.
            child: The name of the frame.
            rotation: Its orientation in the vehicle's frame (FLU), [x, y, z, w].
        """

    def warn(self, text: str) -> None:
        """Show a warning.

        Args:
            text: A problem that the user has to solve.
        """

    def report(self, text: str) -> None:
        """Show information.

        Args:
            text: Something that the user may want to know.
        """
