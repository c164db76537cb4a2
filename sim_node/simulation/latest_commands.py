"""Commands from any thread for the loop's thread: the latest for each target, with trials that undo divergent ones."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable
from typing import Generic, TypeVar

from sim_node.simulation.simulation import Simulation
from sim_node.world.problems import Diverged, WorldWarning

T = TypeVar("T")


class CommandRefused(ValueError):
    """A command is invalid; the message gives the reason."""


class LatestCommands(Generic[T]):
    """Keeps the latest command for each target until it is taken. Its methods may be called from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: dict[str, T] = {}

    def put(self, target: str, command: T) -> None:
        """Store a command, replacing an older one for the same target."""
        with self._lock:
            self._waiting[target] = command

    def take(self) -> dict[str, T]:
        """Return the commands that were put since the last call, by target."""
        with self._lock:
            waiting, self._waiting = self._waiting, {}
        return waiting


# Called with a target and a reason when a command is undone.
Undone = Callable[[str, str], object]


def warn_undone(target: str, reason: str) -> None:
    """Warn that a command was undone."""
    warnings.warn(WorldWarning(f"a command for {target} is undone: {reason}"), stacklevel=2)


class Trials:
    """Applies commands in the loop's thread, and undoes those that would make the next step diverge.

    A trial costs about a step. Since commands arrive in streams, one is tried only if it is more than twice as large as
    the last one that was tried successfully for its target in this generation of the world.

    Args:
        simulation: The run.
        undone: Called with a target and a reason when a command is undone.
    """

    def __init__(self, simulation: Simulation, undone: Undone) -> None:
        self._simulation, self._undone = simulation, undone
        self._well: dict[str, float] = {}
        self._generation = simulation.generation

    def apply(self, target: str, size: float, act: Callable[[], None]) -> str:
        """Apply a command.

        Args:
            target: What the command is for.
            size: The largest absolute value in the command.
            act: Sets the values in the run. Must not raise.

        Returns:
            Why the command was undone; empty if it was applied.
        """
        if self._generation != self._simulation.generation:
            self._generation = self._simulation.generation
            self._well.clear()
        if size <= 2.0 * self._well.get(target, -1.0):
            act()
            return ""
        try:
            self._simulation.attempt(act)
        except Diverged as failure:
            self._undone(target, str(failure))
            return str(failure)
        self._well[target] = size
        return ""
