"""Write docs/worlds-in-python-reference.md from the docstrings of elodin: `python tools/python_reference.py`."""

from __future__ import annotations

import importlib
import inspect
import re
import types
import typing
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from typing import Any

import sim_node.extensions.elodin as el
from sim_node.extensions.elodin.components import Component, layout_of

PAGE = Path(__file__).resolve().parents[1] / "docs" / "worlds-in-python-reference.md"
# Every public name once, in the order of use.
SECTIONS = {
    "Worlds and runs": "World WorldBuilder Frame Exec JaxSim StepContext open_recording EntityId",
    "Components": "Component ComponentType PrimitiveType Archetype C Edge RevEdge ShapeIndexer",
    "Standard components": "Body WorldPos WorldVel WorldAccel Force Inertia Seed SimulationTick SimulationTimeStep "
    "Camera JointPosition JointVelocity JointTarget JointEffort",
    "Systems": "system map map_seq System Query GraphQuery TotalEdge six_dof Integrator",
    "Algebra": "Quaternion SpatialTransform SpatialMotion SpatialForce SpatialInertia skew",
    "Processes": "s10",
    "Filters": "ukf",
    "Gravity of the Earth": "egm08 j2 _get_cache_dir",
    "Campaigns": "monte_carlo",
    "What is shown": "Mesh Material Shape Glb Scene Panel GraphEntity",
    "Errors": "EcsError TimeTravel",
    "Names of other packages": "Annotated dataclass jax",
}
_INTRO = """# Worlds in Python: reference

All public names of `import sim_node.extensions.elodin as el`; for an introduction see
[Worlds in Python](worlds-in-python.md). This page is made from the docstrings by `tools/python_reference.py`.
"""
_OTHERS = {
    "WorldBuilder": "`World`, by the name of its base in Elodin.",
    "Annotated": "`typing.Annotated`.",
    "dataclass": "`dataclasses.dataclass`, for archetypes.",
    "jax": "The package `jax`, with double precision.",
}
_HEADS = ("Args", "Returns", "Yields", "Raises", "Attributes")
# Classes that functions return, and that have no public name.
_RETURNED = {"open_recording": "sim_node.extensions.elodin.session.recorded.RecordedRun"}


def page() -> str:
    """Return the text of the page."""
    parts = [_INTRO]
    for title, names in SECTIONS.items():
        parts.append(f"## {title}\n")
        rows: list[tuple[str, Any]] = []
        for name in names.split():
            given = getattr(el, name)
            if name in _OTHERS:
                parts.append(f"`{name}`: {_OTHERS[name]}\n")
            elif typing.get_origin(given) is typing.Annotated:
                rows.append((name, given))
            else:
                parts.extend(_entry(name, given))
        if rows:
            parts.append(_table(rows))
    return "\n".join(parts).rstrip() + "\n"


def _table(rows: list[tuple[str, Any]]) -> str:
    lines = ["Annotated classes, for the parameters of systems:\n", "| Name | Component | Read as | Type | Numbers |"]
    lines.append("|---|---|---|---|---|")
    for name, given in rows:
        component = Component.of(given)
        layout = layout_of(component)
        base = typing.get_args(given)[0]
        kind = "array" if base is el.jax.Array else f"`{base.__name__}`"
        labels = component.metadata.get("element_names", "").replace(",", " ")
        lines.append(f"| `{name}` | `{component.name}` | {kind} | {layout.dtype} {layout.shape} | {labels} |")
    return "\n".join(lines) + "\n"


def _entry(name: str, given: Any) -> Iterator[str]:
    if isinstance(given, types.ModuleType):
        yield f"### {name}\n"
        yield _text(given)
    for label, each in described_by(name):
        yield f"{'#' * (3 if label == name else 4)} {label}\n"
        call = "" if isinstance(each, property) else call_of(label, each)
        if call:
            yield f"`{call}`\n"
        yield _text(each)
        if inspect.isclass(each) and issubclass(each, Enum):
            yield f"Values: {', '.join(f'`{value.name}`' for value in each)}.\n"


def described_by(name: str) -> Iterator[tuple[str, Any]]:
    """Yield what the docstrings of a public name describe, with its full name: itself, and its public members."""
    given = getattr(el, name)
    if name in _OTHERS or typing.get_origin(given) is typing.Annotated:
        return
    if isinstance(given, types.ModuleType):
        for own, value in vars(given).items():
            if _is_public(own, value) and value.__module__ == given.__name__:
                yield from _with_members(f"{name}.{own}", value)
    else:
        yield from _with_members(name, given)
    if name in _RETURNED:
        module, _, kind = _RETURNED[name].rpartition(".")
        yield from _with_members(kind, getattr(importlib.import_module(module), kind))


def _with_members(name: str, given: Any) -> Iterator[tuple[str, Any]]:
    yield name, given
    if not inspect.isclass(given):
        return
    known: dict[str, Any] = {}
    for base in reversed(given.__mro__):
        if base.__module__.partition(".")[0] == "sim_node":
            known.update(vars(base))
    for own, value in known.items():
        value = value.__func__ if isinstance(value, (staticmethod, classmethod)) else value
        # Those of pytrees are called by JAX alone.
        if isinstance(value, property) or (
            _is_public(own, value) and inspect.isfunction(value) and not own.startswith(("tree_", "rotated"))
        ):
            yield f"{name}.{own}", value


def _is_public(name: str, given: Any) -> bool:
    return not name.startswith("_") and (inspect.isclass(given) or inspect.isfunction(given)) and bool(given.__doc__)


def call_of(name: str, given: Any) -> str:
    """Return the signature of a function or class; nothing for one that is not called."""
    uncalled = (Enum, int, Exception)
    if inspect.isclass(given) and (issubclass(given, uncalled) or given.__init__ is object.__init__):
        return ""
    parameters = []
    for parameter in inspect.signature(given).parameters.values():
        if parameter.name in ("self", "cls"):
            continue
        default = parameter.default
        star = "*" if parameter.kind == parameter.VAR_POSITIONAL else ""
        star = "**" if parameter.kind == parameter.VAR_KEYWORD else star
        shown = f"{star}{parameter.name}"
        if default is not parameter.empty:
            plain = default is None or isinstance(default, (bool, int, float, str))
            value = "1/120" if default == 1 / 120 else str(default) if isinstance(default, Enum) else repr(default)
            shown += f"={value}" if plain or isinstance(default, Enum) else "=..."
        parameters.append(shown)
    return f"{name}({', '.join(parameters)})"


def _text(given: Any) -> str:
    """Return a docstring as Markdown: its sections are lists."""
    lines: list[str] = []
    inside = ""
    for line in inspect.cleandoc(given.__doc__ or "").splitlines():
        head = line.removesuffix(":")
        if line.endswith(":") and head in _HEADS:
            inside = head
            lines += [f"{'Raises' if head == 'Raises' else head}:", ""]
        elif inside and line.startswith("    "):
            item = re.match(r"    (\*{0,2}\w+): (.*)", line)
            if item and inside not in ("Returns", "Yields"):
                lines.append(f"- `{item[1]}`: {item[2]}")
            elif inside in ("Returns", "Yields") and (not lines[-1] or lines[-1].startswith("- ")) and lines[-1] == "":
                lines.append(f"- {line.strip()}")
            else:
                lines.append(f"  {line.strip()}")
        else:
            inside = "" if line and not line.startswith(" ") else inside
            lines.append(line)
    return "\n".join(lines).rstrip() + "\n"


def main() -> None:
    """Write the page."""
    PAGE.write_text(page(), encoding="utf-8")
    print(PAGE)


if __name__ == "__main__":
    main()
