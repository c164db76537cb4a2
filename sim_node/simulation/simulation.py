"""The Simulation: steps a World along its time grid and provides Snapshots."""

from __future__ import annotations

import operator
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import NamedTuple, Protocol, runtime_checkable

from sim_node import html
from sim_node.simulation.co_simulators import CoSimulator, CoSimulators
from sim_node.simulation.generation import Generation
from sim_node.simulation.handles import RunHandles
from sim_node.simulation.history import History
from sim_node.simulation.run_view import RunView
from sim_node.simulation.sensors.succession import split_after, splitting
from sim_node.simulation.snapshot import Snapshot
from sim_node.simulation.state import State
from sim_node.simulation.state_transfer import PartState, part_of, put_part
from sim_node.simulation.verbs import Edit, Motion, Verbs
from sim_node.simulation.worker import Refused
from sim_node.text import did_you_mean
from sim_node.world.fields import MAX_NS, nanoseconds, within
from sim_node.world.load import load
from sim_node.world.model import World

_NEVER = float("inf")


@runtime_checkable
class Happening(Protocol):
    """An engine with a timetable of events."""

    @property
    def due(self) -> float:
        """The step of the next event; infinite if there are no more events."""

    def happen(self, run: Simulation) -> None:
        """Act on the run before it leaves the current step. It may change the world, but must not step or reset.

        At this point, the sensors of the step have measured and co-simulators have exchanged data. After a change of
        the world, the engine of the next generation continues with the columns of this one. Once called at a step, it
        must not be due at that step again.

        Args:
            run: The run.
        """


class PreparedGeneration(NamedTuple):
    """A generation prepared to follow another one, valid as long as the run has that generation and the same seed."""

    before: Generation
    after: Generation
    seed: int


class Simulation(RunView, Verbs):
    """Assembles a world and steps it. The same world, seed and calls give the same bytes.

    Args:
        world: A World, a path, a package:// URI, or the name of a shipped world.
        seed: Seed of all random numbers.
        sensors: Whether sensors measure, or the names of those that do. Without sensors, hours can be stepped at once.

    Attributes:
        bodies: Handles of bodies by name, to read and set values between two steps.
        joints: Handles of joints by name, likewise.
        vehicles: Handles of vehicles by name, likewise.
        sensors: Handles of sensors by name, to read the latest measurements.
        signals: Handles of signals by name, to read numbers of joints and actuators, and to set inputs.
        beside: Data that extensions keep with the run, by name of the extension. It is not part of the run's state.
        happening: Whether a timetable is acting between two steps; see `Happening`.
        generation: Number of changes of the world, by `change` or by a reset or restore to another world.
        seed: Seed of all random numbers.
        remainder_ns: Time requested from `run` beyond whole steps, less than a step.

    Raises:
        WorldError: The world is invalid.
        ValueError: No engine provides the motion of a sensor's frame, or `sensors` names one that does not exist.
        TypeError: The seed is no whole number.
    """

    def __init__(self, world: World | str | Path, seed: int = 0, *, sensors: bool | Collection[str] = True) -> None:
        handles = self._handles = RunHandles()
        present = Generation(world if isinstance(world, World) else load(world), sensors=sensors)
        known = [each.name for each in present.world.sensors]
        for name in () if isinstance(sensors, bool) else sensors:
            if name not in known:
                raise ValueError(f"sensors: there is no sensor {name!r}{did_you_mean(name, known)}")
        self._show(present)
        self._begin_with(present.world)
        self.generation, self.seed, self.remainder_ns = 0, _whole(seed), 0
        self._co_simulators = CoSimulators(present.world.time.step_ns)
        self._openers: list[Callable[[World], Sequence[CoSimulator]]] = []
        self._stepping, self.happening = False, False
        self.beside: dict[str, object] = {}
        self.bodies, self.joints, self.vehicles = handles.bodies, handles.joints, handles.vehicles
        self.sensors, self.signals = handles.sensors, handles.signals
        self.restart()
        present.declare_sensors()
        coupled = present.coupled()
        for engine in coupled:
            self.connect(engine.couple(self))
        if coupled:
            self.restart()  # coupled engines exchange data at the start, too

    def __repr__(self) -> str:
        where = f"{self.world.name!r} at {self.time_ns / 1e9:.9g} s"
        return f"Simulation({where}: {len(self.frames)} frames, seed {self.seed})"

    def _repr_html_(self) -> str:
        """Return the frames with their current poses, for notebooks."""
        names, parents = self.frames.names, self.frames.parents.tolist()
        rows = [
            (name, "" if parent < 0 else names[parent], *(" ".join(f"{part:.4g}" for part in each) for each in pose))
            for name, parent, pose in zip(names, parents, ((p[:3], p[3:]) for p in self.snapshot().poses), strict=True)
        ]
        return html.table(repr(self), ("frame", "parent", "position, m", "quaternion x y z w"), rows)

    def step(self, steps: int = 1, *, wait: bool = True) -> None:
        """Advance by whole steps of the world's time grid. Sensors and co-simulators run when they are due.

        Args:
            steps: Number of steps.
            wait: Whether to wait for camera images that are still being rendered. If False, they are published in a
                later step, and dropped if rendering falls behind; such a run is not reproducible.

        Raises:
            ValueError: The number is negative, or the time would exceed int64 nanoseconds.
        """
        steps = operator.index(steps)
        if steps < 0:
            raise ValueError(f"steps: {steps}; time goes forward, reset() goes back to the start")
        end = self.steps + steps
        if end > self._last_step:
            within(self._start_ns + end * self._step_ns)
        self._go(end, wait=wait)
        self._present.suite.publish(end, wait=wait)

    def _go(self, end: int, *, wait: bool) -> None:
        """Advance to a step. Timetables that are due at a step act before the run leaves it."""
        while True:
            present, happens = self._present, _NEVER
            if self._happening and end > present.steps:
                while (happens := min(each.due for each in self._happening)) <= present.steps:
                    self._happen()
                    present = self._present
            self._exchange(min(end, happens), wait=wait)
            if present.steps >= end:
                return

    def _exchange(self, end: float, *, wait: bool) -> None:
        """Advance to a step, running the sensors and co-simulators that are due up to and including that step."""
        present, suite, co_simulators = self._present, self._present.suite, self._co_simulators
        self._stepping = True
        try:
            while (due := min(suite.due, co_simulators.due)) <= end:
                if due > present.steps:
                    present.advance(int(due) - present.steps)
                if suite.due == due:
                    present.measure(wait=wait)
                if co_simulators.due == due:
                    co_simulators.exchange(present.steps)
        finally:
            self._stepping = False
        if end > present.steps:
            present.advance(int(end) - present.steps)

    def _happen(self) -> None:
        """Run the timetables that are due."""
        self.happening = True
        try:
            for engine in self._happening:
                if engine.due <= self.steps:
                    engine.happen(self)
        finally:
            self.happening = False

    def run(self, duration: float) -> None:
        """Advance by the whole steps nearest to a duration; the remainder is carried over to the next call.

        Calls therefore add up: 40 calls with 0.01 s advance by 0.4 s for any step that divides it. `reset` drops the
        remainder; a State contains it.

        Args:
            duration: Simulated time, s.

        Raises:
            ValueError: The duration is negative or not finite, or the time would exceed int64 nanoseconds.
        """
        duration_ns = nanoseconds(duration)
        if duration_ns < 0:
            raise ValueError(f"duration: {duration:g} s; time goes forward, reset() goes back to the start")
        steps, remainder_ns = self.world.time.nearest_steps(self.remainder_ns + duration_ns)
        self.step(steps)
        self.remainder_ns = remainder_ns

    def seek(self, time_ns: int) -> Snapshot:
        """Return the world at any time from its start on, including between two steps.

        The run stays at the step before that time.

        Args:
            time_ns: Simulation time.

        Returns:
            A copy of that instant.

        Raises:
            ValueError: The time is before the start, or beyond int64, or in the past of a world that has changed.
        """
        start_ns = self._start_ns
        steps, ahead_ns = divmod(within(time_ns) - start_ns, self._step_ns)
        if steps < 0:
            raise ValueError(f"{time_ns / 1e9:g} s is before the world's start at {start_ns / 1e9:g} s")
        if steps < self.steps:
            if self._changed:
                raise ValueError(
                    f"{time_ns / 1e9:g} s is in the past, and the world has changed; restore a State of it"
                )
            self.reset()
        self.step(steps - self.steps)
        present = self._present
        present.write(ahead_ns)
        return Snapshot(time_ns, present.poses.copy(), present.suite.published)

    def edit(self, make: Callable[[RunView], Edit | None]) -> None:
        """Change the run between two steps, without consulting a loop's sinks: for a run in a loop, use the loop's."""
        self._refuse_stepping()
        with self._or_undone():
            edit = make(self)
            if edit is None:
                self._present.probe(self.seed)
                return
        self.enter(self.prepare(edit.world), edit.motion)

    def prepare(self, world: World) -> PreparedGeneration:
        """Create the next generation of the run, which is slow for a large world. May be called from any thread.

        Args:
            world: The next world.

        Returns:
            The generation, for `enter`.

        Raises:
            WorldError: The world is invalid.
            ValueError: The world cannot become this one while it runs.
        """
        before, seed = self._present, self.seed
        return PreparedGeneration(before, before.next(world, seed, split_after(before.suite.records())), seed)

    def enter(self, prepared: PreparedGeneration, motion: Motion | None = None) -> bool:
        """Continue with a generation that was prepared.

        Args:
            prepared: The generation.
            motion: Sets the motion of what has changed, or None.

        Returns:
            False, without any change, if the world or the seed has been changed in the meantime.

        Raises:
            Diverged: The next step would not be finite.
        """
        self._refuse_stepping()
        before, after, seed = prepared
        if before is not self._present or seed != self.seed:
            return False
        after.carry(before, publish=not self.happening)  # `step` publishes once, at its end
        if motion is not None:
            motion(before, after)
        after.probe(seed)
        self._enter(after)
        self._changed = True
        return True

    def prepare_load(self, world: World) -> Generation:
        """Create a generation of any other world, at its start; see `prepare` and `load`.

        Args:
            world: The world.

        Returns:
            The generation, for `enter_loaded`.
        """
        return self._present.replaced(world, self.seed)

    def attempt(self, act: Callable[[], None]) -> None:
        """Set values of the current state, unless the next step would diverge.

        Args:
            act: Sets values of handles or columns.

        Raises:
            Diverged: The next step would not be finite. Nothing has changed then, nor if `act` raises.
        """
        with self._or_undone():
            act()
            self._present.probe(self.seed)

    def load(self, world: World | str | Path) -> None:
        """Replace the world of the run by another one, at its start; see `Verbs.load`.

        Args:
            world: The world.
        """
        self.enter_loaded(self.prepare_load(world if isinstance(world, World) else load(world)))

    def enter_loaded(self, after: Generation) -> None:
        """Continue with a generation from `prepare_load`.

        Args:
            after: The generation.

        Raises:
            Diverged: The first step would not be finite.
        """
        if self._stepping:
            raise Refused("a co-simulator cannot load a world during a step; call from the loop or between steps")
        after.probe(self.seed)
        self._enter(after)
        self._begin_with(after.world)
        self._co_simulators.restart(0, self._step_ns)
        self.restart()

    def reset(self, seed: int | None = None) -> None:
        """Go back to the start of the world as it was loaded last.

        Args:
            seed: A new seed; None keeps the current one.
        """
        if self._present.world is not self._first or self._present.cohorts:
            self._enter(self._present.next(self._first, self.seed))
        self.restart(seed)
        self._changed = False

    def restart(self, seed: int | None = None) -> None:
        """Go back to the start of the present world. What changes have added is kept, in its initial state.

        Args:
            seed: A new seed; None keeps the current one.

        Raises:
            TypeError: The seed is no whole number.
        """
        self.seed = self.seed if seed is None else _whole(seed)
        self._present.rewind(self.seed)
        self.remainder_ns = 0
        self._co_simulators.restart(0)
        self.step(0)

    def reset_time(self) -> None:
        """Set time back to the start. Everything keeps its position and velocity; sensors start anew.

        Raises:
            ValueError: The world has systems of a Python script.
            Refused: A co-simulator calls it during a step.
        """
        self._begin_again(Generation.carry_motion)
        self.remainder_ns = 0
        self._co_simulators.restart(0)
        self.step(0)

    def reset_state(self) -> None:
        """Return everything except time to its state at the start of the present world.

        Time is not changed, so whatever depends on it, such as keyframed motions, stays where it is.

        Raises:
            ValueError: The world has systems of a Python script.
            Refused: A co-simulator calls it during a step.
        """
        self._begin_again(Generation.begin_late)
        self.step(0)

    @property
    def state(self) -> State:
        """A copy of the run's state, to restore later. It can be pickled."""
        present = self._present
        kept = present.columns.state()
        entities = {name: present.columns.column(name).entities for name in kept}
        world = None if present.world is self._first else present.world
        return State(self.seed, present.steps, kept, entities, self.remainder_ns, world, present.cohorts)

    def part_state(self, name: str) -> PartState:
        """Return a copy of the state of a vehicle or body, with everything that is named below it, for `put_back`.

        Args:
            name: Its name.

        Returns:
            The state.
        """
        return part_of(self._present.columns, name, without=self._present.measured)

    def put_back(self, part: PartState) -> None:
        """Restore the state of a part. Everything else, including time and sensors, continues. For co-simulators, too.

        Args:
            part: The result of `part_state`.
        """
        present = self._present
        saved = present.saved()
        put_part(part, present.columns, saved)
        present.put_back(saved, self.seed)

    def restore(self, state: State) -> None:
        """Continue from a state of the same world: the same bytes follow.

        Args:
            state: A state of this world, from this or another process. It includes the changes of the world.

        Raises:
            ValueError: The state belongs to another world; the message names the columns. The run is not changed.
        """
        present, world = self._present, self._first if state.world is None else state.world
        if world.name != self._first.name:
            raise ValueError(f"the state belongs to another world: {world.name!r}, not {self._first.name!r}")
        if world is not present.world or state.cohorts != present.cohorts:
            present = present.next(world, state.seed, splitting(state.cohorts))
        if misfits := present.columns.misfits(state.columns, state.entities):
            more = f", and {len(misfits) - 5} more" if len(misfits) > 5 else ""
            raise ValueError(f"the state belongs to another world: column {', column '.join(misfits[:5])}{more}")
        if present is not self._present:
            self._enter(present)
        self.seed, self.remainder_ns, self._changed = state.seed, state.remainder_ns, state.world is not None
        present.rewind(self.seed)
        present.columns.restore(state.columns)
        present.steps = state.steps
        self._co_simulators.restart(state.steps + 1)

    def history(self, *columns: str, every: float | None = None) -> History:
        """Record columns from now on while the run steps, until `history.stop()`.

        Args:
            columns: Names of columns, such as "pose" or "rotor_speed".
            every: Period, s; None records every step. An instant is the first step at or after each multiple of the
                period.

        Returns:
            The growing History.

        Raises:
            KeyError: There is no such column.
            ValueError: The period is shorter than a step, or the column has no fixed number of rows.
        """
        time = self.world.time
        every_ns = time.step_ns if every is None else nanoseconds(every)
        if every_ns < time.step_ns:
            raise ValueError(f"every: {every:g} s; at least the world's step of {time.step_ns * 1e-9:g} s is needed")
        history = History(self.columns, columns, Fraction(10**9, every_ns), time.start_ns)
        self._co_simulators.add(history, self.steps - 1)
        history.begin(self._co_simulators.remove)
        self._co_simulators.exchange(self.steps)
        return history

    @property
    def co_simulators(self) -> tuple[CoSimulator, ...]:
        """The connected co-simulators, in the order in which they exchange."""
        return self._co_simulators.all

    def connect(self, co_simulator: CoSimulator) -> None:
        """Connect a co-simulator, which exchanges data from the next step on, after those connected earlier.

        The run is reproducible if its co-simulators are.

        Args:
            co_simulator: The co-simulator.
        """
        self._co_simulators.add(co_simulator, self.steps)

    def on_change(self, opener: Callable[[World], Sequence[CoSimulator]]) -> None:
        """Add a function that opens co-simulators for parts added by changes of the world. The last is called first.

        Args:
            opener: Called after the change with the previous world. Returns the co-simulators to connect. If it raises,
                nothing has changed.
        """
        self._openers.append(opener)

    def interrupt(self) -> None:
        """Stop waiting for co-simulators, now and from now on. May be called from any thread."""
        self._co_simulators.interrupt()

    def close(self) -> None:
        """Close all co-simulators and end the render process of cameras.

        The run may continue without co-simulators. Its next image starts a new render process.
        """
        self._co_simulators.close()
        self._present.environment.close()

    def _begin_with(self, world: World) -> None:
        """Make this the world that `reset` goes back to, and adopt its time grid."""
        self._first, self._changed = world, False
        self._start_ns, self._step_ns = world.time.start_ns, world.time.step_ns
        self._last_step = (MAX_NS - self._start_ns) // self._step_ns

    def _begin_again(self, keep: Callable[[Generation, Generation], None]) -> None:
        """Continue with a new generation of this world. keep(new, present) transfers the state that is kept."""
        after = self._present.next(self._present.world, self.seed)
        keep(after, self._present)
        self._enter(after)
        self._changed = True

    @contextmanager
    def _or_undone(self) -> Iterator[None]:
        """Restore the state of the engines if the block raises."""
        present = self._present
        saved = present.saved()
        try:
            yield
        except BaseException:
            present.put_back(saved, self.seed)
            raise

    def _refuse_stepping(self) -> None:
        if self._stepping:
            raise Refused("a co-simulator cannot change the world during a step; call from the loop or between steps")

    def _show(self, present: Generation) -> None:
        """Make a generation the present one, which is read, stepped and accessed by handles."""
        self._present = present
        self._happening = [engine for engine in present.engines.values() if isinstance(engine, Happening)]
        self._handles.offer(present.engines, present.suite)

    def _enter(self, after: Generation) -> None:
        """Continue with another generation."""
        self._refuse_stepping()
        before = self._present
        self._show(after)
        opened: list[CoSimulator] = []
        try:
            for opener in reversed(self._openers):
                opened += opener(before.world)
        except BaseException:
            self._show(before)
            for each in opened:
                each.close()
            raise
        self.generation += 1
        after.adopt(before)
        self._co_simulators.adapt(after.columns)
        for each in opened:
            self.connect(each)


def _whole(seed: int) -> int:
    try:
        return operator.index(seed)
    except TypeError:
        raise TypeError(f"seed: a whole number is needed, found {seed!r:.60}") from None
