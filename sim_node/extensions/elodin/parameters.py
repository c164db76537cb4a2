"""The parameters and the result of a system: what their annotations stand for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, get_args

from sim_node.extensions.elodin.components import carrier_of
from sim_node.extensions.elodin.errors import EcsError
from sim_node.extensions.elodin.graphs import GraphQuery, TotalEdge
from sim_node.extensions.elodin.numerics import State
from sim_node.extensions.elodin.queries import Query, Using
from sim_node.world.problems import Where


class SystemParameter:
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
