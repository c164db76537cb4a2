"""A run in the viewer: its world on the page once, then its snapshots."""

from __future__ import annotations

from sim_node.simulation import Loop, Snapshot
from sim_node.viewing.browser.readouts import labels_of
from sim_node.viewing.browser.sensor_topic_views import SensorTopicView, topic_views_of
from sim_node.viewing.browser.stream import Stream, Told
from sim_node.viewing.browser.transport import LoopTransport
from sim_node.viewing.browser.viewer import Viewer
from sim_node.viewing.extent import places_of
from sim_node.viewing.shapes import shapes_of
from sim_node.world import FrameTable, World
from sim_node.world.layout import lay_out


class ViewSink:
    """Shows a run; its loop is never kept waiting by the page. Closes the viewer with the run."""

    def __init__(self, viewer: Viewer) -> None:
        self._viewer = viewer
        self._stream: Stream | None = None
        self._instruments: dict[str, SensorTopicView] = {}
        self._labels: dict[str, tuple[str, ...]] = {}

    def steer(self, loop: Loop) -> None:
        """Gives the page's buttons the loop that this is a sink of; before it is started."""
        self._viewer.transport = LoopTransport(loop)

    def open(self, world: World, frames: FrameTable) -> None:
        """Puts the world on the page."""
        layout = lay_out(world)
        places = places_of(world, layout)
        self._instruments = topic_views_of(world, frames)
        shapes = shapes_of(world, frames)
        self._labels = {name: each for name, each in labels_of(world).items() if name not in self._instruments}
        self._viewer.stage(frames, layout.poses, shapes, places, self._instruments, self._labels)
        self._stream = Stream(len(frames), self._viewer.show, self._viewer.idle)

    def write(self, snapshot: Snapshot) -> None:
        """Offers a snapshot to the page."""
        assert self._stream is not None
        told: Told = {}
        for batch in snapshot.measurements.batches:
            for row, name in enumerate(batch.names if len(batch.values) else ()):
                if name in self._instruments:
                    told[name] = batch.values[-1, row][self._instruments[name].of].copy(), snapshot.poses.copy()
                elif name in self._labels:
                    told[name] = batch.values[-1, row].copy(), snapshot.poses
        self._stream.offer(snapshot.time_ns, snapshot.poses, told)

    def close(self) -> None:
        """Ends the page."""
        if self._stream is not None:
            self._stream.close()
        self._viewer.close()
