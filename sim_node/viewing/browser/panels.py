"""A schematic on the page: its viewports, graphs and drawn objects."""

from __future__ import annotations

import math
import threading
import time
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from typing import Any

import numpy as np
import viser

from sim_node.spatial.geometry import poses
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.viewing.browser.batches import WXYZ, Batches
from sim_node.viewing.browser.feeds import MAX_NAMES, Feed, FeedContext, feed_of
from sim_node.viewing.browser.images_tab import ImagesTab
from sim_node.viewing.browser.markers import PageMarkers
from sim_node.viewing.browser.messages_tab import MessagesTab
from sim_node.viewing.browser.overlays import PlacedLabel
from sim_node.viewing.browser.panels_page import PanelsPage, viewport_of
from sim_node.viewing.browser.scene import ROOT
from sim_node.viewing.browser.stream import Instant
from sim_node.viewing.browser.surroundings import SKY
from sim_node.viewing.cameras import ViewportCamera, pose_of
from sim_node.viewing.drawn_objects import ObjectDrawing, drawing_of
from sim_node.viewing.schematic import (
    Formula,
    FormulaSignal,
    GraphPanel,
    Schematic,
    Split,
    UnknownName,
    Viewport,
    bound,
    read_schematic,
)
from sim_node.viewing.schematic.binding import problem_of
from sim_node.viewing.schematic.model import DataPanel, Panel, Window
from sim_node.viewing.schematic.writing import head_of, inner_of
from sim_node.viewing.shown_signals import (
    WORLD_POS,
    ShownFields,
    ShownSignals,
    common_unit,
    scene_reference,
    unit_of,
)
from sim_node.world import FrameTable, World, WorldError
from sim_node.world.problems import refuse

# Maximum number of samples of a graph, and their minimum distance, s of simulated time.
SAMPLES, APART_S = 1200, 1.0 / 60.0
_OBJECTS, _GROUND = "/world/objects", "/world/ground"
# Not drawn in viewports
_OVERLAYS = ("/world/axes", "/world/names", "/world/trails")
# Update period of data panels, s, and the maximum length of a page's layout, characters.
FEED_S, MAX_LAYOUT = 0.1, 4000
# Number of updates for which a new page is repeatedly told what not to draw, since its scene may not exist before.
_REPEATS = 40


class Curves:
    """The samples of a graph.

    Args:
        graph: The graph.
        signals: The signals that its formulas may refer to.

    Raises:
        WorldError: A formula contains an unknown name.

    Attributes:
        graph: The graph.
        labels: Labels of the curves.
        unit: Common unit of the curves; empty if there is none or they differ.
        times: Times of the samples, s.
        rows: Values of the samples; None for values that are not finite.
        count: Number of samples since the epoch began.
        epoch: A number that changes when pages have to reload all samples.
    """

    def __init__(self, graph: GraphPanel, signals: ShownSignals) -> None:
        self.graph, self._signals = graph, [_signal_of(formula, signals) for formula in graph.curves]
        named = len(self._signals) > 1
        self.labels = [
            f"{formula.text} {label}" if named and len(signal.labels) > 1 else formula.text if named else label
            for formula, signal in zip(graph.curves, self._signals, strict=True)
            for label in signal.labels
        ]
        self.unit = common_unit(unit_of(formula.tree, signals.units) for formula in graph.curves)
        self.clear()

    def clear(self) -> None:
        """Discard all samples."""
        self.times: list[float] = []
        self.rows: list[list[float | None]] = []
        self.count, self.epoch = 0, getattr(self, "epoch", -1) + 1
        self._skipped_s: float | None = None

    def go_on(self, before: Curves | None) -> None:
        """Continue with the samples of the same curves, if any."""
        if before is not None:
            self.times, self.rows, self.count = before.times, before.rows, before.count

    def sample(self, time_s: float) -> None:
        """Add the present values, in the order of time, unless there is another sample nearby."""
        place = bisect_left(self.times, time_s)
        beside = [abs(time_s - each) for each in self.times[max(place - 1, 0) : place + 1]]
        if 0.0 not in beside and any(apart < APART_S * (1.0 - 1e-6) for apart in beside):
            self._skipped_s = time_s if place == len(self.times) else None
        else:
            self._take(time_s)

    def settle(self) -> None:
        """Add the values of the newest instant, if it was skipped."""
        if self._skipped_s is not None:
            self._take(self._skipped_s)

    def _take(self, time_s: float) -> None:
        self._skipped_s = None
        place = bisect_left(self.times, time_s)
        numbers = np.concatenate([signal.read() for signal in self._signals]).tolist()
        values = [value if math.isfinite(value) else None for value in numbers]
        if place == len(self.times):
            self.times.append(time_s)
            self.rows.append(values)
            self.count += 1
            del self.times[:-SAMPLES], self.rows[:-SAMPLES]
            return
        if self.times[place] == time_s:  # the instant may be known more completely now, as after a seek
            before = self.rows[place]
            values = [old if new is None else new for new, old in zip(values, before, strict=True)]
            if values == before:
                return
            self.rows[place] = values
        else:
            self.times.insert(place, time_s)
            self.rows.insert(place, values)
            kept = slice(None, SAMPLES) if self.times[-1] - time_s > time_s - self.times[0] else slice(-SAMPLES, None)
            self.times, self.rows = self.times[kept], self.rows[kept]
        # Pages have to reload all samples.
        self.count, self.epoch = len(self.times), self.epoch + 1


class Panels:
    """Shows a schematic on the pages of a server, or the panels that a page has laid out instead.

    Args:
        server: viser's server.
        page: Serves the page of panels.
        schematic: The schematic.
        title: Title of the page.
        fields: Fields of topics, for formulas; None if there are no topics.
        selected: Returns the selected frame, or an empty string.
        images: Returns the tab of camera images, or None.
        history: Returns the instants that the page can look back at.
        messages: Returns the tab of a topic's messages, or None.
        can_set: Returns whether parameters of the world can be changed.

    Attributes:
        text: The layout made on a page; empty for the schematic's panels.
        roots: Poses (7,) of the fixed frame on viewport pages whose camera moves it, by client.
    """

    def __init__(
        self,
        server: Any,
        page: PanelsPage,
        schematic: Schematic,
        title: str,
        fields: ShownFields | None = None,
        selected: Callable[[], str] = str,
        images: Callable[[], ImagesTab | None] = lambda: None,
        history: Callable[[], Sequence[Instant]] = tuple,
        messages: Callable[[], MessagesTab | None] = lambda: None,
        can_set: Callable[[], bool] = bool,
    ) -> None:
        self._server, self._page, self.schematic, self._title = server, page, schematic, title
        self._given, self.text = schematic, ""
        self._fields, self._selected, self._images, self._history = fields, selected, images, history
        self._messages, self._can_set = messages, can_set
        self._shown_world: World | None = None
        self._lock = threading.Lock()
        self._version = 0
        self._time_s = 0.0
        self._problem = ""
        self._last: tuple[FrameTable, FloatArray, Mapping[str, tuple[str, ...]], World | None] | None = None
        self._viewports = schematic.viewports()
        self._cameras: dict[int, ViewportCamera] = {}
        self._curves: list[Curves] = []
        self._feeds: list[Feed | None] = []
        # The newest data of the feeds, each with a number that changes with it.
        self._fed: list[tuple[int, Any]] = []
        self._feed_due = 0.0
        self._sent: dict[int, int] = {}
        self.roots: dict[int, FloatArray] = {}
        self._drawing = ObjectDrawing((), (), {})
        self._batches: Batches | None = None
        self._markers = PageMarkers(server.scene)
        self._live: dict[int, Any] = {}
        self.signals: ShownSignals | None = None

    def change(
        self,
        frames: FrameTable,
        in_root: FloatArray,
        labels: Mapping[str, tuple[str, ...]],
        world: World | None = None,
        shown: World | None = None,
    ) -> None:
        """Show the schematic for these frames, or continue with other frames.

        Args:
            frames: The frames.
            in_root: Poses (N, 7) of the frames in the fixed frame, m.
            labels: Labels of the numbers of sensors, by name.
            world: The world of a run, or None.
            shown: The world of a run or bag whose parameters are shown, or None.

        Raises:
            WorldError: A formula of the schematic contains an unknown name.
        """
        self._last, self._shown_world = (frames, in_root, labels, world), shown
        try:
            self._show(self.schematic)
        except WorldError:
            if not self.text:
                raise
            self.lay_out("")
        self._draw(self._drawing)
        self._page.content = self

    def lay_out(self, text: str) -> None:
        """Show the panels described by a text, or those of the schematic if it is empty.

        If the text is invalid, the errors are sent to the pages, which stay unchanged.
        """
        if text == self.text or self._last is None:
            return
        try:
            if len(text) > MAX_LAYOUT:  # it becomes part of the page's address, and servers limit that
                refuse("layout", f"is longer than {MAX_LAYOUT} characters")
            panels, before = read_schematic(text, "layout").panels if text else self._given.panels, self.signals
            self._show(replace(self._given, panels=panels))
        except WorldError as error:
            with self._lock:
                self._problem = str(error).removeprefix("layout:")
                self._version += 1
            return
        self.text = text
        self._look_back()
        if before is not None and self.signals is not None:
            self.signals.go_on(before)

    def _look_back(self) -> None:
        """Fill new curves with samples from the instants that the page can look back at."""
        assert self._last is not None
        assert self.signals is not None
        frames, in_root, *_ = self._last
        with self._lock:
            new = [curves for curves in self._curves if not curves.times]
            for instant in self._history() if new else ():
                if len(instant.poses) == len(frames):
                    now_s = instant.time_ns / 1e9
                    self.signals.update(frames.in_root(instant.poses), instant.measurements, now_s)
                    for curves in new:
                        curves.sample(now_s)
            self.signals.update(in_root, {}, self._time_s)
            for curves in new:
                curves.sample(self._time_s)

    def _show(self, schematic: Schematic) -> None:
        """Show a schematic. If it is invalid, raise WorldError and keep the previous one."""
        assert self._last is not None
        frames, in_root, labels, world = self._last
        reference = scene_reference(schematic, world)
        signals = ShownSignals(frames, labels, world, lenient=world is None, fields=self._fields, reference=reference)
        signals.update(in_root, {}, self._time_s)
        drawing = drawing_of(schematic, signals)
        viewports = schematic.viewports()
        cameras = {
            number: ViewportCamera(viewport, signals)
            for number, viewport in enumerate(viewports)
            if viewport.pos is not None
        }
        curves = [Curves(graph, signals) for graph in schematic.graphs()]
        context = FeedContext(
            signals,
            frames,
            world,
            self._selected,
            self._images,
            self._messages,
            self._shown_world,
            world is not None and self._can_set(),
        )
        feeds = [feed_of(panel, context) for panel in schematic.data_panels()]
        self._markers.change(schematic.markers, signals)
        with self._lock:
            # Unchanged curves keep their samples.
            before = {(tuple(each.labels), each.graph.curves): each for each in self._curves}
            for each in curves:
                each.go_on(before.get((tuple(each.labels), each.graph.curves)))
            self.schematic, self._viewports = schematic, viewports
            self.signals, self._drawing, self._cameras, self._curves = signals, drawing, cameras, curves
            self._feeds, self._fed = feeds, [(0, None)] * len(feeds)
            self._problem = ""
            self._version += 1
            self._sent, self.roots = {}, {}
        self._feed()

    def clear(self) -> None:
        """Discard all samples, after a reset of the run."""
        self._markers.clear()
        with self._lock:
            for curves in self._curves:
                curves.clear()

    def forget_drawn(self) -> None:
        """Draw everything again at the next change, because the scene is empty."""
        self._batches, self._live = None, {}

    def show(self, time_ns: int, in_root: FloatArray, measurements: Mapping[str, tuple[Any, FloatArray]]) -> None:
        """Send an instant: poses (N, 7) in the fixed frame, and measurements by name."""
        if self.signals is None or self._last is None:
            return
        self._last = self._last[0], in_root, *self._last[2:]
        self.signals.update(in_root, measurements, time_ns / 1e9)
        if self._batches is not None:
            placed = self._drawing.poses()
            known = np.isfinite(placed).all(axis=1)
            placed[~known] = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0)
            self._batches.show(placed)
            for row, handle in self._live.items():
                handle.batched_positions = placed[row : row + 1, :3].astype(np.float32)
                handle.batched_wxyzs = placed[row : row + 1][:, WXYZ].astype(np.float32)
                handle.batched_scales = self._drawing.scales[row]()[None].astype(np.float32)
        with self._lock:
            self._time_s = time_ns / 1e9
            for curves in self._curves:
                curves.sample(self._time_s)
        self._markers.show()
        self._feed()
        self._aim()

    def labels(self) -> list[PlacedLabel]:
        """Return the labels that the schematic draws in the scene."""
        return self._markers.placed()

    def columns(self) -> tuple[str, ...]:
        """Return the snapshot columns that formulas read."""
        return () if self.signals is None else tuple(self.signals.columns)

    def sensors(self) -> Set[str]:
        """Return the sensors that formulas read."""
        return frozenset() if self.signals is None else self.signals.sensors

    def idle(self) -> None:
        """Send missing data to new pages, and the latest samples of graphs, while no new instants arrive."""
        with self._lock:
            for curves in self._curves:
                curves.settle()
        self._feed()
        self._aim()

    def _feed(self) -> None:
        """Update the data panels if an update is due."""
        now = time.monotonic()
        if now < self._feed_due and all(version for version, _ in self._fed):
            return
        self._feed_due = now + FEED_S
        returned = [None if feed is None else feed() for feed in self._feeds]
        with self._lock:
            self._fed = [
                (version + (data != before or not version), data)
                for (version, before), data in zip(self._fed, returned, strict=True)
            ]

    # PanelsContent interface

    def layout(self) -> dict[str, Any]:
        """Return the panels, for JSON."""
        with self._lock:
            numbers = iter(range(len(self._viewports))), iter(range(len(self._curves))), iter(range(len(self._feeds)))
            names = () if self.signals is None else self.signals.names()
            images = self._images()
            return {
                "title": self._title,
                "panels": [self._described(panel, *numbers) for panel in self.schematic.panels],
                "given": bool(self._given.panels),
                "own": bool(self.text),
                "problem": self._problem,
                "names": sorted(names, key=lambda name: (not name.endswith(WORLD_POS), name))[:MAX_NAMES],
                "cameras": [] if images is None else list(images.camera.options),
            }

    @property
    def laid_out(self) -> bool:
        """Whether pages begin with panels."""
        return bool(self._given.panels)

    def version(self) -> int:
        """Return a number that changes with the layout."""
        return self._version

    def since(self, cursors: dict[int, int]) -> dict[str, Any]:
        """Return the samples after the cursors, and advance the cursors."""
        graphs, data = [], []
        with self._lock:
            for number, (version, returned) in enumerate(self._fed):
                if cursors.get(-1 - number) != version and returned is not None:
                    cursors[-1 - number] = version
                    data.append([number, returned])
            for number, curves in enumerate(self._curves):
                key = 2 * number
                reset = cursors.get(key + 1) != curves.epoch
                sent = 0 if reset else cursors[key]
                new = slice(-(curves.count - sent) if curves.count > sent else len(curves.times), None)
                cursors[key], cursors[key + 1] = curves.count, curves.epoch
                if curves.times[new] or reset:
                    graphs.append([number, curves.times[new], curves.rows[new], reset])
        return {"graphs": graphs, "samples": SAMPLES, **({"data": data} if data else {})}

    def _described(
        self, panel: Panel, viewports: Iterator[int], graphs: Iterator[int], feeds: Iterator[int]
    ) -> dict[str, Any]:
        """Return a panel, for JSON. Panels of each kind are numbered in the order of `Schematic.each`."""
        common = {"name": panel.name, "active": panel.active, "share": panel.share}
        common |= {"head": head_of(panel), "inner": inner_of(panel)}
        if isinstance(panel, Viewport):
            return {**common, "kind": "viewport", "viewport": next(viewports)}
        if isinstance(panel, GraphPanel):
            number = next(graphs)
            return {
                **common,
                "kind": "graph",
                "graph": number,
                "labels": self._curves[number].labels,
                "unit": self._curves[number].unit,
                "limits": panel.limits,
                "style": panel.style,
            }
        if isinstance(panel, DataPanel):
            return {**common, "kind": panel.kind, "of": panel.of, "data": next(feeds)}
        kind = "hsplit" if isinstance(panel, Split) and panel.horizontal else type(panel).__name__.lower()
        inside = [self._described(each, viewports, graphs, feeds) for each in panel.panels]
        rect = {"rect": panel.rect} if isinstance(panel, Window) else {}
        return {**common, **rect, "kind": {"split": "vsplit"}.get(kind, kind), "panels": inside}

    # viser pages

    def _draw(self, drawing: ObjectDrawing) -> None:
        """Put the drawn objects on the page."""
        scene = self._server.scene
        placed = np.nan_to_num(drawing.poses())
        placed[~placed[:, 3:].any(axis=1), 6] = 1.0
        moving = np.zeros(len(drawing.shapes), dtype=bool)
        fixed = [shape for shape in drawing.shapes if shape.row not in drawing.scales]
        if self._batches is None:
            self._batches = Batches(scene, _OBJECTS, fixed, moving, placed)
        else:
            self._batches.change(fixed, moving, placed)
        for handle in self._live.values():
            handle.remove()
        self._live = {}
        for row in drawing.scales:
            made = Batches(scene, f"{_OBJECTS}/live/{row}", [drawing.shapes[row]], moving, placed, apart=False)
            self._live[row] = made.handles()[0]

    def _aim(self) -> None:
        """Send each viewport page the pose of its camera."""
        clients: Mapping[int, viser.ClientHandle] = self._server.get_clients()
        connections = self._server.connections()
        self.roots = {number: root for number, root in self.roots.items() if number in clients}
        for number, client in clients.items():
            viewport = viewport_of(connections.get(number))
            if viewport is None or viewport >= len(self._viewports):
                continue
            sent = self._sent.get(number, 0)
            if sent < _REPEATS:
                self._sent[number] = sent + 1
                self._hide(client, self._viewports[viewport])
            camera = self._cameras.get(viewport)
            if camera is not None and (camera.follows or sent < _REPEATS):
                self._look(client, camera, self._viewports[viewport], begins=sent in (0, _REPEATS - 1))
            elif sent == 0:
                client.camera.fov = math.radians(self._viewports[viewport].fov)

    def _look(self, client: viser.ClientHandle, camera: ViewportCamera, viewport: Viewport, *, begins: bool) -> None:
        """Move the scene of a page in front of its camera, which stays at the root.

        Moving the scene uses the same channel as motion within the scene, so that even a slow page draws both at the
        same instant. Camera messages would be queued, and a slow page would fall further and further behind.
        """
        sight = camera.sight()
        if sight is not None:
            if begins:
                _lens(client, viewport, float(np.linalg.norm(sight.target - sight.position)))
            placed = self.roots[client.client_id] = poses.invert(pose_of(sight))
            self._server.place_for(client, ROOT, placed)
            # The sky is equally far in all directions and rotates about the camera.
            self._server.place_for(client, SKY, np.concatenate([np.zeros(3), placed[3:]]))

    def _hide(self, client: viser.ClientHandle, viewport: Viewport) -> None:
        for node in (*_OVERLAYS, *(() if viewport.show_grid else (_GROUND,))):
            self._server.set_visible_for(client, node, visible=False)


def _lens(client: viser.ClientHandle, viewport: Viewport, distance: float) -> None:
    """Place a page's camera at the root, looking along x. Dragging rotates it about the point that it looks at."""
    with client.atomic():
        client.camera.up_direction = (0.0, 0.0, 1.0)
        client.camera.position = (0.0, 0.0, 0.0)
        client.camera.look_at = (distance, 0.0, 0.0)
        client.camera.fov = math.radians(viewport.fov)
        if viewport.near is not None:
            client.camera.near = viewport.near
        if viewport.far is not None:
            client.camera.far = viewport.far


def _signal_of(formula: Formula, signals: ShownSignals) -> FormulaSignal:
    try:
        return bound(formula, signals)
    except UnknownName as error:
        raise problem_of(formula, "graph", error) from None
