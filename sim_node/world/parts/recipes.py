"""Recipes as parts of a world."""

from __future__ import annotations

from typing import Any

from sim_node.world.model import World
from sim_node.world.part import Kind, Refer, Rename, part
from sim_node.world.recipes import Recipe


@part("recipes", Recipe)
class Recipes(Kind[Recipe]):
    """Programs that may be started beside a world."""

    def data(self, part: Recipe, refer: Refer) -> dict[str, Any]:
        """Return the program and how it is started."""
        words = {"cwd": part.cwd, "env": dict(part.env), "log": part.log}
        return {
            "command": list(part.command),
            **{key: value for key, value in words.items() if value},
            "restart": part.restart,
            "delay": part.delay_s,
        }

    def write(self, world: World, sections: dict[str, Any], refer: Refer) -> None:
        """Add them as a mapping by name."""
        for recipe in self.parts(world):
            sections.setdefault(self.section, {})[recipe.name] = self.data(recipe, refer)

    def renamed(self, part: Recipe, rename: Rename) -> None:
        """Return nothing: programs are started by the file that is run."""
