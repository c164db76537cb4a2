"""A tab that changes the world: adds resources, and moves bodies that float free by handles in the scene."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import RLock
from typing import Any, Protocol

import numpy as np

from sim_node.plugins import blamed
from sim_node.spatial.geometry import quaternions
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.viewing.browser.batches import WXYZ
from sim_node.viewing.browser.look import NOTHING
from sim_node.viewing.browser.scene import ROOT, Scene

HANDLES = f"{ROOT}/handles"
# Quaternions [x y z w] of viser's [w x y z].
_XYZW = [1, 2, 3, 0]
_ADD = "Add"


class Editor(Protocol):
    """Changes the world of a run. Its methods may be called from any thread, and raise what they refuse."""

    def add(self, uri: str, name: str, position: Sequence[float]) -> str:
        """Add a resource.

        Args:
            uri: A file, a package:// URI, or the name of a shipped vehicle.
            name: Its name; empty for that of the resource.
            position: Where it is put (3,) in the fixed frame, m.

        Returns:
            The name that it has.
        """

    def place(self, frame: str, pose: FloatArray) -> None:
        """Put a body that floats free at a pose (7,) in the fixed frame, at rest."""

    def loose(self) -> Sequence[str]:
        """Return the frames of the bodies that float free. Does not wait for the run."""


class Edit:
    """The tab.

    Args:
        server: viser's server.
        scene: The scene.
        lock: Held while the scene is changed.
        editor: Changes the world.
    """

    def __init__(self, server: Any, scene: Scene, lock: RLock, editor: Editor) -> None:
        self._server, self._scene, self._lock, self._editor = server, scene, lock, editor
        gui = server.gui
        self._uri = gui.add_text("Resource", "", hint="a file, a package:// URI, or a shipped vehicle such as iris")
        self._name = gui.add_text("Name", "", hint="of what is added; empty for that of the resource")
        self._position = gui.add_text("Position", "0, 0, 1", hint="x, y, z in the fixed frame, m")
        self._button = gui.add_button_group("World", (_ADD,))
        self._moved = gui.add_dropdown("Move", (NOTHING, *editor.loose()), hint="shows handles to drag it by")
        self._button.on_click(lambda event: _told(event, self._add))
        self._moved.on_update(self._choose)
        self._handles: Any = None
        self._dragging = False

    def change(self) -> None:
        """Follow a change of the scene: the body that is moved stays chosen if it is still there."""
        options = (NOTHING, *self._editor.loose())
        if options != self._moved.options:
            self._moved.options = options
        if self._moved.value not in options[1:]:
            self._remove()

    def show(self, in_root: FloatArray) -> None:
        """Let the handles follow the body, from the poses (N, 7) of all frames in the fixed frame."""
        if self._handles is not None and not self._dragging:
            pose = in_root[self._scene.frames.index(self._moved.value)]
            self._handles.position, self._handles.wxyz = pose[:3], pose[WXYZ]

    def _add(self) -> str:
        try:
            position = [float(part) for part in self._position.value.split(",")]
        except ValueError:
            position = []
        if len(position) != 3:
            raise ValueError(f"position {self._position.value!r}: three numbers are needed, as in 0, 0, 1")
        return f"added {self._editor.add(self._uri.value.strip(), self._name.value.strip(), position)}"

    def _choose(self, event: Any) -> None:
        with self._lock:
            self._remove()
            name = self._moved.value
            if name == NOTHING or name not in self._scene.frames.names:
                return
            pose = self._scene.in_root[self._scene.frames.index(name)]
            scale = 0.25 * self._scene.extent.radius
            self._handles = self._server.scene.add_transform_controls(
                HANDLES, scale=scale, position=pose[:3], wxyz=pose[WXYZ], depth_test=False
            )
            self._handles.on_update(self._drag)

    def _drag(self, event: Any) -> None:
        """Place the body when its handles are released."""
        self._dragging = event.phase != "end"
        if self._dragging:
            return
        turn = quaternions.normalise(np.asarray(event.target.wxyz, dtype=np.float64)[_XYZW])
        pose = np.concatenate([np.asarray(event.target.position, dtype=np.float64), turn])
        frame = self._moved.value
        _told(event, lambda: self._editor.place(frame, pose))

    def _remove(self) -> None:
        if self._handles is not None:
            self._handles.remove()
        self._handles, self._dragging = None, False


def _told(event: Any, act: Callable[[], str | None]) -> None:
    """Do something, and show what was done or refused to whoever asked."""
    title, text = "Done", None
    try:
        text = act()
    except Exception as refusal:
        title, text = "Not done", str(blamed(refusal) or refusal)
    if text and event.client is not None:
        event.client.add_notification(title, text, auto_close_seconds=5.0)
