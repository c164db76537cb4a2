"""Switches that show or hide a frame and its descendants, for the frames with something to show."""

from __future__ import annotations

from threading import RLock
from typing import Any

import numpy as np

from sim_node.names import last
from sim_node.viewing.browser.scene import PageScene

# Maximum number of switches; more would not be usable.
MAX_SWITCHES = 60


class Switches:
    """A folder with a switch for each frame that has a shape or a sensor, in hierarchical order.

    Args:
        gui: viser's panel.
        scene: The scene.
        lock: Held while the scene is changed.
    """

    def __init__(self, gui: Any, scene: PageScene, lock: RLock) -> None:
        self._gui, self._scene, self._lock = gui, scene, lock
        self._folder = gui.add_folder("Shown")
        self._switches: dict[str, Any] = {}
        self.change()

    @property
    def hidden(self) -> list[str]:
        """The frames that are switched off. Set it to hide these frames and show all others."""
        return [name for name, switch in self._switches.items() if not switch.value]

    @hidden.setter
    def hidden(self, names: list[str]) -> None:
        for name, switch in self._switches.items():
            switch.value = name not in names

    def toggle(self, name: str) -> bool:
        """Hide a frame, or show it again. Return whether it has a switch."""
        if name in self._switches:
            self._switches[name].value = not self._switches[name].value
        return name in self._switches

    def change(self) -> None:
        """Follow a change of the scene. Frames that still exist stay hidden."""
        rows = self._scene.carriers()[:MAX_SWITCHES]
        names, parents = self._scene.frames.names, self._scene.frames.parents.tolist()
        for gone in self._switches.keys() - {names[row] for row in rows}:
            self._switches.pop(gone).remove()
        depths: dict[int, int] = {}
        for number, row in enumerate(rows):
            above = parents[row]
            while above >= 0 and above not in depths:
                above = parents[above]
            depths[row] = depths[above] + 1 if above >= 0 else 0
            if names[row] in self._switches:
                self._switches[names[row]].order = number
                continue
            # Dots represent the ancestors, because the page trims spaces.
            label = "· " * min(depths[row], 4) + last(names[row])
            with self._folder:
                switch = self._gui.add_checkbox(label, True, hint=names[row], order=number)
            switch.on_update(self._switch)
            self._switches[names[row]] = switch
        self._switch(None)

    def _switch(self, event: Any) -> None:
        frames, off = self._scene.frames, set(self.hidden)
        hidden = np.zeros(len(frames), dtype=bool)
        for row, parent in enumerate(frames.parents.tolist()):
            hidden[row] = frames.names[row] in off or (parent >= 0 and hidden[parent])
        with self._lock:
            self._scene.hide(hidden)
