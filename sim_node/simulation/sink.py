"""Sinks, which show, send or store a run."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from sim_node.simulation.snapshot import Snapshot
from sim_node.world.frame_table import FrameTable
from sim_node.world.model import World


class Sink(Protocol):
    """Shows, sends or stores a run. All methods are called from the loop's thread; they do nothing by default."""

    def open(self, world: World, frames: FrameTable) -> None:
        """Prepare for a run, or for its next generation if it is open already: the world has changed.

        A sink that is opened again keeps what remains, starts what is new and ends what has been removed.

        Args:
            world: The assembled world.
            frames: The frames of the run; their order is that of `Snapshot.poses`.
        """
        return

    def write(self, snapshot: Snapshot) -> None:
        """Process one instant.

        Args:
            snapshot: Its arrays belong to the loop and change after this returns. An earlier time than the last one
                means a reset.
        """
        return

    def close(self) -> None:
        """Finish: the run is over."""
        return


@runtime_checkable
class Refusing(Protocol):
    """A sink that cannot follow every change of the world."""

    def refuses(self, world: World) -> str | None:
        """Return why it cannot be opened again on a world; None if it can.

        Args:
            world: The assembled world.

        Returns:
            The reason, as a message for the user; None if it can.
        """
