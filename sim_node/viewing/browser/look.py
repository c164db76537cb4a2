"""View options: names, axes, trails, shadows, dark mode, field of view, and the frame that the camera follows."""

from __future__ import annotations

import math
from fnmatch import fnmatchcase
from threading import RLock
from typing import Any

import numpy as np

from sim_node.viewing.browser.layout import PageSetting, element
from sim_node.viewing.browser.overlays import MODES
from sim_node.viewing.browser.scene import PageScene

NOTHING = "nothing"


class Look:
    """The view options of a panel. lock: held while the scene is changed."""

    def __init__(self, server: Any, scene: PageScene, lock: RLock) -> None:
        self._server, self._scene, self._lock = server, scene, lock
        gui = server.gui
        first = scene.followed_first
        self._follow = gui.add_dropdown(
            "Follow",
            self._followable(),
            initial_value=NOTHING if first is None else scene.frames.names[first],
            hint="keeps a frame in the middle",
        )
        scene.follow(first)
        self._turning = gui.add_checkbox("Turn with it", False)
        self._names = gui.add_dropdown("Names", MODES, initial_value=scene.names.first)
        self._axes = gui.add_dropdown("Axes", MODES, initial_value="main", hint="main: where nothing else is seen")
        self._size = gui.add_slider("Size of axes", 0.1, 5.0, 0.1, 1.0)
        self._trails = gui.add_text("Trails", self._main_trails(), hint="names or patterns such as */base_link")
        hint = "ways of keyframes and missions"
        self._plans = gui.add_checkbox("Plans", True, hint=hint, visible=scene.plans.drew)
        degrees = round(math.degrees(scene.field_of_view))
        self._field = gui.add_slider("Field of view (°)", 10, 110, 1, degrees, hint="from top to bottom")
        self._shadows = gui.add_checkbox("Shadows", True, hint="switch them off if the page is slow")
        self._dark = gui.add_checkbox("Dark", False)
        copy = gui.add_button("Copy link", hint="the address of this page with its camera and settings")
        copy.on_click(self._link)
        self._default_trails: str = self._trails.value
        self._follow.on_update(self._change_follow)
        self._turning.on_update(self._change_follow)
        self._names.on_update(self._change_names)
        self._axes.on_update(self._change_axes)
        self._size.on_update(self._change_axes)
        self._trails.on_update(self._change_trails)
        self._plans.on_update(self._change_plans)
        self._field.on_update(self._change_field)
        self._shadows.on_update(self._change_shadows)
        self._dark.on_update(self._change_dark)
        self._change_trails(None)

    def settings(self) -> dict[str, PageSetting]:
        """Return the options by their names in addresses."""
        options = {
            "follow": self._follow,
            "turn": self._turning,
            "names": self._names,
            "axes": self._axes,
            "size": self._size,
            "trails": self._trails,
            "plans": self._plans,
            "fov": self._field,
            "shadows": self._shadows,
            "dark": self._dark,
        }
        return {name: element(handle) for name, handle in options.items()}

    @property
    def followed(self) -> str:
        """The frame that the cameras follow, or an empty string."""
        return "" if self._follow.value == NOTHING else str(self._follow.value)

    def follow(self, name: str) -> bool:
        """Follow a frame. Return whether it can be followed."""
        if name in self._follow.options:
            self._follow.value = name
        return name in self._follow.options

    def toggle_follow(self) -> None:
        """Stop following; if nothing is followed, follow the initial frame, or else the most important one."""
        options = self._follow.options
        self._follow.value = options[1] if not self.followed and len(options) > 1 else NOTHING

    def _link(self, event: Any) -> None:
        """Send the page's script its camera, in the format of viser's addresses."""
        camera = event.client.camera
        vectors = {"Position": camera.position, "LookAt": camera.look_at, "Up": camera.up_direction}
        address = {f"initialCamera{name}": ",".join(f"{part:.6g}" for part in at) for name, at in vectors.items()}
        self._server.panels_page.layout.link({**address, "initialCameraFov": f"{camera.fov:.6g}"})

    def change(self) -> None:
        """Follow a change of the scene. Choices are kept if their frames still exist."""
        default = self._main_trails()
        if self._trails.value == self._default_trails:
            self._trails.value = default
        self._default_trails = default
        chosen, options, first = self._follow.value, self._followable(), self._scene.followed_first
        if self._follow.options == (NOTHING,) and first is not None:  # no moving frame existed before
            chosen = self._scene.frames.names[first]
        if options != self._follow.options:
            self._follow.options = options
            self._follow.value = chosen if chosen in options else NOTHING
        row = None if chosen == NOTHING or chosen not in options else self._scene.frames.index(chosen)
        self._scene.follow(row, turning=self._turning.value)
        self._change_names(None)
        self._change_axes(None)
        self._change_trails(None)
        self._plans.visible = self._scene.plans.drew
        self._change_plans(None)

    def _followable(self) -> tuple[str, ...]:
        """Return NOTHING and then the names of the moving frames, the main ones first."""
        frames = self._scene.frames
        moving: list[int] = np.flatnonzero(~frames.still).tolist()
        first = [] if self._scene.followed_first is None else [self._scene.followed_first]
        rows = dict.fromkeys(first + [row for row in self._scene.main if not frames.still[row]] + moving)
        return (NOTHING, *(frames.names[row] for row in rows))

    def _main_trails(self) -> str:
        """Return the names of the first moving frames, which initially have trails."""
        frames = self._scene.frames
        return ", ".join([frames.names[row] for row in self._scene.main if not frames.still[row]][:6])

    def _change_follow(self, event: Any) -> None:
        scene, name = self._scene, self._follow.value
        row = None if name == NOTHING else scene.frames.index(name)
        with self._lock:
            scene.follow(row, turning=self._turning.value)
            if event.target is self._follow:
                self._server.panels_page.layout.open_at(scene.beginning(), anew=True)

    def _change_names(self, event: Any) -> None:
        with self._lock:
            self._scene.names.choose(self._names.value, self._scene.in_root)

    def _change_axes(self, event: Any) -> None:
        with self._lock:
            self._scene.axes.choose(self._axes.value)
            self._scene.axes.resize(self._size.value)

    def _change_plans(self, event: Any) -> None:
        with self._lock:
            self._scene.plans.set_visible(self._plans.value)

    def _change_field(self, event: Any) -> None:
        with self._lock:
            self._scene.field_of_view = math.radians(self._field.value)
            self._server.initial_camera.fov = self._scene.field_of_view
            self._server.panels_page.layout.open_at(self._scene.beginning())

    def _change_shadows(self, event: Any) -> None:
        with self._lock:
            self._scene.surroundings.set_shadows(self._shadows.value)

    def _change_dark(self, event: Any) -> None:
        with self._lock, self._server.atomic():
            self._server.set_dark(self._dark.value)
            self._scene.set_dark(self._dark.value)

    def _change_trails(self, event: Any) -> None:
        patterns = [pattern.strip() for pattern in self._trails.value.split(",")]
        names = self._scene.frames.names
        rows = [row for row, name in enumerate(names) if any(fnmatchcase(name, pattern) for pattern in patterns)]
        with self._lock:
            self._scene.trails.choose(rows, names, self._scene.in_root)
