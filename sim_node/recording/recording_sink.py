"""A run's ticks as the batches of a recording."""

from __future__ import annotations

from sim_node.recording.recorder import Recorder
from sim_node.simulation import Sink, Snapshot
from sim_node.viewing.display_sinks import display_sinks
from sim_node.wire.clock import ClockSink
from sim_node.wire.sensor_topics import SensorSink
from sim_node.wire.tf_sink import TfSink, serialised
from sim_node.world import FrameTable, World


def sinks_into(recorder: Recorder) -> tuple[Sink, ...]:
    """What has a run recorded that no node publishes: all that one would, and then the commit of each tick."""
    transforms, seen = TfSink(serialised(recorder)), display_sinks(recorder)
    return ClockSink(recorder), transforms, SensorSink(recorder), *seen, RecordingSink(recorder)


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
