"""Blocks: components side by side in few flat arrays, because each array costs time when it is handed to JAX."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sim_node.extensions.elodin.jax_setup import jnp
from sim_node.extensions.elodin.numerics import State

# Larger components than this are blocks of their own: copying them into one would cost more than it saves.
MAX_SHARED_BYTES = 16 << 10


@dataclass(frozen=True)
class BlockPlace:
    """Where a component is.

    Attributes:
        block: The number of its block.
        start: Its first number there.
        stop: The number after its last one.
        shape: Its shape (n, *shape).
    """

    block: int
    start: int
    stop: int
    shape: tuple[int, ...]


class Blocks:
    """The blocks of some components, one for each type of numbers, and one for each large component.

    Args:
        names: The names of the components.
        like: Arrays of their shapes and types by name.

    Attributes:
        places: Where each component is, by name.
        count: The number of blocks.
    """

    def __init__(self, names: Iterable[str], like: Mapping[str, npt.NDArray[Any]]) -> None:
        self.places: dict[str, BlockPlace] = {}
        self._blocks: list[list[str]] = []
        shared: dict[np.dtype[Any], int] = {}
        ends: list[int] = []
        for name in names:
            array = like[name]
            alone = array.nbytes > MAX_SHARED_BYTES
            at = len(ends) if alone else shared.setdefault(array.dtype, len(ends))
            if at == len(ends):
                self._blocks.append([])
                ends.append(0)
            start, ends[at] = ends[at], ends[at] + math.prod(array.shape)
            self.places[name] = BlockPlace(at, start, ends[at], array.shape)
            self._blocks[at].append(name)
        self.count = len(ends)

    def joined(self, state: State) -> tuple[Any, ...]:
        """Return the blocks of components, traced or not."""
        return tuple(
            jnp.concatenate([jnp.ravel(state[name]) for name in names])
            if len(names) > 1
            else jnp.ravel(state[names[0]])
            for names in self._blocks
        )

    def on_host(self, state: Mapping[str, npt.NDArray[Any]]) -> list[npt.NDArray[Any]]:
        """Return the blocks of components as NumPy arrays of their own."""
        return [np.concatenate([np.ravel(state[name]) for name in names]) for names in self._blocks]

    def split(self, blocks: Sequence[Any]) -> dict[str, Any]:
        """Return the components (n, *shape) of blocks by name."""
        return {
            name: blocks[place.block][place.start : place.stop].reshape(place.shape)
            for name, place in self.places.items()
        }
