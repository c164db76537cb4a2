"""Systems: functions of components, and pipelines of them."""

from __future__ import annotations

import inspect
import sys
import typing
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from types import FrameType
from typing import Any, get_args

import numpy as np

from sim_node.extensions.elodin.annotations import resolved, scope_of
from sim_node.extensions.elodin.components import Component, EntityId, carrier_of
from sim_node.extensions.elodin.errors import EcsError, caller, place_of, user_code
from sim_node.extensions.elodin.graphs import GraphQuery, TotalEdge
from sim_node.extensions.elodin.jax_setup import jax, jnp
from sim_node.extensions.elodin.numerics import State
from sim_node.extensions.elodin.queries import Query, Using
from sim_node.extensions.elodin.structure import ComponentStructure
from sim_node.world.problems import Where


class SystemParameter:
    """The meaning of a parameter or of the result of a system, according to its annotation.

    Args:
        annotation: `Query[...]` or `GraphQuery[...]`.
        where: The location of the system, for messages.
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
        """Return a function that makes the argument from a state. Raises EcsError if no entity matches."""
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


# Returns the complete state after a system, in a new mapping.
Apply = Callable[[State], State]


class System:
    """Something that changes components at each tick. Chain systems with `a | b` or `a.pipe(b)`: first a, then b."""

    def compiled(self, structure: ComponentStructure) -> Apply:
        """Return the system as a pure function of a world's state.

        Args:
            structure: The structure of the world.

        Returns:
            A function from a state, arrays (n, *shape) by the names of components, to the state after the system.

        Raises:
            EcsError: The system does not fit the world.
        """
        raise NotImplementedError

    def writes(self) -> frozenset[str]:
        """Return the names of the components that it may change."""
        raise NotImplementedError

    def reads(self) -> tuple[tuple[Component, Where], ...]:
        """Return the components that it names, and where."""
        raise NotImplementedError

    def pipe(self, other: Any) -> System:
        """Return a system that runs this one, then another one.

        Args:
            other: A system, a list of systems, or None for none.

        Returns:
            Both as one system.

        Raises:
            EcsError: `other` is something else, such as a function without a decorator.
        """
        return Pipe((self, system_of(other)))

    def __or__(self, other: Any) -> System:
        return self.pipe(other)

    def __ror__(self, other: Any) -> System:
        return system_of(other).pipe(self)


@dataclass(frozen=True)
class Pipe(System):
    """Systems that run one after the other."""

    systems: tuple[System, ...] = ()

    def compiled(self, structure: ComponentStructure) -> Apply:
        """Return all of them as one function."""
        each = [system.compiled(structure) for system in self.systems]

        def apply(state: State) -> State:
            for one in each:
                state = one(state)
            return state

        return apply

    def writes(self) -> frozenset[str]:
        """Return the names of the components that any of them writes."""
        return frozenset[str]().union(*(system.writes() for system in self.systems))

    def reads(self) -> tuple[tuple[Component, Where], ...]:
        """Return the components that any of them names, and where."""
        return tuple(read for system in self.systems for read in system.reads())


@dataclass(frozen=True)
class FunctionSystem(System):
    """A function of queries that returns a query.

    Attributes:
        function: The function, as the user wrote it.
        run: Called with its arguments, returns a query.
        parameters: The meaning of its parameters.
        result: The meaning of its result.
        name: Its name.
        where: Its location in the user's file.
    """

    function: Callable[..., Any]
    run: Callable[..., Any]
    parameters: Sequence[SystemParameter]
    result: SystemParameter
    name: str
    where: Where = field(repr=False)

    def compiled(self, structure: ComponentStructure) -> Apply:
        """Return the function of a state. Raises EcsError if no entity matches a query."""
        using = Using(structure, self.name, self.where)
        arguments = [parameter.opened(using) for parameter in self.parameters]
        wanted = [carrier.component.name for carrier in self.result.carriers]
        for carrier in self.result.carriers:
            structure.check(carrier.component, self.where, self.name)

        def apply(state: State) -> State:
            with user_code(self.where, self.name):
                result = self.run(*(argument(state) for argument in arguments))
            if not isinstance(result, Query):
                found = "an array" if isinstance(result, jax.Array) else type(result).__name__
                raise EcsError(f"returned {found}; it needs a Query", self.where, self.name)
            names = [carrier.component.name for carrier in result.carriers]
            if sorted(names) != sorted(wanted):
                found, needed = ", ".join(names), ", ".join(wanted)
                raise EcsError(f"returned a query of {found}; annotated is {needed}", self.where, self.name)
            changed = dict(state)
            for name, array in zip(names, result.bufs, strict=True):
                changed[name] = self._written(structure, state[name], name, result.entities, array)
            return changed

        return apply

    def writes(self) -> frozenset[str]:
        """Return the components of the result."""
        return frozenset(carrier.component.name for carrier in self.result.carriers)

    def reads(self) -> tuple[tuple[Component, Where], ...]:
        """Return the components of the parameters and of the result."""
        each = (*self.parameters, self.result)
        return tuple((carrier.component, self.where) for parameter in each for carrier in parameter.carriers)

    def _written(
        self, structure: ComponentStructure, old: Any, name: str, entities: tuple[EntityId, ...], new: Any
    ) -> Any:
        """Return a component with the rows of a result written to it; entities without the component are ignored."""
        own = structure.entities[name]
        if entities == own:
            return jnp.asarray(new, old.dtype)
        have = {entity: row for row, entity in enumerate(own)}
        pairs = [(have[entity], row) for row, entity in enumerate(entities) if entity in have]
        if not pairs:
            raise EcsError(f"no entity of the result has the component {name!r}", self.where, self.name)
        rows, places = (np.array(each) for each in zip(*pairs, strict=True))
        if len(rows) == len(own):  # all of them, in another order: a gather costs less than a scatter
            return jnp.asarray(new, old.dtype)[places[np.argsort(rows)]]
        return jnp.asarray(old).at[rows].set(jnp.asarray(new, old.dtype)[places])

    def __call__(self, *arguments: Any) -> Any:
        """Call the function itself."""
        return self.function(*arguments)


def system_of(given: Any) -> System:
    """Return the argument of a user as one system: it may be a system, a list of systems, or None for none.

    Raises:
        EcsError: It is something else, such as a function without a decorator.
    """
    if given is None:
        return Pipe()
    if isinstance(given, System):
        return given
    if isinstance(given, Iterable) and not isinstance(given, str):
        return Pipe(tuple(system_of(each) for each in given))
    if callable(given):
        name = getattr(given, "__name__", type(given).__name__)
        place = place_of(given)
        message = "is a plain function; decorate it with @map or @system"
        raise EcsError(message, place if place.file else caller(), name)
    raise EcsError(f"{type(given).__name__} is not a system", caller(), "system")


def hints_of(function: Callable[..., Any], frame: FrameType | None) -> dict[str, Any]:
    """Return the annotations of a function that is defined in a frame.

    Raises:
        EcsError: It is not a function, or an annotation is missing or names something unknown.
    """
    if not inspect.isfunction(function):
        raise EcsError(f"{function!r} is not a function", caller(), "decorator")
    where = place_of(function)
    hints = resolved(function, scope_of(frame), where, function.__name__)
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.kind not in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD):
            raise EcsError(f"the parameter {name!r} is not a positional one", where, function.__name__)
        if name not in hints:
            raise EcsError(f"the parameter {name!r} has no annotation", where, function.__name__)
    if hints.get("return") in (None, type(None)):
        raise EcsError("has no return annotation; it says which components are written", where, function.__name__)
    return hints


def system(function: Callable[..., Any]) -> FunctionSystem:
    """Make a system from a function whose parameters are Query[...] or GraphQuery[...] and which returns a Query.

    Args:
        function: The function. All its parameters and its result must be annotated.

    Returns:
        The system. Calling it calls the function itself.

    Raises:
        EcsError: An annotation is missing or wrong. The message has the file and line.
    """
    hints = hints_of(function, sys._getframe(1))
    where, name = place_of(function), function.__name__
    result = hints.pop("return")
    parameters = [SystemParameter(hints[each], where, name) for each in inspect.signature(function).parameters]
    returns = SystemParameter(result, where, name)
    if returns.is_graph:
        raise EcsError("returns a GraphQuery; a system returns a Query", where, name)
    return FunctionSystem(function, function, parameters, returns, name, where)


def map(function: Callable[..., Any]) -> FunctionSystem:
    """Make a system from a function of the components of one entity. It runs on all entities at once.

    Annotate the parameters and the result with components, and several results with a tuple of components.

    Args:
        function: The function. It gets the values of one entity, traced by JAX: arrays (*shape), or objects of the
            annotated classes.

    Returns:
        The system. Calling it calls the function itself.

    Raises:
        EcsError: An annotation is missing or wrong. The message has the file and line.
    """
    return _mapped(function, sys._getframe(1), Query.map)


def map_seq(function: Callable[..., Any]) -> FunctionSystem:
    """Make a system like `map`, but run it on one entity after the other: `jax.lax.cond` evaluates only one branch.

    Args:
        function: The function, annotated as for `map`.

    Returns:
        The system. Calling it calls the function itself.

    Raises:
        EcsError: An annotation is missing or wrong. The message has the file and line.
    """
    return _mapped(function, sys._getframe(1), Query.map_seq)


def _mapped(
    function: Callable[..., Any], frame: FrameType, run: Callable[[Query[Any], Any, Callable[..., Any]], Query[Any]]
) -> FunctionSystem:
    hints = hints_of(function, frame)
    where, name = place_of(function), function.__name__
    result = hints.pop("return")
    if typing.get_origin(result) is tuple:
        result = typing.get_args(result)
    annotations = [hints[each] for each in inspect.signature(function).parameters]
    for annotation in annotations:
        if getattr(annotation, "__origin__", None) in (Query, GraphQuery):
            kind = annotation.__origin__.__name__
            raise EcsError(f"{kind} cannot be used with @map; use @system", where, name)
    if not annotations:
        raise EcsError("has no parameters; @map needs components", where, name)
    query: Any = Query
    parameter = SystemParameter(query[tuple(annotations)], where, name)
    returns = SystemParameter(query[result if isinstance(result, tuple) else (result,)], where, name)
    return FunctionSystem(function, lambda q: run(q, result, function), [parameter], returns, name, where)
