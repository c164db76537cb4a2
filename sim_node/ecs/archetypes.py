"""Archetypes: components that entities get together."""

from __future__ import annotations

import re
import sys
import typing
from collections.abc import Iterator
from typing import Any, ClassVar

from sim_node.ecs.components import Carrier, array_of, carrier_of
from sim_node.ecs.errors import EcsError, place_of
from sim_node.world.problems import NOWHERE, Where

_WORDS = re.compile(r"(?<!^)(?=[A-Z])")


class Archetype:
    """Components that belong together. Subclass it as a dataclass whose fields are annotated with components.

    A class of its own `__init__` works, too, if it sets one attribute for each field.
    """

    _scope: ClassVar[dict[str, Any]] = {}

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        # Annotations as texts may name variables of the function that defines the class.
        frame = sys._getframe(1)
        if frame.f_locals is not frame.f_globals and any(isinstance(a, str) for a in cls.__annotations__.values()):
            cls._scope = dict(frame.f_locals)

    @classmethod
    def archetype_name(cls) -> str:
        """Return the name of the class in snake case."""
        return _WORDS.sub("_", cls.__name__).lower()

    @classmethod
    def carriers(cls) -> dict[str, Carrier]:
        """Return the components by the names of the fields.

        Raises:
            EcsError: An annotation names something unknown, or is no component.
        """
        where = _class_place(cls)
        try:
            hints = typing.get_type_hints(cls, include_extras=True, localns=cls._scope)
        except NameError as error:
            raise EcsError(f"annotation: {error}", where, cls.__name__) from None
        return {name: carrier_of(hint, where) for name, hint in hints.items() if not name.startswith("_")}

    def values(self) -> Iterator[tuple[Carrier, Any]]:
        """Yield each component and its value as an array.

        Raises:
            EcsError: A field is not set, or its value does not fit the component.
        """
        where = _class_place(type(self))
        for name, carrier in type(self).carriers().items():
            if not hasattr(self, name):
                raise EcsError(f"{name} is not set; use @dataclass, or set it in __init__", where, type(self).__name__)
            assert carrier.component.type is not None
            what = f"{type(self).__name__}.{name}"
            yield carrier, array_of(getattr(self, name), carrier.component.type, what, where)


class C:
    """Values of components without an archetype: `C(X, 1.0)`, or `C((X, Y), (1.0, 2.0))`.

    Args:
        types: An annotated class, or several.
        values: Its value, or as many.

    Raises:
        EcsError: There are more of one than of the other.
    """

    def __init__(self, types: Any, values: Any) -> None:
        types, values = (types, values) if isinstance(types, tuple) else ((types,), (values,))
        if not isinstance(values, tuple) or len(types) != len(values):
            raise EcsError(f"C: {len(types)} components need as many values in a tuple")
        self._pairs = [(carrier_of(each), value) for each, value in zip(types, values, strict=True)]

    def values(self) -> Iterator[tuple[Carrier, Any]]:
        """Yield each component and its value as an array. Raises EcsError if a value does not fit."""
        for carrier, value in self._pairs:
            assert carrier.component.type is not None
            yield carrier, array_of(value, carrier.component.type, carrier.component.name, carrier.component.where)


def _class_place(cls: type) -> Where:
    """Return where a class is defined, as far as one of its own methods shows."""
    for value in vars(cls).values():
        place = place_of(value) if callable(value) else NOWHERE
        if place.file and not place.file.startswith("<"):
            return place
    module = sys.modules.get(cls.__module__)
    return Where(getattr(module, "__file__", None) or "", 0, 0)
