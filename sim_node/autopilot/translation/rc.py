"""RC_CHANNELS and SERVO_OUTPUT_RAW: pulses in and out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sim_node.autopilot.telemetry import Telemetry
from sim_node.autopilot.topics import Profile, topic
from sim_node.autopilot.translation.registry import translates
from sim_node.wire.cdr_writer import CdrWriter

RC_IN = topic("rc/in", "std_msgs/UInt16MultiArray", Profile.SENSOR, "none", "pulses of the channels (us), 0: none")
RC_OUT = topic("rc/out", "std_msgs/UInt16MultiArray", Profile.SENSOR, "none", "pulses of the outputs (us), 0: none")
_UNUSED = 65535


@translates("RC_CHANNELS")
def rc_channels(fields: Any, vehicle: Telemetry) -> None:
    """As many as chancount says."""
    channels = fields[2 : 2 + min(fields.chancount, 18)]
    vehicle.send(RC_IN, _array([0 if channel == _UNUSED else channel for channel in channels]))


@translates("SERVO_OUTPUT_RAW")
def servo_output_raw(fields: Any, vehicle: Telemetry) -> None:
    """The sixteen of the first port."""
    if fields.port == 0:
        vehicle.send(RC_OUT, _array(fields[2:18]))


def _array(values: Sequence[int]) -> bytes:
    return CdrWriter().number("I", 0).number("I", 0).sequence("H", values).bytes()
