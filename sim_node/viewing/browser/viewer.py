"""The page of a viewer in the browser."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from threading import RLock
from typing import Any, Generic, TypeVar

import numpy as np
import viser

from sim_node.simulation import Refused
from sim_node.spatial.geometry import poses as pose_math
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.viewing.browser.drive import DriveTab, Steering
from sim_node.viewing.browser.edit import Editor, EditTab
from sim_node.viewing.browser.ghosts import Ghosts
from sim_node.viewing.browser.images_tab import ImagesTab
from sim_node.viewing.browser.labels import PageLabels
from sim_node.viewing.browser.layout import PageLayout, PageSetting, element, listed
from sim_node.viewing.browser.look import Look
from sim_node.viewing.browser.messages_tab import MessageReader, MessagesTab
from sim_node.viewing.browser.panel import Lookup, Readouts
from sim_node.viewing.browser.panels import Panels
from sim_node.viewing.browser.pick import Picked
from sim_node.viewing.browser.plots import Plots
from sim_node.viewing.browser.rewind import Rewind
from sim_node.viewing.browser.scene import NO_PLACES, Content, PageScene
from sim_node.viewing.browser.sensor_topic_views import SensorTopicView
from sim_node.viewing.browser.server import Server
from sim_node.viewing.browser.sources_tab import SourcesTab
from sim_node.viewing.browser.stream import Instant
from sim_node.viewing.browser.surroundings import sky_radius
from sim_node.viewing.browser.switches import Switches
from sim_node.viewing.browser.transport import FootControls, Mark, Transport
from sim_node.viewing.meshes import DrawnShape
from sim_node.viewing.messages.drawing import Drawing
from sim_node.viewing.messages.readers import ALONE
from sim_node.viewing.schematic import Schematic
from sim_node.viewing.sensor_numbers import units_of
from sim_node.viewing.shown_signals import WORLD_VEL, ShownFields
from sim_node.world import FrameTable, World

T = TypeVar("T")
# Period of updates of trails, plots and numbers, s. Poses are sent with every instant.
SLOW_S = 0.15
# Maximum number of past instants that are used to fill a new graph.
MAX_HISTORY = 400
# Maximum number of marks for messages of a run.
MAX_MARKS = 200
IMAGE_TYPES = ("sensor_msgs/msg/Image", "sensor_msgs/msg/CompressedImage")


class Viewer:
    """A page at `url`, on localhost. It is empty until `set_scene`.

    Args:
        port: The port; None for the default one or the next free one, 0 for any free port.
        title: Title of the page.

    Attributes:
        editor: Changes the world; None if the page cannot. Set it before the first scene.
        schematic: Objects to draw besides the scene, and the panel layout; None for the plain page.
        fields: Fields of topics for the schematic's formulas, or None. Set it before the first scene.
        panels: Shows the schematic, after the first scene.
        texts: Reads the messages of topics as text, or None. Set it before the first scene.
        ghosts: Bodies at the poses that other sources give, drawn translucent. Set it before the first scene.
        estimates: Returns the newest drawings of topics that ghosts of a run follow. Set it before the first scene.
        beside: What the other sources on the page provide: nothing. Pages with several sources consist of Layers.
        placed: Frames that a source has placed because they have no transform. Other sources may have one.
        first_stamp_ns: Start of a bag's poses by their stamps, which may use another clock than the bag.

    Raises:
        PagePortInUse: The port cannot be opened.
    """

    beside = ALONE
    placed: Collection[str] = ()
    first_stamp_ns: int | None = None

    def __init__(self, port: int | None = None, title: str = "sim_node") -> None:
        self.server = Server(port, title)
        self.url: str = self.server.url
        self.lock = RLock()
        self.transport: Transport | None = None
        self.editor: Editor | None = None
        self.scene: PageScene | None = None
        self.schematic: Schematic | None = None
        self.fields: ShownFields | None = None
        self.panels: Panels | None = None
        self.texts: MessageReader | None = None
        self.ghosts = Ghosts()
        self.estimates: Callable[[], Mapping[str, Drawing]] = dict
        self.layout = PageLayout()
        self._page_labels = PageLabels(self.server)
        self._title = title
        self._closed = False
        self._noted: deque[Mark] = deque(maxlen=MAX_MARKS)
        self._instant: Instant | None = None
        # Sets the scene again with these poses, such as when a ghost's frames change, and with the run's world, if any.
        self._again: Callable[[FloatArray], None]
        self._world: World | None = None
        self._last_ns = self._first_ns = 0
        self._slow_due = 0.0
        self._edit: EditTab | None = None
        self._drive: DriveTab | None = None
        self._readouts = OptionalTab[Readouts]("Sensors", viser.Icon.GAUGE)
        self._sources = OptionalTab[SourcesTab]("Sources", viser.Icon.ANTENNA)
        self._images = OptionalTab[ImagesTab]("Images", viser.Icon.CAMERA)
        self._messages: MessagesTab | None = None

    @property
    def steering(self) -> Steering | None:
        """Drives bases and joints; None if the page cannot. Set it before the first scene."""
        return self.server.gamepad_page.steering

    @steering.setter
    def steering(self, steering: Steering | None) -> None:
        self.server.gamepad_page.steering = steering

    def set_scene(
        self,
        frames: FrameTable,
        poses: FloatArray,
        shapes: Sequence[DrawnShape] = (),
        places: FloatArray = NO_PLACES,
        topic_views: Mapping[str, SensorTopicView] | None = None,
        labels: Mapping[str, tuple[str, ...]] | None = None,
        sources: Mapping[str, str] | None = None,
        world: World | None = None,
        plans: Sequence[FloatArray] = (),
        look: World | None = None,
    ) -> None:
        """Set or change the scene and its panel. Remaining parts keep their settings, and cameras do not move.

        Args:
            frames: The frames.
            poses: Initial poses (N, 7), each frame in its parent, m.
            shapes: Shapes on the frames.
            places: Future positions of frames (P, 3) in the fixed frame, m.
            topic_views: Sensors to show, by the names of their measurements.
            labels: Labels of the sensors' numbers, by name.
            sources: Types of the topics whose messages are shown as drawings, by name.
            world: The world of a run, for the formulas of a schematic; None for a bag or a graph.
            plans: Planned paths of frames (K, 3) in the fixed frame, m.
            look: The world whose sky and sensors are shown; None for the run's world.

        Raises:
            WorldError: The schematic contains an unknown name.
        """
        look, labels, topic_views, sources = look or world, labels or {}, topic_views or {}, sources or {}
        self._again = partial(
            self.set_scene,
            frames,
            shapes=shapes,
            places=places,
            topic_views=topic_views,
            labels=labels,
            sources=sources,
            world=world,
            plans=plans,
            look=look,
        )
        own = len(frames)
        frames, poses, shapes = self.ghosts.join(frames, poses, shapes)
        in_root = frames.in_root(poses)
        sky, viewpoint = (None, None) if look is None else (look.sky, look.camera)
        if viewpoint is not None and viewpoint.follow not in (None, *frames.names):
            viewpoint = None
        units = {} if look is None else units_of(look)
        content = Content(frames, in_root, shapes, places, topic_views, sources, sky, plans, viewpoint, own)
        with self.lock, self.server.atomic():
            scene = self.scene
            if scene is None or scene.own == 1:  # only a root, which has nothing to keep
                self.server.scene.reset()
                self.server.gui.reset()
                if self.panels is not None:
                    self.panels.forget_drawn()
                scene = self.scene = PageScene(self.server.scene, content)
                self._add_panel(scene, labels, units)
            else:
                self._instant = None
                scene.change(content)
                if world is not None and world is not self._world:
                    self.note("note", "the world changed")
                self._plots.change(labels, units, self.ghosts.of)
                for tab in (self._look, self._switches, self._lookup, self._drive):
                    if tab is not None:
                        tab.change()
            self._world = world
            self._picked.change(look)
            if self.panels is None:
                self.panels = Panels(
                    self.server,
                    self.server.panels_page,
                    Schematic() if self.schematic is None else self.schematic,
                    self._title,
                    self.fields,
                    lambda: self._picked.chosen,
                    lambda: self._images.content,
                    lambda: self.transport.kept(MAX_HISTORY) if isinstance(self.transport, Rewind) else (),
                    lambda: self._messages,
                    lambda: self.editor is not None,
                )
            numbers = {name: each for name, each in labels.items() if name not in topic_views}
            self._set_tabs(scene, numbers, units, sources, _cameras(topic_views, sources))
            self.panels.change(frames, in_root, labels, world, look)
            self.server.panels_page.layout.laid_out = self.panels.laid_out
            first = not list(self.layout)
            self._keep_layout()
            if first and self.panels.schematic.dark is not None:
                self.layout.set({"dark": str(int(self.panels.schematic.dark))})
            self._begin_at(scene)
            camera = self.server.initial_camera
            camera.near, camera.far = 0.01, max(1000.0, 2.5 * sky_radius(scene.extent))

    def show(self, instant: Instant) -> None:
        """Send an instant to all pages. Call it from one thread.

        Args:
            instant: The instant. Its arrays may change after the next call.
        """
        assert self.scene is not None, "set_scene comes before show"
        if self.ghosts.stale:
            self._again(instant.poses)
        scene = self.scene
        back, self._last_ns = instant.time_ns < self._last_ns, instant.time_ns
        self._first_ns = self._first_ns or instant.time_ns
        since_ns = self._first_ns
        if self.first_stamp_ns is not None:
            since_ns = self.first_stamp_ns
            instant = instant._replace(posed_ns=since_ns if instant.posed_ns is None else instant.posed_ns)
        passed = None if instant.passed is None else self.ghosts.passed(instant.passed, since_ns)
        instant = self.ghosts.extended(instant, since_ns)
        in_root = scene.frames.in_root(instant.poses)
        with self.lock:
            measured = scene.located(instant.measurements)
            with self.server.atomic():
                if passed is not None:
                    scene.trails.restart(scene.frames.in_root(np.array([*passed, instant.poses])))
                elif back:
                    scene.trails.clear(in_root)
                if back and (self.transport is None or self.transport.live):
                    self._noted.clear()
                    self.note("note", "reset")
                    self._plots.clear()
                    if self.panels is not None:
                        self.panels.clear()
                elif back and self.ghosts.live:  # their poses differ from those when the page had this time
                    self._plots.clear()
                scene.show(in_root)
                if scene.show_measurements(measured):
                    self._begin_at(scene)
                    self._switches.change()
                self._plots.sample(instant.time_ns, in_root, instant.measurements)
                if self._images.content is not None:
                    self._images.content.update(instant.time_ns, instant.measurements)
                if self.panels is not None:
                    self.panels.show(instant.time_ns, in_root, instant.measurements)
                if self._readouts.content is not None:
                    self._readouts.content.update(instant.measurements)
                self._instant = instant
                self._show_slowly()

    def note(self, kind: str, text: str) -> None:
        """Mark the shown time on the timeline.

        Args:
            kind: Kind of the mark; see Mark.
            text: Text of the mark.
        """
        self._noted.append(Mark(self._last_ns, kind, text))

    def hurry(self, *, slowly: bool) -> None:
        """Determine whether the next instant updates trails and numbers, regardless of the time.

        Args:
            slowly: Whether to update them; not needed for instants that nobody sees.
        """
        self._slow_due = 0.0 if slowly else math.inf

    def opening(self) -> dict[str, Any]:
        """Return the initial camera of pages, for their scripts."""
        assert self.scene is not None
        return {"number": 0, **self.scene.beginning()}

    def _begin_at(self, scene: PageScene) -> None:
        """Set the initial camera of new pages, and of pages whose camera has not been moved."""
        camera, view = self.server.initial_camera, scene.opening().view()
        camera.fov, camera.position = scene.field_of_view, view.pose[:3]
        camera.look_at = pose_math.apply(view.pose, np.array([view.distance, 0.0, 0.0]))
        self.server.panels_page.layout.open_at(scene.beginning())

    def moves_ghost(self, topic: str) -> bool:
        """Return whether a ghost follows a topic.

        Args:
            topic: Its name on the page.

        Returns:
            Whether its messages move a ghost.
        """
        return topic in self.ghosts.topics

    def missed_by_ghosts(self, topics: Iterable[str]) -> list[str]:
        """Return the topics that ghosts follow but that do not exist.

        Args:
            topics: The existing topics.

        Returns:
            The names of the missing topics.
        """
        return [topic for topic in self.ghosts.topics if topic not in {*topics}]

    def stray_ghosts(self) -> list[str]:
        """Return messages about ghost frames that the page lacks."""
        return self.ghosts.strays

    def idle(self) -> None:
        """Update the panel, and ghosts that keep moving, while no new instants arrive."""
        with self.lock:
            if self.ghosts.live and self._instant is not None and self.scene is not None:
                own = self._instant.poses[: self.scene.own].copy()
                self.show(self._instant._replace(poses=own, measurements={}, passed=None))
            if self.panels is not None:
                self.panels.idle()
            self._show_slowly()

    def close(self) -> None:
        """Stop the server. Pages show that the connection is lost. Closing it again has no effect."""
        if not self._closed:
            self._closed = True
            self.server.panels_page.layout.end()
            self.server.stop()
            self.ghosts.close()

    def _add_panel(
        self, scene: PageScene, labels: Mapping[str, tuple[str, ...]], units: Mapping[str, Mapping[str, str]]
    ) -> None:
        gui = self.server.gui
        acts = {"Follow": self._follow, "Hide": self._hide, "Plot": self._plot}
        self._picked = Picked(self.server, scene, self.lock, self.editor, self._velocity, self._focus, acts)
        self._tabs = gui.add_tab_group()
        with self._tabs.add_tab("Look", viser.Icon.EYE):
            self._look = Look(self.server, scene, self.lock)
        self.server.panels_page.layout.controls = FootControls(
            self.transport,
            lambda: self._last_ns,
            self._look.toggle_follow,
            lambda: self._look.followed,
            lambda: tuple(self._noted),
            self._set_number,
            self._picked.double,
        )
        with self._tabs.add_tab("Plots", viser.Icon.CHART_LINE):
            self._plots = Plots(gui, scene, self.lock, labels, units, self.ghosts.of)
        with self._tabs.add_tab("Frames", viser.Icon.HIERARCHY):
            self._lookup = Lookup(gui, scene)
            self._switches = Switches(gui, scene, self.lock)
        if self.texts is not None:
            with self._tabs.add_tab("Messages", viser.Icon.MESSAGE):
                self._messages = MessagesTab(gui, self.texts)
        if self.editor is not None:
            with self._tabs.add_tab("Edit", viser.Icon.PENCIL):
                self._edit = EditTab(self.server, self.editor)
        if self.steering is not None and (self.steering.vehicles() or self.steering.joints()):
            with self._tabs.add_tab("Drive", viser.Icon.STEERING_WHEEL):
                self._drive = DriveTab(self.server, self.steering)
        for tab in (self._readouts, self._sources, self._images):
            tab.forget()

    def _keep_layout(self) -> None:
        """Collect the settings of the panel again after elements were added or removed."""
        found = {**self._look.settings(), "plots": listed(lambda: self._plots.shown, self._set_plots)}
        found["hide"] = listed(lambda: self._switches.hidden, self._set_hidden)
        found["frame"] = PageSetting(lambda: self._picked.chosen, self._set_chosen)
        assert self.panels is not None
        panels = self.panels
        found["layout"] = PageSetting(lambda: panels.text, self._lay_out)
        if self._images.content is not None:
            found["camera"] = element(self._images.content.camera)
        if self._messages is not None:
            found["topic"] = element(self._messages.topic)
        if self._sources.content is not None:
            sources = self._sources.content
            found["off"] = listed(lambda: sorted(sources.hidden), lambda names: sources.hide(set(names)))
        for name in set(self.layout) - found.keys():
            self.layout.drop(name)
        for name, setting in found.items():
            self.layout.keep(name, setting)
        self.server.panels_page.layout.connect(lambda: (list(self.layout), self.layout.now()), self.layout.set)

    def _velocity(self, name: str) -> FloatArray:
        signals = None if self.panels is None else self.panels.signals
        found = None if signals is None else signals.find(f"{name}.{WORLD_VEL}")
        return np.full(6, np.nan) if found is None else found.read()

    def _follow(self, name: str) -> None:
        if not self._look.follow(name):
            raise Refused(f"{name} does not move")

    def _hide(self, name: str) -> None:
        if not self._switches.toggle(name):
            raise Refused(f"nothing is drawn on {name} alone")

    def _plot(self, name: str) -> str:
        self._plots.shown = [
            *self._plots.shown,
            *(f"{signal} of {name}" for signal in ("position (m)", "velocity (m/s)")),
        ]
        if not any(each.endswith(f" of {name}") for each in self._plots.shown):
            raise Refused("there are too many plots")
        return f"{name} is in the tab Plots"

    def _focus(self, name: str) -> None:
        """Centre all pages on a frame, and follow it if it moves."""
        assert self.scene is not None
        if not self._look.follow(name):
            beginning = self.scene.beginning(self.scene.frames.index(name))
            self.server.panels_page.layout.open_at(beginning, anew=True)

    def _lay_out(self, text: str) -> None:
        assert self.panels is not None
        with self.lock, self.server.atomic():
            self.panels.lay_out(text)

    def _set_number(self, path: str, value: float) -> None:
        """Change a parameter of a run's world."""
        if self.editor is not None:
            self.editor.ask("set", what=[f"{path}={value!r}"])

    def _set_plots(self, shown: list[str]) -> None:
        self._plots.shown = shown

    def _set_hidden(self, hidden: list[str]) -> None:
        self._switches.hidden = hidden

    def _set_chosen(self, frame: str) -> None:
        self._picked.chosen = frame

    def _set_tabs(
        self,
        scene: PageScene,
        labels: Mapping[str, tuple[str, ...]],
        units: Mapping[str, Mapping[str, str]],
        types: Mapping[str, str],
        cameras: tuple[str, ...],
    ) -> None:
        """Add, change or remove the tabs of sensors, sources and images. Sources that are switched off stay so."""
        gui, sources = self.server.gui, self._sources.content
        make = (lambda: Readouts(gui, labels, units)) if labels else None
        self._readouts.set(self._tabs, make, lambda tab: tab.change(labels, units))
        if sources is None or not sources.has(types):
            hidden = set() if sources is None else sources.hidden
            self._sources.set(
                self._tabs, (lambda: SourcesTab(gui, scene.drawings, types, self.lock)) if types else None
            )
            if self._sources.content is not None:
                self._sources.content.hide(hidden)
        make_images = (lambda: ImagesTab(gui, cameras)) if cameras else None
        self._images.set(self._tabs, make_images, lambda tab: tab.change(cameras))

    def _show_slowly(self) -> None:
        now = time.monotonic()
        if self._instant is None or self.scene is None or now < self._slow_due:
            return
        self._slow_due = now + SLOW_S
        self.scene.trails.show()
        panels, written, roots = self.panels, self.scene.drawings.placed(), {}
        if panels is not None:
            written, roots = [*written, *panels.labels()], panels.roots
        self._page_labels.show([*self.scene.names.placed(), *written], self.scene.root_pose, written, roots)
        self._plots.show()
        self._lookup.show(self._instant.poses)
        self._picked.show(self._instant.time_ns, self.scene.in_root)
        for tab in (self._readouts.content, self._sources.content, self._images.content, self._messages):
            if tab is not None:
                tab.show()


class OptionalTab(Generic[T]):
    """A tab that exists only while it has something to show.

    Attributes:
        content: Its content; None while it does not exist.
    """

    def __init__(self, title: str, icon: viser.IconName) -> None:
        self._title, self._icon = title, icon
        self.forget()

    def forget(self) -> None:
        """Forget the tab, because the panel is empty."""
        self._handle: viser.GuiTabHandle | None = None
        self.content: T | None = None

    def set(self, tabs: Any, make: Callable[[], T] | None, change: Callable[[T], object] | None = None) -> None:
        """Create or change the content. make None: remove the tab. change None: always create the content again."""
        if self._handle is not None and (make is None or change is None):
            self._handle.remove()
            self.forget()
        if self.content is not None and change is not None:
            change(self.content)
        elif make is not None:
            self._handle = tabs.add_tab(self._title, self._icon)
            with self._handle:
                self.content = make()


def _cameras(topic_views: Mapping[str, SensorTopicView], sources: Mapping[str, str]) -> tuple[str, ...]:
    """Return the cameras among a run's sensors, or among the topics of a bag or the graph."""
    of_run = [name for name, view in topic_views.items() if view.type in IMAGE_TYPES]
    return (*of_run, *(name for name, kind in sources.items() if kind in IMAGE_TYPES))
