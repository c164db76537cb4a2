"""Engines with a timetable: what happens in a run by itself, between two steps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from sim_node.simulation.simulation import Simulation


@runtime_checkable
class Happening(Protocol):
    """An engine with a timetable."""

    @property
    def due(self) -> float:
        """The step at which it acts next; infinite if nothing is to happen."""

    def happen(self, run: Simulation) -> None:
        """Act on the run before it leaves the present step. It may change the world, but must not step or reset.

        The sensors of the step have measured, and co-simulators have exchanged. After a change of the world, the next
        generation's engine goes on with the columns of this one. Called at a step, it is not due there any more.

        Args:
            run: The run.
        """
