"""A pause between /clock and /tf after a reset."""

from __future__ import annotations

import time

from sim_node.simulation import Snapshot
from sim_node.world import FrameTable, World

# After a reset /clock goes back first; listeners that follow it then drop what they know of the future. Transforms
# that overtook it would be refused by them as old (TF_OLD_DATA), so these wait a moment.
RESET_GAP_S = 0.1


class ResetGap:
    """Waits where time goes back: a sink between that of /clock and those that follow it."""

    def __init__(self) -> None:
        self._last_ns = 0

    def open(self, world: World, frames: FrameTable) -> None:
        """Nothing came before."""

    def write(self, snapshot: Snapshot) -> None:
        """Waits if the snapshot is earlier than the last one."""
        if snapshot.time_ns < self._last_ns:
            time.sleep(RESET_GAP_S)
        self._last_ns = snapshot.time_ns

    def close(self) -> None:
        """Nothing is held."""
