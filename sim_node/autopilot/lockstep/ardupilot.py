"""ArduPilot in lockstep: its JSON interface to simulators (libraries/SITL/SIM_JSON)."""

from __future__ import annotations

import math
import select
import socket
import struct
from contextlib import suppress
from typing import ClassVar, NamedTuple

from sim_node.autopilot.axes import attitude_ned_frd, frd_flu, ned_enu, rotate_inverse
from sim_node.autopilot.lockstep.autopilot import Commands, Wait, autopilot
from sim_node.autopilot.lockstep.samples import MAX_RANGES, GroundTruthSource, Sample, SampleSource
from sim_node.simulation import Simulation
from sim_node.world import Multirotor

_HEADER = struct.Struct("<HHI")
# The packet's first word says how many channels follow it.
_CHANNELS = {18458: struct.Struct("<16H"), 29569: struct.Struct("<32H")}
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


FIRST_PORT, PORTS_PER_INSTANCE = 9002, 10
HOST = "127.0.0.1"
_DATAGRAM = 2048


@autopilot("ardupilot")
class ArduPilot:
    """The physics side of SITL's `--model JSON`.

    Its clock begins at zero with the first packet of each start of the autopilot, whose frame numbers then begin
    anew. A packet that repeats the last one asks for the last answer again: that one was lost.
    """

    senses: ClassVar[type[SampleSource]] = GroundTruthSource

    def __init__(self, instance: int, motors: int) -> None:
        self.address = (HOST, FIRST_PORT + PORTS_PER_INSTANCE * instance)
        self.wait = Wait(f"ArduPilot {instance} (udp {HOST}:{self.address[1]})")
        self._motors = motors
        self._socket: socket.socket | None = None
        self._peer: tuple[str, int] | None = None
        self._servos: Servos | None = None
        self._began_ns = 0
        self._now_ns = 0
        self._answer = b""

    @classmethod
    def of(cls, simulation: Simulation, vehicle: Multirotor, rate: float) -> ArduPilot:
        """That of a vehicle in a run."""
        assert vehicle.autopilot is not None
        return cls(vehicle.autopilot.instance, len(vehicle.rotors))

    def open(self) -> None:
        """Raises OSError where the port is taken."""
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        try:
            self._socket.bind(self.address)
        except OSError:
            self.close()
            raise
        self._socket.setblocking(False)

    def close(self) -> None:
        """Lets go of the port."""
        if self._socket is not None:
            self._socket.close()
        self._socket, self._peer = None, None

    def send(self, sample: Sample) -> None:
        """Answers the last packet."""
        if sample.time_ns < self._now_ns:
            # The world began anew; ArduPilot's clock must not go back with it.
            self._began_ns -= self._now_ns - sample.time_ns
        self._now_ns = sample.time_ns
        if self._peer is not None:
            self._answer = reply(sample, sample.time_ns - self._began_ns)
            self._send()

    def receive(self) -> Commands | None:
        """Waits for the next one."""
        if self._peer is None:
            return self._commands() if self._next(0.0) else None
        if self.wait.until(self._next):
            return self._commands()
        if not self.wait.stop.is_set():
            self._peer, self._servos, self._answer = None, None, b""
            self.wait.lose()
        return (0.0,) * self._motors

    def _commands(self) -> Commands:
        assert self._servos is not None
        return tuple(self._servos.command(channel) for channel in range(self._motors))

    def _next(self, seconds: float) -> bool:
        """Whether a packet that asks for a new step came."""
        assert self._socket is not None
        if not select.select([self._socket], [], [], seconds)[0]:
            return False
        while True:
            try:
                packet, peer = self._socket.recvfrom(_DATAGRAM)
            except BlockingIOError:
                return False
            except ConnectionError:
                continue  # an answer found nobody
            servos = read_servos(packet)
            if servos is None:
                continue
            if self._servos is not None and peer == self._peer and servos.frame == self._servos.frame:
                self._send()
                continue
            self._take(servos, peer)
            return True

    def _take(self, servos: Servos, peer: tuple[str, int]) -> None:
        anew = self._servos is None or servos.frame < self._servos.frame
        self._servos, self._peer = servos, peer
        self.wait.peer, self.wait.lockstep = f"{peer[0]}:{peer[1]}", True
        if anew:
            self._began_ns = self._now_ns

    def _send(self) -> None:
        if self._answer and self._socket is not None and self._peer is not None:
            with suppress(OSError):  # it will ask again
                self._socket.sendto(self._answer, self._peer)
