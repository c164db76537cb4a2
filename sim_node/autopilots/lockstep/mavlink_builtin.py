"""The built-in autopilot in lockstep, by PX4's simulator interface and the vehicle's true state.

The simulation starts the process, restarts it if it dies, and stops it; or it runs the autopilot in its own process.
"""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from sim_node.autopilots.builtin.process import AutopilotProcess
from sim_node.autopilots.builtin.vehicle_parameters import VehicleParameters
from sim_node.autopilots.lockstep import px4_hil
from sim_node.autopilots.lockstep.autopilot import Commands, autopilot, outputs_of
from sim_node.autopilots.lockstep.px4 import COMPONENT, FIRST_PORT, HOST, SYSTEM, Px4
from sim_node.autopilots.lockstep.samples import Sample
from sim_node.mavlink.codec import FrameWriter, MavlinkMessage, frame_bytes, kind_named
from sim_node.mavlink.signing import SigningFault, owner_of, signing_of
from sim_node.simulation import Simulation
from sim_node.spatial.frames import AttitudeNed, Ned
from sim_node.world import WorldError
from sim_node.world.autopilots import Vehicle
from sim_node.world.problems import Problem

if TYPE_CHECKING:
    from sim_node.autopilots.builtin.simulator import MemoryLink

# Interval of reports that the simulation is waiting (s).
PATIENCE = 20.0
_LOCAL_NED = 1  # MAV_FRAME
_REQUEST = 512  # MAV_CMD_REQUEST_MESSAGE
# Ids of the simulated ground station, and the number of replies that are kept.
STATION, STATION_COMPONENT, MAX_REPLIES = 245, 190, 200
_RESET = 1 << 31  # HIL_SENSOR.fields_updated: the state was reset
_UNKNOWN_COVARIANCE = (float("nan"), *[0.0] * 20)
# The remaining fields of ODOMETRY: no rates, unknown covariances, and both frames.
_AFTER_VELOCITY = (0.0, 0.0, 0.0, *_UNKNOWN_COVARIANCE, *_UNKNOWN_COVARIANCE, _LOCAL_NED, _LOCAL_NED, 0, 0, 0)


@autopilot("mavlink_builtin")
class MavlinkBuiltin(Px4):
    """The simulator side of `sim_node autopilot`.

    Before each HIL_SENSOR it sends the true pose and velocity as ODOMETRY, because the built-in autopilot has no
    estimator. The simulation waits until the process is connected, also after it was lost in flight.

    Args:
        instance: Instance number, from 0, which determines the port.
        outputs: Number of channels that it sends.
        low: Minimum command of a channel.
        process: Process to run, or None if it is started elsewhere.

    Attributes:
        replies: Answers to `order` and texts, the newest last.
        telemetry: Newest message of each requested kind.
    """

    _begins_anew: ClassVar = True

    def __init__(self, instance: int, outputs: int, low: float = 0.0, process: AutopilotProcess | None = None) -> None:
        super().__init__(instance, outputs, low)
        self.wait.whom = f"autopilot {instance} (tcp {HOST}:{FIRST_PORT + instance})"
        self._process, self.wait.own = process, process is not None
        self._reset = False
        self._sample: Sample | None = None
        self._odometry = FrameWriter("ODOMETRY", SYSTEM, COMPONENT, _AFTER_VELOCITY)
        self._orders: list[bytes] = []
        self.replies: list[MavlinkMessage] = []
        self.telemetry: dict[str, MavlinkMessage] = {}
        self._requested: set[str] = set()

    @classmethod
    def of(cls, simulation: Simulation, vehicle: Vehicle, rate: float) -> MavlinkBuiltin:
        """Return the autopilot of a vehicle in a run: in a process of the run, in this process, or started by the user.

        Args:
            simulation: The run.
            vehicle: The vehicle.
            rate: Rate of its Samples (Hz).

        Returns:
            The autopilot, not open yet.

        Raises:
            WorldError: The signing key of the world is invalid.
        """
        from sim_node.autopilots.builtin.world import parameters_of

        assert vehicle.autopilot is not None
        instance = vehicle.autopilot.instance
        _check_key(vehicle)
        parameters = parameters_of(simulation, vehicle, rate)
        if vehicle.autopilot.in_process:
            return InProcessBuiltin(instance, *outputs_of(vehicle), parameters)
        process = AutopilotProcess(parameters, instance) if vehicle.autopilot.start else None
        return cls(instance, *outputs_of(vehicle), process)

    def open(self) -> None:
        """Listen, and start the process. Raises OSError if the port is in use."""
        super().open()
        if self._process is not None:
            try:
                self._process.start()
            except OSError:
                self.close()
                raise

    def close(self) -> None:
        """Close the port, and stop the process."""
        super().close()
        if self._process is not None:
            self._process.stop()

    def send(self, sample: Sample) -> None:
        """Send the sample, if the process is connected."""
        self._reset = self._reset or sample.time_ns < self._now_ns
        # Samples begin with the first step of a run, also after a reset.
        self._sample = sample if sample.time_ns else None
        if self._sample is not None and self._peer is not None:
            super().send(sample)

    def receive(self) -> Commands | None:
        """Wait for the process to connect, if necessary, and for its commands."""
        sample = self._sample
        if sample is None:
            return None
        while not self.wait.stop.is_set():
            if self._peer is None:
                if not self.wait.until(self._is_connected, PATIENCE):
                    continue
                super().send(sample)
            commands = super().receive()
            if self._peer is not None:
                self._reset = False
                return commands
            # The connection was lost: the next process receives the same sample.
            if not self.wait.stop.is_set():
                self.wait.report(f"{self.wait.whom} is gone: the simulation waits for it")
        return self._none

    def order(self, name: str, fields: Mapping[str, Any]) -> None:
        """Send a message of a ground station with the next sample, that is, at its simulation time.

        Answers are added to `replies`. Raises EncodeError if the fields do not fit.

        Args:
            name: Name of the message.
            fields: Its fields.
        """
        self._orders.append(frame_bytes(name, fields, STATION, STATION_COMPONENT, self._count()))

    def request(self, name: str) -> None:
        """Request a message with the next sample. Its newest value is in `telemetry`. See `order`.

        Args:
            name: Name of the message.
        """
        self._requested.add(name)
        fields = {"target_system": 0, "target_component": 1, "command": _REQUEST, "param1": kind_named(name).number}
        self.order("COMMAND_LONG", fields)

    def kill(self) -> None:
        """Kill the process if the run has started it. The next sample restarts it."""
        if self._process is not None:
            self._process.kill()

    def _receive(self, message: MavlinkMessage) -> None:
        if message.name in self._requested:
            self.telemetry[message.name] = message
            return
        if message.name == "COMMAND_ACK" and message.fields.command == _REQUEST:
            return
        self.replies.append(message)
        del self.replies[:-MAX_REPLIES]

    def _is_connected(self, seconds: float) -> bool:
        if self._process is not None:
            self._process.keep_up()
        return self._accept(seconds)

    def _accept(self, seconds: float = 0.0) -> bool:
        accepted = super()._accept(seconds)
        # It answers every sample, including the first.
        self.wait.lockstep = self.wait.lockstep or accepted
        return accepted

    def _frames(self, sample: Sample) -> bytes:
        """Encode without dictionaries, because this runs at every step."""
        time_us = self._time_us
        frames = [*self._orders, self._odometry.frame(self._count(), *_state(sample, time_us))]
        if sample.fix is not None:
            frames.append(self._frame("HIL_GPS", px4_hil.gps(sample.fix, time_us)))
        self._orders.clear()
        also = _RESET if self._reset else 0
        frames.append(self._sensor.frame(self._count(), *px4_hil.sensor(sample, time_us, also)))
        return b"".join(frames)


class InProcessBuiltin(MavlinkBuiltin):
    """The built-in autopilot in the process of the run: the same MAVLink bytes, in memory instead of over a socket.

    It runs in the thread that steps the simulation. Another thread serves its ground links, also in pauses.

    Args:
        instance: Instance number, from 0, which determines the ports.
        outputs: Number of channels that it sends.
        low: Minimum command of a channel.
        parameters: The vehicle.
    """

    def __init__(self, instance: int, outputs: int, low: float, parameters: VehicleParameters) -> None:
        super().__init__(instance, outputs, low)
        self.wait.own = True
        self._parameters = parameters
        self._remembered = tempfile.TemporaryFile()  # noqa: SIM115  open as long as the simulation
        self._link: MemoryLink | None = None
        self._end: Callable[[], None] = _nothing
        self._failures: list[BaseException] = []

    def close(self) -> None:
        """Close the ports, and end the autopilot."""
        self.kill()
        super().close()
        self._remembered.close()

    def send(self, sample: Sample) -> None:
        """Send the sample and receive the answer.

        Raises the exception that has ended the thread of the ground links, if any.
        """
        if self._failures:
            raise self._failures[0]
        self._reset = self._reset or sample.time_ns < self._now_ns
        # Samples begin with the first step of a run, also after a reset.
        self._sample = sample if sample.time_ns else None
        if self._sample is None:
            return
        link = self._link or self._begin()
        self._exchanges += 1
        self._reject_second()
        self._keep_time(sample.time_ns)
        self._take(link.exchange(self._frames(sample)))
        self._reset = False
        self.wait.answered += 1

    def receive(self) -> Commands | None:
        """Return the commands of the last answer."""
        if self._sample is None or self._controls is None:
            return None
        return self._controls.commands(self._outputs, self._low)

    def kill(self) -> None:
        """End the autopilot. The next sample restarts it from its memory."""
        self._end()
        self._link, self._end = None, _nothing
        self.wait.peer, self.wait.lockstep = "", False

    def _begin(self) -> MemoryLink:
        # Imported here, so that runs whose autopilots have their own processes do not load these modules.
        from sim_node.autopilots.builtin.memory import Memory
        from sim_node.autopilots.builtin.program import in_process

        autopilot, link = in_process(self._parameters, self.instance, Memory(self._remembered.fileno()))

        def serve() -> None:
            try:
                autopilot.run()
            except BaseException as failure:  # raised in the thread that steps
                self._failures.append(failure)

        serving = threading.Thread(target=serve, name=f"autopilot {self.instance}", daemon=True)
        serving.start()

        def end() -> None:
            autopilot.stop()
            serving.join()

        self._link, self._end = link, end
        self.wait.peer, self.wait.lockstep = "this process", True
        return self._link


def _nothing() -> None:
    """Do nothing: the autopilot is not running."""


def _check_key(vehicle: Vehicle) -> None:
    """Raise WorldError for an invalid signing key. The process would refuse it, and be restarted endlessly."""
    autopilot, place = vehicle.autopilot, vehicle.place
    if autopilot is None or autopilot.signing_key is None:
        return
    try:
        signing_of(autopilot.signing_key, "required", 0, owner_of(autopilot.instance)).close()
    except SigningFault as fault:
        raise WorldError([Problem(place.where, f"{place.key}.autopilot.signing_key", str(fault))]) from None


def _state(sample: Sample, time_us: int) -> tuple[float, ...]:
    """Return the first values of ODOMETRY: true pose and velocity in NED. Rates are those of the gyroscope.

    If sensors have failed, the pose contains the errors that a filter would have.
    """
    x, y, z, *attitude = (sample.pose if sample.estimate is None else sample.estimate).tolist()
    place, velocity = Ned.of_enu(x, y, z).numbers, Ned.of_enu(*sample.velocity.tolist()).numbers
    return time_us, *place, *AttitudeNed.of_enu(*attitude).numbers, *velocity
