"""A session: everything of one run, opened in its order and closed in its order."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from sim_node.autopilot.ports import with_free_instances
from sim_node.autopilot.vehicle_co_simulator import VehicleCoSimulator, attach_autopilots
from sim_node.programs import Supervisor
from sim_node.programs.processes import supervised
from sim_node.recording.settings import Settings
from sim_node.session.errors import needing
from sim_node.session.publishing import Publishing, published
from sim_node.simulation import Loop, Simulation, Sink
from sim_node.world import World, load
from sim_node.world.load import randomised as drawn

if TYPE_CHECKING:
    from sim_node.recording.recorder import Recorder
    from sim_node.viewing.browser.viewer import Viewer, ViewSink
    from sim_node.wire.clock import ClockSink

_LOG = logging.getLogger("sim_node")


class Session:
    """One run of a world, with its autopilots, programs, recording and viewer. Use it in a `with` statement.

    The constructor only takes notes. `world` and `simulation` are made when they are first asked for; `open` (or
    entering) opens sockets, files and processes, and `close` (or leaving) ends them all; a session that cannot be
    opened closes what it had opened. Time does not run before `run` or `start`.

    Args:
        world: A World, a path, a package:// URI, or the name of a shipped world.
        seed: Of all randomness.
        randomised: Whether places that the world gives as ranges are drawn from the seed.
        publish_rate: Ticks per simulated second (Hz).
        real_time_factor: Simulated seconds per wall second, 0 for as fast as possible.
        paused: Whether `start` waits for `loop.resume`.
        duration_ns: Simulated time after which the run ends by itself.
        record: A new folder for a rosbag2 bag of all that the run publishes.
        recording: How it is recorded.
        view: Whether the run is shown in the browser, or at which port; see `viewer.url`.
        recipes: Whether the programs of the world's recipes are started; False has `tell` say that they are not.
        bridged: Whether this process will run the bridges of the autopilots, whose ports must be free then, too.
        network: Whether autopilot links of the world may leave this machine.
        sinks: Take each tick too, after those that publish and record, before the viewer's.
        publishing: How messages are laid out, and where they go beside the recording.
        tell, complain: Take lines for people; the logger `sim_node` does by default.
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
        recording: Settings | None = None,
        view: bool | int = False,
        recipes: bool | None = None,
        bridged: bool = False,
        network: bool = False,
        sinks: Sequence[Sink] = (),
        publishing: Publishing | None = None,
        tell: Callable[[str], None] = _LOG.info,
        complain: Callable[[str], None] = _LOG.warning,
    ) -> None:
        self.seed = seed
        self.autopilots: tuple[VehicleCoSimulator, ...] = ()
        self.recorder: Recorder | None = None
        self.viewer: Viewer | None = None
        self.clock: ClockSink | None = None
        self.programs = Supervisor(tell)
        self._given, self._randomised = world, randomised
        self._publish_rate, self._real_time_factor = publish_rate, real_time_factor
        self._paused, self._duration_ns = paused, duration_ns
        self._record, self._recording = record, recording or Settings()
        self._view, self._recipes = view, recipes
        self._bridged, self._network = bridged, network
        self._sinks, self._publishing = tuple(sinks), publishing or Publishing()
        self._tell, self._complain = tell, complain
        self._loop: Loop | None = None
        self._started = False
        self._opened: ExitStack | None = None

    @cached_property
    def world(self) -> World:
        """The world that is run: ranges drawn, free autopilot instances chosen, not assembled. Raises WorldError."""
        world = self._given if isinstance(self._given, World) else load(self._given)
        world = drawn(world, self.seed) if self._randomised else world
        return with_free_instances(world, self._tell, bridged=self._bridged)

    @cached_property
    def simulation(self) -> Simulation:
        """The simulation of the world. Once the loop is started, reach it by `loop.call`. Raises WorldError."""
        return Simulation(self.world, self.seed)

    @property
    def loop(self) -> Loop:
        """The loop of an open session. Raises RuntimeError before that."""
        if self._loop is None:
            raise RuntimeError("the session is not open; write `with Session(...) as session:`, or call open()")
        return self._loop

    def __enter__(self) -> Session:
        self.open()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def open(self) -> None:
        """Open all of the run but its sinks, which open when time begins.

        Raises:
            WorldError: Where the world, a vehicle's autopilot or a recipe is at fault.
            BagError: For a folder that is there already.
            PagePortTaken: For a viewer's port that cannot be listened at.
            PortTaken: For an autopilot's port that somebody else has.
            MissingExtra: For a package that an option needs and that is not installed.
            RuntimeError: For a session that was opened before.
        """
        if self._opened is not None:
            raise RuntimeError("a session is opened once; make another one to run again")
        with ExitStack() as opened:
            simulation = self.simulation
            opened.callback(simulation.close)
            self.autopilots = attach_autopilots(simulation, self._tell, network=self._network)
            self.recorder = self._make_recorder()
            sinks, self.clock = published(self._publishing, self.recorder)
            view = self._make_view(opened)
            loop = Loop(
                simulation,
                (*sinks, *self._sinks, *view),
                publish_rate=self._publish_rate,
                real_time_factor=self._real_time_factor,
                paused=self._paused,
                duration_ns=self._duration_ns,
            )
            for sink in view:
                sink.steer(loop)
            # Last: who listens for the programs is there. They take the longest to end, so they are asked to first.
            if self._recipes is not None:
                self.programs = supervised(self.world, self._recipes, self._tell)
            opened.callback(self.programs.stop)
            opened.callback(loop.stop)
            opened.callback(self.programs.ask_to_end)
            self._loop, self._opened = loop, opened.pop_all()

    def start(self, ended: Callable[[], None] = lambda: None) -> None:
        """Let time run in the loop's thread; `ended` is called from it when the run is over."""
        self._started = True
        self.loop.start(ended)

    def run(self, duration: float | None = None) -> None:
        """Let `duration` simulated seconds pass and pause there; without one, wait for the end of the run.

        Calls add up, as those of Simulation.run. Raises what made the run fail; see also Loop.run.
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
        """Ask the programs to end, which may take them a while, without waiting for them."""
        self.programs.ask_to_end()

    def close(self) -> None:
        """End the run, complete its recording, end its programs, free its ports. Raises what made the run fail, once.

        Closing again, or without having opened, does nothing.
        """
        if self._opened is not None:
            self._opened.close()

    def _make_recorder(self) -> Recorder | None:
        if self._record is None:
            return None
        # Here, because a run that is not recorded needs none of it.
        with needing("recording", "recording"):
            from sim_node.recording.recorder import Recorder, absolute
            from sim_node.recording.worlds import attachments_of, custom_data
        return Recorder(
            Path(self._record),
            self._recording,
            attachments_of(self.world, self.seed, self._randomised),
            custom_data(self.world, self.seed),
            tell=self._complain,
            resolve=self._publishing.resolve or absolute,
        )

    def _make_view(self, opened: ExitStack) -> tuple[ViewSink, ...]:
        if self._view is False:
            return ()
        with needing("the viewer", "view"):
            from sim_node.viewing.browser.viewer import Viewer, ViewSink
        self.viewer = Viewer(None if self._view is True else self._view, self.world.name)
        opened.callback(self.viewer.close)
        return (ViewSink(self.viewer),)
