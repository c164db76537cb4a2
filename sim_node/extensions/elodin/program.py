"""Programs: a world's entities and systems compiled to one pure step."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from sim_node.extensions.elodin.components import Component, carrier_of, layout_of
from sim_node.extensions.elodin.entities import GLOBALS, GLOBALS_NAME, Entities, EntityTable
from sim_node.extensions.elodin.errors import EcsError, caller
from sim_node.extensions.elodin.jax_setup import jax, jnp
from sim_node.extensions.elodin.layouts import ComponentType
from sim_node.extensions.elodin.numerics import Numerics, State
from sim_node.extensions.elodin.standard import SimulationTick, SimulationTimeStep
from sim_node.extensions.elodin.structure import ComponentStructure
from sim_node.extensions.elodin.systems import Apply, System, system_of

# Components larger than this get their own block: copying them into a shared one would cost more than it saves.
MAX_SHARED_BYTES = 16 << 10


@dataclass(frozen=True)
class BlockPlace:
    """The location of a component in the blocks.

    Attributes:
        block: The index of its block.
        start: Index of its first element in the block.
        stop: Index after its last element.
        shape: Its shape (n, *shape).
    """

    block: int
    start: int
    stop: int
    shape: tuple[int, ...]


class Blocks:
    """The blocks of some components: one for each element type, and one for each large component.

    Args:
        names: The names of the components.
        like: Arrays of their shapes and types, by name.

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
        """Return the blocks of components as new NumPy arrays."""
        return [np.concatenate([np.ravel(state[name]) for name in names]) for names in self._blocks]

    def split(self, blocks: Sequence[Any]) -> dict[str, Any]:
        """Return the components (n, *shape) of blocks by name."""
        return {
            name: blocks[place.block][place.start : place.stop].reshape(place.shape)
            for name, place in self.places.items()
        }


# The most ticks, and bytes of components, that are computed and kept in one call.
CHUNK = 1024
RECORD_BYTES = 8 << 20
TICK = carrier_of(SimulationTick).component
TIME_STEP = carrier_of(SimulationTimeStep).component
Array = npt.NDArray[Any]
_ONE = jax.numpy.asarray(1, np.int64)


@dataclass(frozen=True)
class CompiledProgram:
    """A compiled world: its structure, its components at the start, and one tick as a pure function.

    Attributes:
        structure: What does not change.
        start: The components at the start, (n, *shape) by name.
        changing: The names of the components that a tick may change; the others change only from outside.
        apply: One tick of the systems.
    """

    structure: ComponentStructure
    start: Mapping[str, Array]
    changing: tuple[str, ...]
    apply: Apply

    def step(self, state: State) -> State:
        """Return the state after one tick. It is pure: for jax.jit, jax.grad and jax.vmap.

        Args:
            state: Arrays (n, *shape) of all components by name.
        """
        return self.apply({**state, TICK.name: state[TICK.name] + 1.0})

    @cached_property
    def chunk(self) -> int:
        """How many ticks `record` keeps in one call: at most CHUNK, and as many as fit RECORD_BYTES."""
        tick = sum(self.start[name].nbytes for name in self.changing)
        return max(1, min(CHUNK, RECORD_BYTES // tick))

    @cached_property
    def changing_blocks(self) -> Blocks:
        """Where the components are that a tick may change."""
        return Blocks(self.changing, self.start)

    @cached_property
    def constant_blocks(self) -> Blocks:
        """Where the others are."""
        return Blocks((name for name in self.start if name not in self.changing), self.start)

    def tick(self, changing: Sequence[Any], constant: Sequence[Any]) -> tuple[Any, ...]:
        """Compute a tick.

        Args:
            changing: The components that it may change, in blocks.
            constant: The others, in blocks.

        Returns:
            The blocks of the changing ones.
        """
        return self._advance(changing, constant, _ONE)  # type: ignore[no-any-return]

    def advance(self, changing: Sequence[Any], constant: Sequence[Any], ticks: int) -> tuple[Any, ...]:
        """Compute a number of ticks in one call. See `tick`."""
        return self._advance(changing, constant, np.int64(ticks))  # type: ignore[no-any-return]

    @cached_property
    def traced(self) -> Any:
        """A tick to be compiled as part of a loop. Systems are evaluated once, however many loops there are."""
        return jax.jit(self._tick)

    @cached_property
    def _advance(self) -> Any:
        # One tick is a loop, too: outside of one, XLA may compute other last bits.
        def many(changing: Sequence[Any], constant: Sequence[Any], ticks: Any) -> Any:
            before, fixed = self._split(changing, constant)
            after = jax.lax.fori_loop(0, ticks, lambda _, state: self.traced(state, fixed), before)
            return self.changing_blocks.joined(after)

        return jax.jit(many)

    @cached_property
    def record(self) -> Any:
        """Compiled ticks as `advance`, at most `chunk`; also returns what changes after each (chunk, n, ...)."""

        def many(changing: Sequence[Any], constant: Sequence[Any], ticks: Any) -> Any:
            before, fixed = self._split(changing, constant)
            kept = {name: jax.numpy.zeros((self.chunk, *array.shape), array.dtype) for name, array in before.items()}

            def one(at: Any, both: tuple[State, State]) -> tuple[State, State]:
                state = self.traced(both[0], fixed)
                return state, {name: array.at[at].set(state[name]) for name, array in both[1].items()}

            after, kept = jax.lax.fori_loop(0, ticks, one, (before, kept))
            return self.changing_blocks.joined(after), kept

        return jax.jit(many)

    def _split(self, changing: Sequence[Any], constant: Sequence[Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the components (n, *shape) of blocks by name."""
        return self.changing_blocks.split(changing), self.constant_blocks.split(constant)

    def _tick(self, changing: State, constant: State) -> dict[str, Any]:
        # Between barriers a tick is compiled in the same way wherever it stands, and gives the same bits. What does not
        # change has none, so that what follows from it alone is computed once, before the loop of ticks.
        changing = jax.lax.optimization_barrier(dict(changing))
        after = self.step({**constant, **changing})
        kept: dict[str, Any] = jax.lax.optimization_barrier({name: after[name] for name in self.changing})
        return kept


def compiled(entities: Entities, system: Any, step: float, numerics: Numerics) -> CompiledProgram:
    """Compile a world.

    Args:
        entities: Its entities.
        system: Its systems: one, a list, or None.
        step: The time between two ticks, s.
        numerics: The equations of motion.

    Raises:
        EcsError: A system does not fit the entities, or raises an exception.
    """
    where = caller()
    joined: System = system_of(system)
    if not (isinstance(step, (int, float, np.number)) and np.isfinite(step) and step > 0):
        raise EcsError(f"{step!r} is not a number of seconds above zero", where, "sim_time_step")
    step = numerics.step(float(step))
    if step <= 0:
        raise EcsError("is less than a nanosecond", where, "sim_time_step")
    tables = entities.tables()
    for component, value in ((TICK, 0.0), (TIME_STEP, step)):
        tables[component.name] = EntityTable(component, (GLOBALS,), np.array([value]))
    structure = ComponentStructure(
        {name: table.component for name, table in tables.items()},
        {name: table.entities for name, table in tables.items()},
        {name: _edges(table, entities) for name, table in tables.items() if _is_edge(table.component)},
        {**entities.names, GLOBALS: GLOBALS_NAME},
        step,
        numerics,
    )
    start = {name: table.values for name, table in tables.items()}
    changing = tuple(name for name in start if name in joined.writes() or name == TICK.name)
    try:
        program = CompiledProgram(structure, start, changing, joined.compiled(structure))
        # Runs the systems once, on no numbers: what is wrong in them is found here.
        parts = ({name: each for name, each in start.items() if (name in changing) == part} for part in (True, False))
        program.traced.trace(*parts)
    except EcsError as error:
        # Without the frames of JAX, through which it came.
        raise EcsError.of(error) from None
    return program


def _is_edge(component: Component) -> bool:
    return layout_of(component) == ComponentType.Edge


def _edges(table: EntityTable, entities: Entities) -> npt.NDArray[np.int64]:
    """Return the edges (e, 2) of an edge component. Raises EcsError if one ends at an entity that is not there."""
    edges = table.values.astype(np.int64).reshape(-1, 2)
    for owner, ends in zip(table.entities, edges.tolist(), strict=True):
        for end in ends:
            if end not in entities.names:
                raise EcsError(f"there is no entity {end}", entities.places[owner], table.component.name)
    return edges
