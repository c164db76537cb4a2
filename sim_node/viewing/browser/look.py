"""What of the scene is looked at: names, axes, trails, and the frame that the camera follows."""

from __future__ import annotations

from fnmatch import fnmatchcase
from threading import RLock
from typing import Any

import numpy as np

from sim_node.viewing.browser.overlays import MODES
from sim_node.viewing.browser.scene import Scene

NOTHING = "nothing"


class Look:
    """The choices of a panel; lock: held while the scene is changed."""

    def __init__(self, server: Any, scene: Scene, lock: RLock) -> None:
        self._server, self._scene, self._lock = server, scene, lock
        gui, frames = server.gui, scene.frames
        moving: list[int] = np.flatnonzero(~frames.still).tolist()
        main = [row for row in scene.main if not frames.still[row]]
        followed = [frames.names[row] for row in dict.fromkeys(main + moving)]
        self._follow = gui.add_dropdown("Follow", (NOTHING, *followed), hint="keeps a frame in the middle")
        self._turning = gui.add_checkbox("Turn with it", False)
        self._names = gui.add_dropdown("Names", MODES, initial_value=scene.names.first)
        self._axes = gui.add_checkbox("Axes", True)
        self._size = gui.add_slider("Size of axes", 0.1, 5.0, 0.1, 1.0)
        self._trails = gui.add_text(
            "Trails", ", ".join(frames.names[row] for row in main[:6]), hint="names or patterns such as */base_link"
        )
        self._follow.on_update(self._change_follow)
        self._turning.on_update(self._change_follow)
        self._names.on_update(self._change_names)
        self._axes.on_update(self._change_axes)
        self._size.on_update(self._change_axes)
        self._trails.on_update(self._change_trails)
        self._change_trails(None)

    def _change_follow(self, event: Any) -> None:
        scene, name = self._scene, self._follow.value
        row = None if name == NOTHING else scene.frames.index(name)
        with self._lock:
            scene.follow(row, turning=self._turning.value)
        if event.target is self._follow:
            for client in self._server.get_clients().values():
                _look_at_middle(client, scene, followed=row is not None)

    def _change_names(self, event: Any) -> None:
        with self._lock:
            self._scene.names.choose(self._names.value, self._scene.in_root)

    def _change_axes(self, event: Any) -> None:
        with self._lock:
            self._scene.axes.set_visible(self._axes.value)
            self._scene.axes.resize(self._size.value)

    def _change_trails(self, event: Any) -> None:
        patterns = [pattern.strip() for pattern in self._trails.value.split(",")]
        names = self._scene.frames.names
        rows = [row for row, name in enumerate(names) if any(fnmatchcase(name, pattern) for pattern in patterns)]
        with self._lock:
            self._scene.trails.choose(rows, self._scene.in_root)


def _look_at_middle(client: Any, scene: Scene, *, followed: bool) -> None:
    """Turns a page's camera to the frame that is followed, from nearby, or back to the whole scene."""
    extent = scene.extent
    middle = np.zeros(3) if followed else extent.centre
    away = extent.camera - extent.centre
    distance = float(np.linalg.norm(away))
    with client.atomic():
        client.camera.position = middle + away * (
            min(distance, max(0.25 * distance, 2.5)) / distance if followed else 1.0
        )
        client.camera.look_at = middle
