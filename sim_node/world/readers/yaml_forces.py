"""The `forces` of a world file: what pushes its bodies, and the wind. A new kind is one entry."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from sim_node.geometry.arrays import FloatArray
from sim_node.registry import Registry
from sim_node.world.force_checks import (
    DENSEST,
    MAX_VOLUME,
    MAX_WIND_SPEED,
    SHORTEST_SCALE,
    SLOWEST,
    STEEPEST,
    STRONGEST,
)
from sim_node.world.forces import AXES, SUBMERGED, Buoyancy, ConstantForce, Drag, Gusts, Wind
from sim_node.world.model import LATEST_NS, MAX_DISTANCE
from sim_node.world.problems import Place
from sim_node.world.readers.yaml_nodes import Mapping, Scalar, Sequence
from sim_node.world.readers.yaml_section import Context, frame_name, section
from sim_node.world.readers.yaml_values import Table, Value

# Reads an entry of its kind into the context.
ForceReader = Callable[[Value, Context], None]
FORCES: Registry[str, ForceReader] = Registry(
    "type of force", shipped=("sim_node.world.readers.yaml_forces",), group="sim_node.forces"
)
# Registers the reader of the forces of a `type`.
force = FORCES.add


@section("forces")
def read_forces(value: Value, context: Context) -> None:
    """A list of forces, each of a type."""
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


@force("constant")
def read_constant(entry: Value, context: Context) -> None:
    """A force and a torque that stay the same."""
    table = entry.table(("type", "body", "force", "torque", "point", "axes", "from", "until"), required=("body",))
    if "force" not in table and "torque" not in table:
        entry.error("a force, or a torque, is needed")
    start, end = (_time(table.get(key)) for key in ("from", "until"))
    until = table.get("until")
    if until is not None and start is not None and end is not None and end <= start:
        until.error(f"{end / 1e9:.10g} s is not after from, {start / 1e9:.10g} s")
    of = {
        "force": _vector(table, "force", STRONGEST),
        "torque": _vector(table, "torque", STRONGEST),
        "point": _vector(table, "point", MAX_DISTANCE),
        "axes": table.choice("axes", AXES, "fixed"),
        "start_ns": start,
        "end_ns": end,
    }
    context.add(ConstantForce(*_body(table), **_given(of), place=_place(table)))


@force("drag")
def read_drag(entry: Value, context: Context) -> None:
    """Resistance, linear and quadratic."""
    coefficients = ("linear", "quadratic", "angular_linear", "angular_quadratic")
    table = entry.table(("type", "body", *coefficients, "center"), required=("body",))
    if not any(key in table for key in coefficients):
        entry.error(f"a coefficient is needed: {', '.join(coefficients)}")
    of = {key: _three(table.get(key), 0.0, STRONGEST) for key in coefficients}
    of["center"] = _vector(table, "center", MAX_DISTANCE)
    context.add(Drag(*_body(table), **_given(of), place=_place(table)))


@force("buoyancy")
def read_buoyancy(entry: Value, context: Context) -> None:
    """The weight of what a body displaces."""
    keys = ("type", "body", "volume", "height", "density", "surface", "center", "shape")
    table = entry.table(keys, required=("body", "volume", "height"))
    of = {
        "volume": _number(table, "volume", 0.0, MAX_VOLUME),
        "height": _positive(table, "height"),
        "density": _number(table, "density", 0.0, DENSEST),
        "surface": _number(table, "surface", -MAX_DISTANCE, MAX_DISTANCE),
        "center": _vector(table, "center", MAX_DISTANCE),
        "shape": table.choice("shape", SUBMERGED, "box"),
    }
    context.add(Buoyancy(*_body(table), **_given(of), place=_place(table)))


@force("wind")
def read_wind(entry: Value, context: Context) -> None:
    """The wind: one for a world."""
    table = entry.table(("type", "velocity", "exponent", "reference_height", "gusts"))
    if context.of(Wind):
        entry.error(f"a second wind, the first is at {context.of(Wind)[0].place.where}")
        return
    velocity = _vector(table, "velocity", MAX_WIND_SPEED)
    mean = np.zeros(3) if velocity is None else velocity
    of = {
        "exponent": _number(table, "exponent", 0.0, STEEPEST),
        "reference_height": _positive(table, "reference_height"),
        "gusts": _gusts(table.get("gusts"), float(np.linalg.norm(mean))),
    }
    wind = Wind(mean, **_given(of), place=entry.place)
    context.add(wind)
    entry.sets(wind, "wind")


def _gusts(value: Value | None, mean_speed: float) -> Gusts | None:
    """Met at the speed of the mean wind unless another is said."""
    if value is None:
        return None
    table = value.table(("intensity", "scale_length", "speed"), required=("intensity", "scale_length"))
    intensity = _three(table.get("intensity"), 0.0, MAX_WIND_SPEED)
    scale = _three(table.get("scale_length"), SHORTEST_SCALE, MAX_DISTANCE)
    speed = _number(table, "speed", SLOWEST, MAX_WIND_SPEED)
    if "speed" not in table and mean_speed < SLOWEST:
        value.error("without a mean wind the speed at which the gusts are met is needed: speed, in m/s")
    if intensity is None or scale is None:
        return None
    return Gusts(intensity, scale, max(mean_speed, SLOWEST) if speed is None else speed)


def _body(table: Table) -> tuple[str]:
    return (frame_name(table.get("body")),)


def _place(table: Table) -> Place:
    body = table.get("body")
    return table.value.place if body is None else body.place


def _given(fields: dict[str, Any]) -> dict[str, Any]:
    """Those that the file says; the others keep the model's defaults."""
    return {key: value for key, value in fields.items() if value is not None}


def _vector(table: Table, key: str, largest: float) -> FloatArray | None:
    value = table.get(key)
    vector = None if value is None else value.vector(3, largest)
    return None if vector is None else np.array(vector)


def _three(value: Value | None, low: float, high: float) -> FloatArray | None:
    """A number for all three axes, or a list with one each."""
    if value is None:
        return None
    if isinstance(value.node, Scalar):
        return np.full(3, value.number(low, high, default=low))
    if isinstance(value.node, Sequence) and len(value.node.items) == 3:
        return np.array([item.number(low, high, default=low) for item in value.items()])
    value.error(f"a number, or a list of 3, is needed, found {value.found()}")
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
    return None if value is None else value.nanoseconds(-LATEST_NS)
