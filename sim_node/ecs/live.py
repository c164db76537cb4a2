"""The state of a running program: components as arrays, advanced by ticks, read and written in between."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from sim_node.ecs.jax_setup import jax, jnp
from sim_node.ecs.program import TICK, Array, Program


class Live:
    """A program's state. Nothing else of a program changes.

    Components are copied to the host when they are first read after a tick, and back once, with the next tick.

    Args:
        program: The compiled world.

    Attributes:
        program: The compiled world.
        ticks: Ticks since the start.
        outside: The components that no tick changes and that were written since the start.
    """

    def __init__(self, program: Program) -> None:
        self.program = program
        self.reset()

    def reset(self) -> None:
        """Go back to the start."""
        self.ticks = 0
        self.outside: set[str] = set()
        start = {name: jnp.asarray(array) for name, array in self.program.start.items()}
        self._changing, self._constant = self.program.split(start)
        # Host copies: of components that a tick changes, and of the others, which last longer.
        self._seen: dict[str, Array] = {}
        self._kept: dict[str, Array] = {}
        # What was written since the last tick, and constants that are passed to the next one as NumPy arrays.
        self._written: dict[str, Array] = {}
        self._loose: set[str] = set()

    def peek(self, name: str) -> Array:
        """Return a component (n, *shape), which is not to be written to, nor kept over a write. Raises KeyError."""
        known = self._seen.get(name)
        if known is None:
            known = self._kept.get(name)
        if known is not None:
            return known
        if name in self._changing:
            array = self._seen[name] = np.asarray(self._changing[name])
        else:
            array = self._kept[name] = np.asarray(self._constant[name])
        return array

    def writable(self, name: str) -> Array:
        """Return a component (n, *shape) to be written to until the next tick. Raises KeyError."""
        array = self._written.get(name)
        if array is None:
            array = self._written[name] = np.array(self.peek(name))
            if name in self._changing:
                self._seen[name] = array
            else:
                self._kept[name] = array
                self.outside.add(name)
        return array

    @property
    def changing(self) -> tuple[str, ...]:
        """The names of the components that ticks change."""
        return self.program.changing

    def get(self, name: str) -> Array:
        """Return a component (n, *shape) that later writes do not change. Raises KeyError."""
        array = self.peek(name)
        return array.copy() if name in self._written else array

    def put(self, name: str, values: Array) -> None:
        """Replace a component (n, *shape). Raises KeyError, ValueError."""
        held = self.peek(name)
        if held.shape != values.shape or held.dtype != values.dtype:
            raise ValueError(f"component {name!r}: found {values.dtype} {values.shape}")
        self.writable(name)[...] = values

    def restart_count(self) -> None:
        """Let the tick that systems see start from 1 again."""
        self.writable(TICK.name)[...] = 0

    def warm(self, ticks: int) -> None:
        """Compile what `record` needs for a number of ticks, without advancing."""
        self._hand_over()
        tick, record = self.program.tick, self.program.record
        jax.block_until_ready(
            tick(self._changing, self._constant) if ticks == 1 else record(self._changing, self._constant, 0)
        )

    def tick(self) -> None:
        """Advance by one tick."""
        self._hand_over()
        self._changing = self.program.tick(self._changing, self._constant)
        self._seen = {}
        self.ticks += 1

    def advance(self, ticks: int) -> None:
        """Advance by ticks in one call."""
        if ticks > 0:
            self._hand_over()
            self._changing = self.program.advance(self._changing, self._constant, ticks)
            self._seen = {}
            self.ticks += ticks

    def record(self, ticks: int) -> Mapping[str, Array]:
        """Advance by at most `program.chunk` ticks. Returns the changing components (ticks, n, *shape) after each."""
        assert 0 < ticks <= self.program.chunk
        if ticks == 1:
            self.tick()
            return {name: self.peek(name)[None] for name in self._changing}
        self._hand_over()
        self._changing, kept = self.program.record(self._changing, self._constant, ticks)
        self._seen = {}
        self.ticks += ticks
        arrays = {name: np.asarray(array)[:ticks] for name, array in kept.items()}
        # A short record must not keep the memory of a long one.
        return arrays if 2 * ticks > self.program.chunk else {name: array.copy() for name, array in arrays.items()}

    def block(self) -> None:
        """Wait until all ticks are computed."""
        jax.block_until_ready(self._changing)

    def _hand_over(self) -> None:
        """Pass to JAX what was written. JAX may use the arrays in place: they are not written to again."""
        if self._written:
            for name, array in self._written.items():
                if name in self._changing:
                    self._changing[name] = array
                else:
                    self._constant[name] = array
                    self._loose.add(name)
            self._written = {}
        elif self._loose:
            # Nothing writes them any more: converted once instead of in each tick.
            for name in self._loose:
                self._constant[name] = jnp.asarray(self._constant[name])
            self._loose.clear()
