"""Recipes of a World: programs that run beside it, as its file describes them; frozen data."""

from __future__ import annotations

from dataclasses import dataclass, field

from sim_node.world.problems import NO_PLACE, Place

# When a program that ended is started again: on-failure is any exit code but 0.
RESTARTS = ("never", "on-failure", "always")
MAX_DELAY_S = 3600.0


@dataclass(frozen=True, slots=True)
class Recipe:
    """A program to start beside a run, once somebody asks for it.

    All texts may hold ${VARIABLES}; they are filled in as the program is started. command: the program and its
    arguments, never read by a shell; cwd: empty for the folder of the world file; env: what its environment has beside
    our own; log: the file of its output, empty for one in the log folder; delay_s: between the start of the run and
    its own.
    """

    name: str
    command: tuple[str, ...]
    cwd: str = ""
    env: tuple[tuple[str, str], ...] = ()
    restart: str = "never"
    log: str = ""
    delay_s: float = 0.0
    place: Place = field(default=NO_PLACE, compare=False)
