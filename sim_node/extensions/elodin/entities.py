"""The entities of a world, as tables of components in the order of spawning."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeGuard

import numpy as np
import numpy.typing as npt

from sim_node.extensions.elodin.components import Carrier, Component, EntityId, layout_of
from sim_node.extensions.elodin.errors import EcsError, caller
from sim_node.text import did_you_mean
from sim_node.world.problems import Where

# The entity of the components that belong to the world as a whole: the tick and the time step.
GLOBALS = EntityId(0)
GLOBALS_NAME = "globals"
# Its components. No other entity can have them.
_OF_WORLD = ("tick", "simulation_time_step")


class Values(Protocol):
    """Components with values, such as an Archetype."""

    def values(self) -> Iterable[tuple[Carrier, Any]]:
        """Yield each component and its value as an array."""


@dataclass(frozen=True)
class EntityTable:
    """A component of a world.

    Attributes:
        component: Its name, layout and metadata.
        entities: The entities (n,) that have it, in the order of spawning.
        values: Their values (n, *shape) at the start.
    """

    component: Component
    entities: tuple[EntityId, ...]
    values: npt.NDArray[Any]


@dataclass
class Entities:
    """The entities of a world in Python: their numbers, names and components.

    Attributes:
        names: The name of each entity, by number.
        places: Where each entity was spawned.
    """

    names: dict[EntityId, str] = field(default_factory=dict)
    places: dict[EntityId, Where] = field(default_factory=dict)
    _components: dict[str, Component] = field(default_factory=dict)
    _values: dict[str, dict[EntityId, Any]] = field(default_factory=dict)
    _numbers: dict[str, EntityId] = field(default_factory=dict)
    _last: int = 0

    def spawn(self, archetypes: Values | Iterable[Values], name: str | None = None, id: int | None = None) -> EntityId:
        """Add an entity.

        Args:
            archetypes: One or several archetypes.
            name: Its name, unique in the world; by default a number.
            id: Its number, if it must have a certain one; by default the next number.

        Returns:
            Its number.

        Raises:
            EcsError: The name or the number is in use, or a value does not fit its component.
        """
        where = caller()
        entity = EntityId(self._last + 1) if id is None else _number(id, where, "spawn")
        if entity in self.names or entity == GLOBALS:
            raise EcsError(f"entity {int(entity)} exists already", where, "spawn")
        name = f"entity_{int(entity)}" if name is None else name
        if not isinstance(name, str) or not name or "." in name:
            raise EcsError(f"the name of an entity is a text without dots; found {name!r}", where, "spawn")
        if name in self._numbers or name == GLOBALS_NAME:
            raise EcsError(f"there is an entity named {name!r} already", where, "spawn")
        self._set(entity, archetypes, where, name)
        self.names[entity], self.places[entity], self._numbers[name] = name, where, entity
        self._last = max(self._last, entity)
        return entity

    def insert(self, id: int, archetypes: Values | Iterable[Values]) -> None:
        """Add components to an entity, or replace their values.

        Args:
            id: The entity.
            archetypes: One or several archetypes.

        Raises:
            EcsError: There is no such entity, or a value does not fit its component.
        """
        where = caller()
        entity = _number(id, where, "insert")
        if entity not in self.names:
            known = f"1 to {int(self._last)}" if self.names else "none yet"
            raise EcsError(f"there is no entity {int(entity)}; known: {known}", where, "insert")
        self._set(entity, archetypes, where, self.names[entity])

    def number(self, name: str) -> EntityId:
        """Return the number of the entity with a given name.

        Args:
            name: Its name.

        Returns:
            Its number.

        Raises:
            KeyError: There is no such entity; the message has the nearest name.
        """
        if name in self._numbers:
            return self._numbers[name]
        raise KeyError(f"there is no entity {name!r}{did_you_mean(name, self._numbers)}")

    def tables(self) -> dict[str, EntityTable]:
        """Return the components by name, in the order of their first use."""
        order = {entity: place for place, entity in enumerate(self.names)}
        tables = {}
        for name, component in self._components.items():
            values = self._values[name]
            entities = tuple(sorted(values, key=order.__getitem__))
            tables[name] = EntityTable(component, entities, np.stack([values[entity] for entity in entities]))
        return tables

    def _set(self, entity: EntityId, given: Values | Iterable[Values], where: Where, name: str) -> None:
        several = [given] if _has_values(given) or not isinstance(given, Iterable) else given
        values: dict[str, tuple[Component, Any]] = {}
        for each in several:
            if not _has_values(each):
                kind = each.__name__ if isinstance(each, type) else type(each).__name__
                called = "; call it with its values" if isinstance(each, type) else ""
                raise EcsError(f"{kind} is not an Archetype with values{called}", where, name)
            for carrier, value in each.values():
                component = carrier.component
                if component.name in values:
                    raise EcsError(f"has the component {component.name!r} twice", where, name)
                if component.name in _OF_WORLD:
                    message = f"the component {component.name!r} belongs to the world; query it, do not spawn it"
                    raise EcsError(message, where, name)
                known = self._components.get(component.name, component)
                if layout_of(known) != layout_of(component):
                    message = f"is {layout_of(component)} here, and {layout_of(known)} at {known.where}"
                    raise EcsError(message, where, component.name)
                values[component.name] = known, value
        for key, (component, value) in values.items():
            self._components.setdefault(key, component)
            self._values.setdefault(key, {})[entity] = value


def _has_values(given: object) -> TypeGuard[Values]:
    return hasattr(given, "values") and not isinstance(given, (Mapping, type))


def _number(given: Any, where: Where, what: str) -> EntityId:
    try:
        return EntityId(operator.index(given))
    except TypeError:
        raise EcsError(f"an entity is an EntityId; found {given!r}", where, what) from None


def described(entities: Entities) -> dict[str, Any]:
    """Return a description of all components and entities in plain types, for JSON."""
    tables = entities.tables()
    components = []
    for name, table in tables.items():
        layout = layout_of(table.component)
        one: dict[str, Any] = {"name": name, "type": layout.ty.name.lower()}
        if layout.shape:
            one["shape"] = list(layout.shape)
        if table.component.metadata:
            one["metadata"] = dict(table.component.metadata)
        components.append(one)
    owned: dict[EntityId, list[str]] = {}
    for name, table in tables.items():
        for entity in table.entities:
            owned.setdefault(entity, []).append(name)
    of = [
        {"id": int(entity), "name": name, "components": owned.get(entity, [])}
        for entity, name in entities.names.items()
    ]
    return {
        "components": components,
        "entities": of,
        "total_components": len(components),
        "total_entities": len(of),
    }
