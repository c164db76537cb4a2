"""Record the ticks of a run as batches."""

from __future__ import annotations

from sim_node.recording.recorder import Recorder
from sim_node.simulation import Snapshot
from sim_node.world import FrameTable, World


class RecordingSink:
    """Opens a recording with a run, commits each tick, and closes it. It must be the last sink of the recording.

    Args:
        recorder: The recording.
        recorded: The assembled world that the recording already contains; None for the first one that is opened.
    """

    def __init__(self, recorder: Recorder, recorded: World | None = None) -> None:
        self._recorder, self._recorded = recorder, recorded
        self._is_open = False

    def open(self, world: World, frames: FrameTable) -> None:
        """Create the bag, or store the changed world.

        Raises:
            BagError: The bag cannot be created, or would lack topics that its settings name.
        """
        if not self._is_open:
            # All other sinks are open, so the topics are known, unless the world changes.
            self._recorder.refuse_unmatched()
            self._recorder.open()
            self._is_open = True
            self._recorded = self._recorded or world
        if world is not self._recorded:
            self._recorder.change(world)
        self._recorded = world

    def write(self, snapshot: Snapshot) -> None:
        """Commit the tick. Raises RecordingStopped if the run should end with its recording."""
        self._recorder.commit(snapshot.time_ns)

    def close(self) -> None:
        """Complete the bag."""
        self._recorder.close()
