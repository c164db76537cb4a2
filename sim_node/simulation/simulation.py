"""The Simulation: steps a World along its time grid and gives Snapshots."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np

from sim_node.assembly import assemble
from sim_node.columns import Columns
from sim_node.geometry.arrays import FloatArray
from sim_node.physics import ENGINES, BodyHandle, Engine, JointHandles, VehicleHandle, engines_for
from sim_node.physics.engine import DynamicEngine, Perceived, records_of
from sim_node.physics.handles import Handles
from sim_node.sensors import Suite
from sim_node.sensors.context import OPEN_AIR
from sim_node.sensors.measurements import SensorSubscription
from sim_node.sensors.truth import DOWN, FrameState
from sim_node.simulation.co_simulators import CoSimulator, CoSimulators, Coupled
from sim_node.simulation.frames import declare_frames, refuse_sensor
from sim_node.simulation.history import History
from sim_node.simulation.sensor_handles import SensorHandle
from sim_node.simulation.snapshot import NO_COLUMNS, Snapshot
from sim_node.simulation.state import State
from sim_node.simulation.truth import Truth
from sim_node.world.fields import MAX_NS, nanoseconds, within
from sim_node.world.frame_table import FrameTable
from sim_node.world.layout import lay_out
from sim_node.world.load import load
from sim_node.world.model import World


class Simulation:
    """Assembles a world and steps it. The same world, seed and calls give the same bytes.

    Args:
        world: A World, a path, a package:// URI, or the name of a shipped world.
        seed: Seed of all random numbers.
        sensors: Whether sensors measure. Without them, hours can be stepped in one go.

    Attributes:
        world: The assembled world.
        frames: The FrameTable, fixed for the run.
        columns: The state of the run, as named arrays.
        engines: The engines that move frames, by name.
        bodies, joints, vehicles: Handles by name, to read and set values between two steps.
        sensors: Handles by name, to read the newest measurements.
        seed: Seed of all random numbers.
        steps: Steps since the start.
        remainder_ns: Time requested from `run` beyond whole steps, less than a step.

    Raises:
        WorldError: The world is invalid.
        ValueError: No engine knows how the frame of a sensor moves.
    """

    def __init__(self, world: World | str | Path, seed: int = 0, *, sensors: bool = True) -> None:
        world = assemble(world if isinstance(world, World) else load(world))
        layout = lay_out(world)
        self.world = world
        self.frames: FrameTable = layout.frames
        self.seed = seed
        self.steps, self.remainder_ns = 0, 0
        self._start_ns, self._step_ns = world.time.start_ns, world.time.step_ns
        self._last_step = (MAX_NS - self._start_ns) // self._step_ns
        self._poses = np.array(layout.poses)
        self._observe_all: Callable[[], FrameState] | None = None
        self.columns = Columns()
        declare_frames(self.columns, self.frames, lambda: self.present().poses, self._twists)
        self.engines: Mapping[str, Engine] = engines_for(world, layout, self.columns)
        self._foreign = [name for name in self.engines if not ENGINES.is_shipped(name)]
        self._offer_handles()
        offered = (engine.environment() for engine in self.engines.values() if isinstance(engine, Perceived))
        environment = next(offered, OPEN_AIR)
        # Without bodies nothing falls, and held objects weigh as under standard gravity.
        falls = any(isinstance(engine, DynamicEngine) for engine in self.engines.values())
        gravity = world.physics.gravity if falls else DOWN
        self._suite = Suite(world if sensors else replace(world, sensors=()), environment, gravity)
        self._environment, self._gravity = environment, gravity
        self._co_simulators = CoSimulators(world.time.step_ns)
        self.sensors: Mapping[str, SensorHandle] = Handles("sensor", self._suite.records(), SensorHandle)
        self._truth = self._truth_of(self._suite.frames, self._suite.state)
        if self._truth.unknown:
            refuse_sensor(self._suite.frames[self._truth.unknown[0]], self.frames, self.columns)
        self.reset()
        self._suite.declare(self.columns)
        self.columns.check_needs()
        coupled = [engine for engine in self.engines.values() if isinstance(engine, Coupled)]
        for engine in coupled:
            self.attach(engine.couple(self))
        if coupled:
            self.reset()  # they exchange at the start, too

    @property
    def time_ns(self) -> int:
        """Simulation time in ns: exactly start + steps * step."""
        return self._start_ns + self.steps * self._step_ns

    def step(self, steps: int = 1, *, wait: bool = True) -> None:
        """Advance by whole steps of the world's time grid. Sensors measure and co-simulators exchange on the way.

        Args:
            steps: Number of steps.
            wait: Whether to wait for camera images that are still being rendered. If False, they are published in a
                later step, and dropped if rendering falls behind; such a run is not reproducible.

        Raises:
            ValueError: The number is negative, or leads beyond int64 nanoseconds.
        """
        steps = operator.index(steps)
        if steps < 0:
            raise ValueError(f"steps: {steps}; time goes forward, reset() goes back to the start")
        end = self.steps + steps
        if end > self._last_step:
            within(self._start_ns + end * self._step_ns)
        suite, co_simulators = self._suite, self._co_simulators
        while (due := min(suite.due, co_simulators.due)) <= end:
            if due > self.steps:
                self._advance(int(due) - self.steps)
            if suite.due == due:
                now_ns = self.time_ns
                self._truth.observe(now_ns, begins=self.steps == 0)
                suite.measure(self.steps, now_ns, wait=wait)
            if co_simulators.due == due:
                co_simulators.exchange(self.steps)
        if end > self.steps:
            self._advance(end - self.steps)
        suite.publish(end, wait=wait)

    def run(self, duration: float) -> None:
        """Advance by the whole steps nearest to a duration; the remainder is carried over to the next call.

        Calls therefore add up: 40 times 0.01 s are 0.4 s for any step that divides it. `reset` drops the remainder; a
        State contains it.

        Args:
            duration: Simulated time, s.

        Raises:
            ValueError: The duration is negative, not finite, or leads beyond int64 nanoseconds.
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
            ValueError: The time is before the start, or beyond int64.
        """
        start_ns = self._start_ns
        steps, ahead_ns = divmod(within(time_ns) - start_ns, self._step_ns)
        if steps < 0:
            raise ValueError(f"{time_ns / 1e9:g} s is before the world's start at {start_ns / 1e9:g} s")
        if steps < self.steps:
            self.reset()
        self.step(steps - self.steps)
        self._write(self._poses, ahead_ns)
        return Snapshot(time_ns, self._poses.copy(), self._suite.published)

    def reset(self, seed: int | None = None) -> None:
        """Go back to the start.

        Args:
            seed: A new seed; None keeps the current one.
        """
        self.seed = self.seed if seed is None else seed
        self._rewind()
        self._co_simulators.restart(0)
        self.step(0)

    @property
    def state(self) -> State:
        """A copy of the run's state, to restore later. It can be pickled."""
        kept = self.columns.state()
        entities = {name: self.columns.column(name).entities for name in kept}
        return State(self.seed, self.steps, kept, entities, self.remainder_ns)

    def restore(self, state: State) -> None:
        """Continue from a state of the same world: the same bytes follow.

        Args:
            state: A state of this world, from this or another process.

        Raises:
            ValueError: The state belongs to another world; the message names the columns. The run is not changed.
        """
        if misfits := self.columns.misfits(state.columns, state.entities):
            more = f", and {len(misfits) - 5} more" if len(misfits) > 5 else ""
            raise ValueError(f"the state belongs to another world: column {', column '.join(misfits[:5])}{more}")
        self.seed = state.seed
        self._rewind()
        self.columns.restore(state.columns)
        self.steps, self.remainder_ns = state.steps, state.remainder_ns
        self._co_simulators.restart(state.steps + 1)

    def history(self, *columns: str, every: float | None = None) -> History:
        """Record columns from now on while the run steps, until `history.stop()`.

        Args:
            columns: Names of columns, such as "pose" or "rotor_speed".
            every: Period in s; None records every step. An instant is the first step at or after each multiple of the
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

    def attach(self, co_simulator: CoSimulator) -> None:
        """Attach a co-simulator, which exchanges from the next step on, after those attached earlier.

        The run is reproducible if its co-simulators are.

        Args:
            co_simulator: What exchanges with the run.
        """
        self._co_simulators.add(co_simulator, self.steps)

    def interrupt(self) -> None:
        """End all waiting for co-simulators, for good. May be called from any thread."""
        self._co_simulators.interrupt()

    def close(self) -> None:
        """Close all co-simulators and end the render process of cameras.

        The run may continue without co-simulators. Its next image starts a new render process.
        """
        self._co_simulators.close()
        self._environment.close()

    def subscribe(self, sensor: str) -> SensorSubscription:
        """Subscribe to the measurements of a sensor while the run steps.

        Args:
            sensor: Name of the sensor.

        Returns:
            The subscription.

        Raises:
            KeyError: There is no such sensor; the message names the nearest.
        """
        return self._suite.subscribe(sensor)

    def observer(self, names: Sequence[str]) -> Callable[[], FrameState]:
        """Return a function that gives the true motion of some frames at the current step.

        Args:
            names: Names of the frames.

        Returns:
            A function without arguments. It always returns the same FrameState, rewritten in place.
        """
        state = FrameState.at_rest(len(names), self._gravity)
        truth = self._truth_of(names, state)

        def observe() -> FrameState:
            truth.observe(self.time_ns, begins=self.steps == 0)
            return state

        return observe

    def wind(self, positions: FloatArray) -> FloatArray:
        """Return the velocity of the air at the current step.

        Args:
            positions: (S, 3), in the fixed frame, m.

        Returns:
            (S, 3), in the fixed frame, m/s.
        """
        return self._environment.wind(positions)

    def motion(self) -> tuple[FloatArray, FloatArray]:
        """Return the twists and accelerations of all frames relative to the fixed frame, in each frame's own axes.

        The twist is that of nav_msgs/Odometry: [vx vy vz wx wy wz] of the frame's origin (m/s, rad/s). Accelerations
        are its time derivative as seen from the fixed frame, without gravity. NaN for frames that keyframes move.

        Returns:
            Twists (N, 6) and accelerations (N, 6).
        """
        twists, accelerations = np.full((2, len(self.frames), 6), np.nan)
        twists[self.frames.still], accelerations[self.frames.still] = 0.0, 0.0
        for engine in self.engines.values():
            if isinstance(engine, DynamicEngine):
                rows = engine.carried
                state = FrameState.at_rest(len(rows))
                engine.observer(rows, state, np.arange(len(rows)))()
                twists[rows] = state.pairs_to_frame(state.twist)
                accelerations[rows] = state.pairs_to_frame(state.acceleration)
        return twists, accelerations

    @property
    def pictures_dropped(self) -> int:
        """Number of camera images dropped since the last reset; see `step`."""
        return self._suite.dropped

    def present(self) -> Snapshot:
        """Return the current instant on the run's own arrays, valid until the next call. For sinks, which do not copy.

        Returns:
            A view of the current instant.
        """
        self._write(self._poses, 0)
        return Snapshot(self.time_ns, self._poses, self._suite.published, self.columns)

    def snapshot(self, *columns: str) -> Snapshot:
        """Return a copy of the current instant.

        Args:
            columns: Names of further columns to copy.

        Returns:
            Poses, measurements and the named columns.
        """
        self._write(self._poses, 0)
        kept = {name: np.array(self.columns[name]) for name in columns} if columns else NO_COLUMNS
        return Snapshot(self.time_ns, self._poses.copy(), self._suite.published, kept)

    def _advance(self, steps: int) -> None:
        moving = ""
        try:
            for moving, engine in self.engines.items():  # noqa: B007  who failed, if one does
                engine.step(steps)
        except Exception as error:
            ENGINES.blame(moving, error)
            raise
        self.steps += steps

    def _write(self, poses: FloatArray, ahead_ns: int) -> None:
        moving = ""
        try:
            for moving, engine in self.engines.items():  # noqa: B007  who failed, if one does
                engine.write(poses, ahead_ns)
        except Exception as error:
            ENGINES.blame(moving, error)
            raise
        if self._foreign and not np.isfinite(poses).all():
            row = int(np.argmin(np.isfinite(poses).all(axis=1)))
            for name in self._foreign:  # shipped engines check this themselves
                message = f"write() left the pose of {self.frames.names[row]} at {poses[row].tolist()}"
                ENGINES.refuse(name, message, self.engines[name])

    def _rewind(self) -> None:
        """Reset everything that draws random numbers or has memory to the start, with the run's seed."""
        self.steps, self.remainder_ns = 0, 0
        for name, engine in self.engines.items():
            with ENGINES.blaming(name):
                engine.reset(self.seed)
        self._suite.reset(self.seed)

    def _offer_handles(self) -> None:
        self.bodies: Mapping[str, BodyHandle] = Handles("body", records_of(self.engines, "bodies"), BodyHandle)
        self.joints = JointHandles(records_of(self.engines, "joints"))
        self.vehicles: Mapping[str, VehicleHandle] = Handles(
            "vehicle", records_of(self.engines, "vehicles"), VehicleHandle
        )

    def _twists(self) -> FloatArray:
        if self._observe_all is None:
            self._observe_all = self.observer(self.frames.names)
        return self._observe_all().twist

    def _truth_of(self, names: Sequence[str], state: FrameState) -> Truth:
        return Truth(self.frames, self.engines, self.columns, names, state, self._poses)
