"""An installed PX4 or ArduPilot that a run starts by itself, and flies from the moment at which it can be armed."""

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

# It is not in lockstep until it has booted, in its own time: until then a sample now and then, s.
_BOOT_PERIOD_S = 0.01
# The longest time until it can be armed, simulated s; and until it connects, s of this machine.
READY_WITHIN_S, THERE_WITHIN_S = 120.0, 120.0
# How long it may be silent, s of this machine: it may be a busy one.
PATIENCE_S = 60.0
# How often it is waited for while it owes an answer, s.
_PACE_NS = 20_000_000


_LAND = 21  # MAV_CMD_NAV_LAND
# How a mission is begun on the ground: the mode AUTO.MISSION, and arming; GUIDED, arming, and the start.
_MISSION_ORDERS = {PX4: ((176, 1.0, 4.0, 4.0), (400, 1.0)), ARDUPILOT: ((176, 1.0, 4.0), (400, 1.0), (300,))}


class StartedAutopilot:
    """PX4 or ArduPilot of this machine, in lockstep from the first sample of a run on.

    Before that sample, it is started and flown in a still copy of the world, in which the vehicle stands where it
    begins, until it can be armed: the run begins with an autopilot that is ready, whatever it needs for that. If the
    run begins again, so does the autopilot, with new parameters.

    Args:
        inner: Its link in lockstep.
        simulation: The run.
        vehicle: The vehicle.

    Attributes:
        wait: The state of the connection in lockstep.
        sample_source: That of the link in lockstep makes the samples.

    Raises:
        WorldError: It is not installed.
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
        self._now_ns, self._offset_ns, self._awaited_ns = -1, 0, 0
        self._begun = self._flies_mission = self._sends_mission = self._killed = self._sent = False
        self._lost = 0  # how often its connection ended for a reason
        rate = inner.sample_source(simulation, vehicle).rate if vehicle.pilot is not None else 0.0
        self._mission = (
            () if vehicle.pilot is None else _landing_there(parameters_of(simulation, vehicle, rate).mission)
        )

    @classmethod
    def of(cls, simulation: Simulation, vehicle: Vehicle, rate: float) -> StartedAutopilot:
        """Return the autopilot of a vehicle in a run, not started yet. Raises WorldError if it is not installed."""
        assert vehicle.autopilot is not None
        return cls(AUTOPILOTS[vehicle.autopilot.type].of(simulation, vehicle, rate), simulation, vehicle)

    @property
    def replies(self) -> list[MavlinkMessage]:
        """What it has answered to orders, and its texts, the newest last."""
        return self._link.replies

    @property
    def telemetry(self) -> dict[str, MavlinkMessage]:
        """The newest of each message that it was requested to send."""
        return self._link.telemetry

    @property
    def armed(self) -> bool:
        """Whether it says that it is armed."""
        return self._link.armed

    def open(self) -> None:
        """Listen. Raises OSError if the port is in use."""
        self._inner.open()

    def close(self) -> None:
        """End it, and close the sockets."""
        self._end()
        self._inner.close()

    def send(self, sample: Sample) -> None:
        """Send the sample; start the autopilot before the first one of a run. Raises RunFailed."""
        if not self._begun or sample.time_ns < self._now_ns:
            self._begin()
        elif self._killed:  # it boots while the vehicle is where it is
            self._start()
        self._now_ns = sample.time_ns
        # A reset exchanges at the start, too; a run that begins, from its first step on. Both are the same flight.
        self._sent = sample.time_ns > 0
        if not self._sent:
            return
        pilot = self._vehicle.pilot
        if pilot is not None and not self._flies_mission and sample.time_ns >= round(pilot.wait * 1e9):
            self._fly_mission()
        self._inner.send(sample._replace(time_ns=sample.time_ns + self._offset_ns))

    def receive(self) -> Commands | None:
        """Wait for its commands, and hear what it says. Raises RunFailed if it is gone: that is no verdict on it."""
        if not self._sent:
            return None
        commands = self._inner.receive()
        if self.wait.lost > self._lost and not self.wait.stop.is_set():
            self._fail(f"has ended, or has been silent for {PATIENCE_S:g} s")
        if self._link.open():
            self._link.poll(self._now_ns)
        if self._now_ns < self._awaited_ns and self._now_ns % _PACE_NS == 0:
            self._link.wait_until_read()
        return commands

    def order(self, name: str, fields: Mapping[str, Any]) -> None:
        """Send a message of a ground station. What the autopilot answers is added to `replies`.

        Args:
            name: The message.
            fields: Its fields.
        """
        self._link.send(name, fields)
        # It answers in threads of its own, which are to keep up with the run for a while.
        self._awaited_ns = self._now_ns + 1_000_000_000

    def request(self, name: str) -> None:
        """Ask for a message; `telemetry` has the newest."""
        self._link.request(name)

    def kill(self) -> None:
        """Kill it; the next sample starts it again."""
        self._end()
        self._killed, self._lost = True, self.wait.lost + 1

    def _begin(self) -> None:
        """Start it anew, and let it stand in a still copy of the world until it can be armed."""
        self._end()
        program = self._start()
        still = Simulation(_without_events(self._run.world), self._run.seed)
        source = self._inner.sample_source(still, self._vehicle)
        begin_ns, step_ns = still.time_ns, still.world.time.step_ns
        if self._begun:  # the clock of its link goes on
            self._offset_ns += self._now_ns + step_ns
        deadline = time.monotonic() + THERE_WITHIN_S
        try:
            while not (self._link.ready and self._has_mission(still.time_ns)) and not self.wait.stop.is_set():
                time_ns = still.time_ns - begin_ns
                sample = source.sample(still.steps, time_ns)
                if sample is not None:
                    self._inner.send(sample._replace(time_ns=time_ns + self._offset_ns))
                    self._inner.receive()
                # PX4's rovers are in lockstep while they drive only.
                there = self.wait.lockstep or (bool(self.wait.peer) and isinstance(self._vehicle, Base))
                # ArduPilot waits for this connection before it sends anything.
                if self._link.open() and there:
                    self._greet(time_ns)
                    self._link.poll(still.time_ns)
                if not there:
                    if program.ended.is_set() or time.monotonic() > deadline:
                        self._fail("has ended" if program.ended.is_set() else "has not connected")
                    self.wait.stop.wait(_BOOT_PERIOD_S)
                # PX4 boots by samples. ArduPilot is in lockstep from its first packet on: this world begins with it,
                # whenever that comes, so that what follows repeats.
                if there or self._kind == PX4:
                    still.step(1)
                if time_ns * 1e-9 > READY_WITHIN_S:
                    self._fail("cannot be armed")
        finally:
            still.close()
        self._offset_ns += still.time_ns - begin_ns + step_ns
        self._now_ns, self._begun, self._flies_mission, self._lost = 0, True, False, self.wait.lost

    def _has_mission(self, time_ns: int) -> bool:
        """Return whether it has the mission of the vehicle's pilot; the first time, begin to send it."""
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

    def _greet(self, time_ns: int) -> None:
        """Send a heartbeat once a second, for PX4 answers only who speaks, and ask ArduPilot for its state."""
        if time_ns % 1_000_000_000 == 0:
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
        """End it, and forget what it had."""
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
        if "already running" in log:  # another PX4 was faster; the next attempt of a sweep uses another instance
            raise PortInUse(f"{self.wait.whom} {what}{log}")
        raise RunFailed(f"{self.wait.whom} {what}{': ' * bool(texts)}{texts}{log}")


def _landing_there(items: Sequence[Mapping[str, Any]] | None) -> tuple[Mapping[str, Any], ...]:
    """Return a mission whose landings are at the place before them, as PX4 requires."""
    found: list[Mapping[str, Any]] = []
    for item in items or ():
        before = next((each for each in reversed(found) if each["x"]), None)
        if item["command"] == _LAND and before is not None:
            item = {**item, "x": before["x"], "y": before["y"], "z": before["z"]}
        found.append(item)
    return tuple(found)


def _without_events(world: World) -> World:
    """Return a world in which nothing happens, and nothing is started."""
    return replace(world, scenario=(), expect=None, processes=())
