"""The tab that lists the sources of a page, with a switch for each."""

from __future__ import annotations

from collections.abc import Mapping
from threading import RLock
from typing import Any

from sim_node.viewing.browser.drawings import Drawings

# Maximum number of switches; more would not be usable.
_MOST = 60


class SourcesTab:
    """Switches for sources and their labels, and a description of each source: its frame and how it was converted.

    Args:
        gui: viser's panel.
        drawings: The sources to switch.
        types: Message types of the sources, by name.
        lock: Held while the scene is changed.
    """

    def __init__(self, gui: Any, drawings: Drawings, types: Mapping[str, str], lock: RLock) -> None:
        self._drawings, self._types, self._lock = drawings, types, lock
        self._labels = gui.add_checkbox("Labels", True, hint="name, frame and conversion beside each source")
        self._switches = {name: gui.add_checkbox(name, True, hint=kind) for name, kind in list(types.items())[:_MOST]}
        self._list = gui.add_markdown("")
        self._shown_text = ""
        for switch in (self._labels, *self._switches.values()):
            switch.on_update(self._choose)

    def has(self, types: Mapping[str, str]) -> bool:
        """Return whether the tab is for these sources."""
        return self._types == types

    @property
    def hidden(self) -> set[str]:
        """Return the sources that are switched off."""
        return {name for name, switch in self._switches.items() if not switch.value}

    def hide(self, names: set[str]) -> None:
        """Switch sources off."""
        for name in names & self._switches.keys():
            self._switches[name].value = False
        self._choose(None)

    def show(self) -> None:
        """List the received sources. Sources without a drawing of their own, such as CameraInfo, have no switch."""
        sources = self._drawings.sources
        for name, switch in self._switches.items():
            switch.visible = name not in sources or sources[name].drew
        lines = [
            f"- {sources[name].about if name in sources else f'{name} · nothing yet'} ({kind.rpartition('/')[2]})"
            for name, kind in self._types.items()
        ]
        text = "\n".join(lines)
        if text != self._shown_text:
            self._shown_text = self._list.content = text

    def _choose(self, event: Any) -> None:
        with self._lock:
            self._drawings.choose(self.hidden, labelled=self._labels.value)
