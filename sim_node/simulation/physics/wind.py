"""The wind of a world: one field for forces and for sensors."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from sim_node.simulation.columns import Array, Column, Columns
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.world.forces import Gusts, Wind

# Timesteps whose gusts are drawn at once, so that the cost of a numpy call is spread over them.
BLOCK = 1024
_FILTER = ("along", "across", "across rate", "up", "up rate")


class WindField:
    """The air's velocity at the present timestep, in the fixed frame, m/s.

    Args:
        wind: The world's wind, or None.
        timestep: s.

    Attributes:
        air: (11,), the argument of force_kernels.air_velocity, updated in place: the velocity at the reference height,
            its mean, its gust, 1 / the reference height, and the exponent of the profile.
        current: (3,), a view of the first; if the world's wind has no exponent it is the velocity everywhere.
        added: (3,), what is added to the world's wind everywhere, m/s; see `add`.
    """

    def __init__(self, wind: Wind | None, timestep: float) -> None:
        self.air = np.zeros(11)
        self.current, self._moving = self.air[:3], self.air[:9]
        self._mean = np.zeros(3) if wind is None else wind.velocity
        self.added = np.zeros(3)
        self.blows = wind is not None
        if wind is not None:
            self.air[9:] = 1.0 / wind.reference_height, wind.exponent
        self._gusts: _Blocks | None = None
        if wind is not None and wind.gusts is not None:
            self._gusts = _Blocks(wind.gusts, self._mean, timestep)
        self.reset(0)

    def reset(self, seed: int) -> None:
        """Go back to the run's start.

        Args:
            seed: Of the gusts.
        """
        self.added[:] = 0.0
        if self._gusts is not None:
            self._gusts.reset(seed)
        self._move()

    def add(self, velocity: FloatArray) -> None:
        """Add a velocity to the world's wind from now on, in place of the one that was added before.

        It is no state of the wind: a reset or another generation begins without it.

        Args:
            velocity: (3,) in the fixed frame, m/s.
        """
        self.added[:] = velocity
        self.blows = self.blows or bool(self.added.any())
        self._move()

    def _move(self) -> None:
        """Set the air to that of the present timestep."""
        if self._gusts is None:
            self.air[:3] = self.air[3:6] = self._mean
            self.air[6:9] = 0.0
        else:
            self._moving[:] = self._gusts.table[self._gusts.at]
        if self.added.any():
            self.air[:3] += self.added
            self.air[6:9] += self.added

    def advance(self, timesteps: int = 1) -> None:
        """Advance; only gusts change.

        Args:
            timesteps: By how many timesteps.
        """
        gusts = self._gusts
        if gusts is not None:
            at = gusts.at = gusts.at + timesteps
            if at >= BLOCK:
                gusts.catch_up()
            self._moving[:] = gusts.table[gusts.at]
            if self.added.any():
                self._move()

    def velocity(self, positions: FloatArray) -> FloatArray:
        """Return the velocity of the air.

        Args:
            positions: In the fixed frame (S, 3), m.

        Returns:
            Velocities (S, 3) in the fixed frame, m/s.
        """
        scale = np.ones(len(positions))
        if self.air[10] > 0.0:
            scale = (np.maximum(positions[:, 2], 0.0) * self.air[9]) ** self.air[10]
        return np.asarray(self.air[3:6] * scale[:, None] + self.air[6:9])

    def declare(self, columns: Columns) -> None:
        """Declare the state of gusts: the number of the block, the position in it, and its initial state.

        Args:
            columns: The columns of the run.
        """
        gusts = self._gusts
        if gusts is None:
            return

        def put(kept: Sequence[Array]) -> None:
            gusts.go_on(int(kept[0][0]), int(kept[1][0]), kept[2])
            self._move()

        columns.compute(
            (
                Column("wind/block", ("gusts",), dtype=np.int64, meaning="block of gusts that was drawn last"),
                Column("wind/timestep", ("gusts",), dtype=np.int64, meaning="timestep within that block"),
                Column("wind/filter", _FILTER, meaning="state of the shaping filters at the block's beginning"),
            ),
            gusts.present,
            put,
        )


class _Blocks:
    """Gusts drawn a block at a time; table (BLOCK, 9): velocity, mean and gust of each timestep.

    Each block has its own random stream: restoring a state in the middle of a run draws only that block again.
    """

    def __init__(self, gusts: Gusts, mean: FloatArray, timestep: float) -> None:
        from sim_node.simulation.physics.gusts import Dryden  # importing numba is slow; still air does not need it

        self._dryden = Dryden(gusts, timestep, BLOCK)
        self._turn = _along(mean)
        self.at = 0
        self.table = np.empty((BLOCK, 9))
        self.table[:, 3:6] = mean

    def reset(self, seed: int) -> None:
        self._seed = seed
        self._begin(0, self._dryden.start(seed))

    def catch_up(self) -> None:
        """Draw the blocks up to the one that `at` is in."""
        while self.at >= BLOCK:
            at = self.at - BLOCK
            self._begin(self._number + 1, self._next)
            self.at = at

    def present(self) -> tuple[Array, ...]:
        return np.array([self._number]), np.array([self.at]), self._first

    def go_on(self, number: int, at: int, first: FloatArray) -> None:
        self._begin(number, np.array(first))
        self.at = at

    def _begin(self, number: int, first: FloatArray) -> None:
        """Draw a block, whose filters begin in a state."""
        self._number, self._first, self.at = number, first, 0
        gusts, self._next = self._dryden.block(self._seed, number, first)
        self.table[:, 6:] = gusts @ self._turn
        self.table[:, :3] = self.table[:, 3:6] + self.table[:, 6:]


def _along(mean: FloatArray) -> FloatArray:
    """Return rows: the directions along the horizontal wind (east without one), across it to the left, and up."""
    speed = math.hypot(mean[0], mean[1])
    east, north = (mean[0] / speed, mean[1] / speed) if speed > 0.0 else (1.0, 0.0)
    return np.array([[east, north, 0.0], [-north, east, 0.0], [0.0, 0.0, 1.0]])
