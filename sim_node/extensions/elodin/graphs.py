"""Graph queries: the edges between entities that a system reads, and folds over them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from sim_node.extensions.elodin.components import layout_of
from sim_node.extensions.elodin.errors import EcsError, place_of
from sim_node.extensions.elodin.jax_setup import jax, jnp
from sim_node.extensions.elodin.queries import Query, Using, fitted, returned

if TYPE_CHECKING:
    from sim_node.extensions.elodin.queries import AnyQuery

E = TypeVar("E")
# Folds over at most this many edges are unrolled.
UNROLLED = 8


class TotalEdge:
    """Stands for an edge from each entity to every other one: `GraphQuery[TotalEdge]`."""


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
        """Compute components of the entities on the left of edges by a fold over their edges.

        Edges of an entity are taken in the order in which they were spawned. Entities without edges to an entity of
        the right query keep their values.

        Args:
            left_query: Components of the left entity of an edge.
            right_query: Components of the right entity.
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

        def one(so_far: list[Any], left: list[Any], right: list[Any]) -> list[Any]:
            values: Any = [carrier.read(array) for carrier, array in zip(wanted, so_far, strict=True)]
            values = tuple(values) if isinstance(return_type, tuple) else values[0]
            own, other = (
                [carrier.read(array) for carrier, array in zip(query.carriers, arrays, strict=True)]
                for query, arrays in ((left_query, left), (right_query, right))
            )
            result = fitted(fold_fn(values, *own, *other), wanted, return_type, place, name)
            return [jnp.asarray(array, layout.dtype) for array, layout in zip(result, layouts, strict=True)]

        fold = _Fold(jax.make_jaxpr(one)(start, _first(left_query), _first(right_query)), start)

        # Entities with the same number of edges are computed together.
        order: list[int] = []
        parts: list[list[Any]] = []
        owners, counts = np.unique(lefts, return_counts=True)
        for count in np.unique(counts):
            rows = owners[counts == count]
            ends = rights[np.isin(lefts, rows)].reshape(len(rows), count)
            every = np.array_equal(rows, np.arange(len(left_query)))
            some = list(left_query.bufs) if every else [buf[rows] for buf in left_query.bufs]
            parts.append(jax.vmap(fold.over)(some, [buf[ends] for buf in right_query.bufs]))
            order.extend(rows)
        arrays = [jnp.concatenate(each) if len(each) > 1 else each[0] for each in zip(*parts, strict=True)]
        entities = tuple(left_query.entities[row] for row in order)
        return Query(wanted, entities, arrays, self._using)

    def _rows(self, left: AnyQuery, right: AnyQuery) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Return the rows (e,) of both ends of the edges in the two queries, grouped by the left entity."""
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


def _first(query: AnyQuery) -> list[Any]:
    """Return the shapes and types of the components of one entity."""
    return [jax.ShapeDtypeStruct(buf.shape[1:], buf.dtype) for buf in query.bufs]


class _Fold:
    """A fold over the edges of one entity.

    Args:
        traced: The traced function that returns the values after one more edge, from the values so far and the
            components on the left and on the right.
        start: The values before the first edge.
    """

    def __init__(self, traced: Any, start: Sequence[Any]) -> None:
        self._one, self._start = partial(jax.core.eval_jaxpr, traced.jaxpr, traced.consts), list(start)
        self._is_sum = _is_sum(traced.jaxpr, len(start))

    def over(self, left: Sequence[Any], rights: Sequence[Any]) -> list[Any]:
        """Return the values after all edges; components on the right are arrays (edges, *shape)."""
        edges = rights[0].shape[0]
        if self._is_sum and edges <= UNROLLED:
            # The terms of all edges are computed in the same loops, but added in the order of the edges.
            nothing = [jnp.zeros_like(value) for value in self._start]
            terms = jax.vmap(lambda *right: self._one(*nothing, *left, *right))(*rights)
            values = self._start
            for at in range(edges):
                values = [value + term[at] for value, term in zip(values, terms, strict=True)]
            return values
        step = partial(self._step, left)
        folded: list[Any] = jax.lax.scan(step, self._start, list(rights), unroll=min(edges, UNROLLED))[0]
        return folded

    def _step(self, left: Sequence[Any], so_far: list[Any], right: list[Any]) -> tuple[list[Any], None]:
        return self._one(*so_far, *left, *right), None


def _is_sum(jaxpr: Any, count: int) -> bool:
    """Return whether each result is the value so far plus a term that does not depend on any value so far."""
    used = [id(value) for equation in jaxpr.eqns for value in equation.invars]
    for value, result in zip(jaxpr.invars[:count], jaxpr.outvars, strict=True):
        last = next((each for each in jaxpr.eqns if any(made is result for made in each.outvars)), None)
        if last is None or last.primitive.name != "add" or not any(each is value for each in last.invars):
            return False
        if used.count(id(value)) != 1 or id(result) in used:
            return False
    return True
