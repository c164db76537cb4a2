"""A generation: the frames, columns, engines and sensors of a run between two changes of its world."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple, NoReturn

import numpy as np

from sim_node.assembly import assemble
from sim_node.simulation.co_simulators import Coupled
from sim_node.simulation.columns import Array, AtInstants, Column, Columns
from sim_node.simulation.physics import ENGINES, engines_for
from sim_node.simulation.physics.engine import (
    Altering,
    DynamicEngine,
    Engine,
    Observed,
    Perceived,
    Releasing,
    Resumable,
    records_of,
)
from sim_node.simulation.sensors import Suite
from sim_node.simulation.sensors.context import OPEN_AIR
from sim_node.simulation.sensors.succession import cohorts_of, succeed
from sim_node.simulation.sensors.suite import NO_ALTERATIONS, Split
from sim_node.simulation.sensors.truth import DOWN, Differences, FrameState
from sim_node.simulation.state_transfer import transfer_state
from sim_node.spatial.geometry.arrays import FloatArray, IntArray
from sim_node.world.forces import free_fall
from sim_node.world.frame_table import FrameTable
from sim_node.world.layout import lay_out
from sim_node.world.model import World


class _Course:
    """Evaluates rows of poses that are functions of time, for Differences."""

    def __init__(self, rows: list[int], instants: AtInstants) -> None:
        self.now_ns = 0
        self._rows, self._instants = np.array(rows, dtype=np.intp), instants

    def __call__(self, poses: FloatArray, ahead_ns: IntArray) -> None:
        poses[:, self._rows] = self._instants(self.now_ns + ahead_ns)


class _Keyframed(NamedTuple):
    """Frames whose poses are functions of time, below the fixed frame or on moving carriers; places: rows of state."""

    places: list[int]
    differences: Differences
    course: _Course
    carriers: FrameState | None


class Truth:
    """Fills a FrameState of the frames `names` on demand.

    The motion of a frame that an engine carries comes from that engine. The motion of a frame that follows a function
    of time comes from differences: in the fixed frame or, for example for a gimbal on a vehicle, in the next frame
    above it that an engine carries.

    Args:
        frames: The frames of the run.
        engines: The engines of the run, by name.
        columns: The columns of the run.
        names: The frames whose motion is wanted.
        state: The state to fill, with a row for each of `names`.
        poses: Poses (N, 7) of all frames in their parents; only those of static frames are read.
        fall: Returns the free-fall accelerations at positions; None if gravity is uniform.

    Attributes:
        unknown: Rows of frames whose motion no engine provides; their twists and accelerations are NaN.
    """

    def __init__(
        self,
        frames: FrameTable,
        engines: Mapping[str, Engine],
        columns: Columns,
        names: Sequence[str],
        state: FrameState,
        poses: FloatArray,
        fall: Callable[[FloatArray], FloatArray] | None = None,
    ) -> None:
        self._frames, self._columns, self._fall = frames, columns, fall
        self._state, self._poses = state, poses
        self.unknown: list[int] = []
        self._observers: list[Callable[[], None]] = []
        self._keyframed: list[_Keyframed] = []
        chains = [frames.chain(frames.index(name)) for name in names]
        free = set(range(len(chains)))
        for engine in engines.values():
            if not isinstance(engine, DynamicEngine):
                continue
            carried = set(engine.carried.tolist())
            above = {place: rows for place in free if (rows := _above(chains[place], carried)) is not None}
            fixed = [place for place, rows in above.items() if not rows]
            self._observe(engine, [chains[place][0] for place in fixed], state, fixed)
            riding = self._timed({place: rows for place, rows in above.items() if rows})
            if riding:
                carriers = FrameState.at_rest(len(riding))
                rows = [chains[place][len(above[place])] for place in riding]
                self._observe(engine, rows, carriers, range(len(riding)))
                self._follow(riding, [above[place] for place in riding], carriers)
            free.difference_update(above)
        still = [place for place in free if frames.still[chains[place][0]]]
        state.pose[still] = frames.in_root(poses)[[chains[place][0] for place in still]]
        moving = self._timed({place: chains[place] for place in sorted(free.difference(still))})
        if moving:
            self._follow(moving, [chains[place] for place in moving], None)

    def observe(self, now_ns: int, *, begins: bool) -> None:
        """Fill the state with the current motion.

        Args:
            now_ns: Simulation time.
            begins: Whether the run starts now, so that there are no earlier poses.
        """
        for observe in self._observers:
            observe()
        for places, differences, course, carriers in self._keyframed:
            course.now_ns = now_ns
            moved = differences.state(course, self._poses, begins=begins)
            if carriers is not None:
                moved = carriers.carrying(moved)
            self._state.pose[places] = moved.pose
            self._state.twist[places] = moved.twist
            self._state.acceleration[places] = moved.acceleration
        if self._fall is not None:
            self._state.gravity[:] = self._fall(self._state.pose[:, :3])

    def _observe(self, engine: DynamicEngine, rows: Sequence[int], state: FrameState, places: Sequence[int]) -> None:
        if rows:
            self._observers.append(engine.observer(np.array(rows), state, np.array(places)))

    def _timed(self, chains: Mapping[int, Sequence[int]]) -> list[int]:
        """Return the rows on whose chains every motion is a function of time. The motion of the others is unknown."""
        moving = {place: self._moving([chain]) for place, chain in chains.items()}
        timed = [place for place, rows in moving.items() if self._columns.timed("pose", rows)]
        others = [place for place in chains if place not in timed]
        self._state.twist[others] = self._state.acceleration[others] = np.nan
        self.unknown += others
        return timed

    def _follow(self, places: list[int], chains: list[Sequence[int]], carriers: FrameState | None) -> None:
        rows = self._moving(chains)
        course = _Course(rows, self._columns.instants("pose", rows))
        self._keyframed.append(_Keyframed(places, Differences(self._frames, chains), course, carriers))

    def _moving(self, chains: Sequence[Sequence[int]]) -> list[int]:
        return sorted({row for chain in chains for row in chain if not self._frames.static[row]})


def _above(chain: Sequence[int], carried: set[int]) -> Sequence[int] | None:
    """Return the rows of a chain below the first row that the engine carries; None if it carries none."""
    first = next((at for at, row in enumerate(chain) if row in carried), None)
    return None if first is None else chain[:first]


# How far a change is simulated ahead to detect divergence: a tick at the default publish rate, and a maximum of steps.
PROBED_NS, MAX_PROBED = 10**9 // 60, 20
# Prefixes of the columns of sensors.
_MEASURED = ("sensor/", "noise/")
_POSE = "[x y z qx qy qz qw] of each frame in its parent"
_TWIST = "[vx vy vz wx wy wz] of each frame relative to the fixed frame, along the fixed frame's axes"


class Generation:
    """The engines, sensors and columns of a run between two changes of its world.

    A change of the world creates the next generation and transfers the state to it.

    Args:
        world: The world, assembled or not.
        sensors: Whether sensors measure, or the names of those that do.
        split: Divides the groups of sensors further; see `sensors.succession`.
        seed: The run's seed.

    Attributes:
        world: The assembled world.
        frames: The frames of the world.
        columns: The state, as named arrays.
        engines: The engines that move frames, by name.
        suite: The sensors.
        steps: Steps since the start of the run.

    Raises:
        WorldError: The world is invalid.
        ValueError: No engine provides the motion of the frame of a sensor.
    """

    def __init__(
        self, world: World, *, sensors: bool | Collection[str] = True, split: Split = tuple, seed: int = 0
    ) -> None:
        self.world = world = assemble(world)
        layout = lay_out(world)
        self.frames: FrameTable = layout.frames
        self.steps, self._measures = 0, sensors
        self._start_ns, self._step_ns = world.time.start_ns, world.time.step_ns
        self.poses = np.array(layout.poses)
        self._all: tuple[Truth, FrameState] | None = None
        self.columns = Columns()
        # `adopt` of the next generation clears it, so that this one is freed at once although its columns refer to it.
        self._alive: list[Generation] = [self]
        alive = self._alive
        pose = Column("pose", self.frames.names, (7,), unit="m, 1", state=False, shared=True, meaning=_POSE)
        twist = Column("twist", self.frames.names, (6,), unit="m/s, rad/s", state=False, meaning=_TWIST)
        self.columns.compute(pose, lambda: (_only(alive).present(),))
        self.columns.compute(twist, lambda: (_only(alive).twists(),))
        self.engines: Mapping[str, Engine] = engines_for(world, layout, self.columns)
        self._step = ENGINES.caller({name: engine.step for name, engine in self.engines.items()})
        self._write = ENGINES.caller({name: engine.write for name, engine in self.engines.items()})
        self._foreign = [name for name in self.engines if not ENGINES.is_shipped(name)]
        offered = (engine.environment() for engine in self.engines.values() if isinstance(engine, Perceived))
        self.environment = next(offered, OPEN_AIR)
        # Without bodies nothing falls: sensors measure standard gravity.
        falls = any(isinstance(engine, DynamicEngine) for engine in self.engines.values())
        self.gravity = world.physics.gravity if falls else DOWN
        self._fall = free_fall(world, self.gravity)
        measuring = world
        if sensors is not True:
            names = set(sensors or ())
            measuring = replace(world, sensors=tuple(each for each in world.sensors if each.name in names))
        altering = (engine.alterations for engine in self.engines.values() if isinstance(engine, Altering))
        self.suite = Suite(measuring, self.environment, self.gravity, split, seed, next(altering, NO_ALTERATIONS))
        self._truth = self.truth_of(self.suite.frames, self.suite.state)
        if self._truth.unknown:
            _refuse_sensor(self.suite.frames[self._truth.unknown[0]], self.frames, self.columns)

    @property
    def time_ns(self) -> int:
        """Simulation time in ns: exactly start + steps * step."""
        return self._start_ns + self.steps * self._step_ns

    @property
    def cohorts(self) -> dict[str, int]:
        """The cohort of each sensor that does not measure together with those like it; see `sensors.succession`."""
        return cohorts_of(self.suite.groups)

    def next(self, world: World, seed: int, split: Split = tuple) -> Generation:
        """Return the next generation, at the start of its world.

        Args:
            world: The world.
            seed: The run's seed.
            split: Divides the groups of sensors further.

        Raises:
            WorldError: The world is invalid.
            ValueError: The world cannot replace the present one during a run.
        """
        for key in ("time", "fixed_frame"):
            now, then = getattr(self.world, key), getattr(world, key)
            if now != then:
                raise ValueError(f"{key} cannot change while the world runs: it is {now}, the next world has {then}")
        return self.replaced(world, seed, split)

    def replaced(self, world: World, seed: int, split: Split = tuple) -> Generation:
        """Return a generation of any other world, at its start; see `next`."""
        if self.coupled():
            raise ValueError("this world cannot change while it runs: systems of a Python script exchange with it")
        after = Generation(world, sensors=self._measures, split=split, seed=seed)
        if after.coupled():
            raise ValueError("systems of a Python script cannot be added while a world runs")
        after._reset_engines(seed)
        after.suite.publish(0, wait=False)
        after.declare_sensors()
        return after

    @property
    def measured(self) -> set[str]:
        """The names of the columns of sensors."""
        return {name for name in self.columns if name.startswith(_MEASURED)}

    def coupled(self) -> list[Coupled]:
        """Return the engines that exchange data with the whole run."""
        return [engine for engine in self.engines.values() if isinstance(engine, Coupled)]

    def rewind(self, seed: int) -> None:
        """Reset engines and sensors to the start of the run.

        Args:
            seed: The run's seed.
        """
        self.steps = 0
        self._reset_engines(seed)
        self.suite.reset(seed)

    def _reset_engines(self, seed: int) -> None:
        for name, engine in self.engines.items():
            with ENGINES.blaming(name):
                engine.reset(seed)

    def declare_sensors(self) -> None:
        """Declare the state of sensors, after the first reset, and check that no needed column is missing."""
        self.suite.declare(self.columns)
        self.columns.check_needs()

    def carry(self, before: Generation, *, publish: bool = True) -> None:
        """Continue from the previous generation: entities with the same name keep their state, others start now.

        Args:
            before: The previous generation.
            publish: Whether to publish pending measurements that are due.
        """
        self._resume(before.steps)
        measured = before.measured | self.measured
        joints = {body.name: body.joint for body in before.world.bodies}
        # Bodies whose joint type has changed start anew: their coordinates have another meaning.
        renewed = {body.name for body in self.world.bodies if joints.get(body.name, body.joint) != body.joint}
        transfer_state(before.columns, self.columns, without=measured, renewed=renewed)
        self._keep_floating(before)
        records = before.suite.records()
        for bank, group in zip(self.suite.banks, self.suite.groups, strict=True):
            succeed(bank, group, records, self.steps)
        self.suite.find_due()
        if publish:
            self.suite.publish(self.steps, wait=False)

    def carry_motion(self, before: Generation) -> None:
        """Stay at the start time, and copy everything but time and sensors from the state of the previous generation.

        Columns of time are named `time` or `ENGINE/time`; those of MuJoCo's mocap bodies only follow time.
        """
        timed = {name for name in before.columns if name.startswith((*_MEASURED, "mocap_"))}
        timed |= {name for name in before.columns if name.rpartition("/")[2] == "time"}
        transfer_state(before.columns, self.columns, without=timed)

    def begin_late(self, before: Generation) -> None:
        """Start at the current step of the previous generation, with everything else as at the start of the world."""
        self._resume(before.steps)
        for bank in self.suite.banks:
            bank.schedule.begin_at(self.steps)
        self.suite.find_due()

    def _resume(self, step: int) -> None:
        """Go to a step, with everything else as at the start of the world."""
        self.steps = step
        for engine in self.engines.values():
            if isinstance(engine, Resumable):
                engine.resume(step)

    def _keep_floating(self, before: Generation) -> None:
        """Keep the poses and twists of floating bodies whose joint frame, or whose joint in MuJoCo, has changed."""
        olds = {body.name: body for body in before.world.bodies if body.joint == "free"}
        changed = [b.name for b in self.world.bodies if b.joint == "free" and olds.get(b.name, b) is not b]
        then, now = records_of(before.engines, "bodies"), records_of(self.engines, "bodies")
        for name in changed:
            pose, twist = then[name].pose(), then[name].twist()
            if not (np.array_equal(now[name].pose(), pose) and np.array_equal(now[name].twist(), twist)):
                now[name].write_pose(pose)
                now[name].set_twist(twist)

    def adopt(self, before: Generation) -> None:
        """Take over from the previous generation what is not state: subscriptions, and the render process."""
        self.suite.adopt(before.suite)
        before._alive.clear()
        for engine in before.engines.values():
            if isinstance(engine, Releasing):
                engine.release(self.engines)

    def advance(self, steps: int) -> None:
        """Advance the engines by whole steps."""
        self._step(steps)
        self.steps += steps

    def saved(self) -> dict[str, Array]:
        """Copy the state of the engines, for `put_back`."""
        return self.columns.state(self.measured)

    def put_back(self, saved: Mapping[str, Array], seed: int) -> None:
        """Restore a state of the engines that `saved` returned at this step."""
        self._reset_engines(seed)
        self.columns.restore(saved)

    def probe(self, seed: int) -> None:
        """Advance the engines by a tick and restore them. Raises Diverged if the state becomes non-finite."""
        saved, steps, poses = self.saved(), self.steps, self.poses.copy()
        observed = [engine for engine in self.engines.values() if isinstance(engine, Observed)]
        try:
            for engine in observed:
                engine.observed = False
            self.advance(min(max(PROBED_NS // self._step_ns, 1), MAX_PROBED))
            self.write(0)
        finally:
            self.steps, self.poses[:] = steps, poses
            self.put_back(saved, seed)
            for engine in observed:
                engine.observed = True

    def measure(self, *, wait: bool) -> None:
        """Run the measurements that are due at the current step."""
        now_ns = self.time_ns
        self._truth.observe(now_ns, begins=self.steps == 0)
        self.suite.measure(self.steps, now_ns, wait=wait)

    def present(self) -> FloatArray:
        """Return the poses (N, 7) of all frames in their parents at the current step, in the run's own array."""
        self.write(0)
        return self.poses

    def write(self, ahead_ns: int) -> None:
        """Write the poses of all frames to `poses`, at a time after the current step, ns, less than a step."""
        poses = self.poses
        self._write(poses, ahead_ns)
        if self._foreign and not np.isfinite(poses).all():
            row = int(np.argmin(np.isfinite(poses).all(axis=1)))
            for name in self._foreign:  # shipped engines check this themselves
                message = f"write() left the pose of {self.frames.names[row]} at {poses[row].tolist()}"
                ENGINES.refuse(name, message, self.engines[name])

    def motion(self) -> tuple[FloatArray, FloatArray]:
        """Return the twists (N, 6) and accelerations (N, 6) of all frames; see `Simulation.motion`."""
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

    def truth_of(self, names: Sequence[str], state: FrameState) -> Truth:
        """Return a Truth that fills a state with the motion of frames.

        Raises:
            KeyError: There is no such frame.
        """
        return Truth(self.frames, self.engines, self.columns, names, state, self.poses, self._fall)

    def twists(self) -> FloatArray:
        """Return the twists (N, 6) of all frames in the fixed frame."""
        if self._all is None:
            state = FrameState.at_rest(len(self.frames), self.gravity)
            self._all = self.truth_of(self.frames.names, state), state
        truth, state = self._all
        truth.observe(self.time_ns, begins=self.steps == 0)
        return state.twist


def _refuse_sensor(name: str, frames: FrameTable, columns: Columns) -> NoReturn:
    """Raise ValueError or PluginFault for a sensor on a frame whose motion no engine provides."""
    chain = [row for row in frames.chain(frames.index(name)) if not frames.static[row]]
    row = next(row for row in chain if not columns.timed("pose", [row]))
    owner, needs = columns.owner("pose", row), f"sensor {name!r} needs to know how {frames.names[row]!r} moves"
    error = ValueError(f"{needs}, but no engine moves it")
    if owner:
        error = ValueError(f"{needs}, but {owner} moves it and offers neither `instants` nor `observer`")
        ENGINES.blame(owner.removeprefix("engine ").strip("'"), error)
    raise error


def _only(alive: list[Generation]) -> Generation:
    if not alive:
        raise KeyError("these columns are those of an earlier world; read the columns of the simulation again")
    return alive[0]


def observer_of(present: Callable[[], Generation], names: Sequence[str]) -> Callable[[], FrameState]:
    """Return the function of `Simulation.observer`, which always reads the present generation."""
    of = present()
    state = FrameState.at_rest(len(names), of.gravity)
    truth = of.truth_of(names, state)

    def observe() -> FrameState:
        nonlocal of, truth
        if of is not (now := present()):
            truth = now.truth_of(names, state)
            state.gravity, of = np.array(np.broadcast_to(now.gravity, (len(names), 3))), now
        truth.observe(of.time_ns, begins=of.steps == 0)
        return state

    return observe
