"""A tab that makes requests to a run, by a form for each, and moves bodies that float free by handles in the scene."""

from __future__ import annotations

from collections.abc import Sequence
from threading import RLock
from typing import Any, Protocol

import numpy as np

from sim_node.simulation.requests import NEEDED, REQUESTS, Argument, ContentOf
from sim_node.spatial.geometry import quaternions
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.viewing.browser.answering import answer
from sim_node.viewing.browser.batches import WXYZ
from sim_node.viewing.browser.look import NOTHING
from sim_node.viewing.browser.scene import ROOT, PageScene
from sim_node.world.quantities import Word

HANDLES = f"{ROOT}/handles"
# Quaternions [x y z w] of viser's [w x y z].
_XYZW = [1, 2, 3, 0]
_ASK = "Ask"


class Editor(Protocol):
    """Changes the world of a run. Its methods may be called from any thread, and raise what they refuse."""

    def ask(self, name: str, /, **given: Any) -> str:
        """Make a request; see `sim_node.simulation.requests`. Returns what it did."""

    def loose(self) -> Sequence[str]:
        """Return the frames of the bodies that float free. Does not wait for the run."""


class EditTab:
    """The tab.

    Args:
        server: viser's server.
        scene: The scene.
        lock: Held while the scene is changed.
        editor: Changes the world.
    """

    def __init__(self, server: Any, scene: PageScene, lock: RLock, editor: Editor) -> None:
        self._server, self._scene, self._lock, self._editor = server, scene, lock, editor
        gui = server.gui
        self._request = gui.add_dropdown("Request", tuple(REQUESTS), hint="what is asked of the run")
        self._form = gui.add_folder("Arguments")
        self._fields: list[tuple[Argument, Any]] = []
        self._button = gui.add_button_group("World", (_ASK,))
        self._moved = gui.add_dropdown("Move", (NOTHING, *editor.loose()), hint="shows handles to drag it by")
        self._request.on_update(lambda event: self._show_form())
        self._button.on_click(lambda event: answer(event, self._ask))
        self._moved.on_update(self._choose)
        self._handles: Any = None
        self._dragging = False
        self._show_form()

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

    def _show_form(self) -> None:
        """Show a field for each argument of the chosen request."""
        request, gui = REQUESTS[self._request.value], self._server.gui
        for _, field in self._fields:
            field.remove()
        shown = [each for each in request.arguments if not isinstance(each.holds, ContentOf)]
        with self._form:
            self._fields = [(each, _field(gui, each)) for each in shown]

    def _ask(self) -> str:
        request, given = REQUESTS[self._request.value], dict[str, Any]()
        for each, field in self._fields:
            if isinstance(field.value, bool):
                given[each.name] = field.value
            elif text := field.value.strip():
                given[each.name] = each.read(text)
        return self._editor.ask(request.name, **given)

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
        answer(event, lambda: self._editor.ask("set", what=[frame], pose=pose.tolist()))

    def _remove(self) -> None:
        if self._handles is not None:
            self._handles.remove()
        self._handles, self._dragging = None, False


def _field(gui: Any, argument: Argument) -> Any:
    """Add the field of an argument."""
    label, default = argument.name.replace("_", " ").capitalize(), argument.default
    if argument.kind is bool:
        return gui.add_checkbox(label, default, hint=argument.about)
    if isinstance(argument.holds, Word):
        return gui.add_dropdown(label, tuple(argument.holds.allowed), default, hint=argument.about)
    text = "" if default in (None, NEEDED) else str(default)
    return gui.add_text(label, text, hint=argument.about)
