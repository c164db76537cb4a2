"""The sink that shows a run on a page."""

from __future__ import annotations

from sim_node.simulation import Loop, Snapshot
from sim_node.viewing.browser.drive import LoopSteering
from sim_node.viewing.browser.edit import Editor
from sim_node.viewing.browser.rewind import Rewind
from sim_node.viewing.browser.sensor_topic_views import SensorTopicView, topic_views_of
from sim_node.viewing.browser.stream import Latest, Stream
from sim_node.viewing.browser.transport import LoopTransport
from sim_node.viewing.browser.viewer import Viewer
from sim_node.viewing.extent import places_of
from sim_node.viewing.plans import plans_of
from sim_node.viewing.sensor_numbers import labels_of
from sim_node.viewing.shapes import shapes_of
from sim_node.viewing.shown_signals import SENSOR
from sim_node.world import FrameTable, World
from sim_node.world.layout import lay_out


class ViewSink:
    """Shows a run without blocking its loop. Closes the viewer with the run.

    Args:
        viewer: The page.
        memory: Size of what the page can look back at, bytes.
    """

    def __init__(self, viewer: Viewer, memory: int = 64_000_000) -> None:
        self._viewer, self._memory = viewer, memory
        self._rewind: Rewind | None = None
        self._stream: Stream | None = None
        self._instruments: dict[str, SensorTopicView] = {}
        self._labels: dict[str, tuple[str, ...]] = {}

    def steer(self, loop: Loop, editor: Editor | None = None) -> None:
        """Connect the page's buttons to the loop of this sink, before it is started.

        Args:
            loop: The loop.
            editor: Changes the world; None if the page cannot.
        """
        self._rewind = Rewind(LoopTransport(loop), self._viewer.show, self._viewer.idle, self._memory)
        self._viewer.transport, self._viewer.editor = self._rewind, editor
        self._viewer.steering = LoopSteering(loop)

    def open(self, world: World, frames: FrameTable) -> None:
        """Show the world; a changed one before its first instant is shown, without blocking the loop."""
        views = self._instruments = topic_views_of(world, frames)
        labels = self._labels = labels_of(world)

        back = self._rewind

        def set_scene() -> None:
            if back is not None:
                back.forget()
            layout = lay_out(world)
            shapes, places = shapes_of(world, frames), places_of(world, layout)
            plans = plans_of(world, layout)
            self._viewer.set_scene(frames, layout.poses, shapes, places, views, labels, world=world, plans=plans)

        if self._viewer.schematic is None:
            self._viewer.schematic = world.schematic
        if self._stream is None:
            set_scene()
            shower = self._viewer if back is None else back
            self._stream = Stream(len(frames), shower.show, shower.idle)
        else:
            self._stream.change(len(frames), set_scene)

    def write(self, snapshot: Snapshot) -> None:
        """Pass a snapshot to the page."""
        assert self._stream is not None
        measurements: Latest = {}
        panels = self._viewer.panels
        sensors = frozenset() if panels is None else panels.sensors()
        for batch in snapshot.measurements.batches:
            for row, name in enumerate(batch.names if len(batch.values) else ()):
                if name in sensors:
                    measurements[SENSOR + name] = batch.values[-1, row].copy(), snapshot.poses
                if name in self._instruments:
                    measurements[name] = batch.values[-1, row][self._instruments[name].of].copy(), snapshot.poses.copy()
                elif name in self._labels:
                    measurements[name] = batch.values[-1, row].copy(), snapshot.poses
        if panels is not None:
            for column in panels.columns():
                measurements[column] = snapshot[column].copy(), snapshot.poses
        if self._viewer.fields is not None:
            for name, values in self._viewer.fields.taken().items():
                measurements[name] = values, snapshot.poses
        for name, drawing in self._viewer.estimates().items():
            measurements[name] = drawing, snapshot.poses.copy()
        self._stream.offer(snapshot.time_ns, snapshot.poses, measurements)

    def close(self) -> None:
        """Close the page."""
        if self._stream is not None:
            self._stream.close()
        self._viewer.close()
