"""The viewer of a run in the browser, and the sink that feeds it."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from threading import RLock

import viser

from sim_node.geometry.arrays import FloatArray
from sim_node.simulation import Loop, Snapshot
from sim_node.viewing.browser.look import Look
from sim_node.viewing.browser.panel import Controls, Lookup, Readouts, labels_of
from sim_node.viewing.browser.plots import Plots
from sim_node.viewing.browser.scene import NO_PLACES, Scene
from sim_node.viewing.browser.sensor_topic_views import SensorTopicView, topic_views_of
from sim_node.viewing.browser.server import Server
from sim_node.viewing.browser.stream import Instant, Stream, Told
from sim_node.viewing.browser.transport import LoopTransport, Transport
from sim_node.viewing.extent import FIELD_OF_VIEW, places_of
from sim_node.viewing.meshes import Shape
from sim_node.viewing.shapes import shapes_of
from sim_node.world import FrameTable, World
from sim_node.world.layout import lay_out

# Trails, plots and numbers are sent this often; poses with every instant.
SLOW_S = 0.15


class Viewer:
    """A page at `url`, on this machine. Empty until `stage` has put a scene on it.

    port: as free_port has it. Raises PortTaken.
    """

    def __init__(self, port: int | None = None, title: str = "sim_node") -> None:
        self.server = Server(port, title)
        self.url: str = self.server.url
        self.lock = RLock()
        self.transport: Transport | None = None
        self.scene: Scene | None = None
        self._closed = False
        self._instant: Instant | None = None
        self._slow_due = 0.0
        self._readouts: Readouts | None = None

    def stage(
        self,
        frames: FrameTable,
        poses: FloatArray,
        shapes: Sequence[Shape] = (),
        places: FloatArray = NO_PLACES,
        topic_views: Mapping[str, SensorTopicView] | None = None,
        labels: Mapping[str, tuple[str, ...]] | None = None,
    ) -> None:
        """Puts a scene on the page in the place of the one before, its panel with it.

        poses (N, 7): each frame in its parent at the start; labels: as Readouts have them; the rest as a Scene has it.
        """
        with self.lock:
            self.server.scene.reset()
            self.server.gui.reset()
            scene = Scene(self.server.scene, frames, frames.in_root(poses), shapes, places, topic_views)
            camera = self.server.initial_camera
            camera.position, camera.look_at = scene.extent.camera, scene.extent.centre
            camera.fov, camera.near, camera.far = FIELD_OF_VIEW, 0.01, max(1000.0, 100.0 * scene.extent.radius)
            gui = self.server.gui
            self._controls = Controls(gui, self.transport)
            tabs = gui.add_tab_group()
            with tabs.add_tab("Look", viser.Icon.EYE):
                Look(self.server, scene, self.lock)
            with tabs.add_tab("Plots", viser.Icon.CHART_LINE):
                self._plots = Plots(gui, scene, self.lock)
            with tabs.add_tab("Frames", viser.Icon.HIERARCHY):
                self._lookup = Lookup(gui, scene)
            self._readouts = None
            if labels:
                with tabs.add_tab("Sensors", viser.Icon.GAUGE):
                    self._readouts = Readouts(gui, labels)
            self.scene = scene

    def show(self, instant: Instant) -> None:
        """Sends an instant to all pages. From one thread; the arrays may change after the next call."""
        scene = self.scene
        assert scene is not None, "a scene is staged before anything is shown"
        back = self._instant is not None and instant.time_ns < self._instant.time_ns
        in_root = scene.frames.in_root(instant.poses)
        with self.lock, self.server.atomic():
            if back:
                scene.trails.clear(in_root)
            scene.show(in_root)
            scene.sense(instant.told)
            self._plots.sample(instant.time_ns, in_root)
            if self._readouts is not None:
                self._readouts.take(instant.told)
            self._instant = instant
            self._show_slowly()

    def idle(self) -> None:
        """Keeps what is written in the panel true while nothing new comes."""
        with self.lock:
            self._show_slowly()

    def close(self) -> None:
        """Ends the server; pages say that they have lost it. Closing again does nothing."""
        if not self._closed:
            self._closed = True
            self.server.stop()

    def _show_slowly(self) -> None:
        now = time.monotonic()
        if self._instant is None or self.scene is None or now < self._slow_due:
            return
        self._slow_due = now + SLOW_S
        self.scene.trails.show()
        self._plots.show()
        self._controls.show(self._instant.time_ns)
        self._lookup.show(self._instant.poses)
        if self._readouts is not None:
            self._readouts.show()


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
