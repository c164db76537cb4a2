"""The engine: moves the pallets of all belts."""

from __future__ import annotations

import numpy as np

from conveyor.belt import Pallet
from sim_node.geometry.arrays import FloatArray, IntArray
from sim_node.physics import engine
from sim_node.world import Layout, World


@engine("belts")
def open_belts(world: World, layout: Layout) -> BeltEngine | None:
    """The engine of a world's belts; None where there are no pallets."""
    pallets = layout.of(Pallet)
    return BeltEngine(pallets, world.time.step_ns) if pallets else None


class BeltEngine:
    """Where pallets are follows from how many steps have passed, so that any step is exact."""

    def __init__(self, pallets: tuple[tuple[int, Pallet], ...], step_ns: int) -> None:
        self._rows = np.array([row for row, _ in pallets])
        self._offsets = np.array([pallet.offset() for _, pallet in pallets])
        self._speeds = np.array([pallet.belt.speed for _, pallet in pallets])
        self._lengths = np.array([pallet.belt.length for _, pallet in pallets])
        self._step_ns = step_ns
        self._steps = 0

    def reset(self, seed: int) -> None:
        self._steps = 0

    def step(self, steps: int) -> None:
        self._steps += steps

    def write(self, poses: FloatArray, ahead_ns: int) -> None:
        """Poses (N, 7) of all frames in their parents: this engine's rows, `ahead_ns` after the present step."""
        self.write_instants(poses[None], np.array([ahead_ns]))

    def write_instants(self, poses: FloatArray, ahead_ns: IntArray) -> None:
        """The same at K instants, poses (K, N, 7): sensors on pallets tell from it how they move."""
        seconds = (self._steps * self._step_ns + ahead_ns[:, None]) / 1e9
        poses[:, self._rows, 0] = (self._offsets + self._speeds * seconds) % self._lengths

    def state(self) -> bytes:
        return self._steps.to_bytes(8, "little")

    def restore(self, state: bytes) -> None:
        self._steps = int.from_bytes(state, "little")

    def surroundings(self) -> None:
        """Nothing that cameras or lidars could see."""
