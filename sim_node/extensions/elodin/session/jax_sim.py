"""JaxSim: a world in Python as a pytree of JAX, for functions that are transformed by jit, grad and vmap."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sim_node.extensions.elodin.entities import GLOBALS_NAME
from sim_node.extensions.elodin.jax_setup import jax, jnp
from sim_node.extensions.elodin.numerics import State
from sim_node.extensions.elodin.pairs import Pairs
from sim_node.extensions.elodin.program import CompiledProgram
from sim_node.extensions.elodin.structure import ComponentStructure
from sim_node.text import did_you_mean

Step = Callable[[State], dict[str, Any]]


def step_function(program: CompiledProgram) -> tuple[Step, dict[str, Any]]:
    """Return one tick of a program as a pure, compiled function of its state, and the state at the start.

    States are arrays (n, *shape) by the names of components.
    """
    return jax.jit(program.step), {name: jnp.asarray(array) for name, array in program.start.items()}


@jax.tree_util.register_pytree_node_class
class JaxSim:
    """The state of a world, and its step. As a pytree, its leaves are the components.

    Args:
        structure: The structure of the world.
        step: One tick.
        state: The state.

    Attributes:
        state: Arrays (n, *shape) by the names of components.
    """

    def __init__(self, structure: ComponentStructure, step: Step, state: State) -> None:
        self._structure, self._step = structure, step
        self.state: dict[str, Any] = dict(state)
        self._ticks = 0

    def step(self, max_steps: int = 1) -> None:
        """Advance by ticks.

        Args:
            max_steps: How many ticks.
        """
        for _ in range(max_steps):
            self.state = self._step(self.state)
            self._ticks += 1

    def get_state(self, component_name: str | None = None, entity_name: str | None = None) -> Any:
        """Return the state, a component (n, *shape) of all entities, or that of one entity.

        Args:
            component_name: A component, or None for all of them by name.
            entity_name: An entity, or None for all of them.

        Returns:
            Arrays (n, *shape) by the names of components, an array (n, *shape), or an array (*shape).

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

        Args:
            component_name: The component.
            entity_name: The entity.
            value: The new value (*shape). It is converted to the component's type.

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
        structure = self._structure
        for name, entities in structure.entities.items():
            shape = tuple(self.state[name].shape[1:])
            print(f"{name}: {', '.join(f'{structure.names[each]} (shape: {shape})' for each in entities)}")

    def _row(self, component: str, entity: str) -> int:
        pairs = Pairs(self._structure)
        return pairs[f"{entity or GLOBALS_NAME}.{component}"].row

    def tree_flatten(self) -> tuple[tuple[Any, ...], Any]:
        """Return the components for JAX."""
        return tuple(self.state.values()), (self._structure, self._step, tuple(self.state))

    @classmethod
    def tree_unflatten(cls, aux: Any, leaves: tuple[Any, ...]) -> JaxSim:
        """Return the object of components, for JAX.

        Args:
            aux: The structure of the world, its step and the names of its components, from `tree_flatten`.
            leaves: The components (n, *shape), in the order of the names.

        Returns:
            The object. Its count of ticks starts from 0.
        """
        structure, step, names = aux
        return cls(structure, step, dict(zip(names, leaves, strict=True)))
