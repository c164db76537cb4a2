"""The Simulation: steps a World along its time grid and gives Snapshots."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from sim_node.columns import Columns
from sim_node.geometry.arrays import FloatArray
from sim_node.physics import BodyHandle, Engine, JointHandles, VehicleHandle
from sim_node.physics.engine import records_of
from sim_node.physics.handles import Handles
from sim_node.sensors.measurements import SensorSubscription
from sim_node.sensors.succession import split_after
from sim_node.sensors.suite import Split
from sim_node.sensors.truth import FrameState
from sim_node.simulation.co_simulators import CoSimulator, CoSimulators
from sim_node.simulation.generation import Generation
from sim_node.simulation.history import History
from sim_node.simulation.sensor_handles import SensorHandle
from sim_node.simulation.snapshot import NO_COLUMNS, Snapshot
from sim_node.simulation.state import State
from sim_node.simulation.worker import Refused
from sim_node.world.fields import MAX_NS, nanoseconds, within
from sim_node.world.frame_table import FrameTable
from sim_node.world.load import load
from sim_node.world.model import World


class Simulation:
    """Assembles a world and steps it. The same world, seed and calls give the same bytes.

    Args:
        world: A World, a path, a package:// URI, or the name of a shipped world.
        seed: Seed of all random numbers.
        sensors: Whether sensors measure. Without them, hours can be stepped in one go.

    Attributes:
        bodies, joints, vehicles: Handles by name, to read and set values between two steps.
        sensors: Handles by name, to read the newest measurements.
        generation: Number of changes of the world, by `change` or by a reset or restore to another world.
        seed: Seed of all random numbers.
        remainder_ns: Time requested from `run` beyond whole steps, less than a step.

    Raises:
        WorldError: The world is invalid.
        ValueError: No engine knows how the frame of a sensor moves.
    """

    def __init__(self, world: World | str | Path, seed: int = 0, *, sensors: bool = True) -> None:
        present = self._present = Generation(_loaded(world), sensors=sensors)
        self._first, self._measures = present.world, sensors
        self.generation, self.seed, self.remainder_ns = 0, seed, 0
        self._start_ns, self._step_ns = present.world.time.start_ns, present.world.time.step_ns
        self._last_step = (MAX_NS - self._start_ns) // self._step_ns
        self._co_simulators = CoSimulators(self._step_ns)
        self._stepping, self._changed = False, False
        self._records: dict[str, dict[str, Any]] = {"bodies": {}, "joints": {}, "vehicles": {}, "sensors": {}}
        self.bodies: Mapping[str, BodyHandle] = Handles("body", self._records["bodies"], BodyHandle)
        self.joints = JointHandles(self._records["joints"])
        self.vehicles: Mapping[str, VehicleHandle] = Handles("vehicle", self._records["vehicles"], VehicleHandle)
        self.sensors: Mapping[str, SensorHandle] = Handles("sensor", self._records["sensors"], SensorHandle)
        self._offer_handles()
        self.reset()
        present.declare_sensors()
        coupled = present.coupled()
        for engine in coupled:
            self.connect(engine.couple(self))
        if coupled:
            self.reset()  # they exchange at the start, too

    @property
    def world(self) -> World:
        """The assembled world."""
        return self._present.world

    @property
    def frames(self) -> FrameTable:
        """The frames of the world."""
        return self._present.frames

    @property
    def columns(self) -> Columns:
        """The state of the run, as named arrays. A change of the world replaces it."""
        return self._present.columns

    @property
    def engines(self) -> Mapping[str, Engine]:
        """The engines that move frames, by name."""
        return self._present.engines

    @property
    def steps(self) -> int:
        """Steps since the start."""
        return self._present.steps

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
            present.advance(end - present.steps)
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

    def change(self, world: World | str | Path) -> None:
        """Replace the world between two steps. What stays keeps its state by name; time goes on.

        Bodies, joints, vehicles and sensors with the name of earlier ones continue: poses, velocities, actuators,
        applied wrenches, clocks and random streams. New ones start as the world gives them; others are gone. Handles,
        subscriptions, observers and histories follow. Nothing has changed if this raises.

        Args:
            world: The next world, usually the present one with some parts replaced.

        Raises:
            WorldError: The world is invalid.
            ValueError: The world has another time grid or fixed frame, or cannot change while it runs.
            Refused: The call comes from a co-simulator during a step.
        """
        split = split_after(self._present.suite.records())
        self._enter(self._next(_loaded(world), split), carried=True)
        self._changed = True

    def reset(self, seed: int | None = None) -> None:
        """Go back to the start of the world as it was loaded first.

        Args:
            seed: A new seed; None keeps the current one.
        """
        if self._present.world is not self._first:
            self._enter(self._next(self._first))
        self.restart(seed)
        self._changed = False

    def restart(self, seed: int | None = None) -> None:
        """Go back to the start of the present world: what changes have added stays, at its initial state.

        Args:
            seed: A new seed; None keeps the current one.
        """
        self.seed = self.seed if seed is None else seed
        self._present.rewind(self.seed)
        self.remainder_ns = 0
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
        self._present.rewind(self.seed)
        self.columns.restore(state.columns)
        self._present.steps, self.remainder_ns = state.steps, state.remainder_ns
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

    def connect(self, co_simulator: CoSimulator) -> None:
        """Connect a co-simulator, which exchanges from the next step on, after those connected earlier.

        The run is reproducible if its co-simulators are.

        Args:
            co_simulator: What exchanges with the run.
        """
        self._co_simulators.add(co_simulator, self.steps)

    def interrupt(self) -> None:
        """End all waiting for co-simulators, for good. May be called from any thread."""
        self._co_simulators.interrupt()

    def close(self) -> None:
        """Close all co-simulators. The run may continue without them."""
        self._co_simulators.close()

    def subscribe(self, sensor: str) -> SensorSubscription:
        """Subscribe to the measurements of a sensor while the run steps.

        Args:
            sensor: Name of the sensor.

        Returns:
            The subscription.

        Raises:
            KeyError: There is no such sensor; the message names the nearest.
        """
        return self._present.suite.subscribe(sensor)

    def observer(self, names: Sequence[str]) -> Callable[[], FrameState]:
        """Return a function that gives the true motion of some frames at the current step.

        Args:
            names: Names of the frames.

        Returns:
            A function without arguments. It always returns the same FrameState, rewritten in place. It raises KeyError
            once a frame is gone.
        """
        of = self._present
        state = FrameState.at_rest(len(names), of.gravity)
        truth = of.truth_of(names, state)

        def observe() -> FrameState:
            nonlocal of, truth
            if of is not self._present:
                of = self._present
                state.gravity[:] = of.gravity
                truth = of.truth_of(names, state)
            truth.observe(of.time_ns, begins=of.steps == 0)
            return state

        return observe

    def wind(self, positions: FloatArray) -> FloatArray:
        """Return the velocity of the air at the current step.

        Args:
            positions: (S, 3), in the fixed frame, m.

        Returns:
            (S, 3), in the fixed frame, m/s.
        """
        return self._present.environment.wind(positions)

    def motion(self) -> tuple[FloatArray, FloatArray]:
        """Return the twists and accelerations of all frames relative to the fixed frame, in each frame's own axes.

        The twist is that of nav_msgs/Odometry: [vx vy vz wx wy wz] of the frame's origin (m/s, rad/s). Accelerations
        are its time derivative as seen from the fixed frame, without gravity. NaN for frames that keyframes move.

        Returns:
            Twists (N, 6) and accelerations (N, 6).
        """
        return self._present.motion()

    @property
    def pictures_dropped(self) -> int:
        """Number of camera images dropped since the last reset; see `step`."""
        return self._present.suite.dropped

    def present(self) -> Snapshot:
        """Return the current instant on the run's own arrays, valid until the next call. For sinks, which do not copy.

        Returns:
            A view of the current instant.
        """
        present = self._present
        return Snapshot(present.time_ns, present.present(), present.suite.published, present.columns)

    def snapshot(self, *columns: str) -> Snapshot:
        """Return a copy of the current instant.

        Args:
            columns: Names of further columns to copy.

        Returns:
            Poses, measurements and the named columns.
        """
        present = self._present
        poses = present.present().copy()
        kept = {name: np.array(present.columns[name]) for name in columns} if columns else NO_COLUMNS
        return Snapshot(present.time_ns, poses, present.suite.published, kept)

    def _next(self, world: World, split: Split = tuple) -> Generation:
        """Return the next generation, at the start of its world. Raises for what cannot change while a run goes."""
        if self._stepping:
            raise Refused("a co-simulator cannot change the world during a step; call from the loop or between steps")
        present = self._present
        if present.coupled():
            raise ValueError("this world cannot change while it runs: systems of a Python script exchange with it")
        fixed = (
            ("time", present.world.time, world.time),
            ("fixed_frame", present.world.fixed_frame, world.fixed_frame),
        )
        for key, now, then in fixed:
            if now != then:
                raise ValueError(f"{key} cannot change while the world runs: it is {now}, the next world has {then}")
        after = Generation(world, sensors=self._measures, split=split)
        if after.coupled():
            raise ValueError("systems of a Python script cannot be added while a world runs")
        after.rewind(self.seed)
        after.declare_sensors()
        return after

    def _enter(self, after: Generation, *, carried: bool = False) -> None:
        """Continue with another generation, in the state of the present one or at its start."""
        before = self._present
        if carried:
            after.carry(before)
        self._present = after
        self.generation += 1
        self._offer_handles()
        after.suite.adopt(before.suite)
        self._co_simulators.follow(after.columns)
        if carried:
            self.step(0)

    def _offer_handles(self) -> None:
        """Let all handles look up their records in the present generation."""
        present = self._present
        for kind in ("bodies", "joints", "vehicles"):
            records = self._records[kind]
            records.clear()
            records.update(records_of(present.engines, kind))
        self._records["sensors"].clear()
        self._records["sensors"].update(present.suite.records())


def _loaded(world: World | str | Path) -> World:
    return world if isinstance(world, World) else load(world)
