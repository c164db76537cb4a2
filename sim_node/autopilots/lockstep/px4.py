"""PX4 in lockstep: it connects over TCP, receives HIL_SENSOR, and answers each with HIL_ACTUATOR_CONTROLS."""

from __future__ import annotations

import select
import socket
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, ClassVar

from sim_node.autopilots.lockstep import px4_hil
from sim_node.autopilots.lockstep.autopilot import Commands, LockstepWait, autopilot, outputs_of
from sim_node.autopilots.lockstep.samples import Fix, OnboardSensors, Sample, SampleSource
from sim_node.mavlink.codec import FrameReader, FrameWriter, MavlinkMessage, frame_bytes
from sim_node.mavlink.parser import Parser
from sim_node.simulation import Simulation
from sim_node.world import Multirotor
from sim_node.world.autopilots import Vehicle

FIRST_PORT = 4560
HOST = "127.0.0.1"
# Period (us) of RoverDifferential, RoverAckermann and RoverMecanum (ScheduleOnInterval in each one's init).
ROVER_PERIOD_US = 10_000
# Ids of the simulator, which PX4 ignores.
SYSTEM, COMPONENT = 1, 51
# Start of PX4's clock, which must not be zero.
_EPOCH_US = 1_000_000
_TRUTH_PERIOD_US, _AFTER_RESET_US = 20_000, 4_000
_READ_SIZE = 4096
_CONTROLS = FrameReader("HIL_ACTUATOR_CONTROLS")
# Number of samples between two checks for a second autopilot.
_SECOND_CHECK_PERIOD = 125


@autopilot("px4")
class Px4:
    """The simulator side of PX4's simulator_mavlink.

    PX4 runs freely until its first controls. From then on, it answers every HIL_SENSOR with controls of the same time.
    If PX4 is restarted, it connects again, and time continues.

    Args:
        instance: Instance number, from 0, which determines the port.
        outputs: Number of output channels that the vehicle uses.
        low: Minimum command of a channel.
    """

    sample_source: ClassVar[type[SampleSource]] = OnboardSensors
    # Whether the autopilot restarts its flight when the run is reset.
    _begins_anew: ClassVar = False

    def __init__(self, instance: int, outputs: int, low: float = 0.0) -> None:
        self.instance, self.address = instance, (HOST, FIRST_PORT + instance)
        self.wait = LockstepWait(f"PX4 {instance} (tcp {HOST}:{self.address[1]})")
        self._outputs, self._low = outputs, low
        self._none = (0.0,) * outputs
        self._server: socket.socket | None = None
        self._peer: socket.socket | None = None
        self._parser = Parser(datagrams=False)
        self._sensor = FrameWriter("HIL_SENSOR", SYSTEM, COMPONENT)
        self._sequence = self._exchanges = 0
        self._controls: px4_hil.Controls | None = None
        # Since the last sample.
        self._disconnected = False
        self._fix: Fix | None = None
        self._now_ns, self._offset_us, self._time_us, self._truth_us = 0, _EPOCH_US, 0, 0

    @classmethod
    def of(cls, simulation: Simulation, vehicle: Vehicle, rate: float) -> Px4:
        """Return the autopilot of a vehicle in a run.

        Args:
            simulation: The run.
            vehicle: The vehicle.
            rate: Rate of its Samples (Hz).

        Returns:
            The autopilot, not open yet.
        """
        assert vehicle.autopilot is not None
        kind = cls if isinstance(vehicle, Multirotor) else Px4Rover
        return kind(vehicle.autopilot.instance, *outputs_of(vehicle))

    def open(self) -> None:
        """Listen. Raises OSError if the port is in use."""
        self._server = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        try:
            self._server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            self._server.bind(self.address)
            self._server.listen(1)
        except OSError:
            self.close()
            raise
        self._server.setblocking(False)

    def close(self) -> None:
        """Close the port and the connection."""
        for each in (self._peer, self._server):
            if each is not None:
                each.close()
        self._server = self._peer = None

    def send(self, sample: Sample) -> None:
        """Send the sample."""
        if sample.time_ns < self._now_ns and self._peer is not None and not self._begins_anew:
            self.wait.report_jump("the run was reset")
        self._keep_time(sample.time_ns)
        self._fix = sample.fix or self._fix
        self._disconnected = False
        if self._peer is None and not self._accept():
            return
        self._exchanges += 1
        self._reject_second()
        try:
            self._send(self._frames(sample))
        except ConnectionError:
            self._drop()

    def receive(self) -> Commands | None:
        """In lockstep, wait for the controls of the sample's time."""
        if self._peer is None:
            return self._none if self._disconnected else None
        try:
            if not self.wait.lockstep:
                self._read(0.0)
                self.wait.lockstep = self._controls is not None and self._controls.lockstep
            elif self.wait.until(self._answered):
                self.wait.answered += 1
            elif not self.wait.stop.is_set():
                raise ConnectionError("no answer")
        except ConnectionError:
            self._drop()
            return self._none
        return None if self._controls is None else self._controls.commands(self._outputs, self._low)

    def _keep_time(self, time_ns: int) -> None:
        """Update PX4's clock, which never goes back, even if the run is reset."""
        if time_ns < self._now_ns:
            self._offset_us = self._time_us + _AFTER_RESET_US - time_ns // 1000
        self._now_ns, self._time_us = time_ns, time_ns // 1000 + self._offset_us

    def _frames(self, sample: Sample) -> bytes:
        frames = [self._sensor.frame(self._count(), *px4_hil.sensor(sample, self._time_us))]
        if sample.fix is not None:
            frames.append(self._frame("HIL_GPS", px4_hil.gps(sample.fix, self._time_us)))
        frames += [self._frame("DISTANCE_SENSOR", px4_hil.distance(each, self._time_us)) for each in sample.distances]
        if sample.flow is not None:
            frames.append(self._frame("HIL_OPTICAL_FLOW", px4_hil.optical_flow(sample.flow, self._time_us)))
        if self._fix is not None and self._time_us - self._truth_us >= _TRUTH_PERIOD_US:
            self._truth_us = self._time_us
            frames.append(self._frame("HIL_STATE_QUATERNION", px4_hil.truth(sample, self._fix, self._time_us)))
        return b"".join(frames)

    def _frame(self, name: str, fields: Mapping[str, Any]) -> bytes:
        return frame_bytes(name, fields, SYSTEM, COMPONENT, self._count())

    def _count(self) -> int:
        self._sequence = (self._sequence + 1) & 0xFF
        return self._sequence

    def _accept(self, seconds: float = 0.0) -> bool:
        assert self._server is not None
        if seconds:
            select.select([self._server], [], [], seconds)
        try:
            self._peer, address = self._server.accept()
        except (BlockingIOError, ConnectionError):
            return False
        self._peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._peer.setblocking(True)
        self._parser, self._controls = Parser(datagrams=False), None
        self.wait.peer, self.wait.lockstep = f"{address[0]}:{address[1]}", False
        return True

    def _reject_second(self) -> None:
        """From time to time, disconnect a second autopilot, which would otherwise wait for ever."""
        assert self._server is not None
        if self._exchanges % _SECOND_CHECK_PERIOD:
            return
        with suppress(BlockingIOError, ConnectionError):
            second, address = self._server.accept()
            second.close()
            whom, peer = self.wait.whom, self.wait.peer
            self.wait.report(f"{whom}: a second one at {address[0]}:{address[1]} is rejected; {peer} flies")

    def _send(self, data: bytes) -> None:
        """Send data.

        Raises:
            ConnectionError: The peer is gone, or has not read for as long as the connection's patience.
        """
        peer = self._peer
        assert peer is not None
        gone = 0
        with suppress(BlockingIOError):
            gone = peer.send(data, socket.MSG_DONTWAIT)
        if gone == len(data):
            return
        left = memoryview(data)[gone:]

        def sent(seconds: float) -> bool:
            nonlocal left
            if select.select([], [peer], [], seconds)[1]:
                left = left[peer.send(left, socket.MSG_DONTWAIT) :]
            return not left

        if not self.wait.until(sent) and not self.wait.stop.is_set():
            raise ConnectionError("nothing is read")

    def _answered(self, seconds: float) -> bool:
        self._read(seconds)
        return self._controls is not None and self._controls.time_us >= self._time_us

    def _read(self, seconds: float) -> None:
        """Read all that has been received, or else wait some seconds for data.

        Raises:
            ConnectionError: The peer has closed the connection.
        """
        peer = self._peer
        assert peer is not None
        while True:
            try:
                data = peer.recv(_READ_SIZE, socket.MSG_DONTWAIT)
            except BlockingIOError:
                if not select.select([peer], [], [], seconds)[0]:
                    return
                continue
            if not data:
                raise ConnectionError("closed")
            self._take(data)
            answered = self._controls is not None and self._controls.time_us >= self._time_us
            # After a full buffer there is more data, which would accumulate.
            if answered and len(data) < _READ_SIZE:
                return
            seconds = 0.0

    def _take(self, data: bytes) -> None:
        if self._parser.is_between_frames and (found := _CONTROLS.read(data, 0)):
            end, numbers = found
            self._controls = px4_hil.controls(numbers)
            data = data[end:]
            if not data:
                return
        for message in self._parser.feed(data):
            if message.name == "HIL_ACTUATOR_CONTROLS":
                fields = message.fields
                self._controls = px4_hil.controls((fields.time_usec, fields.flags, *fields.controls, fields.mode))
            else:
                self._receive(message)

    def _receive(self, message: MavlinkMessage) -> None:
        """Handle a message other than controls. PX4 sends none that matters here."""

    def _drop(self) -> None:
        if self._peer is not None:
            self._peer.close()
        self._peer, self._controls, self._disconnected = None, None, True
        self.wait.lose()


class Px4Rover(Px4):
    """The simulator side of PX4's simulator_mavlink for wheeled bases.

    PX4 sends controls whenever a controller has published motor commands. Those of multirotors do so for each
    HIL_SENSOR. Those of rovers run at 100 Hz, and publish nothing while the vehicle is disarmed or has no setpoint.
    While they answer, the simulation is ahead of them by less than their period plus one sample. While they are silent,
    the progress of PX4 is unknown: the simulation then runs no faster than real time, and the wheels stand.
    """

    def __init__(self, instance: int, outputs: int, low: float = 0.0) -> None:
        super().__init__(instance, outputs, low)
        self._before_us = self._time_us
        self._due = 0.0

    def receive(self) -> Commands | None:
        """Wait for controls that are recent enough, or for real time to pass."""
        if self._peer is None:
            return super().receive()
        sample_us, self._before_us = max(self._time_us - self._before_us, 0), self._time_us
        self._oldest_us = self._time_us - ROVER_PERIOD_US - sample_us
        try:
            self._read(0.0)
            if self._controls is not None and not self._controls.armed:
                self._controls = None
            self.wait.lockstep = self._controls is not None and self.wait.until(self._answered)
        except ConnectionError:
            self._drop()
            return self._none
        if self.wait.lockstep and self._controls is not None:
            self.wait.answered += 1
            return self._controls.commands(self._outputs, self._low)
        self._controls = None
        self._keep_to_real_time(1e-6 * sample_us)
        return self._none

    def _answered(self, seconds: float) -> bool:
        if not self._is_recent():
            self._read(seconds)
        return self._is_recent()

    def _is_recent(self) -> bool:
        return self._controls is not None and self._controls.time_us > self._oldest_us

    def _keep_to_real_time(self, seconds: float) -> None:
        """Wait until this many seconds have passed since the last sample."""
        now = time.monotonic()
        self._due = min(max(self._due + seconds, now), now + seconds)
        self.wait.stop.wait(self._due - now)
