"""The visible shapes of a world, each fixed to a frame."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from sim_node.messages.rotor_frames import upwards
from sim_node.spatial.geometry import poses
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.viewing.meshes import MOVING, PLAIN, DrawnShape, coloured
from sim_node.world import FrameTable, World
from sim_node.world.layout import lay_out
from sim_node.world.mujoco_source import need_mujoco
from sim_node.world.shapes import Geometry
from sim_node.world.vehicles import Multirotor

DISC = (0.4, 0.44, 0.52, 0.5)
THICKNESS = 0.008
# Disc radius as a fraction of the distance to the nearest other rotor, because vehicles do not define the length of
# their propellers.
_PART, _ALONE = 0.46, 0.15
# Rotors closer than this across their axis are coaxial, m.
_COAXIAL = 1e-3


class Disc(NamedTuple):
    """position (3,) and axis (3,) in the vehicle's body; radius, m."""

    position: FloatArray
    axis: FloatArray
    radius: float


def discs_of(vehicle: Multirotor) -> Iterator[Disc]:
    """Yield one disc per rotor, as large as the neighbouring rotors allow."""
    places = np.array([rotor.position for rotor in vehicle.rotors]).reshape(-1, 3)
    for rotor in vehicle.rotors:
        apart = np.linalg.norm(np.cross(places - rotor.position, rotor.axis), axis=1)
        nearest = float(apart[apart > _COAXIAL].min(initial=np.inf))
        yield Disc(rotor.position, rotor.axis, _PART * nearest if np.isfinite(nearest) else _ALONE)


# Colours of the arrows of an "xyz" shape
ARROWS = ((0.85, 0.2, 0.2, 1.0), (0.2, 0.65, 0.25, 1.0), (0.2, 0.35, 0.85, 1.0))


# Cache of the latest assembled world's shapes, which markers, descriptions and pages all need.
_last_shapes: tuple[World, tuple[str, ...], tuple[DrawnShape, ...]] | None = None


def shapes_of(world: World, frames: FrameTable) -> tuple[DrawnShape, ...]:
    """Return all visible shapes of an assembled world."""
    global _last_shapes
    last = _last_shapes
    if last is None or last[0] is not world or last[1] != frames.names:
        _last_shapes = last = world, frames.names, _shapes(world, frames)
    return last[2]


def _shapes(world: World, frames: FrameTable) -> tuple[DrawnShape, ...]:
    shapes = [*_shown_only(world, frames), *_discs(world, frames)]
    if world.bodies or world.models or world.ground is not None:
        need_mujoco(world.source)
        from sim_node.viewing.mujoco_shapes import geoms_of

        shapes += geoms_of(world, lay_out(world))
    return tuple(
        replace(shape, colour=MOVING) if _has_default(shape) and not frames.still[shape.row] else shape
        for shape in shapes
    )


def _has_default(shape: DrawnShape) -> bool:
    """Return whether nothing gives the shape a colour: neither its world nor its file."""
    return shape.colour == PLAIN and shape.finish is None and shape.kind not in ("glb", "plane")


def _shown_only(world: World, frames: FrameTable) -> Iterator[DrawnShape]:
    """Yield visual-only meshes and arrows."""
    drawn = [(body.name, geometry) for body in world.bodies for geometry in body.shapes if geometry.is_shown_only]
    drawn += [(model.full_name(link), geometry) for model in world.models for link, geometry in model.shown]
    for name, geometry in drawn:
        row = frames.index(name)
        if geometry.shape == "xyz":
            yield from _arrows(row, geometry)
        elif geometry.file is not None:
            yield DrawnShape(row, "glb", geometry.pose, geometry.size, coloured(geometry.colour), file=geometry.file)


def _arrows(row: int, geometry: Geometry) -> Iterator[DrawnShape]:
    length = float(geometry.size[0])
    for axis, colour in zip(np.eye(3), ARROWS, strict=True):
        scale = np.where(axis > 0.0, length, 0.05 * length)
        middle = np.concatenate([0.5 * length * axis, [0.0, 0.0, 0.0, 1.0]])
        yield DrawnShape(row, "box", poses.compose(geometry.pose, middle), scale, colour)


def _discs(world: World, frames: FrameTable) -> Iterator[DrawnShape]:
    for vehicle in world.vehicles:
        row = frames.index(vehicle.body)
        for disc in discs_of(vehicle):
            pose = np.concatenate([disc.position, upwards(disc.axis)])
            yield DrawnShape(row, "cylinder", pose, np.array([disc.radius, disc.radius, THICKNESS]), DISC)
