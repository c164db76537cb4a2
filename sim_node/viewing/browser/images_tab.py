"""The tab of camera images."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from sim_node.viewing.browser.sensor_views import as_colours
from sim_node.viewing.browser.stream import Latest
from sim_node.viewing.messages.drawing import Drawing, Picture

# Maximum width of an image in the tab, pixels.
_COLUMNS = 480


class ImagesTab:
    """Shows the newest image of the selected camera.

    Args:
        gui: viser's panel.
        names: Cameras of a run, or image topics; at least one.
    """

    def __init__(self, gui: Any, names: Sequence[str]) -> None:
        self._fresh: dict[str, npt.NDArray[Any]] = {}
        self._last: dict[str, npt.NDArray[Any]] = {}
        self.camera = gui.add_dropdown("Camera", tuple(names))
        self.camera.on_update(lambda event: self._fresh.update(self._last))
        self._about = gui.add_markdown("no image yet")
        # Created here, inside the tab; elements created later would be outside of it.
        self._image = gui.add_image(np.zeros((1, 1, 3), np.uint8), format="jpeg", jpeg_quality=80, visible=False)
        # Arrival times of the last two images of each camera, ns.
        self._came: dict[str, tuple[int, int]] = {}
        self._now_ns = 0
        self._shown_text = ""

    def change(self, names: Sequence[str]) -> None:
        """Show other cameras, at least one. The selection is kept if possible."""
        if tuple(names) != self.camera.options:
            self.camera.options = tuple(names)

    def update(self, time_ns: int, measurements: Latest) -> None:
        """Store the newest image of each camera and its time of arrival."""
        self._now_ns = time_ns
        for name in self.camera.options:
            if name in measurements:
                pixels = _pixels(measurements[name][0])
                if pixels is not None:
                    self._fresh[name] = self._last[name] = pixels
                    self._came[name] = (self._came.get(name, (0, 0))[1], time_ns)

    def newest(self, name: str) -> tuple[npt.NDArray[np.uint8] | None, str, int]:
        """Return the newest image of a camera at reduced size (None before the first), a caption, and its time, ns."""
        if name not in self._last:
            return None, "no image yet", 0
        return as_colours(self._last[name], _COLUMNS), self._said(name), self._came[name][1]

    def show(self) -> None:
        """Send the image of the selected camera if it is new."""
        name = self.camera.value
        fresh = self._fresh.pop(name, None)
        if fresh is not None:
            self._image.image = as_colours(fresh, _COLUMNS)
        self._image.visible = name in self._last
        if name not in self._last:
            self._tell("no image yet")
            return
        self._tell(self._said(name))

    def _said(self, name: str) -> str:
        """Return a caption: size, rate and age of the newest image of a camera."""
        pixels, (before, last) = self._last[name], self._came[name]
        rate = f", {1e9 / (last - before):.3g} Hz" if last > before > 0 else ""
        age = f", {(self._now_ns - last) / 1e9:.1f} s old" if self._now_ns > last else ""
        return f"{pixels.shape[1]} x {pixels.shape[0]} pixels{' of depth' if pixels.ndim == 2 else ''}{rate}{age}"

    def _tell(self, text: str) -> None:
        if text != self._shown_text:
            self._shown_text = self._about.content = text


def _pixels(value: npt.NDArray[Any] | Drawing) -> npt.NDArray[Any] | None:
    """Return the image of a measurement or a drawing, if there is one."""
    if isinstance(value, Drawing):
        return next((item.pixels for item in value.items if isinstance(item, Picture)), None)
    return np.asarray(value)
