"""The section `forces` of a world file: forces on bodies, and the wind. A new type is one entry."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any, TypeVar

from sim_node.registry import Registry, calling_module
from sim_node.world.declared import BAD, keys_of, plan_of, read
from sim_node.world.forces import FORCE_TYPES, Wind
from sim_node.world.gravity import PointGravity
from sim_node.world.readers.keys import ANYTHING, Form, Keys, by_key, listing, word
from sim_node.world.readers.yaml_section import Context, section
from sim_node.world.readers.yaml_values import Value

# Reads an entry of a type into the context.
ForceReader = Callable[[Value, Context], None]
FORCES: Registry[str, ForceReader] = Registry(
    "type of force", shipped=("sim_node.world.readers.yaml_forces",), group="sim_node.forces"
)
# Returns the keys of a type, for the JSON Schema. Those of types that say nothing may be anything.
FORCE_KEYS: dict[str, Callable[[], Keys]] = {}
F = TypeVar("F", bound=ForceReader)


def force(type: str, keys: Keys | Callable[[], Keys] | None = None) -> Callable[[F], F]:
    """Return a decorator that registers the reader of a type of force.

    Args:
        type: The type, as world files give it.
        keys: The keys of an entry, or what returns them, for the JSON Schema; None if they may be anything.

    Returns:
        The decorator, of a function that reads an entry and adds the force to the context.
    """
    module = calling_module()

    def enter(read: F) -> F:
        FORCES.add(type, module=module)(read)
        if keys is not None:
            FORCE_KEYS[type] = (lambda: keys) if isinstance(keys, Keys) else keys
        return read

    return enter


def _force_keys() -> dict[str, Form]:
    return {name: FORCE_KEYS[name]() if name in FORCE_KEYS else ANYTHING for name in FORCES}


@section("forces", listing("Forces on bodies, and the wind.", by_key("A force.", "type", _force_keys)))
def read_forces(value: Value, context: Context) -> None:
    """Read a list of forces, each with a type."""
    for entry in value.items():
        kind = entry.get("type")
        if kind is None:
            entry.error(f"a mapping with a type is needed ({', '.join(FORCES)}), found {entry.found()}")
            continue
        errors = len(entry.report.errors)
        word = kind.choice(FORCES, "")
        if len(entry.report.errors) == errors:
            FORCES[word](entry, context)


def _typed(type: str, kind: type[Any]) -> Keys:
    """Return the keys of a declared class with those of its type."""
    own = keys_of(kind)
    return Keys({"type": word("", type), **own}, required=own.required, at_least_one=plan_of(kind).needs.values())


def declared_force(type: str, kind: Callable[[], type[Any]]) -> None:
    """Register a type of force whose fields are declared: what files say of it follows.

    kind: returns the class; called when a file has such a force, so that others do without its module.
    """
    known = cache(lambda: _typed(type, kind()))

    def read_force(entry: Value, context: Context) -> None:
        found = read(kind(), entry, context, known=known())
        if found is not BAD:
            context.add(found)

    force(type, known)(read_force)


for _name in FORCE_TYPES:
    declared_force(_name, partial(FORCE_TYPES.__getitem__, _name))
WIND_KEYS, GRAVITY_KEYS = _typed("wind", Wind), _typed("gravity", PointGravity)


@force("wind", WIND_KEYS)
def read_wind(entry: Value, context: Context) -> None:
    """Read the wind, at most one in a world."""
    if context.of(Wind):
        entry.error(f"a second wind, the first is at {context.of(Wind)[0].place.where}")
        return
    wind = read(Wind, entry, context, known=WIND_KEYS)
    if wind is not BAD:
        context.add(wind)
        entry.sets(wind, "wind")


@force("gravity", GRAVITY_KEYS)
def read_gravity(entry: Value, context: Context) -> None:
    """Read a centre that attracts all bodies."""
    field = read(PointGravity, entry, context, known=GRAVITY_KEYS)
    if field is not BAD:
        context.add(field)
        entry.sets((field,), "gravity_fields")
