"""Session: a complete run, opened and closed in order."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING
from weakref import ref

from sim_node.autopilots.vehicle_co_simulator import VehicleCoSimulator, attach_autopilots
from sim_node.mavlink.instances import AutopilotInstances
from sim_node.messages.topic import Outlet, Tee
from sim_node.recording.settings import RecordingSettings
from sim_node.session.entity_requests import EntityRequests
from sim_node.session.errors import needing
from sim_node.session.publishing import Publishing, published
from sim_node.session.requests import RequestContext
from sim_node.session.resources import Resources
from sim_node.session.run_parts import RUN_PARTS
from sim_node.session.run_requests import RunRequests
from sim_node.session.structure_requests import StructureRequests
from sim_node.simulation import Loop, Simulation, Sink
from sim_node.simulation.programs import Supervisor
from sim_node.simulation.programs.processes import follow, programs_of, supervised
from sim_node.text import shown
from sim_node.world import World, load
from sim_node.world.load import randomised as drawn

if TYPE_CHECKING:
    from sim_node.messages.clock import ClockSink
    from sim_node.recording.recorder import Recorder
    from sim_node.session.foxglove_server import FoxgloveServer
    from sim_node.session.run_parts import Attendant
    from sim_node.session.topic_fields import TopicDrawings, TopicFields
    from sim_node.viewing.browser.ghosts import Ghost
    from sim_node.viewing.browser.view_sink import ViewSink
    from sim_node.viewing.browser.viewer import Viewer

_LOG = logging.getLogger("sim_node")
# How long to keep answering autopilots that are shutting down, s.
_LAST_ANSWERS_S = 0.5


class Session:
    """A complete run of a world: autopilots, programs, recording and viewer. Use it in a `with` statement.

    The constructor opens nothing. `world` and `simulation` are created when they are first read; `open` (or entering
    the block) opens sockets, files and processes, and `close` (or leaving it) ends them all. If opening fails, whatever
    was opened is closed. Time starts with the first `run` or `start`.

    Args:
        world: A World, a path, a package:// URI, or the name of a shipped world.
        seed: Seed of all random numbers.
        randomised: Whether to draw values that the world specifies as ranges.
        publish_rate: Ticks per simulated second (Hz).
        real_time_factor: Simulated seconds per wall second; 0 for as fast as possible.
        paused: Whether `start` waits for `loop.resume`.
        duration_ns: Simulated time after which the run ends; None for no limit, or for the `max_ticks` of its script
            if the world is in Python.
        record: A new folder for a rosbag2 bag of everything that the run publishes.
        recording: Settings of the recording.
        view: Whether to show the run in the browser, or the port to use; see `viewer.url`.
        look_back: How much of the run the viewer keeps for looking back, bytes.
        ghosts: Ghosts that the viewer shows beside the run, such as a `session.bag_ghost.BagGhost`.
        foxglove: Whether to serve the run to Foxglove, or the port to use; see `foxglove.url`.
        processes: Whether to start the world's processes. If False, `report` names those not started.
        bridged: Whether this process will also run the bridges of the autopilots, whose ports must then be free.
        network: Whether autopilot links of the world may leave this machine.
        allow: Folders from which requests may add files to the run, in addition to the world's.
        sinks: Additional sinks that receive each tick, after those that publish and record and before the viewer.
        publishing: How messages are composed, and where they go besides the recording.
        report: Called with messages for the user; by default they go to the logger `sim_node` as INFO.
        warn: Called with warnings for the user; by default they go to the logger `sim_node` as WARNING.

    Attributes:
        seed: The seed to use from the next reset on.
        requests: Carries out requests to an open session, such as `requests.ask("spawn", file="iris")`.
        quit: Called to end the run on request; None to end it at once.
    """

    def __init__(
        self,
        world: World | str | Path,
        *,
        seed: int = 0,
        randomised: bool = False,
        publish_rate: float = 60.0,
        real_time_factor: float = 1.0,
        paused: bool = False,
        duration_ns: int | None = None,
        record: str | Path | None = None,
        recording: RecordingSettings | None = None,
        view: bool | int = False,
        look_back: int = 256_000_000,
        ghosts: Sequence[Ghost] = (),
        foxglove: bool | int = False,
        processes: bool | None = None,
        bridged: bool = False,
        network: bool = False,
        allow: Sequence[str | Path] = (),
        sinks: Sequence[Sink] = (),
        publishing: Publishing | None = None,
        report: Callable[[str], None] = _LOG.info,
        warn: Callable[[str], None] = _LOG.warning,
    ) -> None:
        self.seed = seed
        self._autopilots: Sequence[VehicleCoSimulator] = ()
        self.recorder: Recorder | None = None
        self.viewer: Viewer | None = None
        self.foxglove: FoxgloveServer | None = None
        self.clock: ClockSink | None = None
        self.programs = Supervisor(report)
        self._given, self._randomised = world, randomised
        self._publish_rate, self._real_time_factor = publish_rate, real_time_factor
        self._paused, self._duration_ns = paused, duration_ns
        self._record, self._recording = record, recording or RecordingSettings()
        self._view, self._look_back, self._ghosts = view, look_back, ghosts
        self._foxglove, self._processes = foxglove, processes
        self._instances, self._network = AutopilotInstances(report, bridged=bridged), network
        self._allow = tuple(map(Path, allow))
        self.estimates: TopicDrawings | None = None
        self._sinks, self._publishing = tuple(sinks), publishing or Publishing()
        self._report, self._warn = self._noting("note", report), self._noting("warning", warn)
        self._loop: Loop | None = None
        self._started, self._closed = False, False
        self._opened: ExitStack | None = None
        self.quit: Callable[[], None] | None = None

    def _noting(self, kind: str, report: Callable[[str], None]) -> Callable[[str], None]:
        """Return a function that reports to the user and marks the page's timeline."""
        # Not the session itself: a reference cycle would keep its ports open until the next garbage collection.
        this = ref(self)

        def noted(text: str) -> None:
            report(text)
            session = this()
            if session is not None and session.viewer is not None:
                session.viewer.note(kind, text)

        return noted

    def __repr__(self) -> str:
        name = self._given.name if isinstance(self._given, World) else str(self._given)
        state = "not open" if self._opened is None else "closed" if self._closed else "open"
        return f"Session({name!r}, {state})"

    @cached_property
    def world(self) -> World:
        """The world to run: ranges drawn and free autopilot instances chosen, but not assembled. Raises WorldError."""
        world = self._given if isinstance(self._given, World) else load(self._given)
        world = drawn(world, self.seed) if self._randomised else world
        return self._instances.choose(world)

    @cached_property
    def simulation(self) -> Simulation:
        """The simulation of the world. Use `loop.call` to access it once the loop runs. Raises WorldError."""
        return Simulation(self.world, self.seed)

    @property
    def loop(self) -> Loop:
        """The loop of an open session. Raises RuntimeError before `open`."""
        if self._loop is None:
            raise RuntimeError("the session is not open; write `with Session(...) as session:`, or call open()")
        return self._loop

    @property
    def autopilots(self) -> tuple[VehicleCoSimulator, ...]:
        """The connections to the autopilots of the present world's vehicles."""
        return tuple(each for each in self._autopilots if not each.is_closed)

    def __enter__(self) -> Session:
        self.open()
        return self

    def __exit__(self, *of: object) -> None:
        self.close()

    def open(self) -> None:
        """Open everything except the sinks, which open when time starts.

        Raises:
            WorldError: The world, a vehicle's autopilot or a process is invalid.
            BagError: The folder of the recording exists.
            PagePortInUse: The port of the viewer or of Foxglove cannot be opened.
            PortInUse: An autopilot's port is in use.
            MissingExtra: A package that an option needs is not installed.
            RuntimeError: The session was opened before.
        """
        if self._opened is not None:
            raise RuntimeError("a session can be opened only once; create another one to run again")
        with ExitStack() as opened:
            opened.callback(self._instances.close)
            simulation = self.simulation
            opened.callback(simulation.close)
            if self._processes:
                programs_of(self.world)  # reports a missing program before any port is opened
            # Called last during a change, when nothing can reject it any more.
            simulation.on_change(self._follow_processes)
            self._autopilots = attach_autopilots(simulation, self._report, network=self._network)
            self.recorder = self._make_recorder()
            self.foxglove = self._make_foxglove(opened)
            fields = self._make_fields()
            self.estimates = self._make_estimates()
            served: list[Outlet] = [each for each in (self.foxglove, fields, self.estimates) if each is not None]
            outlet = Tee(*served) if served else None
            sinks, self.clock = published(self._publishing, self.recorder, simulation.world, outlet)
            view = self._make_view(opened, fields)
            duration_ns, attendants = self._duration_ns, self._attendants(simulation)
            for each in attendants:
                duration_ns = each.duration_ns if duration_ns is None else duration_ns
                sinks = (*sinks, *each.sinks(lambda: self.loop.stop()))
            loop = Loop(
                simulation,
                (*sinks, *self._sinks, *self._make_texts(), *([self.estimates] if self.estimates else []), *view),
                publish_rate=self._publish_rate,
                real_time_factor=self._real_time_factor,
                paused=self._paused,
                duration_ns=duration_ns,
            )
            self.entities = EntityRequests(loop, self._publishing.prefix)
            resources = Resources(simulation.world, self._allow)
            self.structure = StructureRequests(loop, self.entities, resources, self._instances)
            run = RunRequests(
                loop,
                self.entities,
                despawn=self.structure.despawn,
                seed=lambda: self.seed,
                quit=lambda: self.quit() if self.quit else loop.post(loop.stop),
            )
            self.requests = RequestContext(self.entities, run, self.structure, loop)
            for each in attendants:
                each.let_ask(self.requests, self._report)
            for sink in view:
                sink.steer(loop, self.requests)
            # Last, when their peers are listening. Programs take longest to shut down, so they are asked first.
            if self._processes is not None:
                self.programs = supervised(self.world, self._processes, self._report)
            for each in attendants:
                each.let_start(allowed=bool(self._processes), report=self._report, warn=self._warn)
                each.let_stop(self.programs)
            opened.callback(self.programs.stop)
            opened.callback(loop.stop)
            opened.callback(self.ask_to_end)
            self._loop, self._opened = loop, opened.pop_all()

    def start(self, ended: Callable[[], None] = lambda: None) -> None:
        """Let time run in the loop's thread. Returns immediately.

        Args:
            ended: Called from the loop's thread when the run ends.
        """
        self._started = True
        self.loop.start(ended)

    def run(self, duration: float | None = None) -> None:
        """Let time run for a duration and then pause, or wait for the end of the run.

        Durations of consecutive calls add up, as in Simulation.run. Raises the error that ended the run; see Loop.run.

        Args:
            duration: Simulated time, s; None waits for the end of the run.
        """
        loop = self.loop
        if not self._started:
            if duration is not None:
                loop.pause()
            self.start()
        if duration is None:
            loop.wait()
        else:
            loop.run(duration)

    def ask_to_end(self) -> None:
        """Ask the programs to terminate. Keeps answering ArduPilot meanwhile, since it needs answers to shut down."""
        self.programs.ask_to_end()
        if any(each.wait.lockstep for each in self.autopilots):
            self.programs.wait(_LAST_ANSWERS_S)

    def close(self) -> None:
        """End the run, complete its recording, stop its programs and free its ports.

        Raises the error that ended the run, if any, once. Does nothing if the session is closed or was never opened.
        """
        if self._opened is not None:
            self._closed = True
            self._opened.close()

    def _attendants(self, simulation: Simulation) -> list[Attendant]:
        """Return the companions that extensions add to the run, such as the script of a world in Python."""
        offered = (part.attend(simulation, shown=self._view is not False) for part in RUN_PARTS.values())
        found = [each for each in offered if each is not None]
        for note in (note for each in found for note in each.notes):
            self._report(note)
        return found

    def _follow_processes(self, before: World) -> tuple[()]:
        """Start processes that a change of the world has added and stop those that it removed, or report them."""
        world = self.simulation.world
        known = {process.name for process in before.processes}
        if self._processes:
            follow(self.programs, before, world)
        elif added := [process.name for process in world.processes if process.name not in known]:
            self._report(f"not starting {', '.join(map(shown, added))}; use --processes or processes:=true to start it")
        return ()

    def _make_recorder(self) -> Recorder | None:
        if self._record is None:
            return None
        # Imported here because a run that is not recorded does not need it.
        from sim_node.recording.recorder import Recorder
        from sim_node.recording.worlds import attachments_of, custom_data

        prefix, resolve = self._publishing.prefix, self._publishing.resolve
        of_parts = (part.attachments(self.world, self._publish_rate, prefix, resolve) for part in RUN_PARTS.values())
        return Recorder(
            Path(self._record),
            self._recording,
            (*attachments_of(self.world, self.seed, self._randomised), *chain.from_iterable(of_parts)),
            custom_data(self.world, self.seed),
            warn=self._warn,
            resolve=resolve,
        )

    def _make_foxglove(self, opened: ExitStack) -> FoxgloveServer | None:
        if self._foxglove is False:
            return None
        with needing("serving Foxglove"):
            from sim_node.session.foxglove_server import FoxgloveServer
        port = None if self._foxglove is True else self._foxglove
        server = FoxgloveServer(port, self.world.name, self._publishing.resolve)
        opened.callback(server.close)
        return server

    def _make_fields(self) -> TopicFields | None:
        """Return the reader of the topics in the schematic's formulas, if they are shown."""
        wanted = () if self._view is False or self.world.schematic is None else self.world.schematic.topics()
        if not wanted:
            return None
        # Imported here because other runs do not need it.
        from sim_node.session.topic_fields import TopicFields

        return TopicFields(wanted, self._warn, self._publishing.resolve)

    def _make_estimates(self) -> TopicDrawings | None:
        """Return the reader of ghost topics, if there are any."""
        if self._view is False or not self._ghosts:
            return None
        # Imported here because other runs need no page.
        from sim_node.viewing.browser.ghosts import TopicGhost

        wanted = [each.topic for each in self._ghosts if isinstance(each, TopicGhost)]
        if not wanted:
            return None
        from sim_node.session.topic_fields import TopicDrawings

        alone = self._publishing.outlet is None
        return TopicDrawings(wanted, self._warn, self._publishing.resolve, alone=alone)

    def _make_texts(self) -> tuple[Sink, ...]:
        """Return the sink that reads messages for the viewer, if there is one."""
        if self.viewer is None:
            return ()
        # Imported here because other runs do not need it.
        from sim_node.session.sensor_messages import RunMessages

        texts = self.viewer.texts = RunMessages(self._publishing.resolve)
        return (texts,)

    def _make_view(self, opened: ExitStack, fields: TopicFields | None) -> tuple[ViewSink, ...]:
        if self._view is False:
            return ()
        from sim_node.viewing.browser.view_sink import ViewSink
        from sim_node.viewing.browser.viewer import Viewer

        self.viewer = Viewer(None if self._view is True else self._view, self.world.name)
        self.viewer.fields, self.viewer.ghosts.sources = fields, list(self._ghosts)
        if self.estimates is not None:
            self.viewer.estimates = self.estimates.taken
        opened.callback(self.viewer.close)
        return (ViewSink(self.viewer, self._look_back),)
