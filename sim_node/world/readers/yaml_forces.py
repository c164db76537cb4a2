"""The section `forces` of a world file: forces on bodies, and the wind. A new type is one entry."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from sim_node.geometry.arrays import FloatArray
from sim_node.registry import Registry, calling_module
from sim_node.world.bounds import MAX_DISTANCE, MAX_FORCE, MAX_STAMP_NS
from sim_node.world.force_checks import (
    MAX_DENSITY,
    MAX_EXPONENT,
    MAX_VOLUME,
    MAX_WIND_SPEED,
    MIN_GUST_SPEED,
    MIN_SCALE_LENGTH,
)
from sim_node.world.forces import AXES, SUBMERGED, Buoyancy, ConstantForce, Drag, Gusts, Wind
from sim_node.world.gravity import MAX_ACCELERATION, MAX_MU, PointGravity
from sim_node.world.problems import Place
from sim_node.world.readers.keys import (
    ANYTHING,
    Form,
    Keys,
    by_key,
    choice,
    frame,
    listing,
    number,
    one_or_each,
    vector,
    word,
)
from sim_node.world.readers.yaml_nodes import Mapping, Scalar, Sequence
from sim_node.world.readers.yaml_section import Context, frame_name, section
from sim_node.world.readers.yaml_values import Table, Value

# Reads an entry of a type into the context.
ForceReader = Callable[[Value, Context], None]
FORCES: Registry[str, ForceReader] = Registry(
    "type of force", shipped=("sim_node.world.readers.yaml_forces",), group="sim_node.forces"
)
# The keys of types, for the JSON Schema. Those of types that say nothing may be anything.
FORCE_KEYS: dict[str, Keys] = {}
F = TypeVar("F", bound=ForceReader)


def force(type: str, keys: Keys | None = None) -> Callable[[F], F]:
    """Return a decorator that registers the reader of a type of force.

    Args:
        type: The type, as world files give it.
        keys: The keys of an entry, for the JSON Schema; None if they may be anything.

    Returns:
        The decorator, of a function that reads an entry and adds the force to the context.
    """
    module = calling_module()

    def enter(read: F) -> F:
        FORCES.add(type, module=module)(read)
        if keys is not None:
            FORCE_KEYS[type] = keys
        return read

    return enter


_BODY, _AXES = frame("The body that it acts on."), "along the body's axes: one number for all three, or three."
_MAX_TIME = MAX_STAMP_NS / 1e9
_COEFFICIENT = number("", 0.0, MAX_FORCE)
CONSTANT_KEYS = Keys(
    {
        "type": word("", "constant"),
        "body": _BODY,
        "force": vector("Force, N.", 3, MAX_FORCE),
        "torque": vector("Torque, N m.", 3, MAX_FORCE),
        "point": vector("Where the force acts, in the body, m.", 3, MAX_DISTANCE),
        "axes": choice("Whose axes the force is along.", AXES),
        "from": number("When it begins, s.", -_MAX_TIME, _MAX_TIME),
        "until": number("When it ends, s.", -_MAX_TIME, _MAX_TIME),
    },
    required=("body",),
    at_least_one=(("force", "torque"),),
)
COEFFICIENTS = {
    "linear": one_or_each(f"N s/m, {_AXES}", _COEFFICIENT, 3),
    "quadratic": one_or_each(f"N s^2/m^2, {_AXES}", _COEFFICIENT, 3),
    "angular_linear": one_or_each(f"N m s/rad, {_AXES}", _COEFFICIENT, 3),
    "angular_quadratic": one_or_each(f"N m s^2/rad^2, {_AXES}", _COEFFICIENT, 3),
}
DRAG_KEYS = Keys(
    {
        "type": word("", "drag"),
        "body": _BODY,
        **COEFFICIENTS,
        "center": vector("Where it acts, in the body, m.", 3, MAX_DISTANCE),
    },
    required=("body",),
    at_least_one=(COEFFICIENTS,),
)
BUOYANCY_KEYS = Keys(
    {
        "type": word("", "buoyancy"),
        "body": _BODY,
        "volume": number("Volume, m^3.", 0.0, MAX_VOLUME),
        "height": number("Height of the volume, m.", high=MAX_DISTANCE, above=0.0),
        "density": number("Density of the liquid, kg/m^3.", 0.0, MAX_DENSITY),
        "surface": number("Height of the surface, m.", -MAX_DISTANCE, MAX_DISTANCE),
        "center": vector("Centre of the volume, in the body, m.", 3, MAX_DISTANCE),
        "shape": choice("Shape of the volume.", SUBMERGED),
    },
    required=("body", "volume", "height"),
)
GUST_KEYS = Keys(
    {
        "intensity": one_or_each("Standard deviation along, across and up, m/s.", number("", 0.0, MAX_WIND_SPEED), 3),
        "scale_length": one_or_each(
            "Scale length along, across and up, m.", number("", MIN_SCALE_LENGTH, MAX_DISTANCE), 3
        ),
        "speed": number("Speed at which the vehicle meets the gusts, m/s.", MIN_GUST_SPEED, MAX_WIND_SPEED),
    },
    required=("intensity", "scale_length"),
    about="Dryden gusts.",
)
WIND_KEYS = Keys(
    {
        "type": word("", "wind"),
        "velocity": vector("Mean velocity in the fixed frame, m/s.", 3, MAX_WIND_SPEED),
        "speed": number("Magnitude of the mean, m/s; `velocity` is its direction only then.", 0.0, MAX_WIND_SPEED),
        "exponent": number("Exponent of the wind profile over height.", 0.0, MAX_EXPONENT),
        "reference_height": number("Height at which the velocity holds, m.", high=MAX_DISTANCE, above=0.0),
        "gusts": GUST_KEYS,
    }
)
GRAVITY_KEYS = Keys(
    {
        "type": word("", "gravity"),
        "center": vector("The point that attracts all bodies, in the fixed frame, m.", 3, MAX_DISTANCE),
        "mu": number("Standard gravitational parameter G M, m^3/s^2.", -MAX_MU, MAX_MU),
        "acceleration": number("Acceleration at any distance, m/s^2.", -MAX_ACCELERATION, MAX_ACCELERATION),
    },
    at_least_one=(("mu", "acceleration"),),
)


def _force_keys() -> dict[str, Form]:
    return {name: FORCE_KEYS.get(name, ANYTHING) for name in FORCES}


@section("forces", listing("Forces on bodies, and the wind.", by_key("A force.", "type", _force_keys)))
def read_forces(value: Value, context: Context) -> None:
    """Read a list of forces, each with a type."""
    for entry in value.items():
        node = entry.node
        if not isinstance(node, Mapping) or "type" not in node.entries:
            entry.error(f"a mapping with a type is needed ({', '.join(FORCES)}), found {entry.found()}")
            continue
        kind = Value(node.entries["type"][1], entry.report, "type", entry)
        errors = len(entry.report.errors)
        word = kind.choice(FORCES, "")
        if len(entry.report.errors) == errors:
            FORCES[word](entry, context)


@force("constant", CONSTANT_KEYS)
def read_constant(entry: Value, context: Context) -> None:
    """Read a constant force and torque."""
    table = entry.table(CONSTANT_KEYS)
    if "force" not in table and "torque" not in table:
        entry.error("a force or a torque is needed")
    start, end = (_time(table.get(key)) for key in ("from", "until"))
    until = table.get("until")
    if until is not None and start is not None and end is not None and end <= start:
        until.error(f"{end / 1e9:.10g} s is not after from, {start / 1e9:.10g} s")
    of = {
        "force": _vector(table, "force", MAX_FORCE),
        "torque": _vector(table, "torque", MAX_FORCE),
        "point": _vector(table, "point", MAX_DISTANCE),
        "axes": table.choice("axes", AXES, "fixed"),
        "start_ns": start,
        "end_ns": end,
    }
    context.add(ConstantForce(*_body(table), **_given(of), place=_place(table)))


@force("drag", DRAG_KEYS)
def read_drag(entry: Value, context: Context) -> None:
    """Read drag, linear and quadratic."""
    table = entry.table(DRAG_KEYS)
    if not any(key in table for key in COEFFICIENTS):
        entry.error(f"a coefficient is needed: {', '.join(COEFFICIENTS)}")
    of = {key: _three(table.get(key), 0.0, MAX_FORCE) for key in COEFFICIENTS}
    of["center"] = _vector(table, "center", MAX_DISTANCE)
    context.add(Drag(*_body(table), **_given(of), place=_place(table)))


@force("buoyancy", BUOYANCY_KEYS)
def read_buoyancy(entry: Value, context: Context) -> None:
    """Read the buoyancy of a body."""
    table = entry.table(BUOYANCY_KEYS)
    of = {
        "volume": _number(table, "volume", 0.0, MAX_VOLUME),
        "height": _positive(table, "height"),
        "density": _number(table, "density", 0.0, MAX_DENSITY),
        "surface": _number(table, "surface", -MAX_DISTANCE, MAX_DISTANCE),
        "center": _vector(table, "center", MAX_DISTANCE),
        "shape": table.choice("shape", SUBMERGED, "box"),
    }
    context.add(Buoyancy(*_body(table), **_given(of), place=_place(table)))


@force("wind", WIND_KEYS)
def read_wind(entry: Value, context: Context) -> None:
    """Read the wind, at most one in a world. `speed` is for sweeps: it leaves the direction of `velocity`."""
    table = entry.table(WIND_KEYS)
    if context.of(Wind):
        entry.error(f"a second wind, the first is at {context.of(Wind)[0].place.where}")
        return
    velocity = _vector(table, "velocity", MAX_WIND_SPEED)
    mean = np.zeros(3) if velocity is None else velocity
    speed = _number(table, "speed", 0.0, MAX_WIND_SPEED)
    if speed is not None:
        along = float(np.linalg.norm(mean))
        mean = speed * (mean / along if along else np.array([1.0, 0.0, 0.0]))
    of = {
        "exponent": _number(table, "exponent", 0.0, MAX_EXPONENT),
        "reference_height": _positive(table, "reference_height"),
        "gusts": _gusts(table.get("gusts"), float(np.linalg.norm(mean))),
    }
    wind = Wind(mean, **_given(of), place=entry.place)
    context.add(wind)
    entry.sets(wind, "wind")


@force("gravity", GRAVITY_KEYS)
def read_gravity(entry: Value, context: Context) -> None:
    """Read a centre that attracts all bodies."""
    table = entry.table(GRAVITY_KEYS)
    if "mu" not in table and "acceleration" not in table:
        entry.error("mu (m^3/s^2) or acceleration (m/s^2) is needed")
    center = _vector(table, "center", MAX_DISTANCE)
    of = {
        "mu": _number(table, "mu", -MAX_MU, MAX_MU),
        "acceleration": _number(table, "acceleration", -MAX_ACCELERATION, MAX_ACCELERATION),
    }
    field = PointGravity(np.zeros(3) if center is None else center, **_given(of), place=entry.place)
    context.add(field)
    entry.sets((field,), "gravity_fields")


def _gusts(value: Value | None, mean_speed: float) -> Gusts | None:
    """Read gusts. By default, the vehicle meets them at the speed of the mean wind."""
    if value is None:
        return None
    table = value.table(GUST_KEYS)
    intensity = _three(table.get("intensity"), 0.0, MAX_WIND_SPEED)
    scale = _three(table.get("scale_length"), MIN_SCALE_LENGTH, MAX_DISTANCE)
    speed = _number(table, "speed", MIN_GUST_SPEED, MAX_WIND_SPEED)
    if "speed" not in table and mean_speed < MIN_GUST_SPEED:
        value.error("without a mean wind, give the speed at which the vehicle meets the gusts: speed, in m/s")
    if intensity is None or scale is None:
        return None
    return Gusts(intensity, scale, max(mean_speed, MIN_GUST_SPEED) if speed is None else speed)


def _body(table: Table) -> tuple[str]:
    return (frame_name(table.get("body")),)


def _place(table: Table) -> Place:
    body = table.get("body")
    return table.value.place if body is None else body.place


def _given(fields: dict[str, Any]) -> dict[str, Any]:
    """Return the fields that the file gives. The others keep the model's defaults."""
    return {key: value for key, value in fields.items() if value is not None}


def _vector(table: Table, key: str, largest: float) -> FloatArray | None:
    value = table.get(key)
    vector = None if value is None else value.vector(3, largest)
    return None if vector is None else np.array(vector)


def _three(value: Value | None, low: float, high: float) -> FloatArray | None:
    """Read one number for all three axes, or a list with one each."""
    if value is None:
        return None
    if isinstance(value.node, Scalar):
        return np.full(3, value.number(low, high, default=low))
    if isinstance(value.node, Sequence) and len(value.node.items) == 3:
        return np.array([item.number(low, high, default=low) for item in value.items()])
    value.error(f"a number or a list of 3 is needed, found {value.found()}")
    return None


def _number(table: Table, key: str, low: float, high: float) -> float | None:
    value = table.get(key)
    return None if value is None else value.number(low, high, default=low)


def _positive(table: Table, key: str) -> float | None:
    value = table.get(key)
    if value is None:
        return None
    errors = len(value.report.errors)
    number = value.number(0.0, MAX_DISTANCE, default=1.0)
    if number == 0.0 and len(value.report.errors) == errors:
        value.error("must be above zero")
    return number


def _time(value: Value | None) -> int | None:
    return None if value is None else value.nanoseconds(-MAX_STAMP_NS)
