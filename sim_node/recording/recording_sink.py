"""The ticks of a run as batches of a recording."""

from __future__ import annotations

from sim_node.recording.recorder import Recorder
from sim_node.simulation import Snapshot
from sim_node.world import FrameTable, World


class RecordingSink:
    """Opens a recording with a run, commits each tick, and closes it: the last of the sinks that send to it."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder

    def open(self, world: World, frames: FrameTable) -> None:
        """Create the bag. Raises BagError."""
        self._recorder.open()

    def write(self, snapshot: Snapshot) -> None:
        """Commit the tick. Raises RecordingStopped if the run is to end with its recording."""
        self._recorder.commit(snapshot.time_ns)

    def close(self) -> None:
        """Complete the bag."""
        self._recorder.close()
