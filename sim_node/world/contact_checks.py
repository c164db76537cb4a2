"""Checks of the surfaces of a whole world: its timestep, and its collision layers."""

from __future__ import annotations

from collections.abc import Iterator

from sim_node.text import did_you_mean
from sim_node.world.layers import DEFAULT, TooManyLayers, filter_of, masks_of
from sim_node.world.model import World
from sim_node.world.physics import timestep_fault
from sim_node.world.problems import NO_PLACE, Place, Problem, Where, quoted, shown_key
from sim_node.world.shapes import Geometry
from sim_node.world.surfaces import DEFAULT_LAYER, Surface


def contact_problems(world: World) -> Iterator[Problem]:
    """Yield restitutions that need a smaller timestep, and unknown layers."""
    shapes = _shapes(world)
    touching = [(s.surface, at) for s, at in shapes if s.surface and s.only != "visual" and not s.is_shown_only]
    if not touching:
        return
    for surface, place in touching:
        if message := timestep_fault(world.physics, world.time.step_ns, surface.restitution, surface.contact_time):
            yield _located(surface, place, "restitution", message)
    layers = {DEFAULT_LAYER, *(surface.layer for surface, _ in touching)}
    for surface, place in touching:
        for name in surface.touches or ():
            if name not in layers:
                message = f"no shape is in the layer {quoted(name)}{did_you_mean(name, layers)}"
                yield _located(surface, place, "touches", f"{message} (layers: {', '.join(sorted(layers))})")
    try:
        masks_of(filter_of(surface) for surface, _ in touching)
    except TooManyLayers as error:
        surface, place = next(each for each in reversed(touching) if filter_of(each[0]) != DEFAULT)
        message = f"the world has {error.count} groups of shapes that touch different layers; allowed: {error.allowed}"
        yield _located(surface, place, "layer", f"{message}, the bits of MuJoCo's geometries")


def _shapes(world: World) -> Iterator[tuple[Geometry, Place]]:
    """Yield all shapes, and where they are described."""
    for body in world.bodies:
        for index, shape in enumerate(body.geometry):
            at = Place(body.place.where, f"{body.place.key or shown_key(body.name)}: geometry[{index}]")
            yield shape, shape.place if shape.place != NO_PLACE else at
    if world.ground is not None:
        ground = world.ground.shape
        yield ground, ground.place if ground.place != NO_PLACE else Place(Where(world.source), "ground")


def _located(surface: Surface, place: Place, key: str, message: str) -> Problem:
    """Return a problem at the place of a surface's key, where a file gives it; else at the shape."""
    at = surface.places.get(key, Place(place.where, f"{place.key}.{key}"))
    return Problem(at.where, at.key, message)
