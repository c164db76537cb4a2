"""Entities: what is spawned in a world, as tables of components in the order of spawning."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from sim_node.ecs.components import Carrier, Component, ComponentType, EntityId, layout_of
from sim_node.ecs.errors import EcsError, caller
from sim_node.text import did_you_mean
from sim_node.world.problems import Where

# The entity of what belongs to the world as a whole: the tick, the time step.
GLOBALS = EntityId(0)
GLOBALS_NAME = "globals"


class Values(Protocol):
    """Components with values, such as an Archetype."""

    def values(self) -> Iterable[tuple[Carrier, Any]]:
        """Yield each component and its value as an array."""


@dataclass(frozen=True)
class Table:
    """A component of a world.

    Attributes:
        component: Its name, layout and metadata.
        entities: The entities (n,) that have it, in the order of spawning.
        values: Their values (n, *shape) at the start.
    """

    component: Component
    entities: tuple[EntityId, ...]
    values: npt.NDArray[Any]

    def rows(self, entities: Iterable[EntityId]) -> npt.NDArray[np.int64]:
        """Return the rows of entities. Raises KeyError."""
        at = {entity: row for row, entity in enumerate(self.entities)}
        return np.array([at[entity] for entity in entities], dtype=np.int64)


@dataclass
class Entities:
    """What a world in Python has: entities by number, their names, and their components.

    Attributes:
        names: The name of each entity, by number.
        places: Where each was spawned.
    """

    names: dict[EntityId, str] = field(default_factory=dict)
    places: dict[EntityId, Where] = field(default_factory=dict)
    _components: dict[str, Component] = field(default_factory=dict)
    _values: dict[str, dict[EntityId, Any]] = field(default_factory=dict)

    def spawn(self, given: Values | Iterable[Values], name: str | None = None, id: int | None = None) -> EntityId:
        """Add an entity.

        Args:
            given: Archetypes, one or many.
            name: Its name, unique in the world; by default a number.
            id: Its number, for an entity of a known number; by default the next one.

        Returns:
            Its number.

        Raises:
            EcsError: The name or the number is in use, or a value does not fit its component.
        """
        where = caller()
        entity = EntityId(max(self.names, default=0) + 1 if id is None else id)
        if entity in self.names or entity == GLOBALS:
            raise EcsError(f"entity {int(entity)} exists already", where, "spawn")
        name = f"entity_{int(entity)}" if name is None else name
        if not isinstance(name, str) or not name or "." in name:
            raise EcsError(f"the name of an entity is a text without dots; found {name!r}", where, "spawn")
        if name in self.names.values() or name == GLOBALS_NAME:
            raise EcsError(f"there is an entity named {name!r} already", where, "spawn")
        self._set(entity, given, where, name)
        self.names[entity], self.places[entity] = name, where
        return entity

    def insert(self, id: int, given: Values | Iterable[Values]) -> None:
        """Add components to an entity, or replace their values.

        Args:
            id: The entity.
            given: Archetypes, one or many.

        Raises:
            EcsError: There is no such entity, or a value does not fit its component.
        """
        where, entity = caller(), EntityId(id)
        if entity not in self.names:
            known = ", ".join(str(int(each)) for each in self.names) or "none yet"
            raise EcsError(f"there is no entity {int(entity)}; known: {known}", where, "insert")
        self._set(entity, given, where, self.names[entity])

    def number(self, name: str) -> EntityId:
        """Return the entity of a name. Raises KeyError; the message names the nearest."""
        for entity, known in self.names.items():
            if known == name:
                return entity
        raise KeyError(f"there is no entity {name!r}{did_you_mean(name, self.names.values())}")

    def tables(self) -> dict[str, Table]:
        """Return the components by name, in the order of their first use."""
        return {
            name: Table(
                component,
                tuple(self._values[name]),
                np.stack([np.asarray(value) for value in self._values[name].values()]),
            )
            for name, component in self._components.items()
        }

    def declare(self, component: Component, where: Where) -> None:
        """Note the layout of a component that a system uses. Raises EcsError if another one has its name."""
        known = self._components.get(component.name)
        if known is not None and layout_of(known) != layout_of(component):
            raise EcsError(
                f"is {layout_of(component)} here, and {layout_of(known)} at {known.where}", where, component.name
            )

    def _set(self, entity: EntityId, given: Values | Iterable[Values], where: Where, name: str) -> None:
        several: Iterable[Values] = [given] if hasattr(given, "values") and not isinstance(given, Mapping) else given
        pairs: list[tuple[Carrier, Any]] = []
        for each in several:
            if not hasattr(each, "values"):
                raise EcsError(f"{type(each).__name__} is not an Archetype", where, name)
            pairs.extend(each.values())
        for carrier, _ in pairs:
            self.declare(carrier.component, where)
        for carrier, value in pairs:
            component = self._components.setdefault(carrier.component.name, carrier.component)
            self._values.setdefault(component.name, {})[entity] = value


def scalar(value: float, layout: ComponentType = ComponentType.F64) -> npt.NDArray[Any]:
    """Return a number as the array (1,) of one entity."""
    return np.array([value], dtype=layout.dtype)
