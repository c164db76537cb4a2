"""Picking: a click on a shape shows its frame, pose, mass and topics in the panel."""

from __future__ import annotations

from threading import RLock
from typing import Any

from sim_node.messages.sensor_topics import lay_out_messages
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.viewing.browser.panel import described
from sim_node.viewing.browser.scene import PageScene
from sim_node.viewing.meshes import DrawnShape
from sim_node.world import World
from sim_node.world.massless import CARRIER_MASS

# Maximum number of topics in the panel.
MAX_TOPICS = 12


class Picked:
    """The part of the panel about the shape that was clicked last; nothing before the first click.

    Args:
        gui: viser's panel.
        scene: The scene, whose shapes can be clicked.
        lock: Held while the scene or the panel is changed.
    """

    def __init__(self, gui: Any, scene: PageScene, lock: RLock) -> None:
        self._scene, self._lock = scene, lock
        self._world: World | None = None
        self._shape: tuple[str, float | None] | None = None
        self._topics: list[str] = []
        self._in_root = scene.in_root
        self._answer = gui.add_markdown("", visible=False)
        self._shown_text = ""
        scene.on_pick(self._pick)

    def change(self, world: World | None) -> None:
        """Follow a change of the scene: the shape stays chosen if its frame is still there."""
        self._world, self._in_root = world, self._scene.in_root
        if self._shape is not None and self._shape[0] not in self._scene.frames.names:
            self._shape = None
            self._answer.visible = False

    def show(self, in_root: FloatArray) -> None:
        """Show where the shape's frame is, from the poses (N, 7) of all frames in the fixed frame."""
        self._in_root = in_root
        if self._shape is None:
            return
        (name, mass), frames = self._shape, self._scene.frames
        lines = [described(frames.names[0], name, in_root[frames.index(name)])]
        if mass is not None and mass > CARRIER_MASS:
            lines.append(f"mass {mass:.6g} kg")
        topics = [f"- `{topic}`" for topic in self._topics[:MAX_TOPICS]]
        more = len(self._topics) - MAX_TOPICS
        lines.append("\n".join([*topics, *([f"- and {more} more"] if more > 0 else [])]) or "no topics")
        text = "\n\n".join(lines)
        if text != self._shown_text:
            self._shown_text = self._answer.content = text
            self._answer.visible = True

    @property
    def chosen(self) -> str:
        """The frame whose shape was clicked, or an empty text; set one to choose it."""
        return "" if self._shape is None else self._shape[0]

    @chosen.setter
    def chosen(self, name: str) -> None:
        shapes = self._scene.shapes
        found = next((shape for shape in shapes if self._scene.frames.names[shape.row] == name), None)
        if found is not None:
            self._pick(found)

    def _pick(self, shape: DrawnShape) -> None:
        with self._lock:
            self._shape = self._scene.frames.names[shape.row], shape.mass
            self._topics = self._topics_below(shape.row)
            self._shown_text = ""
            self.show(self._in_root)

    def _topics_below(self, row: int) -> list[str]:
        """Return the topics of the sensors, and of the sources, at a frame and below it."""
        frames = self._scene.frames
        below = {name for k, name in enumerate(frames.names) if row in frames.chain(k)}
        laid_out = {} if self._world is None else lay_out_messages(self._world)
        of_sensors = [topic.name for name, topics in laid_out.items() if name in below for topic in topics]
        sources = self._scene.drawings.sources.items()
        return sorted({*of_sensors, *(name for name, source in sources if source.frame in below)})
