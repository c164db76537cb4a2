"""The built-in autopilot in lockstep: PX4's simulator link and the vehicle's state, in step from the first reading.

The process is started, started again where it dies, and stopped by the simulation that it flies in.
"""

from __future__ import annotations

from sim_node.autopilot.axes import attitude_ned_frd, ned_enu
from sim_node.autopilot.builtin.process import Process
from sim_node.autopilot.codec import FrameWriter
from sim_node.autopilot.lockstep import px4_hil
from sim_node.autopilot.lockstep.autopilot import Commands, autopilot
from sim_node.autopilot.lockstep.px4 import COMPONENT, FIRST_PORT, HOST, SYSTEM, Px4
from sim_node.autopilot.lockstep.samples import Sample
from sim_node.simulation import Simulation
from sim_node.world import Multirotor

# How often it is told that the simulation stands still, s.
PATIENCE = 20.0
_LOCAL_NED = 1  # MAV_FRAME
_RESET = 1 << 31  # of HIL_SENSOR's fields: everything is elsewhere at once
_NOTHING_KNOWN = (float("nan"), *[0.0] * 20)
# Of ODOMETRY: no rates, no covariances, both frames, and no more.
_AFTER_VELOCITY = (0.0, 0.0, 0.0, *_NOTHING_KNOWN, *_NOTHING_KNOWN, _LOCAL_NED, _LOCAL_NED, 0, 0, 0)


@autopilot("mavlink_builtin")
class MavlinkBuiltin(Px4):
    """The simulator side of `sim_node autopilot`.

    Before each HIL_SENSOR it tells the true pose and velocity as ODOMETRY, since the built-in autopilot estimates
    nothing. The simulation stands still until the process is there, also where it was lost in flight.
    """

    def __init__(self, instance: int, motors: int, process: Process | None = None) -> None:
        super().__init__(instance, motors)
        self.wait.whom = f"autopilot {instance} (tcp {HOST}:{FIRST_PORT + instance})"
        self._process = process
        self._reset = False
        self._sample: Sample | None = None
        self._odometry = FrameWriter("ODOMETRY", SYSTEM, COMPONENT)

    @classmethod
    def of(cls, simulation: Simulation, vehicle: Multirotor, rate: float) -> MavlinkBuiltin:
        """That of a vehicle in a run, with a process of its own where the world does not leave that to others."""
        from sim_node.autopilot.builtin.world import parameters_of

        assert vehicle.autopilot is not None
        instance = vehicle.autopilot.instance
        process = Process(parameters_of(simulation, vehicle, rate), instance) if vehicle.autopilot.start else None
        return cls(instance, len(vehicle.rotors), process)

    def open(self) -> None:
        """Raises OSError where the port is taken."""
        super().open()
        if self._process is not None:
            try:
                self._process.start()
            except OSError:
                self.close()
                raise

    def close(self) -> None:
        """Lets go of the port, and stops the process."""
        super().close()
        if self._process is not None:
            self._process.stop()

    def send(self, sample: Sample) -> None:
        """Tells what the sensors read, at once where the process is there."""
        self._reset = self._reset or sample.time_ns < self._now_ns
        # A run is told of from its first step on, and so is one that was reset.
        self._sample = sample if sample.time_ns else None
        if self._sample is not None and self._peer is not None:
            super().send(sample)

    def receive(self) -> Commands | None:
        """Waits for the process where it is not there, and for the controls."""
        sample = self._sample
        if sample is None:
            return None
        while not self.wait.stop.is_set():
            if self._peer is None:
                if not self.wait.until(self._there, PATIENCE):
                    continue
                super().send(sample)
            commands = super().receive()
            if self._peer is not None:
                self._reset = False
                return commands
            # Lost in between: the one that comes next is told of the same instant.
            if not self.wait.stop.is_set():
                self.wait.tell(f"{self.wait.whom} is gone: the simulation waits until it is back")
        return (0.0,) * self._motors

    def _there(self, seconds: float) -> bool:
        if self._process is not None:
            self._process.keep_up()
        return self._accept(seconds)

    def _accept(self, seconds: float = 0.0) -> bool:
        came = super()._accept(seconds)
        # It answers the first reading already.
        self.wait.lockstep = self.wait.lockstep or came
        return came

    def _frames(self, sample: Sample) -> bytes:
        """By hand, for this is done at every step."""
        time_us = self._time_us
        frames = [self._odometry.frame(self._count(), *_state(sample, time_us))]
        if sample.fix is not None:
            frames.append(self._frame("HIL_GPS", px4_hil.gps(sample.fix, time_us)))
        also = _RESET if self._reset else 0
        frames.append(self._sensor.frame(self._count(), *px4_hil.sensor(sample, time_us, also)))
        return b"".join(frames)


def _state(sample: Sample, time_us: int) -> tuple[float, ...]:
    """The true state as ODOMETRY: pose in NED, velocity along its axes; rates are the gyroscope's to tell."""
    x, y, z, *attitude = sample.pose.tolist()
    place, velocity = ned_enu(x, y, z), ned_enu(*sample.velocity.tolist())
    return time_us, *place, *attitude_ned_frd(*attitude), *velocity, *_AFTER_VELOCITY
