"""Archetypes: groups of components that are added to an entity together."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from typing import Any, ClassVar

from sim_node.extensions.elodin.annotations import resolved, scope_of
from sim_node.extensions.elodin.components import Carrier, carrier_of
from sim_node.extensions.elodin.errors import EcsError, caller
from sim_node.world.problems import NOWHERE, Where

_WORDS = re.compile(r"(?<!^)(?=[A-Z])")


class Archetype:
    """Components that belong together. Subclass it as a dataclass whose fields are annotated with components.

    A class with its own `__init__` also works if it sets one attribute for each field.
    """

    # Set for each subclass: what its annotations may name, where it is defined, and its components once resolved.
    _scope: ClassVar[dict[str, Any]] = {}
    _where: ClassVar[Where] = NOWHERE
    _carriers: ClassVar[dict[str, Carrier] | None] = None

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        frame = sys._getframe(1)
        texts = any(isinstance(each, str) for each in vars(cls).get("__annotations__", {}).values())
        cls._scope = {**cls._scope, **scope_of(frame)} if texts else cls._scope
        cls._where = caller()
        cls._carriers = None

    @classmethod
    def archetype_name(cls) -> str:
        """Return the name of the class in snake case."""
        return _WORDS.sub("_", cls.__name__).lower()

    @classmethod
    def carriers(cls) -> dict[str, Carrier]:
        """Return the components by field name.

        Raises:
            EcsError: An annotation names something unknown, or is not a component.
        """
        if cls._carriers is None:
            hints = resolved(cls, cls._scope, cls._where, cls.__name__)
            cls._carriers = {
                name: carrier_of(hint, cls._where, cls.__name__)
                for name, hint in hints.items()
                if not name.startswith("_")
            }
        return cls._carriers

    def values(self) -> Iterator[tuple[Carrier, Any]]:
        """Yield each component and its value as an array.

        Raises:
            EcsError: A field is not set, or its value does not fit the component.
        """
        kind = type(self)
        for name, carrier in kind.carriers().items():
            if not hasattr(self, name):
                raise EcsError(f"{name} is not set; use @dataclass, or set it in __init__", kind._where, kind.__name__)
            yield carrier, carrier.array(getattr(self, name), f"{kind.__name__}.{name}", caller())


class C:
    """Values of components without an archetype: `C(X, 1.0)`, or `C((X, Y), (1.0, 2.0))`.

    Args:
        types: One annotated class, or several.
        values: One value for each class.

    Raises:
        EcsError: The numbers of classes and values differ.
    """

    def __init__(self, types: Any, values: Any) -> None:
        types, values = (types, values) if isinstance(types, tuple) else ((types,), (values,))
        if not isinstance(values, tuple) or len(types) != len(values):
            found = len(values) if isinstance(values, tuple) else type(values).__name__
            raise EcsError(f"{len(types)} components need as many values in a tuple; found {found}", caller(), "C")
        self._pairs = [(carrier_of(each), value) for each, value in zip(types, values, strict=True)]

    def values(self) -> Iterator[tuple[Carrier, Any]]:
        """Yield each component and its value as an array. Raises EcsError if a value does not fit."""
        for carrier, value in self._pairs:
            yield carrier, carrier.array(value, carrier.component.name, caller())
