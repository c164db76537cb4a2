"""JaxSim: a world in Python as a pytree of JAX, for functions that are transformed by jit, grad and vmap."""

from __future__ import annotations

from typing import Any

from sim_node.ecs.entities import GLOBALS_NAME
from sim_node.ecs.jax_setup import jax, jnp
from sim_node.ecs.pairs import Pairs
from sim_node.ecs.program import Program
from sim_node.ecs.structure import State
from sim_node.text import did_you_mean


class StepFunction:
    """One tick of a world as a pure function of its state, for jax.jit, jax.grad and jax.vmap.

    Args:
        program: The compiled world.

    Attributes:
        start: The state at the start: arrays (n, *shape) by the names of components.
        program: The compiled world.
    """

    def __init__(self, program: Program) -> None:
        self.program = program
        self.start: dict[str, Any] = {name: jnp.asarray(array) for name, array in program.start.items()}
        self._step = jax.jit(program.step)

    def __call__(self, state: State) -> State:
        """Return the state after one tick."""
        after: State = self._step(dict(state))
        return after


@jax.tree_util.register_pytree_node_class
class JaxSim:
    """The state of a world, and its step. As a pytree, its leaves are the components.

    Args:
        step: The step.
        state: The state; by default that at the start.

    Attributes:
        state: Arrays (n, *shape) by the names of components.
    """

    def __init__(self, step: StepFunction, state: State | None = None) -> None:
        self._function = step
        self.state: dict[str, Any] = dict(step.start if state is None else state)
        self._ticks = 0

    def step(self, max_steps: int = 1) -> None:
        """Advance by ticks."""
        for _ in range(max_steps):
            self.state = dict(self._function(self.state))
            self._ticks += 1

    def get_state(self, component_name: str | None = None, entity_name: str | None = None) -> Any:
        """Return the state, a component (n, *shape) of all entities, or that of one entity.

        Args:
            component_name: A component, or None for all of them by name.
            entity_name: An entity, or None for all of them.

        Raises:
            KeyError: There is no such component or entity; the message has the nearest name.
        """
        if component_name is None:
            return self.state
        if component_name not in self.state:
            raise KeyError(f"component {component_name!r} not found{did_you_mean(component_name, self.state)}")
        array = self.state[component_name]
        return array if entity_name is None else array[self._row(component_name, entity_name)]

    def set_state(self, component_name: str, entity_name: str, value: Any) -> None:
        """Replace a component of one entity.

        Raises:
            KeyError: There is no such component or entity; the message has the nearest name.
            ValueError: The shape does not fit.
        """
        held = self.get_state(component_name, entity_name)
        value = jnp.asarray(value)
        if value.shape != held.shape:
            raise ValueError(f"{entity_name}.{component_name} has the shape {held.shape}; found {value.shape}")
        array = self.state[component_name]
        row = self._row(component_name, entity_name)
        self.state = {**self.state, component_name: array.at[row].set(value.astype(array.dtype))}

    def get_tick_count(self) -> int:
        """Return how many ticks this object has run."""
        return self._ticks

    def print_dictionary(self) -> None:
        """Print the entities of each component, and the shapes of their values."""
        structure = self._function.program.structure
        for name, entities in structure.entities.items():
            shape = tuple(self.state[name].shape[1:])
            print(f"{name}: {', '.join(f'{structure.names[each]} (shape: {shape})' for each in entities)}")

    def _row(self, component: str, entity: str) -> int:
        pairs = Pairs(self._function.program.structure)
        return pairs[f"{entity or GLOBALS_NAME}.{component}"].row

    def tree_flatten(self) -> tuple[tuple[Any, ...], Any]:
        """Return the components for JAX."""
        return tuple(self.state.values()), (self._function, tuple(self.state))

    @classmethod
    def tree_unflatten(cls, aux: Any, leaves: tuple[Any, ...]) -> JaxSim:
        """Return the object of components."""
        function, names = aux
        return cls(function, dict(zip(names, leaves, strict=True)))
