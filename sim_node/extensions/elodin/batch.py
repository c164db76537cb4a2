"""Batches: many worlds with the same structure, compiled to one program."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from sim_node.extensions.elodin.errors import EcsError
from sim_node.extensions.elodin.jax_setup import jax
from sim_node.extensions.elodin.pairs import Pairs
from sim_node.extensions.elodin.program import CompiledProgram
from sim_node.world.problems import Where


def batched(program: CompiledProgram, starts: Mapping[str, Any], where: Where) -> tuple[CompiledProgram, int]:
    """Return a program that runs many worlds, which differ only in their initial values.

    Args:
        program: The program of one world.
        starts: Initial values (batch, *shape) by pair `entity.component`, one value for each world.
        where: Where they are given, for messages.

    Returns:
        The program, whose components are arrays (batch, n, *shape), and the number of worlds.

    Raises:
        EcsError: There is no such pair, a value does not fit it, or the pairs have different numbers of values.
    """
    pairs = Pairs(program.structure)
    arrays = {name: np.asarray(values) for name, values in starts.items()}
    counts = {name: len(array) if array.ndim else 0 for name, array in arrays.items()}
    if not counts or len(set(counts.values())) != 1 or not all(counts.values()):
        found = ", ".join(f"{name}: {count}" for name, count in counts.items()) or "none"
        raise EcsError(f"a batch needs as many values of each name; found {found}", where, "batch")
    worlds = next(iter(counts.values()))
    start = {name: np.repeat(array[None], worlds, axis=0) for name, array in program.start.items()}
    for name, array in arrays.items():
        try:
            pair = pairs[name]
        except KeyError as error:
            raise EcsError(error.args[0], where, "batch") from None
        if array.shape[1:] != pair.shape or not np.can_cast(array.dtype, pair.dtype, "same_kind"):
            needed = f"{pair.dtype} of shape {(worlds, *pair.shape)}"
            raise EcsError(f"{name} is {array.dtype} of shape {array.shape}; it needs {needed}", where, "batch")
        start[pair.component][:, pair.row] = array
    return replace(program, start=start, apply=jax.vmap(program.apply)), worlds
