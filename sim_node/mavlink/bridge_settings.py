"""The settings of a bridge."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from sim_node.mavlink.topics import Deviations, FrameNames


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
