"""The engine: moves the pallets of all belts."""

from __future__ import annotations

import numpy as np

from conveyor.belt import Pallet
from sim_node.simulation.columns import AtInstants, Column, Columns
from sim_node.simulation.physics import engine
from sim_node.spatial.geometry.arrays import FloatArray, IntArray
from sim_node.world import Layout, World


@engine("belts")
def open_belts(world: World, layout: Layout, columns: Columns) -> BeltEngine | None:
    """The engine of a world's belts; None where there are no pallets."""
    pallets = layout.of(Pallet)
    return BeltEngine(pallets, world, layout, columns) if pallets else None


class BeltEngine:
    """Where pallets are follows from how many steps have passed, so that any instant is exact."""

    def __init__(self, pallets: tuple[tuple[int, Pallet], ...], world: World, layout: Layout, columns: Columns) -> None:
        rows = [row for row, _ in pallets]
        self._poses = layout.poses[rows]
        self._offsets = np.array([pallet.offset() for _, pallet in pallets])
        self._speeds = np.array([pallet.belt.speed for _, pallet in pallets])
        self._lengths = np.array([pallet.belt.length for _, pallet in pallets])
        self._start_ns, self._step_ns = world.time.start_ns, world.time.step_ns
        # `instants`: sensors on pallets tell from it how they move.
        self._rows = columns.claim("pose", [layout.frames.names[row] for row in rows], self._instants)
        self._steps = columns.add(Column("belts/steps", ("belts",), dtype=np.int64, meaning="steps since the start"))

    def reset(self, seed: int) -> None:
        self._steps[0] = 0

    def step(self, steps: int) -> None:
        self._steps[0] += steps

    def write(self, poses: FloatArray, ahead_ns: int) -> None:
        """Poses (N, 7) of all frames in their parents: this engine's rows, `ahead_ns` after the present step."""
        now_ns = self._start_ns + self._steps[0] * self._step_ns + ahead_ns
        poses[self._rows] = self._at(np.array([now_ns]), np.arange(len(self._rows)))[0]

    def _instants(self, places: IntArray) -> AtInstants:
        """What tells the poses (K, R, 7) of some pallets at K instants."""
        return lambda times_ns: self._at(times_ns, places)

    def _at(self, times_ns: IntArray, places: IntArray) -> FloatArray:
        seconds = (times_ns[:, None] - self._start_ns) / 1e9
        poses = np.repeat(self._poses[None, places], len(times_ns), axis=0)
        poses[:, :, 0] = (self._offsets[places] + self._speeds[places] * seconds) % self._lengths[places]
        return poses
