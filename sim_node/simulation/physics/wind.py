"""The wind of a world: one field for forces and for sensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from sim_node.simulation.columns import Array, Column, Columns
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.world.forces import Wind

if TYPE_CHECKING:
    from sim_node.simulation.physics.gusts import Dryden

# The neutral element of addition: unlike 0.0, it preserves the sign of a zero.
_NOTHING = (-0.0, -0.0, -0.0)
_FILTER = ("along", "across", "across rate", "up", "up rate")


class WindField:
    """The air's velocity at the present timestep, in the fixed frame, m/s.

    Args:
        wind: The world's wind, or None.
        timestep: Timestep, s.

    Attributes:
        air: Argument (11,) of force_kernels.air_velocity, updated in place: velocity at the reference height, its mean,
            its gust, 1 / reference height, and exponent of the wind profile.
        current: Velocity (3,) at the reference height, a view of `air`; without an exponent, it applies everywhere.
        gusts: The turbulence; None without gusts.
    """

    def __init__(self, wind: Wind | None, timestep: float) -> None:
        self.air = np.zeros(11)
        self.current, self._moving = self.air[:3], self.air[:9]
        mean = np.zeros(3) if wind is None else wind.velocity
        self._still = np.concatenate([mean, mean, np.zeros(3)])
        self._added, self._more = _NOTHING, np.array([*_NOTHING] * 3)
        self.blows = wind is not None
        if wind is not None:
            self.air[9:] = 1.0 / wind.reference_height, wind.exponent
        self.gusts: Dryden | None = None
        if wind is not None and wind.gusts is not None:
            from sim_node.simulation.physics.gusts import Dryden  # importing numba is slow; still air does not need it

            self.gusts = Dryden(wind.gusts, mean, timestep)
        self.reset(0)

    def reset(self, seed: int) -> None:
        """Go back to the start of the run.

        Args:
            seed: Seed of the gusts.
        """
        self._added, self._more[:] = _NOTHING, -0.0
        if self.gusts is not None:
            self.gusts.reset(seed)
        self._move()

    def add(self, velocity: Sequence[float]) -> None:
        """Add a velocity to the world's wind from now on, replacing the one that was added before.

        It is not part of the state: a reset, or the next generation, starts without it.

        Args:
            velocity: Velocity (3,) in the fixed frame, m/s.
        """
        x, y, z = velocity
        more = (x, y, z) if x or y or z else _NOTHING
        if more == self._added:  # the usual case: a lasting effect adds it before each step
            return
        self._added = more
        self._more[:3] = self._more[6:] = more
        self.blows = self.blows or more is not _NOTHING
        self._move()

    def _move(self) -> None:
        """Update the velocity of the air to the current timestep."""
        # A single NumPy call: its overhead exceeds the cost of hundreds of additions.
        row = self._still if self.gusts is None else self.gusts.table[self.gusts.at]
        np.add(row, self._more, self._moving)

    def advance(self, timesteps: int = 1) -> None:
        """Advance the gusts; nothing else changes.

        Args:
            timesteps: Number of timesteps.
        """
        gusts = self.gusts
        if gusts is not None:
            at = gusts.at = gusts.at + timesteps
            if at >= len(gusts.table):
                gusts.catch_up()
            self._move()

    def velocity(self, positions: FloatArray) -> FloatArray:
        """Return the velocity of the air.

        Args:
            positions: Positions (S, 3) in the fixed frame, m.

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
        gusts = self.gusts
        if gusts is None:
            return

        def put(kept: Sequence[Array]) -> None:
            gusts.go_on(int(kept[0][0]), int(kept[1][0]), np.array(kept[2]))
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
