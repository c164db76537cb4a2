"""Queries: the components of the entities that a system reads, and what it computes from them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeAlias

import numpy as np

from sim_node.extensions.elodin.components import Carrier, EntityId, carrier_of
from sim_node.extensions.elodin.errors import EcsError, place_of
from sim_node.extensions.elodin.jax_setup import jax
from sim_node.extensions.elodin.structure import ComponentStructure, rows_among
from sim_node.world.problems import Where

if sys.version_info >= (3, 11):
    from typing import TypeVarTuple, Unpack
else:
    from typing_extensions import TypeVarTuple, Unpack

A = TypeVarTuple("A")


if TYPE_CHECKING:
    AnyQuery: TypeAlias = "Query[Unpack[tuple[Any, ...]]]"


@dataclass(frozen=True)
class Using:
    """The system that a query belongs to, for messages.

    Attributes:
        structure: The structure of the world.
        name: The name of the system.
        where: Its place in the user's file.
    """

    structure: ComponentStructure
    name: str
    where: Where


class Query(Generic[Unpack[A]]):
    """Components of all entities that have every one of them, in the order of spawning: `Query[WorldPos, Inertia]`.

    Annotate the parameters of a `@system` with it. Components of the world itself, such as the tick, match any entity.
    Systems create queries; the user's functions receive them.

    Args:
        carriers: The components, with the classes that represent their values.
        entities: The n entities that have all of them.
        arrays: The values (n, *shape) of each component, in the order of `carriers`.
        using: The system that the query belongs to, for messages.
    """

    def __init__(
        self, carriers: Sequence[Carrier], entities: tuple[EntityId, ...], arrays: Sequence[Any], using: Using
    ) -> None:
        self.carriers = tuple(carriers)
        self.entities = entities
        self.bufs = list(arrays)
        self.using = using

    def map(self, ret_type: Any, map_fn: Callable[..., Any]) -> Query[Any]:
        """Compute components of each entity from its components in this query, for all entities at once.

        `jax.lax.cond` in the function evaluates both branches, because of vmap. See `map_seq`.

        Args:
            ret_type: The component that the function returns, or a tuple of several.
            map_fn: Called with one argument for each component of this query.

        Returns:
            A query of the results.

        Raises:
            EcsError: What the function returns does not fit the components.
        """
        each, carriers = self._each(ret_type, map_fn)
        return Query(carriers, self.entities, jax.vmap(each)(*self.bufs), self.using)

    def map_seq(self, ret_type: Any, map_fn: Callable[..., Any]) -> Query[Any]:
        """Compute components of one entity after the other: `jax.lax.cond` evaluates one branch only.

        Args:
            ret_type: The component that the function returns, or a tuple of several.
            map_fn: Called with one argument for each component of this query.

        Returns:
            A query of the results, which are those of `map`.

        Raises:
            EcsError: What the function returns does not fit the components.
        """
        each, carriers = self._each(ret_type, map_fn)
        if len(self.entities) == 1:
            arrays = [array[None] for array in each(*(buf[0] for buf in self.bufs))]
        else:
            arrays = jax.lax.map(lambda row: each(*row), tuple(self.bufs))
        return Query(carriers, self.entities, arrays, self.using)

    def join(self, other: AnyQuery) -> Query[Any]:
        """Return a query of the components of both, for the entities that are in both.

        Args:
            other: The other query.

        Returns:
            A query of the components of this query, then those of the other, in the order of this query's entities.

        Raises:
            EcsError: No entity is in both.
        """
        others = set(other.entities)
        both = tuple(entity for entity in self.entities if entity in others)
        if not both:
            raise EcsError("join: no entity is in both queries", *self._place())
        mine, theirs = self._only(both), other._only(both)
        return Query((*self.carriers, *other.carriers), both, [*mine, *theirs], self.using)

    def __getitem__(self, index: int) -> Any:
        """Return the value of an entity by index, from 0, in a query of one component.

        Raises:
            EcsError: The query has several components, or fewer entities.
        """
        if len(self.carriers) != 1:
            found = ", ".join(carrier.component.name for carrier in self.carriers)
            raise EcsError(f"[{index}] needs a query of one component; found {found}", *self._place())
        if isinstance(index, (int, np.integer)) and not -len(self) <= index < len(self):
            # JAX itself would clamp the index.
            raise EcsError(f"[{index}] of a query of {len(self)} entities", *self._place())
        return self.carriers[0].read(self.bufs[0][index])

    def __iter__(self) -> Iterator[Any]:
        return (self[index] for index in range(len(self)))

    def __len__(self) -> int:
        return len(self.entities)

    def _place(self) -> tuple[Where, str]:
        return self.using.where, self.using.name

    def _only(self, entities: tuple[EntityId, ...]) -> list[Any]:
        if entities == self.entities:
            return self.bufs
        rows = rows_among(self.entities, entities)
        return [buf[rows] for buf in self.bufs]

    def _each(self, ret_type: Any, function: Callable[..., Any]) -> tuple[Callable[..., list[Any]], list[Carrier]]:
        wanted = returned(ret_type, self.using)
        place = place_of(function)
        place = place if place.file else self.using.where

        def each(*arrays: Any) -> list[Any]:
            results = function(*(carrier.read(array) for carrier, array in zip(self.carriers, arrays, strict=True)))
            return fitted(results, wanted, ret_type, place, self.using.name)

        return each, wanted


def returned(ret_type: Any, using: Using) -> list[Carrier]:
    """Return the components that a function returns. Raises EcsError if one is unknown in the world."""
    each_type = ret_type if isinstance(ret_type, tuple) else (ret_type,)
    carriers = [carrier_of(each, using.where, using.name) for each in each_type]
    for carrier in carriers:
        using.structure.check(carrier.component, using.where, using.name)
    return carriers


def fitted(results: Any, wanted: Sequence[Carrier], ret_type: Any, where: Where, what: str) -> list[Any]:
    """Return the results of a function as arrays with the layouts of components. Raises EcsError if they do not fit."""
    if isinstance(ret_type, tuple):
        found = len(results) if isinstance(results, (tuple, list)) else 1
        if not isinstance(results, (tuple, list)) or found != len(wanted):
            names = ", ".join(carrier.component.name for carrier in wanted)
            raise EcsError(f"returns {found} value(s); it needs a tuple of {len(wanted)}: {names}", where, what)
    else:
        results = (results,)
    return [
        carrier.array(result, f"{what}: {carrier.component.name}", where)
        for result, carrier in zip(results, wanted, strict=True)
    ]
