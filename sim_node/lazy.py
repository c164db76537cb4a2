"""Public names of packages that are cheap to import: each name is imported when it is first used."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping
from typing import Any


def public(package: str, modules: Mapping[str, str]) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Make the `__getattr__` and `__dir__` (PEP 562) of a package whose public names are imported on first use.

    A name must differ from those of the package's own modules: importing such a module would set the attribute. The
    exception is a module that is public itself: it has its own name here.

        if TYPE_CHECKING:
            from sim_node.recording.opening import open_bag
        __all__ = ["open_bag"]
        __getattr__, __dir__ = public(__name__, {"open_bag": "opening"})

    Args:
        package: Full name of the package, its `__name__`.
        modules: For each public name, the module that defines it, relative to the package; one outside the package
            begins with a dot for each package above it.

    Returns:
        The package's `__getattr__` and `__dir__`. The first raises AttributeError for any other name.
    """

    def get(name: str) -> Any:
        module = modules.get(name)
        if module is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        found = importlib.import_module(f".{module}", package)
        value = found if name == module else getattr(found, name)
        setattr(sys.modules[package], name, value)
        return value

    def names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *modules})

    return get, names
