"""RC_CHANNELS and SERVO_OUTPUT_RAW: pulses in and out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sim_node.autopilot.telemetry import Telemetry
from sim_node.autopilot.topics import Profile, Topic, topic
from sim_node.autopilot.translation.registry import translates
from sim_node.wire import telemetry_messages as wire

RC_IN = topic(
    "rc/in",
    "std_msgs/UInt16MultiArray",
    Profile.SENSOR,
    "none",
    "pulses of the channels (us), 0: none",
    lambda frames, count: wire.pulses(count),
)
RC_OUT = topic(
    "rc/out",
    "std_msgs/UInt16MultiArray",
    Profile.SENSOR,
    "none",
    "pulses of the outputs (us), 0: none",
    lambda frames, count: wire.pulses(count),
)
_UNUSED = 65535


@translates("RC_CHANNELS")
def rc_channels(fields: Any, vehicle: Telemetry) -> None:
    """As many as chancount says."""
    channels = fields[2 : 2 + min(fields.chancount, 18)]
    _tell(vehicle, RC_IN, [0 if channel == _UNUSED else channel for channel in channels])


@translates("SERVO_OUTPUT_RAW")
def servo_output_raw(fields: Any, vehicle: Telemetry) -> None:
    """The sixteen of the first port."""
    if fields.port == 0:
        _tell(vehicle, RC_OUT, fields[2:18])


def _tell(vehicle: Telemetry, topic: Topic, pulses: Sequence[int]) -> None:
    vehicle.pack(topic, vehicle.arrival_ns, pulses, len(pulses))
