"""Programs: a world's entities and systems compiled to one pure step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from sim_node.ecs.components import Component, ComponentType, carrier_of, layout_of
from sim_node.ecs.dynamics import Numerics
from sim_node.ecs.entities import GLOBALS, GLOBALS_NAME, Entities, Table, scalar
from sim_node.ecs.jax_setup import jax
from sim_node.ecs.standard import SimulationTick, SimulationTimeStep
from sim_node.ecs.structure import State, Structure
from sim_node.ecs.systems import Apply, System, system_of

# Ticks that are computed and kept in one call: as many as fit, up to a limit.
MAX_CHUNK, MAX_CHUNK_BYTES = 1024, 16_000_000
TICK = carrier_of(SimulationTick).component
TIME_STEP = carrier_of(SimulationTimeStep).component
Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Program:
    """A compiled world: its structure, its components at the start, and one tick as a pure function.

    Attributes:
        structure: What does not change.
        start: The components at the start, (n, *shape) by name.
        changing: The names of the components that a tick may change; the others change only from outside.
        apply: One tick of the systems.
    """

    structure: Structure
    start: Mapping[str, Array]
    changing: tuple[str, ...]
    apply: Apply

    def step(self, state: State) -> State:
        """Return the state after one tick. It is pure: for jax.jit, jax.grad and jax.vmap.

        Args:
            state: Arrays (n, *shape) of all components by name.
        """
        counted = dict(state)
        counted[TICK.name] = state[TICK.name] + 1.0
        return self.apply(counted)

    @cached_property
    def tick(self) -> Any:
        """The compiled tick: of changing and constant components by name, returns the changing ones."""
        return jax.jit(self._tick)

    @cached_property
    def advance(self) -> Any:
        """Compiled ticks: of changing components, constant ones and a number of ticks, returns the changing ones."""

        def many(changing: State, constant: State, ticks: Any) -> State:
            return jax.lax.fori_loop(0, ticks, lambda _, state: self._tick(state, constant), dict(changing))  # type: ignore[no-any-return]

        return jax.jit(many)

    @cached_property
    def chunk(self) -> int:
        """The largest number of ticks of one `record`."""
        size = sum(self.start[name].nbytes for name in self.changing)
        return max(1, min(MAX_CHUNK, MAX_CHUNK_BYTES // max(size, 1)))

    @cached_property
    def record(self) -> Any:
        """Compiled ticks as `advance`, at most `chunk`; also returns what changes after each (chunk, n, ...)."""

        def many(changing: State, constant: State, ticks: Any) -> tuple[State, State]:
            changing = dict(changing)
            kept = {
                name: jax.numpy.zeros((self.chunk, *array.shape), jax.numpy.asarray(array).dtype)
                for name, array in changing.items()
            }

            def one(at: Any, both: tuple[State, State]) -> tuple[State, State]:
                state = self._tick(both[0], constant)
                return state, {name: array.at[at].set(state[name]) for name, array in both[1].items()}

            return jax.lax.fori_loop(0, ticks, one, (changing, kept))  # type: ignore[no-any-return]

        return jax.jit(many)

    def split(self, state: State) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the changing and the constant components of a state."""
        changing = {name: state[name] for name in self.changing}
        return changing, {name: array for name, array in state.items() if name not in changing}

    def _tick(self, changing: State, constant: State) -> dict[str, Any]:
        # Between barriers a tick is compiled in the same way wherever it stands, and gives the same bits.
        changing, constant = jax.lax.optimization_barrier((dict(changing), dict(constant)))
        after = self.step({**constant, **changing})
        return jax.lax.optimization_barrier({name: after[name] for name in self.changing})  # type: ignore[no-any-return]


def compiled(entities: Entities, system: Any, step: float, numerics: Numerics) -> Program:
    """Compile a world.

    Args:
        entities: Its entities.
        system: Its systems: one, a list, or None.
        step: The time between two ticks, s.
        numerics: The equations of motion.

    Raises:
        EcsError: A system does not fit the entities.
    """
    joined: System = system_of(system)
    step = numerics.step(step)
    tables = entities.tables()
    of_world = {TICK: 0.0, TIME_STEP: step}
    for component, value in of_world.items():
        tables.setdefault(component.name, Table(component, (GLOBALS,), scalar(value)))
    for component, where in joined.reads():
        entities.declare(component, where)
    structure = Structure(
        {name: table.component for name, table in tables.items()},
        {name: table.entities for name, table in tables.items()},
        {name: _edges(table) for name, table in tables.items() if _is_edge(table.component)},
        {**entities.names, GLOBALS: GLOBALS_NAME},
        step,
        numerics,
    )
    start = {name: table.values for name, table in tables.items()}
    changing = tuple(name for name in start if name in joined.writes() or name == TICK.name)
    return Program(structure, start, changing, joined.compiled(structure))


def _is_edge(component: Component) -> bool:
    return layout_of(component) == ComponentType.Edge


def _edges(table: Table) -> npt.NDArray[np.int64]:
    return table.values.astype(np.int64).reshape(-1, 2)
