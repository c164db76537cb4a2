"""An installed PX4 or ArduPilot that a run starts itself, and uses as soon as it can be armed."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

from sim_node.autopilots.builtin.world import parameters_of
from sim_node.autopilots.ground_link import GroundLink
from sim_node.autopilots.installed import ARDUPILOT, PX4, NotInstalled, find
from sim_node.autopilots.lockstep.autopilot import AUTOPILOTS, Commands, LockstepAutopilot
from sim_node.autopilots.lockstep.samples import Sample, SampleSource
from sim_node.mavlink.codec import MavlinkMessage
from sim_node.mavlink.ports import PortInUse
from sim_node.simulation import Simulation
from sim_node.simulation.programs.processes import expanded
from sim_node.simulation.programs.program import Program, end_of
from sim_node.simulation.programs.supervisor import Running, Supervisor
from sim_node.world import Base, World, WorldError
from sim_node.world.autopilots import Vehicle, place_of
from sim_node.world.problems import Problem, RunFailed

# Pause between samples until the autopilot has booted, which it does in real time, s.
_BOOT_PERIOD_S = 0.01
# Maximum time until the autopilot can be armed, in simulation time (s), and until it connects, in real time (s).
READY_WITHIN_S, THERE_WITHIN_S = 120.0, 120.0
# Maximum silence of the autopilot, in real time, s; the machine may be busy.
PATIENCE_S = 60.0
# Interval of heartbeats, in simulation time.
_GREETS_NS = 1_000_000_000
# Interval at which to wait until PX4 has read its messages, while an answer is due, in simulation time.
_PACE_NS = 20_000_000


_LAND = 21  # MAV_CMD_NAV_LAND
# Commands that start a mission on the ground. PX4: mode AUTO.MISSION, arm. ArduPilot: mode GUIDED, arm, start.
_MISSION_ORDERS = {PX4: ((176, 1.0, 4.0, 4.0), (400, 1.0)), ARDUPILOT: ((176, 1.0, 4.0), (400, 1.0), (300,))}


class StartedAutopilot:
    """A PX4 or ArduPilot process of this machine, in lockstep from the first sample of a run.

    It boots before that sample in a copy of the world, in which the vehicle stands at its start until the autopilot can
    be armed. A reset of the run restarts it with its initial parameters.

    Args:
        inner: Its link in lockstep.
        simulation: The run.
        vehicle: The vehicle.

    Attributes:
        wait: State of the connection in lockstep.
        sample_source: Not set: samples are made by that of the link in lockstep.

    Raises:
        WorldError: The autopilot is not installed.
    """

    sample_source: ClassVar[type[SampleSource]]

    def __init__(self, inner: LockstepAutopilot, simulation: Simulation, vehicle: Vehicle) -> None:
        assert vehicle.autopilot is not None
        kind = self._kind = vehicle.autopilot.type
        self._vehicle, self._run = vehicle, simulation
        try:
            found = find(kind, os.environ)
        except NotInstalled as error:
            place = place_of(vehicle)
            raise WorldError([Problem(place.where, f"{place.key}.autopilot", str(error))]) from None
        self._process = found.process(vehicle, vehicle.autopilot, simulation.world)
        self._inner, self.wait = inner, inner.wait
        self.wait.own, self.wait.patience = True, PATIENCE_S
        self._link = GroundLink(kind, vehicle.autopilot.instance)
        self._supervisor = Supervisor(patience_s=0.0)
        self._folder: Path | None = None
        self._before_ns = self._now_ns = -1
        self._offset_ns, self._awaited_ns = 0, 0
        self._begun = self._flies_mission = self._sends_mission = self._killed = self._sent = False
        self._lost = 0  # how often its connection ended for a known reason
        rate = inner.sample_source(simulation, vehicle).rate if vehicle.pilot is not None else 0.0
        self._mission = (
            () if vehicle.pilot is None else _landing_there(parameters_of(simulation, vehicle, rate).mission)
        )

    @classmethod
    def of(cls, simulation: Simulation, vehicle: Vehicle, rate: float) -> StartedAutopilot:
        """Return the autopilot of a vehicle in a run, not started yet.

        Args:
            simulation: The run.
            vehicle: The vehicle.
            rate: Rate of its Samples (Hz).

        Returns:
            The autopilot.

        Raises:
            WorldError: The autopilot is not installed.
        """
        assert vehicle.autopilot is not None
        return cls(AUTOPILOTS[vehicle.autopilot.type].of(simulation, vehicle, rate), simulation, vehicle)

    @property
    def replies(self) -> list[MavlinkMessage]:
        """Answers and texts of the autopilot, the newest last."""
        return self._link.replies

    @property
    def telemetry(self) -> dict[str, MavlinkMessage]:
        """Newest message of each requested kind."""
        return self._link.telemetry

    @property
    def armed(self) -> bool:
        """Whether the autopilot reports that it is armed."""
        return self._link.armed

    def open(self) -> None:
        """Listen. Raises OSError if the port is in use."""
        self._inner.open()

    def close(self) -> None:
        """End the process, and close the sockets."""
        self._end()
        self._inner.close()

    def send(self, sample: Sample) -> None:
        """Send a sample. Start the autopilot before the first one of a run.

        Args:
            sample: The vehicle's state.

        Raises:
            RunFailed: The autopilot has not become ready.
        """
        if not self._begun or sample.time_ns < self._now_ns:
            self._begin()
        elif self._killed:  # it boots while the run goes on
            self._start()
        self._before_ns, self._now_ns = self._now_ns, sample.time_ns
        # After a reset there is a sample at time zero, too. It is skipped, so that each flight begins with the first
        # step.
        self._sent = sample.time_ns > 0
        if not self._sent:
            return
        pilot = self._vehicle.pilot
        if pilot is not None and not self._flies_mission and sample.time_ns >= round(pilot.wait * 1e9):
            self._fly_mission()
        self._inner.send(sample._replace(time_ns=sample.time_ns + self._offset_ns))

    def receive(self) -> Commands | None:
        """Receive the commands and the messages of the ground link.

        Raises:
            RunFailed: The autopilot is gone, which says nothing about the test.
        """
        if not self._sent:
            return None
        commands = self._inner.receive()
        if self.wait.lost > self._lost and not self.wait.stop.is_set():
            self._fail(f"has ended, or has been silent for {PATIENCE_S:g} s")
        if self._link.open():
            self._link.poll(self._now_ns)
        if self._now_ns < self._awaited_ns and self._now_ns // _PACE_NS != self._before_ns // _PACE_NS:
            self._link.wait_until_read()
        return commands

    def order(self, name: str, fields: Mapping[str, Any]) -> None:
        """Send a message of a ground station. Answers are added to `replies`.

        Args:
            name: Name of the message.
            fields: Its fields.
        """
        self._link.send(name, fields)
        # It answers from other threads, which must keep pace with the run for a second.
        self._awaited_ns = self._now_ns + 1_000_000_000

    def request(self, name: str) -> None:
        """Request a message. Its newest value is in `telemetry`."""
        self._link.request(name)

    def kill(self) -> None:
        """Kill the process. The next sample restarts it."""
        self._end()
        self._killed, self._lost = True, self.wait.lost + 1

    def _begin(self) -> None:
        """Start the process, and run it in a copy of the world until it can be armed."""
        self._end()
        program = self._start()
        still = Simulation(_without_events(self._run.world), self._run.seed)
        source = self._inner.sample_source(still, self._vehicle)
        begin_ns, step_ns = still.time_ns, still.world.time.step_ns
        if self._begun:  # the clock of its link continues
            self._offset_ns += self._now_ns + step_ns
        deadline = time.monotonic() + THERE_WITHIN_S
        try:
            while not (self._link.ready and self._has_mission(still.time_ns)) and not self.wait.stop.is_set():
                time_ns = still.time_ns - begin_ns
                sample = source.sample(still.steps, time_ns)
                if sample is not None:
                    self._inner.send(sample._replace(time_ns=time_ns + self._offset_ns))
                    self._inner.receive()
                # PX4's rovers are in lockstep only while they drive.
                there = self.wait.lockstep or (bool(self.wait.peer) and isinstance(self._vehicle, Base))
                # ArduPilot waits for this connection before it sends anything.
                if self._link.open() and there:
                    if time_ns // _GREETS_NS != (time_ns - step_ns) // _GREETS_NS:
                        self._greet()
                    self._link.poll(still.time_ns)
                if not there:
                    if program.ended.is_set() or time.monotonic() > deadline:
                        self._fail("has ended" if program.ended.is_set() else "has not connected")
                    self.wait.stop.wait(_BOOT_PERIOD_S)
                # PX4 needs samples to boot. ArduPilot is in lockstep from its first packet on, so the copy of the world
                # starts with that packet, for repeatable runs.
                if there or self._kind == PX4:
                    still.step(1)
                if time_ns * 1e-9 > READY_WITHIN_S:
                    self._fail("cannot be armed")
        finally:
            still.close()
        self._offset_ns += still.time_ns - begin_ns + step_ns
        self._now_ns, self._begun, self._flies_mission, self._lost = 0, True, False, self.wait.lost

    def _has_mission(self, time_ns: int) -> bool:
        """Return whether the autopilot has the mission of the vehicle's pilot. The first call starts the upload."""
        if self._mission and not self._sends_mission:
            self._sends_mission = True
            self._link.upload(self._mission, time_ns)
        ended = self._link.uploaded if self._mission else None
        if ended is not None and not ended.ok:
            self._fail(f"does not take the mission: {ended.text}")
        return ended is not None or not self._mission

    def _fly_mission(self) -> None:
        self._flies_mission = True
        for command, *params in _MISSION_ORDERS[self._kind]:
            fields = {f"param{number}": value for number, value in enumerate(params, 1)}
            self._link.send("COMMAND_LONG", {"target_system": 0, "target_component": 1, "command": command, **fields})

    def _greet(self) -> None:
        """Send a heartbeat, without which PX4 sends nothing, and request telemetry from ArduPilot."""
        self._link.send("HEARTBEAT", {"type": 6, "autopilot": 8, "mavlink_version": 3})
        self._link.ask_for_streams()

    def _start(self) -> Running:
        self._killed = False
        self._folder = Path(tempfile.mkdtemp(prefix="sim_node_autopilot_"))
        process, folder = self._process, self._folder
        command = tuple(expanded(word, {**os.environ, "STATE_DIR": str(folder)}) for word in process.command)
        return self._supervisor.start(
            Program(process.name, command, folder, dict(process.env), log=folder / "output.txt")
        )

    def _end(self) -> None:
        """End the process, and delete its folder."""
        self._link.close()
        self._supervisor.stop()
        self._supervisor = Supervisor(patience_s=0.0)
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None
        self._sends_mission = False

    def _fail(self, what: str) -> None:
        texts = "; ".join(self._link.texts[-3:])
        log = "" if self._folder is None else end_of(self._folder / "output.txt")
        if "already running" in log:  # another PX4 was first; the next attempt of a sweep has another instance
            raise PortInUse(f"{self.wait.whom} {what}{log}")
        raise RunFailed(f"{self.wait.whom} {what}{': ' * bool(texts)}{texts}{log}")


def _landing_there(items: Sequence[Mapping[str, Any]] | None) -> tuple[Mapping[str, Any], ...]:
    """Return a mission in which each landing is at the preceding position, as PX4 requires."""
    found: list[Mapping[str, Any]] = []
    for item in items or ():
        before = next((each for each in reversed(found) if each["x"]), None)
        if item["command"] == _LAND and before is not None:
            item = {**item, "x": before["x"], "y": before["y"], "z": before["z"]}
        found.append(item)
    return tuple(found)


def _without_events(world: World) -> World:
    """Return a world without scenario events, expectations and processes."""
    return replace(world, scenario=(), expect=None, processes=())
