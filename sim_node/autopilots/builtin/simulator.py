"""The simulator link: connects like PX4, receives the state, and answers each HIL_SENSOR with motor commands."""

from __future__ import annotations

import math
import socket
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from sim_node.mavlink.codec import EncodeError, FrameReader, FrameWriter, MavlinkMessage, frame_bytes, kind_named
from sim_node.mavlink.links import Address
from sim_node.mavlink.parser import Parser
from sim_node.spatial.frames import AttitudeEnu, Enu, Flu
from sim_node.spatial.geometry.arrays import FloatArray

FIRST_PORT = 4560
# Pause between connection attempts, s: autopilots may start before the simulator.
PAUSE_S = 0.05
_READ_SIZE = 4096
_MAGNETOMETER, _BAROMETER = 0x1C0, 0x1A00
_MAX_MOTORS = 16
_ARMED, _CUSTOM, _LOCKSTEP = 128, 1, 1
# Messages of simulators. All others come from a ground station in the simulation.
_OF_SIMULATORS = (
    *("ODOMETRY", "HIL_SENSOR", "HIL_GPS", "HIL_OPTICAL_FLOW", "HIL_STATE_QUATERNION", "DISTANCE_SENSOR"),
    "BATTERY_STATUS",
)
RESET = 1 << 31  # HIL_SENSOR.fields_updated
# The two messages of every step.
_STATE, _SENSOR = FrameReader("ODOMETRY", 11), FrameReader("HIL_SENSOR")
_SensorFields = kind_named("HIL_SENSOR").fields
# Largest plausible coordinate (m), velocity (m/s) and angular rate (rad/s).
MAX_SHOWN = 1e6

# Called with the time (us), position, attitude and velocity (ENU), rates (FLU), and whether the world was reset.
# Returns the motor commands.
Step = Callable[[int, FloatArray, FloatArray, FloatArray, FloatArray, bool], FloatArray]


class HilMeasurements:
    """The latest measurements from the simulator, in MAVLink's units; None if not received yet.

    Attributes:
        connected: Whether a simulator is connected.
        fix: Latest HIL_GPS.
        fix_us: Simulation time at which it was received, us; 0 before the first.
        inertial: Latest HIL_SENSOR with inertial measurements.
        magnetic: Latest HIL_SENSOR with a magnetic field.
        air: Latest HIL_SENSOR with air pressure.
        failed_cells: Indices, from 0, of the battery cells that had no voltage in the latest BATTERY_STATUS.
    """

    def __init__(self) -> None:
        self.connected = False
        self.fix: Any = None
        self.fix_us = 0
        self.inertial: Any = None
        self.magnetic: Any = None
        self.air: Any = None
        self.failed_cells = frozenset[int]()

    def record(self, fields: Any) -> None:
        """Record a HIL_SENSOR."""
        self.inertial = fields
        if fields.fields_updated & _MAGNETOMETER:
            self.magnetic = fields
        if fields.fields_updated & _BAROMETER:
            self.air = fields


class SimulatorLink:
    """A TCP connection to a simulator.

    Args:
        address: Host and port of the simulator.
        system: MAVLink system id of the autopilot.
        step: Computes the motor commands.
        after: Called with the time (us) once the simulator has its answer.
        armed: Returns whether the vehicle is armed.
        ordered: Called with each message of a ground station in the simulation.

    Attributes:
        measurements: Latest measurements.
        steps: Number of HIL_SENSORs received.
        invalid: Number of implausible states and rates, which were ignored.
        closed_at_once: Whether the simulator closed the last connection before it sent a HIL_SENSOR.
        has_station: Whether a ground station in the simulation uses this link, and so receives answers and texts.
        lock: Held while the autopilot is in use. Matters only for a simulator in this process.
    """

    def __init__(
        self,
        address: tuple[str, int],
        system: int,
        step: Step,
        after: Callable[[int], None],
        armed: Callable[[], bool],
        ordered: Callable[[MavlinkMessage], None] = lambda message: None,
    ) -> None:
        self.address, self.measurements, self.steps = address, HilMeasurements(), 0
        self.invalid = 0
        self.closed_at_once, self._system = False, system
        self._step, self._after, self._armed, self._ordered = step, after, armed, ordered
        self.has_station = False
        self.lock = threading.Lock()
        self._controls = FrameWriter("HIL_ACTUATOR_CONTROLS", system, 1)
        self._socket: socket.socket | None = None
        self._parser = Parser(datagrams=False)
        self._sequence = 0
        self._received = False
        self._state = np.zeros(13)
        position, attitude, velocity, rate = np.split(self._state, (3, 7, 10))
        self._parts = position, attitude, velocity, rate

    def fileno(self) -> int:
        """Return the socket's file descriptor, or -1 if the link is down."""
        return -1 if self._socket is None else self._socket.fileno()

    def connect(self) -> bool:
        """Try once to connect; return whether it succeeded."""
        try:
            made = socket.create_connection(self.address, timeout=1.0)
        except OSError:
            return False
        if made.getsockname() == made.getpeername():
            made.close()  # nothing listens there, and the kernel connected the socket to itself
            return False
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._socket, self._parser, self._received = made, Parser(datagrams=False), False
        self.closed_at_once, self.measurements.connected = False, True
        return True

    def close(self) -> None:
        """Close the connection."""
        if self._socket is not None:
            with suppress(OSError):
                self._socket.close()
            self._socket, self.measurements.connected = None, False

    def read(self) -> bool:
        """Read and answer the messages that have arrived; return False if the connection was closed."""
        assert self._socket is not None
        try:
            data = self._socket.recv(_READ_SIZE)
            if data:
                self._take(data)
                return True
        except OSError:
            pass
        self.closed_at_once = not self._received
        self.close()
        return False

    def send(self, name: str, fields: Mapping[str, Any], to: Address, now_ns: int) -> None:
        """Send a message to the ground station in the simulation, if there is one, before the commands of this step."""
        if self.measurements.connected and self.has_station:
            self._sequence = (self._sequence + 1) & 0xFF
            with suppress(EncodeError, OSError):
                self._write(frame_bytes(name, fields, self._system, 1, self._sequence))

    def _take(self, data: bytes) -> None:
        at = 0
        if self._parser.is_between_frames:  # usually a state and a measurement are all
            if found := _STATE.read(data, at):
                at, numbers = found
                self._locate(numbers)
            if found := _SENSOR.read(data, at):
                at, numbers = found
                self._measure(_SensorFields._make(numbers))
            if at == len(data):
                return
        for message in self._parser.feed(data[at:]):
            if message.name in _OF_SIMULATORS:
                self._handle(message.name, message.fields)
            else:
                self.has_station = True
                self._ordered(message)

    def _write(self, frame: bytes) -> None:
        assert self._socket is not None
        self._socket.sendall(frame)

    def _handle(self, name: str, fields: Any) -> None:
        if name == "ODOMETRY":
            place, velocity = (fields.x, fields.y, fields.z), (fields.vx, fields.vy, fields.vz)
            self._locate((fields.time_usec, *place, *fields.q, *velocity))
        elif name == "HIL_GPS":
            self.measurements.fix, self.measurements.fix_us = fields, fields.time_usec
        elif name == "BATTERY_STATUS":
            self.measurements.failed_cells = frozenset(cell for cell, each in enumerate(fields.voltages) if not each)
        elif name == "HIL_SENSOR":
            self._measure(fields)

    def _locate(self, numbers: Sequence[float]) -> None:
        """Record the first values of an ODOMETRY: time, position, attitude [w, x, y, z] and velocity, in NED."""
        _, x, y, z, qw, qx, qy, qz, vx, vy, vz = numbers
        is_place = _are_below(MAX_SHOWN, (x, y, z)) and _are_below(MAX_SHOWN, (vx, vy, vz))
        if not is_place or not abs(math.hypot(qw, qx, qy, qz) - 1.0) < 1e-2:
            self.invalid += 1
            return
        place, velocity = Enu.of_ned(x, y, z).numbers, Enu.of_ned(vx, vy, vz).numbers
        self._state[:10] = *place, *AttitudeEnu.of_ned(qw, qx, qy, qz).numbers, *velocity

    def _measure(self, fields: Any) -> None:
        """Record and answer a HIL_SENSOR."""
        self._received = True
        self.steps += 1
        self.measurements.record(fields)
        time_us, x, y, z = fields.time_usec, fields.xgyro, fields.ygyro, fields.zgyro
        if _are_below(MAX_SHOWN, (x, y, z)):
            self._state[10:] = Flu.of_frd(x, y, z).xyz
        else:
            self.invalid += 1
        self._answer(time_us, self._step(time_us, *self._parts, bool(fields.fields_updated & RESET)))
        self._after(time_us)

    def _answer(self, time_us: int, commands: FloatArray) -> None:
        values = commands.tolist()
        mode = _CUSTOM | (_ARMED if self._armed() else 0)
        self._sequence = (self._sequence + 1) & 0xFF
        unused = [0.0] * (_MAX_MOTORS - len(values))
        self._write(self._controls.frame(self._sequence, time_us, _LOCKSTEP, *values, *unused, mode))


class MemoryLink(SimulatorLink):
    """The link to a simulator in this process: the same bytes, without a socket."""

    def __init__(
        self,
        system: int,
        step: Step,
        after: Callable[[int], None],
        armed: Callable[[], bool],
        ordered: Callable[[MavlinkMessage], None],
    ) -> None:
        super().__init__(("", 0), system, step, after, armed, ordered)
        self.measurements.connected = True
        self._answers = bytearray()

    def exchange(self, data: bytes) -> bytes:
        """Return the answers to bytes from the simulator."""
        with self.lock:
            self._take(data)
            answers = bytes(self._answers)
            self._answers.clear()
        return answers

    def close(self) -> None:
        """Do nothing: there is no socket."""

    def _write(self, frame: bytes) -> None:
        self._answers += frame


def link_to(
    simulator: tuple[str, int] | None,
    system: int,
    step: Step,
    after: Callable[[int], None],
    armed: Callable[[], bool],
    ordered: Callable[[MavlinkMessage], None],
) -> SimulatorLink:
    """Return the link to the simulator at an address, or, for None, to a simulator in this process."""
    if simulator is None:
        return MemoryLink(system, step, after, armed, ordered)
    return SimulatorLink(simulator, system, step, after, armed, ordered)


def _are_below(most: float, numbers: tuple[float, float, float]) -> bool:
    """Return whether all magnitudes are below a limit; False for NaN and infinity."""
    x, y, z = numbers
    return -most < x < most and -most < y < most and -most < z < most
