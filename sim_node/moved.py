"""Former import paths and names, which still work in this release, with a warning that gives the new one."""

from __future__ import annotations

import importlib
import sys
import warnings
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

# More specific paths first
_MOVED = {
    "autopilot.builtin": "autopilots.builtin",
    "autopilot.lockstep": "autopilots.lockstep",
    "autopilot.vehicle_co_simulator": "autopilots.vehicle_co_simulator",
    "autopilot": "mavlink",
    "columns": "simulation.columns",
    "control.bases": "world.base_types",
    "control": "simulation.control",
    "ecs": "extensions.elodin",
    "formats.openplx": "extensions.openplx",
    "frames": "spatial.frames",
    "geometry": "spatial.geometry",
    "gym": "extensions.gym",
    "nodes": "ros",
    "physics": "simulation.physics",
    "programs": "simulation.programs",
    "scene": "extensions.aerosim",
    "schematic": "viewing.schematic",
    "sensors": "simulation.sensors",
    "session.ecs": "extensions.elodin.session",
    "sweep": "extensions.sweep",
    "tools": "extensions.assistants",
    "tree": "spatial.tree",
    "wire": "messages",
}


class MovedImports:
    """Import hook for former module names. Each resolves to the module itself, not to a copy."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the spec for a former name, with a warning; None for other names."""
        found = _present(fullname)
        if found is None:
            return None
        if self is not sys.meta_path[0]:  # must be first: Python's own would load the files a second time
            sys.meta_path.remove(self)
            sys.meta_path.insert(0, self)
        if fullname.partition(".")[2] in _MOVED:  # warn once for everything below it
            message = f"{fullname} is now {found}; the former name will be gone in the next release"
            warnings.warn(message, FutureWarning, stacklevel=2)
        return ModuleSpec(fullname, self, origin=found)  # type: ignore[arg-type]

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """Return the module."""
        module = importlib.import_module(spec.origin or "")
        spec.loader_state = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Restore the module's own spec, which the import by the former name has replaced."""
        if module.__spec__ is not None:
            module.__spec__ = module.__spec__.loader_state


def _present(fullname: str) -> str | None:
    """Return the present name of a module; None if it has not moved."""
    root, _, name = fullname.partition(".")
    if root == "sim_node":
        for former, present in _MOVED.items():
            if name == former or name.startswith(f"{former}."):
                return f"sim_node.{present}{name[len(former) :]}"
    return None


def follow_moves() -> None:
    """Enable imports by former paths, after all other finders."""
    sys.meta_path.append(MovedImports())


def renamed(module: str, frames: int = 2, **names: str) -> Callable[[str], Any]:
    """Return a `__getattr__` for a module (PEP 562) that resolves former names, given as former=present.

    frames: number of stack frames between the warning and the code that uses the name.
    """

    def find(name: str) -> Any:
        if name not in names:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        message = f"{module}.{name} is now {names[name]}; the former name will be gone in the next release"
        warnings.warn(message, FutureWarning, stacklevel=frames)
        return getattr(sys.modules[module], names[name])

    return find
