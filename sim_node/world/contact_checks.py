"""Checks of friction, restitution, collision layers and materials, and of the contact solver's options."""

from __future__ import annotations

from collections.abc import Iterator

from sim_node.text import did_you_mean
from sim_node.world.bodies import Geometry
from sim_node.world.layers import DEFAULT, TooManyLayers, filter_of, masks_of
from sim_node.world.model import World
from sim_node.world.problems import NO_PLACE, Place, Problem, Where, quoted, shown_key
from sim_node.world.surfaces import (
    DEFAULT_LAYER,
    ONLY,
    RANGES,
    Material,
    Surface,
)
from sim_node.world.timestep_checks import timestep_fault

# Properties of contacts and of looks, as a world file names them.
_CONTACT = {"friction": "has_friction", "restitution": "restitution", "layer": "layer", "touches": "touches"}


def shape_faults(shape: Geometry) -> Iterator[tuple[str, str]]:
    """Yield the key, as a path below the shape, and the message of each fault."""
    surface, material = shape.surface, shape.material
    if shape.only and shape.only not in ONLY:
        yield "only", f"found {shape.only!r}; allowed: {', '.join(ONLY)}"
    for key in ("sliding", "torsional", "rolling", "restitution", "contact_time"):
        if surface is not None:
            yield from _range_faults(surface, key, "friction." if key in ("sliding", "torsional", "rolling") else "")
    for key in ("roughness", "texture_size"):
        if material is not None:
            yield from _range_faults(material, key, "material.")
    if shape.is_shown_only and shape.only == "collision":
        yield "only", f"a {shape.shape} of this kind makes no contact; leave out only"
    if shape.is_shown_only and material is not None:
        yield "material", "has no effect: arrows have none, and a GLB brings its own"
    if surface is not None and surface.restitution is None and "contact_time" in surface.places:
        yield "contact_time", "has no effect without restitution"
    if surface is not None and (shape.is_shown_only or shape.only == "visual"):
        for key in _stated(surface):
            yield key, f"a shape that is only shown makes no contact; leave out {key}"
    if shape.only == "collision":
        for key, given in (("color", shape.colour), ("material", material)):
            if given is not None:
                yield key, f"a shape with `only: collision` is not drawn; leave out {key}"


def contact_problems(world: World) -> Iterator[Problem]:
    """Yield faults of surfaces and materials, restitutions that need a smaller timestep, and unknown layers."""
    shapes = list(_shapes(world))
    faults = [_located(shape, place, *fault) for shape, place in shapes for fault in shape_faults(shape)]
    yield from faults
    touching = [(s, s.surface, at) for s, at in shapes if s.surface and s.only != "visual" and not s.is_shown_only]
    if faults or not touching:
        return
    for shape, surface, place in touching:
        if message := timestep_fault(world, surface.restitution, surface.contact_time):
            yield _located(shape, place, "restitution", message)
    layers = {DEFAULT_LAYER, *(surface.layer for _, surface, _ in touching)}
    for shape, surface, place in touching:
        for name in surface.touches or ():
            if name not in layers:
                message = f"no shape is in the layer {quoted(name)}{did_you_mean(name, layers)}"
                yield _located(shape, place, "touches", f"{message} (layers: {', '.join(sorted(layers))})")
    try:
        masks_of(filter_of(surface) for _, surface, _ in touching)
    except TooManyLayers as error:
        shape, _, place = next(each for each in reversed(touching) if filter_of(each[1]) != DEFAULT)
        message = f"the world has {error.count} groups of shapes that touch different layers; allowed: {error.allowed}"
        yield _located(shape, place, "layer", f"{message}, the bits of MuJoCo's geometries")


def _shapes(world: World) -> Iterator[tuple[Geometry, Place]]:
    """Yield all shapes, and where they are described."""
    for body in world.bodies:
        for index, shape in enumerate(body.geometry):
            at = Place(body.place.where, f"{body.place.key or shown_key(body.name)}: geometry[{index}]")
            yield shape, shape.place if shape.place != NO_PLACE else at
    if world.ground is not None:
        ground = world.ground.shape
        yield ground, ground.place if ground.place != NO_PLACE else Place(Where(world.source), "ground")


def _located(shape: Geometry, place: Place, key: str, message: str) -> Problem:
    """Return a problem at the place of a shape's key, where a file gives it; else at the shape."""
    for part in (shape.surface, shape.material):
        there = None if part is None else part.places.get(key.rpartition(".")[2])
        if there is not None:
            return Problem(there.where, there.key, message)
    return Problem(place.where, f"{place.key}.{key}", message)


def _range_faults(of: Surface | Material, key: str, prefix: str) -> Iterator[tuple[str, str]]:
    value = getattr(of, key)
    low, high, unit = RANGES[key]
    if value is not None and not low <= value <= high:
        yield f"{prefix}{key}", f"{value:g} is out of range; allowed: {low:g} to {high:g}{f' {unit}' if unit else ''}"


def _stated(surface: Surface) -> Iterator[str]:
    """Yield the properties of contacts that a surface gives."""
    default = Surface()
    for key, attribute in _CONTACT.items():
        if getattr(surface, attribute) != getattr(default, attribute):
            yield key
