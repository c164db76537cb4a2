"""ArduPilot in lockstep, by its JSON interface for simulators (libraries/SITL/SIM_JSON)."""

from __future__ import annotations

import math
import select
import socket
import struct
from collections.abc import Iterable
from contextlib import suppress
from typing import ClassVar, NamedTuple

from sim_node.autopilots.lockstep.autopilot import Commands, LockstepWait, autopilot, outputs_of
from sim_node.autopilots.lockstep.samples import MAX_RANGES, GroundTruthSource, Sample, SampleSource
from sim_node.simulation import Simulation
from sim_node.spatial.frames import AttitudeEnu, Enu, Flu
from sim_node.world.autopilots import Vehicle
from sim_node.world.vehicles import PULSES

_HEADER = struct.Struct("<HHI")
# The first word of a packet gives the number of channels.
_CHANNELS = {18458: struct.Struct("<16H"), 29569: struct.Struct("<32H")}


class Servos(NamedTuple):
    """A servo packet.

    Attributes:
        rate: Rate at which the autopilot runs, Hz.
        frame: Frame number.
        pwm: Pulse widths, us; 0 for an output that is off.
    """

    rate: int
    frame: int
    pwm: tuple[int, ...]

    def command(self, channel: int, low: float = 0.0, pulses: tuple[float, float] = PULSES) -> float:
        """Return the command of a channel, from `low` to 1; 0 if the channel is off or not in the packet.

        Args:
            channel: Index of the channel.
            low: Minimum command.
            pulses: Pulse widths for `low` and 1, us.
        """
        if channel >= len(self.pwm) or not self.pwm[channel]:
            return 0.0
        part = (self.pwm[channel] - pulses[0]) / (pulses[1] - pulses[0])
        return min(max(low + (1.0 - low) * part, low), 1.0)


def read_servos(packet: bytes) -> Servos | None:
    """Parse a servo packet; None for any other datagram."""
    if len(packet) < _HEADER.size:
        return None
    magic, rate, frame = _HEADER.unpack_from(packet)
    channels = _CHANNELS.get(magic)
    if channels is None or len(packet) != _HEADER.size + channels.size:
        return None
    return Servos(rate, frame, channels.unpack_from(packet, _HEADER.size))


def reply(sample: Sample, time_ns: int) -> bytes:
    """Return the answer to a servo packet: the vehicle in NED and FRD, relative to the world's origin.

    It starts and ends with a newline and has no blanks after colons, because ArduPilot parses it by text search
    (SIM_JSON.cpp, parse_sensors).

    Args:
        sample: The vehicle's state.
        time_ns: Physics time for the autopilot's clock, ns.
    """
    pose = sample.pose.tolist()
    place, attitude = Enu(pose[:3]), AttitudeEnu(pose[3:])
    rate, force = Flu(sample.rate.tolist()).to_frd(), Flu(sample.force.tolist()).to_frd()
    # ArduPilot uses the first match of a key, so no earlier key may contain "velocity" or "position".
    parts = [
        f'"timestamp":{time_ns * 1e-9!r}',
        f'"imu":{{"gyro":{_list(rate)},"accel_body":{_list(force)}}}',
        f'"position":{_list(place.to_ned())}',
        f'"quaternion":{_list(attitude.to_ned())}',
        f'"velocity":{_list(Enu(sample.velocity.tolist()).to_ned())}',
        '"no_time_sync":1',  # the simulation paces both
        *(f'"rng_{number}":{distance!r}' for number, distance in enumerate(sample.ranges[:MAX_RANGES], 1)),
    ]
    if sample.wind is not None:
        # The apparent wind: the direction it comes from, clockwise from straight ahead.
        ahead, left, _ = attitude.to_body(Enu((sample.velocity - sample.wind).tolist()))
        parts.append(f'"windvane":{{"direction":{math.atan2(-left, ahead)!r},"speed":{math.hypot(ahead, left)!r}}}')
    if sample.airspeed is not None:
        parts.append(f'"airspeed":{sample.airspeed!r}')
    return f"\n{{{','.join(parts)}}}\n".encode("ascii")


def _list(numbers: Iterable[float]) -> str:
    return f"[{','.join(map(repr, numbers))}]"


FIRST_PORT, PORTS_PER_INSTANCE = 9002, 10
HOST = "127.0.0.1"
_DATAGRAM = 2048


@autopilot("ardupilot")
class ArduPilot:
    """The physics side of SITL's `--model JSON`.

    ArduPilot's clock starts at zero with the first packet after each start, when frame numbers start again. A packet
    that repeats the last one requests the last answer again, because that was lost.

    Args:
        instance: Instance number, from 0, which determines the port.
        outputs: Number of output channels that the vehicle uses.
        low: Minimum command of a channel.
        pulses: Pulse widths for `low` and 1, us.
    """

    sample_source: ClassVar[type[SampleSource]] = GroundTruthSource

    def __init__(self, instance: int, outputs: int, low: float = 0.0, pulses: tuple[float, float] = PULSES) -> None:
        self.address = (HOST, FIRST_PORT + PORTS_PER_INSTANCE * instance)
        self.wait = LockstepWait(f"ArduPilot {instance} (udp {HOST}:{self.address[1]})")
        self._outputs, self._low, self._pulses = outputs, low, pulses
        self._socket: socket.socket | None = None
        self._peer: tuple[str, int] | None = None
        self._servos: Servos | None = None
        self._began_ns = 0
        self._now_ns = 0
        self._answer = b""

    @classmethod
    def of(cls, simulation: Simulation, vehicle: Vehicle, rate: float) -> ArduPilot:
        """Return the autopilot of a vehicle in a run.

        Args:
            simulation: The run.
            vehicle: The vehicle.
            rate: Rate of its Samples (Hz).

        Returns:
            The autopilot, not open yet.
        """
        assert vehicle.autopilot is not None
        return cls(vehicle.autopilot.instance, *outputs_of(vehicle), vehicle.autopilot.pulses)

    def open(self) -> None:
        """Listen. Raises OSError if the port is in use."""
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        try:
            self._socket.bind(self.address)
        except OSError:
            self.close()
            raise
        self._socket.setblocking(False)

    def close(self) -> None:
        """Close the port."""
        if self._socket is not None:
            self._socket.close()
        self._socket, self._peer = None, None

    def send(self, sample: Sample) -> None:
        """Answer the last packet."""
        if sample.time_ns < self._now_ns:
            # The run was reset. ArduPilot's clock must not go back.
            self._began_ns -= self._now_ns - sample.time_ns
            if self._peer is not None:
                self.wait.report_jump("the run was reset")
        self._now_ns = sample.time_ns
        if self._peer is not None:
            self._answer = reply(sample, sample.time_ns - self._began_ns)
            self._send()

    def receive(self) -> Commands | None:
        """Wait for the next packet."""
        if self._peer is None:
            return self._commands() if self._next(0.0) else None
        if self.wait.until(self._next):
            return self._commands()
        if not self.wait.stop.is_set():
            self._peer, self._servos, self._answer = None, None, b""
            self.wait.lose()
        return (0.0,) * self._outputs

    def _commands(self) -> Commands:
        assert self._servos is not None
        return tuple(self._servos.command(channel, self._low, self._pulses) for channel in range(self._outputs))

    def _next(self, seconds: float) -> bool:
        """Return whether a packet that requests a new step was received."""
        assert self._socket is not None
        if not select.select([self._socket], [], [], seconds)[0]:
            return False
        while True:
            try:
                packet, peer = self._socket.recvfrom(_DATAGRAM)
            except BlockingIOError:
                return False
            except ConnectionError:
                continue  # an answer was not delivered
            servos = read_servos(packet)
            if servos is None:
                continue
            if self._servos is not None and peer == self._peer and servos.frame == self._servos.frame:
                self._send()
                continue
            self._accept_servos(servos, peer)
            return True

    def _accept_servos(self, servos: Servos, peer: tuple[str, int]) -> None:
        # Frame numbers start at 0, and increase only with answered frames (SIM_JSON.cpp, recv_fdm).
        if self._servos is None and servos.frame > 0:
            self.wait.report_jump(
                f"it has run before, for {servos.frame} frames of another run or until it fell silent"
            )
        begins = self._servos is None or servos.frame < self._servos.frame
        if begins and servos.frame == 0 and (self._servos is not None or self.wait.lost):
            self.wait.restarts += 1
        self._servos, self._peer = servos, peer
        self.wait.peer, self.wait.lockstep = f"{peer[0]}:{peer[1]}", True
        if begins:
            self._began_ns = self._now_ns

    def _send(self) -> None:
        if self._answer and self._socket is not None and self._peer is not None:
            with suppress(OSError):  # it will repeat its request
                self._socket.sendto(self._answer, self._peer)
