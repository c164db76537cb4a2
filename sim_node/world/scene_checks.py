"""Checks of the ground, the lights and the sky."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sim_node.packages import how_to_install
from sim_node.world.bounds import MAX_DISTANCE
from sim_node.world.declared import faults
from sim_node.world.model import World
from sim_node.world.problems import NO_PLACE, Place, Problem, Where, quoted
from sim_node.world.scene import (
    ARRAYS,
    MAX_LIGHTS,
    MAX_SAMPLES,
    MIN_SAMPLES,
    Ground,
    Heightmap,
    Light,
    Sky,
)

MAX_HEIGHT = 1e5  # m


def ground_problems(world: World, ground: Ground) -> Iterator[Problem]:
    """Yield what is wrong with the ground's numbers and its heightmap; surfaces are checked with those of bodies."""
    if not abs(ground.height) <= MAX_HEIGHT:
        yield _problem(
            world, ground.place, "height", f"{ground.height:g} is out of range; allowed: up to {MAX_HEIGHT:g} m"
        )
    if ground.heightmap is not None:
        for key, message in heightmap_faults(ground.heightmap):
            at = ground.heightmap.places.get(key)
            there = _problem(world, ground.place, f"heightmap.{key}", message)
            yield there if at is None else Problem(at.where, at.key, message)


def heightmap_faults(heightmap: Heightmap) -> Iterator[tuple[str, str]]:
    """Yield the key and the message of each fault. Reads the file."""
    if not all(0.0 < edge <= MAX_DISTANCE for edge in heightmap.size.tolist()):
        yield "size", f"{heightmap.size.tolist()} is out of range; allowed: above 0 m"
    if not all(abs(each) <= MAX_DISTANCE for each in heightmap.centre.tolist()):
        yield "center", f"{heightmap.centre.tolist()} is out of range; allowed: up to {MAX_DISTANCE:g} m"
    given = heightmap.range
    if heightmap.file is not None and (heightmap.file.suffix.lower() in ARRAYS) != (given is None):
        needs = "is only for images; arrays are in metres" if given is not None else "is needed: [black, white], m"
        yield "range", needs
        return
    if given is not None and not np.all(np.abs(given) <= MAX_HEIGHT):
        yield "range", f"{given.tolist()} is out of range; allowed: up to {MAX_HEIGHT:g} m"
        return
    key = "heights" if heightmap.file is None else "file"
    try:
        grid = heightmap.grid()
    except ImportError as error:
        yield key, f"images need Pillow: {how_to_install(error)}"
        return
    except (OSError, ValueError, EOFError, SyntaxError) as error:
        name = "" if heightmap.file is None else f"{quoted(heightmap.file.name)} "
        yield key, f"{name}{' '.join(str(error).split())}"
        return
    if not all(MIN_SAMPLES <= count <= MAX_SAMPLES for count in grid.shape):
        found = f"{grid.shape[0]} rows of {grid.shape[1]}"
        yield key, f"found {found}; allowed: {MIN_SAMPLES} to {MAX_SAMPLES} each"
    elif not np.all(np.abs(grid) <= MAX_HEIGHT):
        row, column = np.argwhere(~(np.abs(grid) <= MAX_HEIGHT))[0].tolist()
        yield key, f"[{row}][{column}] is {grid[row, column]:g} m; allowed: up to {MAX_HEIGHT:g} m"


def light_problems(world: World, lights: tuple[Light, ...]) -> Iterator[Problem]:
    """Yield what is wrong with lights."""
    for index, light in enumerate(lights):
        for key, message in faults(light):
            yield _problem(world, light.place, key, message, f"lights[{index}]")
    if len(lights) > MAX_LIGHTS:
        message = f"the world has {len(lights)} lights; allowed: up to {MAX_LIGHTS}"
        yield _problem(world, lights[MAX_LIGHTS].place, "", message, f"lights[{MAX_LIGHTS}]")


def sky_problems(world: World, sky: Sky) -> Iterator[Problem]:
    """Yield what is wrong with the sky."""
    for key, message in faults(sky):
        yield _problem(world, sky.place, key, message, "sky")


def _problem(world: World, place: Place, key: str, message: str, part: str = "ground") -> Problem:
    at = place if place != NO_PLACE else Place(Where(world.source), part)
    return Problem(at.where, f"{at.key}.{key}".rstrip("."), message)
