"""Queries: the components of the entities that a system reads, and what it computes from them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar, get_args

import numpy as np
import numpy.typing as npt

from sim_node.ecs.components import Carrier, EntityId, RevEdge, carrier_of, layout_of
from sim_node.ecs.errors import EcsError, place_of
from sim_node.ecs.jax_setup import jax, jnp
from sim_node.ecs.structure import State, Structure, rows_among
from sim_node.world.problems import Where

if sys.version_info >= (3, 11):
    from typing import TypeVarTuple, Unpack
else:
    from typing_extensions import TypeVarTuple, Unpack

A = TypeVarTuple("A")
E = TypeVar("E")


if TYPE_CHECKING:
    AnyQuery: TypeAlias = "Query[Unpack[tuple[Any, ...]]]"


class TotalEdge:
    """Stands for an edge from each entity to every other one: `GraphQuery[TotalEdge]`."""


@dataclass(frozen=True)
class Using:
    """The system that a query belongs to, for messages.

    Attributes:
        structure: The structure of the world.
        name: The name of the system.
        where: Its place in the user's file.
    """

    structure: Structure
    name: str
    where: Where


class Query(Generic[Unpack[A]]):
    """The components of all entities that have all of them: `Query[WorldPos, Inertia]`, in the order of spawning.

    Annotate the parameters of a `@system` with it. Components of the world itself, such as the tick, fit any entity.
    Systems make queries; the user's functions receive them.

    Args:
        carriers: The components, and the classes that their values are read as.
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

        `jax.lax.cond` in the function evaluates both branches, as vmap has it. See `map_seq`.

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
            A query of the results, the same numbers as of `map`.

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
        """Return the component of an entity, of a query of one component: the first entity has the index 0.

        Raises:
            EcsError: The query has several components, or fewer entities.
        """
        if len(self.carriers) != 1:
            found = ", ".join(carrier.component.name for carrier in self.carriers)
            raise EcsError(f"[{index}] needs a query of one component; found {found}", *self._place())
        if isinstance(index, (int, np.integer)) and not -len(self) <= index < len(self):
            # JAX itself would return the last one.
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


class GraphQuery(Generic[E]):
    """The edges of one edge component: `GraphQuery[GravityEdge]`. See `edge_fold`.

    Args:
        edges: The numbers (e, 2) of the left and right entities, in the order of spawning; None for an edge from each
            entity to every other one.
        using: The system that the query belongs to, for messages.
    """

    def __init__(self, edges: npt.NDArray[np.int64] | None, using: Using) -> None:
        self._edges = edges
        self._using = using

    def edge_fold(
        self,
        left_query: AnyQuery,
        right_query: AnyQuery,
        return_type: Any,
        init_value: Any,
        fold_fn: Callable[..., Any],
    ) -> Query[Any]:
        """Compute components of the entities on the left of edges, by going through their edges.

        Edges of an entity are taken in the order in which they were spawned. Entities without edges to an entity of
        the right query keep their values.

        Args:
            left_query: Components of the left entity of an edge.
            right_query: Components of the right one.
            return_type: The component that is computed, or a tuple of several.
            init_value: The value before the first edge of each entity; a tuple for several.
            fold_fn: Called for each edge with the value so far, the components of the left entity and those of the
                right one. Returns the new value.

        Returns:
            A query of the results.

        Raises:
            EcsError: No edge connects the queries' entities, or a value does not fit the components.
        """
        where, name = self._using.where, self._using.name
        wanted = returned(return_type, self._using)
        layouts = [layout_of(carrier.component) for carrier in wanted]
        place = place_of(fold_fn)
        place = place if place.file else where
        start = [jnp.asarray(array) for array in fitted(init_value, wanted, return_type, where, f"{name}: init_value")]
        lefts, rights = self._rows(left_query, right_query)
        if not lefts.size:
            raise EcsError("no edge connects the entities of the two queries", where, name)

        def fold(left: Sequence[Any], rights: Sequence[Any]) -> list[Any]:
            own = [carrier.read(array) for carrier, array in zip(left_query.carriers, left, strict=True)]

            def one(so_far: list[Any], right: Sequence[Any]) -> tuple[list[Any], None]:
                values: Any = [carrier.read(array) for carrier, array in zip(wanted, so_far, strict=True)]
                values = tuple(values) if isinstance(return_type, tuple) else values[0]
                other = [carrier.read(array) for carrier, array in zip(right_query.carriers, right, strict=True)]
                result = fitted(fold_fn(values, *own, *other), wanted, return_type, place, name)
                return [jnp.asarray(a, layout.dtype) for a, layout in zip(result, layouts, strict=True)], None

            folded: list[Any] = jax.lax.scan(one, start, rights, unroll=min(rights[0].shape[0], 8))[0]
            return folded

        # Entities of as many edges are computed at once.
        order: list[int] = []
        parts: list[list[Any]] = []
        owners, counts = np.unique(lefts, return_counts=True)
        for count in np.unique(counts):
            rows = owners[counts == count]
            ends = rights[np.isin(lefts, rows)].reshape(len(rows), count)
            every = np.array_equal(rows, np.arange(len(left_query)))
            some = list(left_query.bufs) if every else [buf[rows] for buf in left_query.bufs]
            parts.append(jax.vmap(fold)(some, [buf[ends] for buf in right_query.bufs]))
            order.extend(rows)
        arrays = [jnp.concatenate(each) if len(each) > 1 else each[0] for each in zip(*parts, strict=True)]
        entities = tuple(left_query.entities[row] for row in order)
        return Query(wanted, entities, arrays, self._using)

    def _rows(self, left: AnyQuery, right: AnyQuery) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Return the rows (e,) of the edges' ends in the two queries, edges of one left entity side by side."""
        ours, theirs = (np.array(query.entities, dtype=np.int64) for query in (left, right))
        if self._edges is None:
            lefts, rights = (each.ravel() for each in np.meshgrid(ours, theirs, indexing="ij"))
            edges = np.stack([lefts, rights], axis=1)[lefts != rights]
        else:
            edges = self._edges
        edges = edges[np.isin(edges[:, 0], ours) & np.isin(edges[:, 1], theirs)]
        lefts, rights = (
            np.argsort(own)[np.searchsorted(own, ends, sorter=np.argsort(own))]
            for own, ends in ((ours, edges[:, 0]), (theirs, edges[:, 1]))
        )
        side_by_side = np.argsort(lefts, kind="stable")
        return lefts[side_by_side], rights[side_by_side]


def returned(ret_type: Any, using: Using) -> list[Carrier]:
    """Return the components that a function returns. Raises EcsError if one is unknown in the world."""
    each_type = ret_type if isinstance(ret_type, tuple) else (ret_type,)
    carriers = [carrier_of(each, using.where, using.name) for each in each_type]
    for carrier in carriers:
        using.structure.check(carrier.component, using.where, using.name)
    return carriers


def fitted(results: Any, wanted: Sequence[Carrier], ret_type: Any, where: Where, what: str) -> list[Any]:
    """Return what a function returned as arrays of the layouts of components. Raises EcsError if it does not fit."""
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


class Parameter:
    """What a parameter or the result of a system stands for, as its annotation has it.

    Args:
        annotation: `Query[...]` or `GraphQuery[...]`.
        where: The place of the system, for messages.
        name: The name of the system, for messages.

    Raises:
        EcsError: The annotation is neither.
    """

    def __init__(self, annotation: Any, where: Where, name: str) -> None:
        origin = getattr(annotation, "__origin__", None)
        self.is_graph = origin is GraphQuery
        if origin is not Query and not self.is_graph:
            shown = getattr(annotation, "__name__", None) or str(annotation)
            raise EcsError(
                f"{shown} is not a Query[...] or GraphQuery[...]; or use @map for plain components", where, name
            )
        arguments = get_args(annotation)
        if len(arguments) == 1 and isinstance(arguments[0], tuple):
            arguments = arguments[0]
        if self.is_graph and len(arguments) != 1:
            raise EcsError(f"GraphQuery needs one edge component; found {len(arguments)}", where, name)
        self.total = self.is_graph and arguments[0] is TotalEdge
        self.carriers = [] if self.total else [carrier_of(each, where, name) for each in arguments]

    def opened(self, using: Using) -> Callable[[State], Any]:
        """Return what makes the argument of a state. Raises EcsError if no entity matches."""
        if self.is_graph:
            return self._graph(using)
        components = [carrier.component for carrier in self.carriers]
        entities = using.structure.matching(components, using.where, using.name)
        rows = [using.structure.rows(component.name, entities) for component in components]

        def query(state: State) -> Query[Any]:
            arrays = [
                state[component.name] if at is None else state[component.name][at]
                for component, at in zip(components, rows, strict=True)
            ]
            return Query(self.carriers, entities, arrays, using)

        return query

    def _graph(self, using: Using) -> Callable[[State], Any]:
        edges = None
        if not self.total:
            carrier = self.carriers[0]
            using.structure.check(carrier.component, using.where, using.name)
            edges = using.structure.edges.get(carrier.component.name)
            if edges is None:
                raise EcsError(f"{carrier.component.name!r} is not an edge component", using.where, using.name)
            edges = edges[:, ::-1] if carrier.reverse else edges
        graph: GraphQuery[Any] = GraphQuery(edges, using)
        return lambda state: graph


__all__ = ["GraphQuery", "Parameter", "Query", "RevEdge", "TotalEdge", "Using"]
