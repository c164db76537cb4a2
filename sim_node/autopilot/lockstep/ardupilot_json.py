"""ArduPilot's JSON interface to simulators (libraries/SITL/SIM_JSON): servo packets in, one line of JSON out."""

from __future__ import annotations

import math
import struct
from typing import NamedTuple

from sim_node.autopilot.axes import attitude_ned_frd, frd_flu, ned_enu, rotate_inverse
from sim_node.autopilot.lockstep.sample import Sample

_HEADER = struct.Struct("<HHI")
# The packet's first word says how many channels follow it.
_CHANNELS = {18458: struct.Struct("<16H"), 29569: struct.Struct("<32H")}
MAX_RANGES = 6
# Microseconds: what a servo output spans, from nothing to all. 0 is an output that is off.
PWM_LOW, PWM_HIGH = 1000, 2000


class Servos(NamedTuple):
    """A servo packet: the rate (Hz) that the autopilot runs at, the frame's number, pulse widths in microseconds."""

    rate: int
    frame: int
    pwm: tuple[int, ...]

    def command(self, channel: int) -> float:
        """What a channel asks of its motor, 0 to 1; nothing where the packet ends before it."""
        if channel >= len(self.pwm):
            return 0.0
        return min(max((self.pwm[channel] - PWM_LOW) / (PWM_HIGH - PWM_LOW), 0.0), 1.0)


def read_servos(packet: bytes) -> Servos | None:
    """The servo packet in a datagram, None where it is none."""
    if len(packet) < _HEADER.size:
        return None
    magic, rate, frame = _HEADER.unpack_from(packet)
    channels = _CHANNELS.get(magic)
    if channels is None or len(packet) != _HEADER.size + channels.size:
        return None
    return Servos(rate, frame, channels.unpack_from(packet, _HEADER.size))


def reply(sample: Sample, time_ns: int) -> bytes:
    """The answer to a servo packet: the vehicle in NED and FRD, position from the world's origin.

    time_ns: the physics time that the autopilot's clock goes by. A newline at both ends and no blank behind a colon:
    its parser reads lines by text search (SIM_JSON.cpp, parse_sensors).
    """
    x, y, z, *attitude = sample.pose.tolist()
    rate, force = frd_flu(*sample.rate.tolist()), frd_flu(*sample.force.tolist())
    # The first match of a key's text is taken, so "velocity" and "position" stand in no key before their own.
    parts = [
        f'"timestamp":{time_ns * 1e-9!r}',
        f'"imu":{{"gyro":{_list(rate)},"accel_body":{_list(force)}}}',
        f'"position":{_list(ned_enu(x, y, z))}',
        f'"quaternion":{_list(attitude_ned_frd(*attitude))}',
        f'"velocity":{_list(ned_enu(*sample.velocity.tolist()))}',
        *(f'"rng_{number}":{distance!r}' for number, distance in enumerate(sample.ranges[:MAX_RANGES], 1)),
    ]
    if sample.wind is not None:
        # The wind as the vehicle feels it: where it comes from, clockwise off straight ahead.
        vx, vy, vz = (sample.velocity - sample.wind).tolist()
        ahead, left, _ = rotate_inverse((attitude[0], attitude[1], attitude[2], attitude[3]), (vx, vy, vz))
        parts.append(f'"windvane":{{"direction":{math.atan2(-left, ahead)!r},"speed":{math.hypot(ahead, left)!r}}}')
    if sample.airspeed is not None:
        parts.append(f'"airspeed":{sample.airspeed!r}')
    return f"\n{{{','.join(parts)}}}\n".encode("ascii")


def _list(numbers: tuple[float, ...]) -> str:
    return f"[{','.join(map(repr, numbers))}]"
