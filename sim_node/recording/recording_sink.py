"""A run's ticks as the batches of a recording."""

from __future__ import annotations

from sim_node.recording.recorder import Recorder
from sim_node.simulation import Snapshot
from sim_node.world import FrameTable, World


class RecordingSink:
    """Opens a recording with a run, commits each tick, and closes it: the last of the sinks that send to it."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder

    def open(self, world: World, frames: FrameTable) -> None:
        """Raises BagError."""
        self._recorder.open()

    def write(self, snapshot: Snapshot) -> None:
        """Raises RecordingStopped where the run is to end with its recording."""
        self._recorder.commit(snapshot.time_ns)

    def close(self) -> None:
        """The bag is complete after this."""
        self._recorder.close()
