"""Processes as parts of a world: `world.processes` and `World(processes=...)`."""

from __future__ import annotations

from typing import Any

from sim_node.world.model import World
from sim_node.world.part import Kind, Refer, Rename, part
from sim_node.world.processes import Process


@part("processes", Process)
class Processes(Kind[Process]):
    """Programs to run beside the simulation."""

    def data(self, part: Process, refer: Refer) -> dict[str, Any]:
        """Return the program and how to run it."""
        words = {"cwd": part.cwd, "env": dict(part.env), "log": part.log}
        return {
            "command": list(part.command),
            **{key: value for key, value in words.items() if value},
            "restart": part.restart,
            "delay": part.delay_s,
        }

    def write(self, world: World, sections: dict[str, Any], refer: Refer) -> None:
        """Add them as a mapping by name."""
        for process in self.parts(world):
            sections.setdefault(self.section, {})[process.name] = self.data(process, refer)

    def renamed(self, part: Process, rename: Rename) -> None:
        """Return None: an included world brings no programs."""
