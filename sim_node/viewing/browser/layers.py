"""Several sources on one page: each source has a layer, and the layers share one tree of frames.

If several layers have a frame, its shapes come from the first of them and its pose from the last one.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from threading import RLock
from typing import Any

import numpy as np
import numpy.typing as npt

from sim_node.messages.sensor_topics import lay_out_messages
from sim_node.spatial.geometry import poses as pose_math
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.text import MAX_LINE, did_you_mean, shown, some_of
from sim_node.viewing.browser.messages_tab import MessageReader
from sim_node.viewing.browser.scene import NO_PLACES
from sim_node.viewing.browser.sensor_topic_views import SensorTopicView, topic_views_of
from sim_node.viewing.browser.stream import Instant, Latest
from sim_node.viewing.browser.transport import Transport
from sim_node.viewing.browser.viewer import Viewer
from sim_node.viewing.extent import places_of
from sim_node.viewing.meshes import DrawnShape
from sim_node.viewing.messages.drawing import Drawing
from sim_node.viewing.messages.readers import Beside
from sim_node.viewing.plans import plans_of
from sim_node.viewing.schematic import Schematic
from sim_node.viewing.shapes import shapes_of
from sim_node.viewing.shown_signals import ShownFields
from sim_node.world import FrameTable, World
from sim_node.world.frame_table import table_of
from sim_node.world.layout import lay_out

_NO_FRAMES = FrameTable((), np.zeros(0, np.int32), np.zeros(0, np.bool_))


class Layer:
    """One source of a page. For the source it replaces the Viewer, of which it has the relevant attributes and methods.

    Args:
        page: The layers of the page.
        name: Name of the source, for messages.
        prefix: Prefix of the names of its frames and topics on the page, such as `bag/`, or empty.

    Attributes:
        fields, texts, placed: As in Viewer.
        frames, poses, shapes, places, sources: As in `Viewer.set_scene`; no frames before the first call.
        moved: Rows of the page's frames whose poses come from this layer, and their rows in `frames`.
    """

    fields: ShownFields | None = None
    texts: MessageReader | None = None
    _placed: Collection[str] = ()

    def __init__(self, page: Layers, name: str, prefix: str = "") -> None:
        self._page, self.name, self.prefix = page, name, prefix
        self._transport: Transport | None = None
        self.frames, self.poses, self.places = _NO_FRAMES, np.zeros((0, 7)), NO_PLACES
        self.shapes: Sequence[DrawnShape] = ()
        self.sources: Mapping[str, str] = {}
        self.moved: tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]] = _rows(())

    @property
    def transport(self) -> Transport | None:
        """The Transport that the page's buttons control, if it belongs to this source."""
        return self._transport

    @transport.setter
    def transport(self, transport: Transport) -> None:
        self._transport = self._page.viewer.transport = transport

    @property
    def first_stamp_ns(self) -> int | None:
        """Start of the poses of the page's bag."""
        return self._page.viewer.first_stamp_ns

    @first_stamp_ns.setter
    def first_stamp_ns(self, stamp_ns: int | None) -> None:
        self._page.viewer.first_stamp_ns = stamp_ns

    @property
    def placed(self) -> Collection[str]:
        """The frames that it has placed because they have no transform."""
        return self._placed

    @placed.setter
    def placed(self, names: Collection[str]) -> None:
        self._placed = [self.prefix + name for name in names]

    def topic(self, name: str) -> str:
        """Return the name on the page of one of its topics."""
        return f"/{self.prefix}{name.lstrip('/')}" if self.prefix else name

    @property
    def schematic(self) -> Schematic | None:
        """The schematic of the page."""
        return self._page.viewer.schematic

    @schematic.setter
    def schematic(self, schematic: Schematic | None) -> None:
        self._page.viewer.schematic = schematic

    @property
    def beside(self) -> Beside:
        """What the other layers provide."""
        return self._page.beside(self)

    def set_scene(
        self,
        frames: FrameTable,
        poses: FloatArray,
        shapes: Sequence[DrawnShape] = (),
        places: FloatArray = NO_PLACES,
        *,
        sources: Mapping[str, str] | None = None,
        look: World | None = None,
    ) -> None:
        """Set or change what the layer shows, as in Viewer. The page determines the sky and the initial view."""
        with self._page.lock:
            self.frames = replace(frames, names=tuple(self.prefix + name for name in frames.names))
            self.poses, self.shapes, self.places = np.array(poses), shapes, places
            self.sources = {self.topic(name): kind for name, kind in (sources or {}).items()}
            self._page.compose()

    def show(self, instant: Instant) -> None:
        """Receive an instant. The last layer's instants are sent, with the newest data of the others."""
        self._page.show(self, instant)

    def idle(self) -> None:
        """Update the panel while no new instants arrive."""
        if self is self._page.layers[-1]:
            self._page.viewer.idle()

    def moves_ghost(self, topic: str) -> bool:
        """Return whether a ghost follows one of its topics."""
        return self._page.viewer.moves_ghost(self.topic(topic))

    def missed_by_ghosts(self, topics: Iterable[str]) -> list[str]:
        """Return the topics that ghosts follow but that neither it, with the given topics, nor another layer has."""
        others = (name for layer in self._page.layers for name in layer.topics())
        return self._page.viewer.missed_by_ghosts([*map(self.topic, topics), *others])

    def stray_ghosts(self) -> list[str]:
        """Return messages about ghost frames that the page lacks."""
        return self._page.viewer.stray_ghosts()

    def close(self) -> None:
        """Close the page."""
        self._page.viewer.close()

    def edges(self, *, placed: bool = False) -> Iterator[tuple[str, str]]:
        """Yield the frames that have a parent, and the parent: only those with transforms, or only placed ones."""
        names = self.frames.names
        for name, parent in zip(names, self.frames.parents.tolist(), strict=True):
            if parent >= 0 and (name in self.placed) == placed:
                yield name, names[parent]

    def topics(self) -> set[str]:
        """Return the topics that are drawn or used by formulas."""
        return {*self.sources, *(() if self.fields is None else map(self.topic, self.fields.types()))}

    def measured(self, instant: Instant) -> Iterator[tuple[str, npt.NDArray[Any] | Drawing, FloatArray]]:
        """Yield the measurements of an instant, by their names on the page."""
        for name, (values, poses) in instant.measurements.items():
            if self.prefix and isinstance(values, Drawing):
                items = tuple(replace(each, frame=each.frame and self.prefix + each.frame) for each in values.items)
                values = replace(values, frame=values.frame and self.prefix + values.frame, items=items)
            yield self.topic(name), values, poses


class Layers:
    """Puts several sources on one page.

    Args:
        viewer: The page. Its schematic is already set.
        names: Names of the sources, for messages: the world, if any, then the sources that move frames.
        report: Called with messages for the user.
        world: An assembled world to show without running it, or None.
        prefixes: Prefixes of the layers, to show them separately; none for a shared tree of frames.

    Attributes:
        layers: The layers, in the order of the names. The page stays empty until each of them has a scene.
    """

    def __init__(
        self,
        viewer: Viewer,
        names: Sequence[str],
        report: Callable[[str], object],
        world: World | None = None,
        prefixes: Sequence[str] = (),
    ) -> None:
        self.viewer, self._report, self._world = viewer, report, world
        self.lock, self._apart = RLock(), bool(prefixes)
        self.layers = tuple(Layer(self, *each) for each in zip(names, prefixes or [""] * len(names), strict=True))
        self._poses: FloatArray = np.zeros((0, 7))
        self._time_ns: int = 0
        self._posed_ns: int | None = None
        self._fresh: Latest = {}
        self._passed: Sequence[Instant] | None = None
        self._told: set[tuple[str, ...]] = set()
        viewer.fields, viewer.texts = _Fields(self.layers), _Texts(self.layers)
        if world is not None:
            layout = lay_out(world)
            self.layers[0].set_scene(
                layout.frames, layout.poses, shapes_of(world, layout.frames), places_of(world, layout)
            )

    def beside(self, layer: Layer) -> Beside:
        """Return what the other layers provide."""
        with self.lock:
            others = [each for each in self.layers if each is not layer and not self._apart]
            frames = frozenset(name for each in others for name in each.frames.names)
            drawn = frozenset(each.frames.names[shape.row] for each in others for shape in each.shapes)
            topics = frozenset(name for each in others for name in each.topics())
            origin = None if self._world is None else self._world.origin
            lla = None if origin is None else (origin.latitude, origin.longitude, origin.altitude)
            return Beside(frames, drawn, topics, lla)

    def compose(self) -> None:
        """Put the layers on the page once all of them have a scene."""
        layers, world = self.layers, self._world
        if not all(len(layer.frames) for layer in layers):
            return
        parents, movers = _joined(layers)
        dynamic = {
            name for name, layer in movers.items() if not (self._stands(layer) or _is_static(layer.frames, name))
        }
        table = table_of(parents, dynamic, [layer.frames.names[0] for layer in layers])
        self._poses, self._fresh, self._passed = np.tile(pose_math.IDENTITY, (len(table), 1)), {}, None
        shapes: list[DrawnShape] = []
        for layer in layers:
            on_page = [table.index(name) for name in layer.frames.names]
            layer.moved = _rows(
                (at, row)
                for row, (at, name) in enumerate(zip(on_page, layer.frames.names, strict=True))
                if movers.get(name) is layer
            )
            self._move(layer)
            drawn = {shape.row for shape in shapes}
            own = (replace(shape, row=on_page[shape.row]) for shape in layer.shapes)
            shapes += [shape for shape in own if shape.row not in drawn]
        sources = {name: kind for layer in layers for name, kind in layer.sources.items()}
        self.viewer.set_scene(
            table,
            self._poses.copy(),
            shapes,
            np.concatenate([layer.places for layer in layers]),
            None if world is None or self._apart else _silent(world, sources),
            sources=sources,
            look=None if self._apart else world,
            plans=() if world is None else plans_of(world, lay_out(world)),
        )
        self._tell(table, movers)

    def show(self, layer: Layer, instant: Instant) -> None:
        """Receive an instant of a layer. Topics that a later layer also has are ignored."""
        with self.lock:
            layer.poses = np.array(instant.poses)
            if not len(self._poses):
                return
            self._move(layer)
            if layer.transport is self.viewer.transport:  # None for the graph, if no source has buttons
                self._time_ns, self._posed_ns = instant.time_ns, instant.posed_ns
            later = {name for each in self.layers[self.layers.index(layer) + 1 :] for name in each.topics()}
            self._fresh |= self._measured(layer, instant, later)
            if instant.passed is not None:
                self._passed = [
                    each._replace(
                        poses=self._on_page(layer, each.poses), measurements=self._measured(layer, each, later)
                    )
                    for each in instant.passed
                ]
            if layer is self.layers[-1]:
                fresh, passed, self._fresh, self._passed = self._fresh, self._passed, {}, None
                self.viewer.show(Instant(self._time_ns, self._poses.copy(), fresh, self._posed_ns, passed))

    def _measured(self, layer: Layer, instant: Instant, later: Collection[str]) -> Latest:
        """Return a layer's measurements, except topics of later layers, with the page's poses at that time."""
        return {
            name: (values, self._on_page(layer, poses))
            for name, values, poses in layer.measured(instant)
            if name.partition(".")[0] not in later
        }

    def _on_page(self, layer: Layer, poses: FloatArray) -> FloatArray:
        """Return the poses of the page with a layer's poses of another time."""
        then: FloatArray = self._poses.copy()
        then[layer.moved[0]] = poses[layer.moved[1]]
        return then

    def _move(self, layer: Layer) -> None:
        on_page, own = layer.moved
        self._poses[on_page] = layer.poses[own]

    def _stands(self, layer: Layer) -> bool:
        """Return whether a layer shows the world, which does not run."""
        return self._world is not None and layer is self.layers[0]

    def _tell(self, table: FrameTable, movers: Mapping[str, Layer]) -> None:
        """Report once what layers have in common, which roots are not connected, and which frames do not move."""
        for first, last in combinations(self.layers, 2):
            theirs = dict(last.edges())
            if not theirs:
                continue  # nothing received yet
            who = f"{first.name} and {last.name}"
            if both := [name for name, _ in first.edges() if name in theirs]:
                is_drawn = any(first.frames.names[shape.row] in both for shape in first.shapes)
                looks = f", shapes those of {first.name}" if is_drawn else ""
                self._once("frames", who, f"both have {_listed('frame', both)}; poses are those of {last.name}{looks}")
            if topics := sorted(first.topics() & last.topics()):
                self._once("topics", who, f"both have {_listed('topic', topics)}; shown are those of {last.name}")
            one, other = (table.names[table.chain(table.index(each.frames.names[0]))[-1]] for each in (first, last))
            if one != other and not self._apart:
                hints = (f" ({name}{did_you_mean(name, theirs)})" for name, _ in first.edges() if not both)
                hint = next((each for each in hints if ";" in each), "")
                self._once("roots", who, f"are not connected: {one} and {other} are drawn at one place{hint}")
        last = self.layers[-1]
        still = [name for name, layer in movers.items() if self._stands(layer) and not _is_static(layer.frames, name)]
        if still and last.transport is not None:  # frames of the graph may appear later
            self._once(
                "still", last.name, f"has no transform of {_listed('frame', still)}, which stay where they start"
            )

    def _once(self, kind: str, who: str, text: str) -> None:
        if (kind, who) not in self._told:
            self._told.add((kind, who))
            self._report(shown(f"{who} {text}", MAX_LINE))


class _Fields:
    """The topic fields of all layers. If several have a topic, the last one is used."""

    def __init__(self, layers: Sequence[Layer]) -> None:
        self._layers = layers

    def _fields(self) -> list[tuple[Layer, ShownFields]]:
        return [(layer, layer.fields) for layer in self._layers if layer.fields is not None]

    def types(self) -> Mapping[str, str]:
        """Return the types of the topics that are known, by name."""
        return {layer.topic(name): kind for layer, of in self._fields() for name, kind in of.types().items()}

    def labels(self, name: str) -> tuple[str, ...]:
        """Return the labels of a field's numbers. Raises UnknownName."""
        topic, _, field = name.partition(".")
        found = [(of, each) for layer, of in self._fields() for each in of.types() if layer.topic(each) == topic]
        of, own = found[-1] if found else (self._fields()[-1][1], topic)
        return of.labels(f"{own}.{field}")

    def taken(self) -> Mapping[str, FloatArray]:
        """Return nothing, because numbers arrive with the layers' instants."""
        return {}


class _Texts:
    """The messages of all layers as text. If several have a topic, the last one is used."""

    def __init__(self, layers: Sequence[Layer]) -> None:
        self._layers = layers
        self._chosen: MessageReader | None = None

    def _topics(self) -> dict[str, tuple[MessageReader, str]]:
        """Return the reader of each topic and the reader's name for it, by the topic's name on the page."""
        layers = [(layer, layer.texts) for layer in self._layers if layer.texts is not None]
        return {layer.topic(name): (texts, name) for layer, texts in layers for name in texts.topics()}

    def topics(self) -> Mapping[str, str]:
        """Return the types of the topics, by name."""
        return {name: texts.topics()[own] for name, (texts, own) in self._topics().items()}

    def choose(self, topic: str | None) -> None:
        """Select the topic to read from now on, or none."""
        self._chosen, own = self._topics().get(topic or "", (None, None))
        for layer in self._layers:
            if layer.texts is not None:
                layer.texts.choose(own if layer.texts is self._chosen else None)

    def text(self) -> str | None:
        """Return the newest message of the selected topic, or why it cannot be read; None before the first message."""
        return None if self._chosen is None else self._chosen.text()


def _listed(kind: str, names: Sequence[str]) -> str:
    return f"the {kind}{'s' if len(names) > 1 else ''} {some_of(names)}"


def _joined(layers: Sequence[Layer]) -> tuple[dict[str, str], dict[str, Layer]]:
    """Return the parent of each frame, and the layer that its pose comes from.

    The last layer with a frame takes precedence; layers with a transform go before those that merely placed the frame.
    Edges that would close a loop are left out, such as when two sources have a transform in opposite directions.
    """
    parents: dict[str, str] = {}
    movers: dict[str, Layer] = {}
    for placed in (False, True):
        for layer in reversed(layers):
            for name, parent in layer.edges(placed=placed):
                if name not in parents and name not in _above(parent, parents):
                    parents[name], movers[name] = parent, layer
    return parents, movers


def _above(name: str, parents: Mapping[str, str]) -> Iterator[str]:
    """Yield a frame and all of its ancestors."""
    at: str | None = name
    while at is not None:
        yield at
        at = parents.get(at)


def _is_static(frames: FrameTable, name: str) -> bool:
    return bool(frames.static[frames.index(name)])


def _rows(pairs: Iterable[tuple[int, int]]) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    there, here = np.array(list(pairs), dtype=np.intp).reshape(-1, 2).T
    return there, here


def _silent(world: World, sources: Collection[str]) -> dict[str, SensorTopicView]:
    """Return the sensors of a world whose topics no source has. Cameras among them are shown without images."""
    topics = lay_out_messages(world)
    views = topic_views_of(world, lay_out(world).frames)
    return {name: view for name, view in views.items() if not any(topic.name in sources for topic in topics[name])}
