"""The structure of a compiled world, which does not change while the world runs, in contrast to its state."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sim_node.extensions.elodin.components import Component, EntityId, layout_of
from sim_node.extensions.elodin.entities import GLOBALS
from sim_node.extensions.elodin.errors import EcsError
from sim_node.extensions.elodin.numerics import Numerics
from sim_node.text import did_you_mean
from sim_node.world.problems import Where


def rows_among(own: Iterable[EntityId], wanted: Iterable[EntityId]) -> npt.NDArray[np.int64]:
    """Return the indices of the wanted entities in `own`. Raises KeyError."""
    at = {entity: row for row, entity in enumerate(own)}
    return np.array([at[entity] for entity in wanted], dtype=np.int64)


@dataclass(frozen=True)
class ComponentStructure:
    """The entities of each component, and the edges.

    Attributes:
        components: The components by name.
        entities: The entities that have each component, in the order of spawning.
        edges: The edges (e, 2) of each edge component, left and right, in the order of spawning.
        names: The names of the entities.
        step: The time between two ticks, s.
        numerics: The equations of motion of bodies, and the methods that integrate them.
    """

    components: Mapping[str, Component]
    entities: Mapping[str, tuple[EntityId, ...]]
    edges: Mapping[str, npt.NDArray[np.int64]]
    names: Mapping[EntityId, str]
    step: float
    numerics: Numerics

    def check(self, component: Component, where: Where, what: str) -> None:
        """Check that a component exists and has the layout that a system expects. Raises EcsError."""
        known = self.components.get(component.name)
        if known is None:
            near = did_you_mean(component.name, self.components)
            raise EcsError(f"no entity has the component {component.name!r}{near}", where, what)
        if layout_of(known) != layout_of(component):
            found = f"{component.name!r} is {layout_of(component)} here, and {layout_of(known)} at {known.where}"
            raise EcsError(found, where, what)

    def matching(self, components: Iterable[Component], where: Where, what: str) -> tuple[EntityId, ...]:
        """Return the entities that have all of some components, in the order of the first one's.

        Components of the world itself, such as the tick, match all entities.

        Raises:
            EcsError: A component is unknown, or no entity has all of them.
        """
        components = list(components)
        for component in components:
            self.check(component, where, what)
        owned = [name for name in (each.name for each in components) if self.entities[name] != (GLOBALS,)]
        if not owned:
            return (GLOBALS,)
        sets = [set(self.entities[name]) for name in owned]
        found = tuple(each for each in self.entities[owned[0]] if all(each in some for some in sets))
        if not found:
            each = "; ".join(f"{name}: {self.named(self.entities[name])}" for name in owned)
            raise EcsError(f"no entity has all of {', '.join(owned)} ({each})", where, what)
        return found

    def rows(self, name: str, entities: tuple[EntityId, ...]) -> npt.NDArray[np.int64] | None:
        """Return the rows of entities in a component; None for all of them in order."""
        own = self.entities[name]
        if own == entities:
            return None
        if own == (GLOBALS,):
            return np.zeros(len(entities), dtype=np.int64)
        return rows_among(own, entities)

    def named(self, entities: Iterable[EntityId], limit: int = 5) -> str:
        """Return the names of entities for a message."""
        names = [self.names.get(entity, "the world") for entity in entities]
        more = f" and {len(names) - limit} more" if len(names) > limit else ""
        return ", ".join(names[:limit]) + more


def without_effect(structure: ComponentStructure) -> list[str]:
    """Return sentences about metadata of components that has no effect."""
    return [
        f"component {name!r}: wait_for_write has no effect: no other program writes components, only callbacks"
        for name, component in structure.components.items()
        if component.is_set("wait_for_write")
    ]
