"""The public names of rooms: each room lists them, each name resolves, and each is documented."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import sys
from collections.abc import Callable, Iterator
from enum import Enum
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import sim_node

ROOT = Path(sim_node.__file__).parent
ROOMS = tuple(sorted({f"sim_node.{path.parent.name}" for path in ROOT.glob("*/__init__.py")} - {"sim_node.extensions"}))
EXTENSIONS = tuple(sorted(f"sim_node.extensions.{path.parent.name}" for path in ROOT.glob("extensions/*/__init__.py")))
PACKAGES = tuple(
    sorted(".".join(("sim_node", *path.parent.relative_to(ROOT).parts)) for path in ROOT.rglob("__init__.py"))
)
# What Elodin calls its classes, and Gymnasium what it trains in.
OF_OTHERS = {"Body", "Environment", "Material", "Mesh", "System", "World"}
SECTION = re.compile(r"^(Args|Attributes|Returns|Yields|Raises):$")


def listed() -> Iterator[ModuleType]:
    """The packages that list their public names."""
    for name in PACKAGES:
        module = importlib.import_module(name)
        if hasattr(module, "__all__"):
            yield module


@pytest.mark.parametrize("room", ROOMS + EXTENSIONS)
def test_every_room_lists_its_public_names(room: str) -> None:
    assert hasattr(importlib.import_module(room), "__all__")


@pytest.mark.parametrize("package", PACKAGES)
def test_every_listed_name_resolves(package: str) -> None:
    module = importlib.import_module(package)
    names = getattr(module, "__all__", [])
    assert len(names) == len(set(names))
    for name in names:
        assert getattr(module, name) is not None
    assert set(names) <= set(dir(module))


def test_no_public_class_name_stands_for_two_things() -> None:
    files: dict[str, list[str]] = {}
    for path in ROOT.rglob("*.py"):
        for each in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(each, ast.ClassDef) and not each.name.startswith("_"):
                files.setdefault(each.name, []).append(str(path.relative_to(ROOT)))
    assert {name: at for name, at in files.items() if len(at) > 1 and name not in OF_OTHERS} == {}


@pytest.mark.parametrize("package", PACKAGES)
def test_no_module_takes_the_place_of_a_public_name(package: str) -> None:
    """An import of a module sets its name in the package: whatever has that name must come from this module."""
    module = importlib.import_module(package)
    files = {path.stem for path in Path(str(module.__file__)).parent.iterdir()}
    for name in files.intersection(getattr(module, "__all__", ())):
        found = importlib.import_module(f"{package}.{name}")
        assert getattr(module, name) in (found, getattr(found, name, None))


# Worlds in Python have the names of Elodin, whose scripts they run.
ELODINS = {"Body", "Material", "System", "World"}


def test_no_class_name_stands_for_two_things() -> None:
    classes: dict[str, dict[int, str]] = {}
    for module in listed():
        for name in module.__all__:
            value = getattr(module, name)
            if inspect.isclass(value):
                classes.setdefault(name, {})[id(value)] = f"{value.__module__}.{value.__qualname__}"
    twice = {name: sorted(found.values()) for name, found in classes.items() if len(found) > 1}
    # What a sensor perceives, and what an agent of Gymnasium learns in, which has Gymnasium's name.
    gymnasiums = twice.pop("Environment")
    assert gymnasiums == [
        "sim_node.extensions.gym.environment.Environment",
        "sim_node.simulation.sensors.context.Environment",
    ]
    assert set(twice) == ELODINS, twice
    assert all(len(found) == 2 and "elodin" in found[0] for found in twice.values()), twice


def sections(text: str) -> dict[str, str]:
    """The sections of a Google-style docstring by their headings; what is before them is under an empty one."""
    found, heading = {"": ""}, ""
    for line in text.splitlines():
        match = SECTION.match(line)
        if match:
            heading = match[1]
            found[heading] = ""
        elif line and not line.startswith(" ") and heading:
            heading = ""
        else:
            found[heading] += line + "\n"
    return found


def described(text: str) -> set[str]:
    """The parameters and attributes that a docstring names."""
    parts = sections(text)
    lines = (parts.get("Args", "") + parts.get("Attributes", "")).splitlines()
    items = (re.match(r"    ((?:\*{0,2}\w+, )*\*{0,2}\w+)(?: \(.*?\))?:", line) for line in lines)
    return {name.lstrip("*") for item in items if item for name in item[1].split(", ")}


def parameters(function: Callable[..., Any]) -> list[str]:
    names = inspect.signature(function).parameters
    return [name for name in names if name not in ("self", "cls") and not name.startswith("_")]


def faults_of_function(where: str, function: Callable[..., Any], text: str | None) -> Iterator[str]:
    if not text:
        yield f"{where}: no docstring"
        return
    needed = parameters(function)
    yield from (f"{where}: parameter {name} is not described" for name in needed if name not in described(text))
    returned = getattr(function, "__annotations__", {}).get("return")
    if needed and returned not in (None, "None", "NoReturn") and not {"Returns", "Yields"} & set(sections(text)):
        yield f"{where}: what it returns is not described"


def faults_of_class(where: str, kind: type, declared: dict[str, set[str]]) -> Iterator[str]:
    """declared: methods of public interfaces, with their parameters; elsewhere a summary is enough for them."""
    text = inspect.getdoc(kind)
    if not kind.__doc__ or text is None:
        yield f"{where}: no docstring"
        return
    is_protocol = getattr(kind, "_is_protocol", False)
    has_constructor = any(name in vars(kind) for name in ("__init__", "__dataclass_fields__", "_fields"))
    if has_constructor and not is_protocol and not issubclass(kind, Enum):
        known = described(text).union(*(described(inspect.getdoc(base) or "") for base in kind.__mro__[1:-1]))
        names = (name for name in parameters(kind) if name not in known)
        yield from (f"{where}: parameter {name} is not described" for name in names)
    fields = getattr(kind, "__dataclass_fields__", {})
    for name, member in vars(kind).items():
        function = getattr(member, "__func__", member)
        if name.startswith("_") or name in fields or not (inspect.isfunction(function) or isinstance(member, property)):
            continue
        full, documentation = f"{where}.{name}", inspect.getdoc(getattr(kind, name))
        is_declared = not is_interface(kind) and not isinstance(member, property)
        if isinstance(member, property) or (is_declared and set(parameters(function)) <= declared.get(name, set())):
            if not documentation:
                yield f"{full}: no docstring"
        else:
            yield from faults_of_function(full, function, documentation)


def is_interface(kind: type) -> bool:
    return getattr(kind, "_is_protocol", False) or inspect.isabstract(kind)


def declared_methods() -> dict[str, set[str]]:
    """The methods of public protocols and abstract classes, with their parameters."""
    found: dict[str, set[str]] = {}
    for module in listed():
        for kind in (getattr(module, name) for name in module.__all__):
            for method, member in vars(kind).items() if is_interface(kind) else ():
                function = getattr(member, "__func__", member)
                if inspect.isfunction(function) and not method.startswith("_"):
                    found.setdefault(method, set()).update(parameters(function))
    return found


@pytest.mark.parametrize("package", [package for package in PACKAGES if package != "sim_node"])
def test_every_public_name_is_documented(package: str) -> None:
    """A summary, each parameter under Args or Attributes, and what is returned under Returns or Yields."""
    module = importlib.import_module(package)
    declared = declared_methods()
    faults: list[str] = []
    for name in getattr(module, "__all__", ()):
        value = getattr(module, name)
        function = getattr(value, "py_func", value)
        if getattr(function, "__module__", "") in sys.stdlib_module_names:
            continue  # passed on, such as dataclass: Python's own documentation describes it
        if inspect.isclass(value):
            faults.extend(faults_of_class(name, value, declared))
        elif inspect.isfunction(function):
            faults.extend(faults_of_function(name, function, inspect.getdoc(function)))
    assert faults == []
