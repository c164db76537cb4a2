"""Checks that forces can act: existing bodies, numbers in range."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from sim_node.text import did_you_mean
from sim_node.world.bounds import MAX_DISTANCE, MAX_FORCE, MAX_STAMP_NS
from sim_node.world.forces import AXES, SUBMERGED, Buoyancy, ConstantForce, Drag, Force, Gusts
from sim_node.world.model import World
from sim_node.world.problems import NO_PLACE, Place, Problem, Where, quoted, shown_key

MAX_WIND_SPEED = 1e3  # m/s
MAX_VOLUME = 1e9  # m^3
MAX_DENSITY = 1e6  # kg/m^3
# Of gusts: m, m/s.
MIN_SCALE_LENGTH, MIN_GUST_SPEED = 1e-2, 1e-2
MAX_EXPONENT = 2.0

_VECTORS = {
    ConstantForce: {"force": (-MAX_FORCE, MAX_FORCE), "torque": (-MAX_FORCE, MAX_FORCE)},
    Drag: dict.fromkeys(("linear", "quadratic", "angular_linear", "angular_quadratic"), (0.0, MAX_FORCE)),
}


def force_problems(world: World) -> Iterator[Problem]:
    """Yield every problem of a world's forces and of its wind."""
    bodies = {body.name for body in world.bodies}
    for force in world.forces:
        if force.body not in bodies:
            hint = did_you_mean(force.body, bodies)
            yield Problem(force.place.where, force.place.key or "forces", f"no body {quoted(force.body)}{hint}")
        for key, message in _force_faults(force):
            owner = force.place.key.removesuffix(".body") or f"forces: {shown_key(force.body)}"
            yield Problem(force.place.where, f"{owner}.{key}", message)
    if world.wind is not None:
        place = world.wind.place if world.wind.place != NO_PLACE else Place(Where(world.source), "wind")
        for key, message in _wind_faults(world):
            yield Problem(place.where, f"{place.key}.{key}", message)


def _force_faults(force: Force) -> Iterator[tuple[str, str]]:
    """Yield the key and the message of each fault."""
    for key, (low, high) in _VECTORS.get(type(force), {}).items():
        yield from _vector_faults(key, getattr(force, key), low, high)
    for key in ("point", "center"):
        centre = getattr(force, key, None)
        if centre is not None:
            yield from _vector_faults(key, centre, -MAX_DISTANCE, MAX_DISTANCE)
    if isinstance(force, ConstantForce):
        yield from _word_faults("axes", force.axes, AXES)
        times = (force.start_ns, force.end_ns)
        if any(time is not None and abs(time) > MAX_STAMP_NS for time in times):
            yield "start_ns", f"{times} is out of range; allowed: up to {MAX_STAMP_NS}"
        elif force.start_ns is not None and force.end_ns is not None and force.end_ns <= force.start_ns:
            yield "until", f"{force.end_ns / 1e9:.10g} s is not after from, {force.start_ns / 1e9:.10g} s"
    elif isinstance(force, Buoyancy):
        yield from _word_faults("shape", force.shape, SUBMERGED)
        yield from _number_faults("volume", force.volume, 0.0, MAX_VOLUME, "m^3")
        yield from _number_faults("density", force.density, 0.0, MAX_DENSITY, "kg/m^3")
        yield from _number_faults("surface", force.surface, -MAX_DISTANCE, MAX_DISTANCE, "m")
        if not 0.0 < force.height <= MAX_DISTANCE:
            yield "height", f"{force.height:g} is out of range; allowed: above 0, up to {MAX_DISTANCE:g} m"


def _wind_faults(world: World) -> Iterator[tuple[str, str]]:
    wind = world.wind
    assert wind is not None
    yield from _vector_faults("velocity", wind.velocity, -MAX_WIND_SPEED, MAX_WIND_SPEED)
    yield from _number_faults("exponent", wind.exponent, 0.0, MAX_EXPONENT)
    if not 0.0 < wind.reference_height <= MAX_DISTANCE:
        yield "reference_height", f"{wind.reference_height:g} is out of range; allowed: above 0 m"
    if wind.gusts is not None:
        yield from ((f"gusts.{key}", message) for key, message in _gust_faults(wind.gusts))


def _gust_faults(gusts: Gusts) -> Iterator[tuple[str, str]]:
    yield from _vector_faults("intensity", gusts.intensity, 0.0, MAX_WIND_SPEED)
    yield from _vector_faults("scale_length", gusts.scale_length, MIN_SCALE_LENGTH, MAX_DISTANCE)
    yield from _number_faults("speed", gusts.speed, MIN_GUST_SPEED, MAX_WIND_SPEED, "m/s")


def _vector_faults(key: str, values: np.ndarray, low: float, high: float) -> Iterator[tuple[str, str]]:
    if not all(low <= value <= high for value in values.tolist()):
        yield key, f"{values.tolist()} is out of range; allowed: {low:g} to {high:g}"


def _number_faults(key: str, value: float, low: float, high: float, unit: str = "") -> Iterator[tuple[str, str]]:
    if not (math.isfinite(value) and low <= value <= high):
        yield key, f"{value:g} is out of range; allowed: {low:g} to {high:g} {unit}".rstrip()


def _word_faults(key: str, word: str, allowed: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    if word not in allowed:
        yield key, f"found {word!r}; allowed: {', '.join(allowed)}"
