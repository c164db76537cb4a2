"""The ground, the lights and the sky as parts of a world."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeVar

from sim_node.world.model import World
from sim_node.world.part import Kind, Refer, Rename, part
from sim_node.world.problems import Problem
from sim_node.world.scene import Ground, Heightmap, Light, Sky
from sim_node.world.scene_checks import ground_problems, light_problems, sky_problems
from sim_node.world.writers.surfaces import surface_data
from sim_node.world.writers.values import given

P = TypeVar("P")


class Single(Kind[P]):
    """A kind of which a world has at most one part, which is a mapping in world files."""

    single = True

    def write(self, world: World, sections: dict[str, Any], refer: Refer) -> None:
        """Add it as a mapping."""
        for each in self.parts(world):
            sections[self.section] = self.data(each, refer)


@part("ground", Ground)
class TheGround(Single[Ground]):
    """The ground, at most one in a world."""

    def data(self, part: Ground, refer: Refer) -> dict[str, Any]:
        """Return height, heightmap, look and surface."""
        heightmap = None if part.heightmap is None else _heightmap_data(part.heightmap, refer)
        data = {"height": part.height, "heightmap": heightmap, "color": part.colour}
        return given({**data, **surface_data(part.shape, refer)})

    def problems(self, world: World) -> Iterator[Problem]:
        """Return every problem of its numbers and its heightmap."""
        for ground in self.parts(world):
            yield from ground_problems(world, ground)

    def renamed(self, part: Ground, rename: Rename) -> None:
        """Return None: the ground of the including world applies."""


@part("lights", Light)
class Lights(Kind[Light]):
    """Lights in the fixed frame."""

    def problems(self, world: World) -> Iterator[Problem]:
        """Return every problem of lights."""
        return light_problems(world, self.parts(world))

    def renamed(self, part: Light, rename: Rename) -> None:
        """Return None: the lights of the including world apply."""


@part("sky", Sky)
class TheSky(Single[Sky]):
    """The sky, at most one in a world."""

    def problems(self, world: World) -> Iterator[Problem]:
        """Return every problem of the sky."""
        for sky in self.parts(world):
            yield from sky_problems(world, sky)

    def renamed(self, part: Sky, rename: Rename) -> None:
        """Return None: the sky of the including world applies."""


def _heightmap_data(heightmap: Heightmap, refer: Refer) -> dict[str, Any]:
    file = None if heightmap.file is None else refer(heightmap.file)
    data = {"file": file, "heights": heightmap.heights, "size": heightmap.size, "range": heightmap.range}
    return given({**data, "center": heightmap.centre})
