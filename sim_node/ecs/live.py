"""The state of a running program: components as arrays, advanced by ticks and read and written in between."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from sim_node.ecs.jax_setup import jax
from sim_node.ecs.program import Array, Program


class Live:
    """A program's state. Nothing else of a program changes.

    Args:
        program: The compiled world.

    Attributes:
        program: The compiled world.
        ticks: Ticks since the start.
    """

    def __init__(self, program: Program) -> None:
        self.program = program
        self.reset()

    def reset(self) -> None:
        """Go back to the start."""
        self.ticks = 0
        self._changing, self._constant = self.program.split(dict(self.program.start))

    def get(self, name: str) -> Array:
        """Return a component (n, *shape). Raises KeyError."""
        return np.asarray(self._changing[name] if name in self._changing else self._constant[name])

    def put(self, name: str, values: Array) -> None:
        """Replace a component (n, *shape). Raises KeyError, ValueError."""
        held = self._changing if name in self._changing else self._constant
        if np.shape(held[name]) != values.shape or held[name].dtype != values.dtype:
            raise ValueError(f"component {name!r}: found {values.dtype} {values.shape}")
        held[name] = values

    def tick(self) -> None:
        """Advance by one tick."""
        self._changing = self.program.tick(self._changing, self._constant)
        self.ticks += 1

    def advance(self, ticks: int) -> None:
        """Advance by ticks in one call."""
        if ticks > 0:
            self._changing = self.program.advance(self._changing, self._constant, ticks)
            self.ticks += ticks

    def record(self, ticks: int) -> Mapping[str, Array]:
        """Advance by at most `program.chunk` ticks; return what changes (ticks, n, *shape) after each."""
        assert 0 < ticks <= self.program.chunk
        self._changing, kept = self.program.record(self._changing, self._constant, ticks)
        self.ticks += ticks
        return {name: np.asarray(array)[:ticks] for name, array in kept.items()}

    def block(self) -> None:
        """Wait until all ticks are computed."""
        jax.block_until_ready(self._changing)
