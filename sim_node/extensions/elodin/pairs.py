"""Pairs: one component of one entity, named `entity.component`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from sim_node.extensions.elodin.components import Component, layout_of
from sim_node.extensions.elodin.structure import ComponentStructure
from sim_node.text import did_you_mean, nearest, shown

_WORDS = re.compile(r"(?<=[a-z])(?=[A-Z])|[^A-Za-z0-9]+")


def identifier(name: str) -> str:
    """Return a name in snake case: `Sat -> RW 1` is `sat_rw_1`."""
    return "_".join(word for word in _WORDS.split(name) if word).lower()


def is_own(component: Component) -> bool:
    """Return whether callbacks alone write a component, and not the run: metadata `external_control`."""
    return component.is_set("external_control")


@dataclass(frozen=True, eq=False)
class ComponentPair:
    """One component of one entity.

    Attributes:
        name: `entity.component`.
        component: The name of the component.
        row: The row of the entity in the component's array.
        shape: The shape of its value.
        size: The number of elements of the value.
        dtype: Their type.
        own: Whether it is written only from outside, at times of the writer's choice (metadata `external_control`).
    """

    name: str
    component: str
    row: int
    shape: tuple[int, ...]
    size: int
    dtype: np.dtype[Any]
    own: bool = False


class Pairs:
    """The pairs of a compiled world by name.

    An entity is known by its name, and also by its name in snake case unless that is the name of another entity.

    Args:
        structure: The structure of the world.
    """

    def __init__(self, structure: ComponentStructure) -> None:
        self._structure = structure
        self._found: dict[str, ComponentPair] = {}
        self._all: dict[str, ComponentPair] | None = None

    def __getitem__(self, name: str) -> ComponentPair:
        """Return a pair. Raises KeyError; the message has the nearest name."""
        pair = self._found.get(name)
        if pair is None:
            known = self._known()
            pair = known.get(name) or self._by_identifier(name)
            if pair is None:
                raise KeyError(f"component {name!r} not found{self._nearest(name)}")
            self._found[name] = pair
        return pair

    def __iter__(self) -> Iterator[str]:
        return iter(self._known())

    def _known(self) -> dict[str, ComponentPair]:
        if self._all is None:
            self._all = {}
            for component, of in self._structure.components.items():
                own = is_own(of)
                layout = layout_of(of)
                for row, entity in enumerate(self._structure.entities[component]):
                    name = f"{self._structure.names[entity]}.{component}"
                    self._all[name] = ComponentPair(name, component, row, layout.shape, layout.size, layout.dtype, own)
        return self._all

    def _by_identifier(self, name: str) -> ComponentPair | None:
        entity, _, component = name.rpartition(".")
        known = self._known()
        for each in self._structure.names.values():
            if identifier(each) == identifier(entity):
                found = known.get(f"{each}.{component}")
                if found is not None:
                    return found
        return None

    def _nearest(self, name: str) -> str:
        """Return `; did you mean NAME?` for the nearest pair, by entity and then by component, or an empty string."""
        entity, _, component = name.rpartition(".")
        by_entity: dict[str, list[str]] = {}
        for each in self._known():
            own, _, of = each.rpartition(".")
            by_entity.setdefault(own, []).append(of)
        owners = [entity] if entity in by_entity else nearest(entity, by_entity)
        for owner in owners:
            found = [component] if component in by_entity[owner] else nearest(component, by_entity[owner])
            if found:
                return f"; did you mean {shown(f'{owner}.{found[0]}')}?"
        return did_you_mean(name, self._known())
