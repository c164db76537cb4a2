"""Components: the named arrays that entities have, and the classes that represent their values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, get_args, get_origin, overload

import numpy as np
import numpy.typing as npt

from sim_node.extensions.elodin.errors import EcsError, caller
from sim_node.extensions.elodin.jax_setup import jax
from sim_node.extensions.elodin.layouts import ComponentType, array_of
from sim_node.world.problems import Where


class EntityId(int):
    """The number of an entity, given by World.spawn."""

    def __repr__(self) -> str:
        return f"EntityId({int(self)})"


@dataclass(frozen=True)
class ShapeIndexer:
    """A selection of elements of a component's value, for plots.

    Attributes:
        component: The component.
        positions: Indices of the elements in the flattened value, from 0, in an array of any shape.
    """

    component: Component
    positions: npt.NDArray[np.int64]

    def __getitem__(self, index: Any) -> ShapeIndexer:
        return ShapeIndexer(self.component, np.asarray(self.positions[index]))


class _Name:
    """Descriptor: `Component.name(WorldPos)` for an annotated class, and `component.name` for a component."""

    @overload
    def __get__(self, component: None, owner: type) -> Callable[[Any], str]: ...
    @overload
    def __get__(self, component: Component, owner: type) -> str: ...
    def __get__(self, component: Component | None, owner: type) -> Any:
        if component is None:
            return lambda component: carrier_of(component).component.name
        return component.__dict__["name"]

    def __set__(self, component: Component, value: str) -> None:
        component.__dict__["name"] = value


class Component:
    """A component: a name and a layout. Put it into the annotation of a class: `Annotated[jax.Array, Component(...)]`.

    Args:
        name: Its name, unique in a world.
        type: Its layout. Optional if the annotated class has one, as Edge and the spatial classes do.
        asset: Whether it describes something to be shown, and no system reads it.
        metadata: Anything else. `element_names` has the labels of the elements, separated by commas;
            `external_control` leaves it to callbacks to write the component, at times of their own choice.
        ty: The same as `type`.

    Attributes:
        where: The location of the definition in the user's file.

    Raises:
        TypeError: The name is not a string, or the type is not a ComponentType.
        EcsError: The name has a dot, which separates the names of entity and component.
    """

    name = _Name()

    def __init__(
        self,
        name: str,
        type: ComponentType | None = None,
        asset: bool = False,
        metadata: Mapping[str, Any] | None = None,
        *,
        ty: ComponentType | None = None,
    ) -> None:
        self.where = caller()
        type = ty if type is None else type
        if not isinstance(name, str) or not name:
            raise TypeError(f"Component: the name is a text; found {name!r}")
        if type is not None and not isinstance(type, ComponentType):
            raise TypeError(f"Component {name!r}: the type is a ComponentType; found {type!r}")
        if "." in name:
            raise EcsError("the name of a component has no dots: entity.component", self.where, name)
        self.name, self.type, self.asset, self.metadata = name, type, asset, dict(metadata or {})

    def __repr__(self) -> str:
        return f"Component({self.name!r}, {self.type})"

    @staticmethod
    def of(component: Any) -> Component:
        """Return the component of an annotated class.

        Args:
            component: `Annotated[jax.Array, Component(...)]`, or the same of a class with `from_array`.

        Returns:
            The component, with its layout.

        Raises:
            EcsError: The class has no component.
        """
        return carrier_of(component).component

    @staticmethod
    def id(component: Any) -> str:
        """Return the name of an annotated class's component, as `Component.name` does. Deprecated.

        Args:
            component: The annotated class, as for `of`.

        Returns:
            The name.
        """
        return carrier_of(component).component.name

    @staticmethod
    def index(component: Any) -> ShapeIndexer:
        """Return an indexer of an annotated class's component, as in `Component.index(WorldPos)[4:]`.

        Args:
            component: The annotated class, as for `of`.

        Returns:
            An indexer of all its elements, in the shape of the component's value.
        """
        found = carrier_of(component).component
        layout = layout_of(found)
        return ShapeIndexer(found, np.arange(layout.size).reshape(layout.shape))

    def is_set(self, key: str) -> bool:
        """Return whether a flag is set in the metadata.

        Args:
            key: A key of the metadata, such as `external_control`.

        Returns:
            Whether its value is "true", or True.
        """
        return str(self.metadata.get(key, "")).lower() == "true"

    def labels(self) -> tuple[str, ...]:
        """Return the labels of the elements: `element_names`, or their indices."""
        layout = layout_of(self)
        names = tuple(name.strip() for name in str(self.metadata.get("element_names", "")).split(",") if name.strip())
        if len(names) == layout.size:
            return names
        return tuple("" if not layout.shape else "_".join(map(str, at)) for at in np.ndindex(*layout.shape))


@dataclass(frozen=True)
class Carrier:
    """A component, and the class that represents its values.

    Attributes:
        component: The component, with its layout.
        base: `jax.Array`, or a class with `from_array`.
        reverse: Whether an edge is followed from right to left.
    """

    component: Component
    base: Any
    reverse: bool = False

    def read(self, array: Any) -> Any:
        """Return an array as an object of the class."""
        return array if self.base is jax.Array else self.base.from_array(array)

    def array(self, value: Any, what: str, where: Where) -> Any:
        """Return a value as an array of the component's layout.

        Args:
            value: An object of the class, an array, a number or a list.
            what: Whose value it is, for the message.
            where: Where it comes from, for the message.

        Raises:
            EcsError: It is of another class that has a layout of its own, or does not fit. See `array_of`.
        """
        of_class = hasattr(type(value), "component_type")
        if of_class and self.base is not jax.Array and type(value) is not self.base:
            found, needed = type(value).__name__, getattr(self.base, "__name__", str(self.base))
            raise EcsError(f"is a {found}; it needs a {needed}", where, what)
        return array_of(value, layout_of(self.component), what, where)


class RevEdge:
    """Marks an edge component to be followed from right to left: `Annotated[Edge, Component(...), RevEdge]`."""


def layout_of(component: Component) -> ComponentType:
    """Return the layout of a component. Raises EcsError if it has none."""
    if component.type is None:
        raise EcsError("has no type; write Component(name, ComponentType(...))", component.where, component.name)
    return component.type


def is_component(annotation: Any) -> bool:
    """Return whether a class is annotated with a component."""
    return any(isinstance(mark, Component) for mark in getattr(annotation, "__metadata__", ()))


def carrier_of(annotation: Any, where: Where | None = None, what: str = "") -> Carrier:
    """Return the component of an annotated class, with the class that represents its values.

    Args:
        annotation: `Annotated[jax.Array, Component(...)]`, or the same of a class with `from_array`.
        where: Where it is used, for the message.
        what: What uses it, for the message.

    Raises:
        EcsError: It is not annotated with a component, or the component has no layout.
    """
    marks = getattr(annotation, "__metadata__", ())
    component = next((mark for mark in marks if isinstance(mark, Component)), None)
    if get_origin(annotation) is not Annotated or component is None:
        found = getattr(annotation, "__name__", None) or repr(annotation)
        message = f"{found} is not a component; write Annotated[jax.Array, Component('name', ComponentType(...))]"
        raise EcsError(message, where or caller(), what)
    base = get_args(annotation)[0]
    layout = getattr(base, "component_type", None)
    if layout is None and base is not jax.Array:
        raise EcsError(f"{base!r} holds no component; annotate jax.Array", component.where, component.name)
    if component.type is None:
        if layout is None:
            layout_of(component)
        component.type = layout
    elif layout is not None and layout != component.type:
        found = f"has the type {component.type}; a {base.__name__} is {layout}"
        raise EcsError(found, component.where, component.name)
    return Carrier(component, base, RevEdge in marks)


@jax.tree_util.register_pytree_node_class
class Edge:
    """A directed edge between two entities, from left to right. See GraphQuery.

    Args:
        left: The entity whose components an `edge_fold` computes.
        right: The other entity.
    """

    component_type = ComponentType.Edge

    def __init__(self, left: int, right: int) -> None:
        self.left, self.right = EntityId(left), EntityId(right)

    @classmethod
    def from_array(cls, arr: Any) -> Edge:
        """Return the edge between two entities, by their numbers.

        Args:
            arr: The numbers (2,) of the left and of the right entity. They may be traced, and are not checked.

        Returns:
            The edge.
        """
        edge = cls.__new__(cls)
        edge.left, edge.right = arr[0], arr[1]
        return edge

    def asarray(self) -> Any:
        """Return the two numbers."""
        return np.array([self.left, self.right], dtype=np.uint64)

    def tree_flatten(self) -> tuple[tuple[Any, ...], None]:
        """Return the leaf for JAX."""
        return (self.asarray(),), None

    @classmethod
    def tree_unflatten(cls, aux: None, leaves: tuple[Any, ...]) -> Edge:
        """Return the edge from a leaf, for JAX.

        Args:
            aux: None: an edge has no static data.
            leaves: The leaf that `tree_flatten` returned, an array (2,).

        Returns:
            The edge.
        """
        return cls.from_array(leaves[0])
