"""Selection: information about a frame, and actions on it. A click on a shape selects, a double click focuses."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from threading import RLock
from typing import Any

import numpy as np

from sim_node.messages.sensor_topics import lay_out_messages
from sim_node.spatial.geometry import quaternions
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.viewing.browser.answering import answer
from sim_node.viewing.browser.batches import WXYZ
from sim_node.viewing.browser.edit import Editor
from sim_node.viewing.browser.look import NOTHING
from sim_node.viewing.browser.panel import described, without_noise
from sim_node.viewing.browser.scene import ROOT, PageScene
from sim_node.viewing.meshes import DrawnShape
from sim_node.world import World
from sim_node.world.massless import CARRIER_MASS

HANDLES = f"{ROOT}/handles"
# Maximum number of topics in the panel; change of velocity by a push, m/s; maximum delay between a click and the
# separate notification that it was a double click, s.
MAX_TOPICS, PUSH, TOGETHER_S = 12, 1.0, 1.0
# Indices that convert viser's [w, x, y, z] to [x, y, z, w].
_XYZW = [1, 2, 3, 0]


class Picked:
    """The panel section for the selected frame.

    Args:
        server: viser's server.
        scene: The scene, whose shapes can be clicked.
        lock: Held while the scene or the panel is changed.
        editor: Moves free-floating bodies; None if the page cannot.
        velocity: Returns the velocity (6,) [ωx ωy ωz x y z] of a frame in the fixed frame; NaN if unknown.
        focus: Centres the view on a frame.
        acts: Further actions on a frame, by the text of their buttons.
    """

    def __init__(
        self,
        server: Any,
        scene: PageScene,
        lock: RLock,
        editor: Editor | None,
        velocity: Callable[[str], FloatArray],
        focus: Callable[[str], object],
        acts: Mapping[str, Callable[[str], object]],
    ) -> None:
        self._server, self._scene, self._lock, self._editor = server, scene, lock, editor
        self._velocity, self._focus = velocity, focus
        self._world: World | None = None
        # Information about a frame, and that frame; the dropdown may already have another one.
        self._about_of, self._about = "", list[str]()
        self._clicked, self._doubled, self._seen_ns = ("", -math.inf), -math.inf, 0
        self._handles: Any = None
        self._dragging = False
        gui = server.gui
        self._name = gui.add_dropdown("Selected", (NOTHING, *scene.frames.names), hint="or click it in the scene")
        self._answer = gui.add_markdown("", visible=False)
        self._acts, self._words = {**acts, "Drag": self._drag_or_not}, (*acts, "Drag", "Push")
        self._button = gui.add_button_group("Do", tuple(acts), visible=False)
        self._name.on_update(self._selected)
        self._button.on_click(lambda event: answer(event, lambda: self._act(event)))
        self._shown_text = ""
        scene.on_pick(self._pick)

    def change(self, world: World | None) -> None:
        """Follow a change of the scene. The selection is kept if the frame still exists."""
        self._world, names = world, (NOTHING, *self._scene.frames.names)
        if names != self._name.options:
            self._name.options = names
        self._selected(None)

    def show(self, time_ns: int, in_root: FloatArray) -> None:
        """Show the frame's pose, given the poses (N, 7) of all frames in the fixed frame, and its motion."""
        if not self.chosen or self.chosen != self._about_of:
            return
        frames = self._scene.frames
        row = frames.index(self.chosen)
        pose = in_root[row]
        if self._handles is not None and not self._dragging:
            self._handles.position, self._handles.wxyz = pose[:3], pose[WXYZ]
        if time_ns == self._seen_ns and self._shown_text:
            return
        self._seen_ns, moves = time_ns, self._velocity(self.chosen)
        lines = [described(frames.names[0], self.chosen, pose)]
        if np.isfinite(moves).all():
            rows = zip(("velocity, m/s", "angular velocity, rad/s"), (moves[3:], moves[:3]), strict=True)
            table = [
                f"| {name} | " + " | ".join(f"{part:.3f}" for part in without_noise(parts)) + " |"
                for name, parts in rows
            ]
            lines.append("\n".join(["| | x | y | z |", "|---|---|---|---|", *table]))
        text = "\n\n".join([*lines, *self._about])
        if text != self._shown_text:
            self._shown_text = self._answer.content = text
            self._answer.visible = True

    @property
    def chosen(self) -> str:
        """The selected frame, or an empty string. Set it to select a frame."""
        return "" if self._name.value == NOTHING else str(self._name.value)

    @chosen.setter
    def chosen(self, name: str) -> None:
        if name in self._name.options:
            self._name.value = name

    def _pick(self, shape: DrawnShape) -> None:
        frames, now = self._scene.frames, time.monotonic()
        moving = [row for row in frames.chain(shape.row) if not frames.still[row]]
        self._clicked = frames.names[moving[-1] if moving else shape.row], now
        if now - self._doubled < TOGETHER_S:
            self._double()
        self._name.value = frames.names[shape.row]

    def double(self) -> None:
        """Focus the clicked frame. The browser detects double clicks, not the arrival times of clicks."""
        self._doubled = time.monotonic()
        if self._doubled - self._clicked[1] < TOGETHER_S:
            self._double()

    def _double(self) -> None:
        self._doubled = -math.inf
        self._focus(self._clicked[0])

    def _selected(self, event: Any) -> None:
        """Collect information about the frame, except its pose."""
        with self._lock:
            name, scene = self.chosen, self._scene
            if self._handles is not None and (event is not None or name not in self._loose()):
                self._handles.remove()
                self._handles, self._dragging = None, False
            self._shown_text = ""
            self._seen_ns = 0
            self._answer.visible = self._button.visible = bool(name)
            if not name:
                return
            words = tuple(word for word in self._words if word not in ("Drag", "Push") or name in self._loose())
            if words != tuple(self._button.options):
                self._button.options = words
            row = scene.frames.index(name)
            masses = [shape.mass for shape in scene.shapes if shape.row == row and shape.mass is not None]
            mass = [f"mass {masses[0]:.6g} kg"] if masses and masses[0] > CARRIER_MASS else []
            parent = scene.frames.parents[row]
            self._about = [
                *([f"parent `{scene.frames.names[parent]}`"] if parent >= 0 else []),
                *mass,
                self._below(row),
            ]
            self._about_of = name
            self.show(0, scene.in_root)

    def _below(self, row: int) -> str:
        """Return the sensors and topics of a frame and its descendants, as Markdown."""
        frames = self._scene.frames
        below = {name for k, name in enumerate(frames.names) if row in frames.chain(k)}
        laid_out = {} if self._world is None else lay_out_messages(self._world)
        sensors = {name: topics for name, topics in laid_out.items() if name in below}
        topics = {topic.name for each in sensors.values() for topic in each}
        topics |= {name for name, source in self._scene.drawings.sources.items() if source.frame in below}
        lines = [*(f"- sensor `{name}`" for name in sensors), *(f"- `{topic}`" for topic in sorted(topics))]
        more = len(lines) - MAX_TOPICS
        return "\n".join([*lines[:MAX_TOPICS], *([f"- and {more} more"] if more > 0 else [])]) or "no sensors or topics"

    def _loose(self) -> tuple[str, ...]:
        """Return the frames of bodies that can be dragged and pushed."""
        return () if self._editor is None else tuple(self._editor.loose())

    def _act(self, event: Any) -> object:
        word = event.target.value
        return self._push(self.chosen, event.client) if word == "Push" else self._acts[word](self.chosen)

    def _drag_or_not(self, name: str) -> str:
        """Show drag handles for a body, or remove them."""
        with self._lock:
            if self._handles is not None:
                self._handles.remove()
                self._handles = None
                return "the handles are gone"
            pose = self._scene.in_root[self._scene.frames.index(name)]
            self._handles = self._server.scene.add_transform_controls(
                HANDLES, scale=0.25 * self._scene.extent.radius, position=pose[:3], wxyz=pose[WXYZ], depth_test=False
            )
            self._handles.on_update(self._drag)
        return f"drag {name} by its handles"

    def _drag(self, event: Any) -> None:
        """Place the body when its handles are released."""
        self._dragging = event.phase != "end"
        if self._dragging or self._editor is None:
            return
        editor, frame = self._editor, self.chosen
        turn = quaternions.normalise(np.asarray(event.target.wxyz, dtype=np.float64)[_XYZW])
        pose = np.concatenate([np.asarray(event.target.position, dtype=np.float64), turn])
        answer(event, lambda: editor.ask("set", what=[frame], pose=pose.tolist()))

    def _push(self, name: str, client: Any) -> str:
        """Push a body horizontally away from a page's camera."""
        assert self._editor is not None
        along = np.subtract(client.camera.look_at, client.camera.position)[:2]
        length = float(np.linalg.norm(along))
        away = along / length if length > 1e-9 else np.array([1.0, 0.0])
        self._editor.push(name, [*(PUSH * away).tolist(), 0.0])
        return f"pushed {name}: {PUSH:g} m/s"
