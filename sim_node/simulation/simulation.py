"""The Simulation: a World stepped along its time grid, giving Snapshots."""

from __future__ import annotations

import operator

import numpy as np

from sim_node.physics.engine import engines_for
from sim_node.simulation.snapshot import Snapshot
from sim_node.world.frame_table import FrameTable
from sim_node.world.layout import lay_out
from sim_node.world.model import World


class Simulation:
    """Steps a world. The same world, seed and calls give the same bytes.

    frames: the FrameTable, fixed for the run. time_ns: start + steps * step, exactly.
    """

    def __init__(self, world: World, seed: int = 0) -> None:
        layout = lay_out(world)
        self.world = world
        self.frames: FrameTable = layout.frames
        self.seed = seed
        self.steps = 0
        self._poses = np.array(layout.poses)
        self._engines = engines_for(world, layout)
        self.reset()

    @property
    def time_ns(self) -> int:
        """Simulation time in nanoseconds."""
        return self.world.time.start_ns + self.steps * self.world.time.step_ns

    def step(self, steps: int = 1) -> None:
        """Advances by whole steps of the world's time grid. Raises ValueError where they are negative."""
        steps = operator.index(steps)
        if steps < 0:
            raise ValueError(f"steps: {steps}; time goes forward, reset() goes back to the start")
        for engine in self._engines:
            engine.step(steps)
        self.steps += steps

    def run(self, duration: float) -> None:
        """Advances by the whole steps nearest to `duration` seconds. Raises ValueError where it is negative."""
        self.step(round(duration * 1e9 / self.world.time.step_ns))

    def seek(self, time_ns: int) -> Snapshot:
        """The world at any time from its start on, between two steps too; a copy. The run stays at the step before.

        Raises ValueError for a time before the start.
        """
        start_ns, step_ns = self.world.time.start_ns, self.world.time.step_ns
        steps, ahead_ns = divmod(time_ns - start_ns, step_ns)
        if steps < 0:
            raise ValueError(f"{time_ns / 1e9:g} s is before the world's start at {start_ns / 1e9:g} s")
        if steps < self.steps:
            self.reset()
        self.step(steps - self.steps)
        for engine in self._engines:
            engine.write(self._poses, ahead_ns)
        return Snapshot(time_ns, self._poses.copy())

    def reset(self, seed: int | None = None) -> None:
        """Goes back to the start, with another seed if one is given."""
        self.seed = self.seed if seed is None else seed
        self.steps = 0
        for engine in self._engines:
            engine.reset(self.seed)

    def present(self) -> Snapshot:
        """The present instant on the run's own arrays: valid until the next call. For sinks, which take no copies."""
        for engine in self._engines:
            engine.write(self._poses, 0)
        return Snapshot(self.time_ns, self._poses)

    def snapshot(self) -> Snapshot:
        """The present instant, to keep."""
        present = self.present()
        return Snapshot(present.time_ns, present.poses.copy())
