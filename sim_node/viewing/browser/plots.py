"""Live plots of chosen signals: the last samples of each, in bounded memory."""

from __future__ import annotations

from collections.abc import Callable
from threading import RLock
from typing import Any

import numpy as np

from sim_node.geometry import quaternions
from sim_node.geometry.arrays import FloatArray
from sim_node.viewing.browser.scene import Scene

# Samples of a plot; minimum simulated time between two, s; maximum number of plots.
SAMPLES, APART_S, MAX_SHOWN = 600, 0.05, 8
COLOURS = ("#d62728", "#2ca02c", "#1f77b4")

# By name: the labels of its numbers, and their computation from a pose (7,), the previous one and the seconds between.
Signal = tuple[tuple[str, ...], Callable[[FloatArray, FloatArray, float], FloatArray]]
SIGNALS: dict[str, Signal] = {
    "position (m)": (("x", "y", "z"), lambda pose, before, dt: pose[:3]),
    "orientation (degrees)": (("roll", "pitch", "yaw"), lambda p, before, dt: np.degrees(quaternions.to_rpy(p[3:]))),
    "velocity (m/s)": (("vx", "vy", "vz"), lambda pose, before, dt: (pose[:3] - before[:3]) / dt),
}


class Plot:
    """One signal of one frame, in the fixed frame, over time. name, row: of the frame."""

    def __init__(self, gui: Any, name: str, row: int, signal: str) -> None:
        self.name, self.row = name, row
        labels, self._of = SIGNALS[signal]
        self._samples = np.zeros((0, 1 + len(labels)))
        self._before: FloatArray | None = None
        self._time = 0.0
        series = [{"label": "s"}] + [
            {"label": label, "stroke": colour, "width": 1.5} for label, colour in zip(labels, COLOURS, strict=True)
        ]
        self.handle = gui.add_uplot(
            tuple(np.zeros(0) for _ in series),
            tuple(series),
            title=f"{name}: {signal}",
            aspect=1.6,
            scales={"x": {"time": False}},
        )

    def sample(self, time_s: float, in_root: FloatArray) -> None:
        """Add a sample if enough time has passed; if time goes back, start again."""
        pose = np.array(in_root[self.row])
        gone = time_s - self._time
        if self._before is not None and 0.0 <= gone < APART_S * (1.0 - 1e-6):
            return
        if self._before is None or gone < 0.0:
            self._samples = self._samples[:0]
        else:
            sample = np.concatenate([[time_s], self._of(pose, self._before, gone)])
            self._samples = np.concatenate([self._samples[-SAMPLES + 1 :], sample[None]])
        self._before, self._time = pose, time_s

    def show(self) -> None:
        """Send the samples."""
        self.handle.data = tuple(np.ascontiguousarray(column) for column in self._samples.T)


class Plots:
    """A tab to choose a frame and a signal, add its plot, and remove all plots."""

    def __init__(self, gui: Any, scene: Scene, lock: RLock) -> None:
        self._gui, self._scene, self._lock = gui, scene, lock
        self._plots: list[Plot] = []
        self._frame = gui.add_dropdown("Frame", self._names())
        self._signal = gui.add_dropdown("Signal", tuple(SIGNALS))
        gui.add_button("Add plot").on_click(self._add)
        gui.add_button("Remove plots").on_click(self._remove)
        self._folder = gui.add_folder("Plots")

    def change(self) -> None:
        """Follow a change of the scene: plots of frames that stay go on, those of others are removed."""
        frames = self._scene.frames
        for plot in self._plots:
            if plot.name in frames.names:
                plot.row = frames.index(plot.name)
            else:
                plot.handle.remove()
        self._plots = [plot for plot in self._plots if plot.name in frames.names]
        if (names := self._names()) != self._frame.options:
            self._frame.options = names

    def _names(self) -> tuple[str, ...]:
        """Return the names of all frames, the main moving ones first."""
        frames = self._scene.frames
        first = [row for row in self._scene.main if not frames.still[row]]
        return tuple(frames.names[row] for row in dict.fromkeys([*first, *range(len(frames))]))

    def sample(self, time_ns: int, in_root: FloatArray) -> None:
        """Sample all plotted signals; poses (N, 7) in the fixed frame."""
        for plot in self._plots:
            plot.sample(time_ns / 1e9, in_root)

    def show(self) -> None:
        """Send the plots."""
        for plot in self._plots:
            plot.show()

    def _add(self, event: Any) -> None:
        if len(self._plots) >= MAX_SHOWN:
            event.client.add_notification("Not done", f"at most {MAX_SHOWN} plots can be shown", auto_close_seconds=5.0)
            return
        name = self._frame.value
        with self._lock, self._folder:
            self._plots.append(Plot(self._gui, name, self._scene.frames.index(name), self._signal.value))

    def _remove(self, event: Any) -> None:
        with self._lock:
            for plot in self._plots:
                plot.handle.remove()
            self._plots.clear()
