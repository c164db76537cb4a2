"""The Simulation: a World stepped along its time grid, giving Snapshots."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from sim_node.assembly import assemble
from sim_node.geometry.arrays import FloatArray
from sim_node.physics import ENGINES, Vehicle, engines_for, vehicles_in
from sim_node.physics.engine import Carrier
from sim_node.sensors import Suite
from sim_node.sensors.setting import OPEN_AIR
from sim_node.sensors.tap import Tap
from sim_node.sensors.truth import DOWN, FrameState
from sim_node.simulation.peers import Peer, Peers
from sim_node.simulation.snapshot import Snapshot
from sim_node.simulation.state import State
from sim_node.simulation.truth import Truth
from sim_node.world.frame_table import FrameTable
from sim_node.world.instants import nanoseconds, within
from sim_node.world.layout import lay_out
from sim_node.world.model import World


class Simulation:
    """Steps a world, assembled first. The same world, seed and calls give the same bytes.

    sensors: whether they read; a run without them steps over hours at once. Raises WorldError.
    frames: the FrameTable, fixed for the run. vehicles: those of the world by name, with their commands.
    time_ns: start + steps * step, exactly. remainder_ns: what `run` was asked for beyond that, less than a step.
    """

    def __init__(self, world: World, seed: int = 0, *, sensors: bool = True) -> None:
        world = assemble(world)
        layout = lay_out(world)
        self.world = world
        self.frames: FrameTable = layout.frames
        self.seed = seed
        self.steps, self.remainder_ns = 0, 0
        self._poses = np.array(layout.poses)
        self._by_name = engines_for(world, layout)
        self._engines = list(self._by_name.values())
        self._foreign = [name for name in self._by_name if not ENGINES.is_shipped(name)]
        self.vehicles: Mapping[str, Vehicle] = vehicles_in(self._engines)
        offered = (engine.surroundings() for engine in self._engines)
        surroundings = next((each for each in offered if each is not None), OPEN_AIR)
        # Without bodies nothing falls, and what is held weighs what the standard says.
        gravity = world.physics.gravity if any(isinstance(each, Carrier) for each in self._engines) else DOWN
        self._suite = Suite(world if sensors else replace(world, sensors=()), surroundings, gravity)
        self._surroundings, self._gravity = surroundings, gravity
        self._peers = Peers(world.time.step_ns)
        self._truth = Truth(self.frames, self._engines, self._suite.frames, self._suite.state, self._poses)
        self.reset()

    @property
    def time_ns(self) -> int:
        """Simulation time in nanoseconds."""
        return self.world.time.start_ns + self.steps * self.world.time.step_ns

    def step(self, steps: int = 1, *, wait: bool = True) -> None:
        """Advances by whole steps of the world's time grid; its sensors read on the way, and its peers exchange.

        Raises ValueError for a negative number, and for one that leads beyond int64 nanoseconds.

        wait: for pictures that cameras took and that are not drawn yet. Without it they come out of a later step, and
        are left out where drawing falls behind: such a run is not the same each time.
        """
        steps = operator.index(steps)
        if steps < 0:
            raise ValueError(f"steps: {steps}; time goes forward, reset() goes back to the start")
        end = self.steps + steps
        within(self.world.time.start_ns + end * self.world.time.step_ns)
        while (due := min(self._suite.due, self._peers.due)) <= end:
            self._advance(int(due) - self.steps)
            if self._suite.due == due:
                self._truth.observe(begins=self.steps == 0)
                self._suite.measure(self.steps, self.time_ns, wait=wait)
            if self._peers.due == due:
                self._peers.exchange(self.steps)
        self._advance(end - self.steps)
        self._suite.tell(end, wait=wait)

    def run(self, duration: float) -> None:
        """Advances by the whole steps nearest to `duration` seconds; the rest is carried over to the next call.

        So calls add up: 40 times 0.01 s are 0.4 s at any step of the grid that divides it. `reset` drops the rest, a
        State has it. Raises ValueError for what is negative, not finite, or leads beyond int64 nanoseconds.
        """
        duration_ns, step_ns = nanoseconds(duration), self.world.time.step_ns
        if duration_ns < 0:
            raise ValueError(f"duration: {duration:g} s; time goes forward, reset() goes back to the start")
        due_ns = self.remainder_ns + duration_ns
        steps = max(0, (2 * due_ns + step_ns) // (2 * step_ns))
        self.step(steps)
        self.remainder_ns = due_ns - steps * step_ns

    def seek(self, time_ns: int) -> Snapshot:
        """The world at any time from its start on, between two steps too; a copy. The run stays at the step before.

        Raises ValueError for a time before the start, and for one beyond int64.
        """
        start_ns, step_ns = self.world.time.start_ns, self.world.time.step_ns
        steps, ahead_ns = divmod(within(time_ns) - start_ns, step_ns)
        if steps < 0:
            raise ValueError(f"{time_ns / 1e9:g} s is before the world's start at {start_ns / 1e9:g} s")
        if steps < self.steps:
            self.reset()
        self.step(steps - self.steps)
        self._write(self._poses, ahead_ns)
        return Snapshot(time_ns, self._poses.copy(), self._suite.told)

    def reset(self, seed: int | None = None) -> None:
        """Goes back to the start, with another seed if one is given."""
        self.seed = self.seed if seed is None else seed
        self.steps, self.remainder_ns = 0, 0
        for engine in self._engines:
            engine.reset(self.seed)
        self._suite.reset(self.seed)
        self._peers.restart(0)
        self.step(0)

    @property
    def state(self) -> State:
        """The run as it stands, to go back to: frozen, opaque, to be pickled."""
        engines = {name: engine.state() for name, engine in self._by_name.items()}
        return State(self.seed, self.steps, engines, self._suite.save(), self.remainder_ns)

    def restore(self, state: State) -> None:
        """Goes on from a state of the same world: the same bytes follow. Raises ValueError for one of another."""
        if state.engines.keys() != self._by_name.keys():
            theirs, mine = (", ".join(engines) or "none" for engines in (state.engines, self._by_name))
            raise ValueError(f"a state of the engines {theirs} is not of this world, which has {mine}")
        self._suite.restore(state.seed, state.sensors)
        for name, engine in self._by_name.items():
            engine.restore(state.engines[name])
        self.seed, self.steps, self.remainder_ns = state.seed, state.steps, state.remainder_ns
        self._peers.restart(state.steps + 1)

    def attach(self, peer: Peer) -> None:
        """Has a peer exchange with this run from the next step on, after those that came before it.

        A run with peers is the same each time as far as they are.
        """
        self._peers.add(peer, self.steps)

    def interrupt(self) -> None:
        """Ends all waiting for peers, for good. May be called from any thread."""
        self._peers.interrupt()

    def close(self) -> None:
        """Closes its peers; without them the run may go on."""
        self._peers.close()

    def tap(self, sensor: str) -> Tap:
        """Hears a sensor of this run while it steps. Raises KeyError, which names the nearest."""
        return self._suite.tap(sensor)

    def observer(self, names: Sequence[str]) -> Callable[[], FrameState]:
        """A function that tells how some frames truly move at the present step, always on the same arrays."""
        state = FrameState.at_rest(len(names), self._gravity)
        truth = Truth(self.frames, self._engines, names, state, self._poses)

        def observe() -> FrameState:
            truth.observe(begins=self.steps == 0)
            return state

        return observe

    def wind(self, positions: FloatArray) -> FloatArray:
        """The velocity (S, 3) of the air at positions (S, 3) of the fixed frame at the present step, m/s."""
        return self._surroundings.wind(positions)

    def motion(self) -> tuple[FloatArray, FloatArray]:
        """Twists (N, 6) and accelerations (N, 6) of all frames, relative to the fixed frame, in each frame's own axes.

        [vx vy vz wx wy wz] of the frame's origin, and their time derivatives as seen from the fixed frame, without
        gravity: the twist of nav_msgs/Odometry. NaN for frames that keyframes carry.
        """
        twists, accelerations = np.full((2, len(self.frames), 6), np.nan)
        twists[self.frames.still], accelerations[self.frames.still] = 0.0, 0.0
        for engine in self._engines:
            if isinstance(engine, Carrier):
                rows = engine.carried
                state = FrameState.at_rest(len(rows))
                engine.observer(rows, state, np.arange(len(rows)))()
                for all_rows, motion in ((twists, state.twist), (accelerations, state.acceleration)):
                    all_rows[rows] = np.concatenate([state.to_frame(motion[:, :3]), state.to_frame(motion[:, 3:])], 1)
        return twists, accelerations

    @property
    def pictures_dropped(self) -> int:
        """The pictures of cameras that were left out since the last reset: see `step`."""
        return self._suite.dropped

    def present(self) -> Snapshot:
        """The present instant on the run's own arrays: valid until the next call. For sinks, which take no copies."""
        self._write(self._poses, 0)
        return Snapshot(self.time_ns, self._poses, self._suite.told)

    def snapshot(self) -> Snapshot:
        """The present instant, to keep."""
        present = self.present()
        return Snapshot(present.time_ns, present.poses.copy(), present.readings)

    def _advance(self, steps: int) -> None:
        if steps:
            for engine in self._engines:
                engine.step(steps)
            self.steps += steps

    def _write(self, poses: FloatArray, ahead_ns: int) -> None:
        for engine in self._engines:
            engine.write(poses, ahead_ns)
        if self._foreign and not np.isfinite(poses).all():
            row = int(np.argmin(np.isfinite(poses).all(axis=1)))
            for name in self._foreign:  # a shipped engine says so itself
                message = f"write() left the pose of {self.frames.names[row]} at {poses[row].tolist()}"
                ENGINES.refuse(name, message, self._by_name[name])
