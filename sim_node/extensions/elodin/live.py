"""The state of a running program: components as arrays, which ticks advance and which are read and written between."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from sim_node.extensions.elodin.jax_setup import jax, jnp
from sim_node.extensions.elodin.program import TICK, Array, BlockPlace, CompiledProgram

# Up to this many ticks, running them one by one takes less time than compiling the loop that runs many in one call.
LOOPED = 5000


class Live:
    """The state of a program, which is the only part of it that changes.

    Components are stored in blocks (see `Blocks`): first those that a tick changes, then the others. A block is
    viewed on the host when it is first read after a tick, copied when it is first written, and handed back once.

    Args:
        program: The compiled world.

    Attributes:
        program: The compiled world.
        ticks: Ticks since the start.
        outside: The components that no tick changes but that were written from outside since the start.
    """

    def __init__(self, program: CompiledProgram) -> None:
        self.program = program
        # What is compiled: a single tick (True), the loop that records many ticks (False).
        self._ready: set[bool] = set()
        self._places = dict(program.changing_blocks.places)
        for name, place in program.constant_blocks.places.items():
            self._places[name] = replace(place, block=place.block + program.changing_blocks.count)
        self.reset()

    def reset(self) -> None:
        """Reset to the start."""
        program = self.program
        self.ticks = 0
        self.outside: set[str] = set()
        parts = (program.changing_blocks, program.constant_blocks)
        changing, constant = ([jnp.asarray(block) for block in part.on_host(program.start)] for part in parts)
        # A tuple, like the results of ticks: JAX would recompile everything for a list.
        self._changing: tuple[Any, ...] = tuple(changing)
        self._constant: list[Any] = constant
        # Host copies of blocks: first of those that a tick changes, then of the others, whose copies last longer.
        self._first_constant = program.changing_blocks.count
        self._nothing: list[Array | None] = [None] * self._first_constant
        self._hosts: list[Array | None] = [None] * (self._first_constant + program.constant_blocks.count)
        # The blocks written since the last tick, and the constant blocks that the next tick receives as NumPy arrays.
        self._written: set[int] = set()
        self._loose: set[int] = set()

    def numbers(self, at: int) -> Array:
        """Return a read-only block (size,), valid until the next write. See `place`."""
        host = self._hosts[at]
        if host is None:
            first = self._first_constant
            host = self._hosts[at] = np.asarray(self._changing[at] if at < first else self._constant[at - first])
        return host

    def writable_numbers(self, at: int, name: str) -> Array:
        """Return the block (size,) of a component, which may be written to until the next tick."""
        if at >= self._first_constant:
            self.outside.add(name)
        if at in self._written:
            host = self._hosts[at]
            assert host is not None
        else:
            host = self._hosts[at] = self.numbers(at).copy()
            self._written.add(at)
        return host

    def place(self, name: str) -> BlockPlace:
        """Return the block of a component and its slice there. Raises KeyError."""
        return self._places[name]

    def peek(self, name: str) -> Array:
        """Return a read-only component (n, *shape), valid until the next write. Raises KeyError."""
        place = self._places[name]
        return self.numbers(place.block)[place.start : place.stop].reshape(place.shape)

    def writable(self, name: str) -> Array:
        """Return a component (n, *shape), which may be written to until the next tick. Raises KeyError."""
        place = self._places[name]
        return self.writable_numbers(place.block, name)[place.start : place.stop].reshape(place.shape)

    @property
    def changing(self) -> tuple[str, ...]:
        """The names of the components that ticks change."""
        return self.program.changing

    def get(self, name: str) -> Array:
        """Return a component (n, *shape) that later writes do not change. Raises KeyError."""
        array = self.peek(name)
        return array.copy() if self._places[name].block in self._written else array

    def put(self, name: str, values: Array) -> None:
        """Replace a component (n, *shape). Raises KeyError, ValueError."""
        held = self.peek(name)
        if held.shape != values.shape or held.dtype != values.dtype:
            raise ValueError(f"component {name!r}: found {values.dtype} {values.shape}")
        self.writable(name)[...] = values

    def restart_count(self) -> None:
        """Make the tick that systems see start from 1 again."""
        self.writable(TICK.name)[...] = 0

    def warm(self, ticks: int) -> None:
        """Compile the function that runs a number of ticks, unless a suitable one is already compiled."""
        if self._ready and (ticks <= LOOPED or False in self._ready):
            return
        self._hand_over()
        tick, record = self.program.tick, self.program.record
        jax.block_until_ready(
            tick(self._changing, self._constant) if ticks == 1 else record(self._changing, self._constant, 0)
        )
        self._ready.add(ticks == 1)

    def tick(self) -> None:
        """Advance by one tick."""
        self._hand_over()
        self._changing = self.program.tick(self._changing, self._constant)
        self._hosts[: self._first_constant] = self._nothing
        self.ticks += 1

    def advance(self, ticks: int) -> None:
        """Advance by a number of ticks in one call."""
        if ticks > 0:
            self._hand_over()
            self._changing = self.program.advance(self._changing, self._constant, ticks)
            self._hosts[: self._first_constant] = self._nothing
            self.ticks += ticks

    def record(self, ticks: int) -> Mapping[str, Array]:
        """Advance by at most `program.chunk` ticks. Returns the changing components (ticks, n, *shape) after each."""
        assert 0 < ticks <= self.program.chunk
        self._ready = self._ready or {ticks == 1}
        if False not in self._ready:
            rows = []
            for _ in range(ticks):
                self.tick()
                rows.append([self.peek(name) for name in self.changing])
            return {name: np.stack(values) for name, values in zip(self.changing, zip(*rows, strict=True), strict=True)}
        self._hand_over()
        self._changing, kept = self.program.record(self._changing, self._constant, ticks)
        self._hosts[: self._first_constant] = self._nothing
        self.ticks += ticks
        arrays = {name: np.asarray(array)[:ticks] for name, array in kept.items()}
        # Copy a short record, so that it does not keep the memory of a long one alive.
        return arrays if 2 * ticks > self.program.chunk else {name: array.copy() for name, array in arrays.items()}

    def block(self) -> None:
        """Wait until all ticks are computed."""
        jax.block_until_ready(self._changing)

    def snapshot(self) -> list[Any]:
        """Return all blocks (size,), which later ticks and writes do not change."""
        blocks = [*self._changing, *self._constant]
        for at in self._written:
            host = self._hosts[at]
            assert host is not None
            blocks[at] = host.copy()
        return blocks

    def _hand_over(self) -> None:
        """Pass the written blocks to JAX. JAX may use the arrays in place, so they are not written to again."""
        if self._written:
            first = self._first_constant
            changing = list(self._changing)
            for at in self._written:
                if at < first:
                    changing[at] = self._hosts[at]
                else:
                    self._constant[at - first] = self._hosts[at]
                    self._loose.add(at - first)
            self._changing = tuple(changing)
            self._written.clear()
        elif self._loose:
            # They are no longer written: convert them once instead of in each tick.
            for at in self._loose:
                self._constant[at] = jnp.asarray(self._constant[at])
            self._loose.clear()
