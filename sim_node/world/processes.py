"""Processes of a World: programs to run beside the simulation, as frozen data."""

from __future__ import annotations

from dataclasses import dataclass, field

from sim_node.world.problems import NO_PLACE, Place

# When to restart a program that ended. A failure is any exit code but 0.
RESTARTS = ("never", "on-failure", "always")
MAX_DELAY_S = 3600.0


@dataclass(frozen=True, slots=True)
class Process:
    """A program to run beside the simulation, if the user starts the world's processes.

    Texts may contain ${VARIABLES}, which are expanded when the program starts.

    Attributes:
        name: Unique in the world.
        command: The program and its arguments; no shell reads them.
        cwd: The working folder; empty for the folder of the world file.
        env: Environment variables to add, as pairs of name and value.
        restart: When to restart the program: `never`, `on-failure` or `always`.
        log: The file for its output; empty for a file in the log folder.
        delay_s: Time between the start of the run and the start of the program (s).
        place: Where the world file describes it.
    """

    name: str
    command: tuple[str, ...]
    cwd: str = ""
    env: tuple[tuple[str, str], ...] = ()
    restart: str = "never"
    log: str = ""
    delay_s: float = 0.0
    place: Place = field(default=NO_PLACE, compare=False)
