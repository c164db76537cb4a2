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
        gusts: What moves the air; None where it does not change.
        added: (3,), what is added to the world's wind everywhere, m/s; see `add`.
    """

    def __init__(self, wind: Wind | None, timestep: float) -> None:
        self.air = np.zeros(11)
        self.current, self._moving = self.air[:3], self.air[:9]
        self._mean = np.zeros(3) if wind is None else wind.velocity
        self.added, self._adds = np.zeros(3), False
        self.blows = wind is not None
        if wind is not None:
            self.air[9:] = 1.0 / wind.reference_height, wind.exponent
        self.gusts: Dryden | None = None
        if wind is not None and wind.gusts is not None:
            from sim_node.simulation.physics.gusts import Dryden  # importing numba is slow; still air does not need it

            self.gusts = Dryden(wind.gusts, self._mean, timestep)
        self.reset(0)

    def reset(self, seed: int) -> None:
        """Go back to the run's start.

        Args:
            seed: Of the gusts.
        """
        self.added[:], self._adds = 0.0, False
        if self.gusts is not None:
            self.gusts.reset(seed)
        self._move()

    def add(self, velocity: FloatArray) -> None:
        """Add a velocity to the world's wind from now on, in place of the one that was added before.

        It is no state of the wind: a reset or another generation begins without it.

        Args:
            velocity: (3,) in the fixed frame, m/s.
        """
        self.added[:] = velocity
        self._adds = any(self.added.tolist())
        self.blows = self.blows or self._adds
        self._move()

    def _move(self) -> None:
        """Set the air to that of the present timestep."""
        if self.gusts is None:
            self.air[:3] = self.air[3:6] = self._mean
            self.air[6:9] = 0.0
        else:
            self._moving[:] = self.gusts.table[self.gusts.at]
        if self._adds:
            self.air[:3] += self.added
            self.air[6:9] += self.added

    def advance(self, timesteps: int = 1) -> None:
        """Advance; only gusts change.

        Args:
            timesteps: By how many timesteps.
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
