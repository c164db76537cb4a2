"""Live plots of selected signals: the latest samples of each, in bounded memory."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from threading import RLock
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from sim_node.simulation import Refused
from sim_node.spatial.geometry import quaternions
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.viewing.browser.answering import answer
from sim_node.viewing.browser.scene import PageScene
from sim_node.viewing.browser.stream import Latest
from sim_node.viewing.messages.drawing import Drawing
from sim_node.viewing.shown_signals import common_unit, velocity

# Maximum number of samples of a plot, their minimum distance in simulated time, s, and the maximum number of plots.
SAMPLES, APART_S, MAX_SHOWN = 1200, 0.05, 8
COLOURS = ("#d62728", "#2ca02c", "#1f77b4")
_SCALES: dict[str, Any] = {"x": {"time": False}}


class PlottedSignal(NamedTuple):
    """Labels of a signal's numbers, and the function that computes them from the source's present values, those of the
    last sample, and the seconds in between. Also the unit, unless the name states it.
    """

    labels: tuple[str, ...]
    read: Callable[[FloatArray, FloatArray, float], FloatArray]
    unit: str = ""


# Signals of a frame, from its pose (7,) in the fixed frame
SIGNALS: dict[str, PlottedSignal] = {
    "position (m)": PlottedSignal(("x", "y", "z"), lambda pose, before, dt: pose[:3]),
    "orientation (degrees)": PlottedSignal(
        ("roll", "pitch", "yaw"), lambda pose, before, dt: np.degrees(quaternions.to_rpy(pose[3:]))
    ),
    "velocity (m/s)": PlottedSignal(("vx", "vy", "vz"), lambda pose, before, dt: velocity(before, pose, dt)[3:]),
    "angular velocity (rad/s)": PlottedSignal(
        ("ωx", "ωy", "ωz"), lambda pose, before, dt: velocity(before, pose, dt)[:3]
    ),
}
# Signals of a ghost's frame, from the pose of the original and its own (14,), both in the fixed frame
DIFFERENCES: dict[str, PlottedSignal] = {
    "Δ position (m)": PlottedSignal(("x", "y", "z"), lambda both, before, dt: both[7:10] - both[:3]),
    "Δ attitude (degrees)": PlottedSignal(
        ("x", "y", "z"),
        lambda both, before, dt: np.degrees(
            quaternions.log(quaternions.multiply(quaternions.conjugate(both[3:7]), both[10:]))
        ),
    ),
}


def signals_of(labels: tuple[str, ...], units: Mapping[str, str] = MappingProxyType({})) -> dict[str, PlottedSignal]:
    """Return the signals of a sensor. Up to three numbers with a common label prefix form one signal, such as `rate`.

    units: units by label. A signal with several units gets none.
    """
    groups: dict[str, list[int]] = {}
    for number, label in enumerate(labels):
        stem = label.rpartition("_")[0] or label.rpartition(" ")[0] or label
        groups.setdefault(stem, []).append(number)
    found: dict[str, PlottedSignal] = {}
    for stem, numbers in groups.items():
        together = [numbers] if 1 < len(numbers) <= len(COLOURS) else [[number] for number in numbers]
        for some in together:
            chosen = tuple(labels[number] for number in some)
            unit = common_unit(units.get(label, "") for label in chosen)
            found[stem if len(some) > 1 else chosen[0]] = PlottedSignal(chosen, _reader(some), unit)
    return found


def _reader(numbers: list[int]) -> Callable[[FloatArray, FloatArray, float], FloatArray]:
    return lambda values, before, dt: values[numbers]


class Plot:
    """One signal over time.

    Args:
        gui: viser's panel.
        source: Name of the frame or sensor.
        rows: Row of the frame, after that of the ghost's original if the signal is a difference; none for a sensor.
        name: Name of the signal.
        signal: The signal.
    """

    def __init__(self, gui: Any, source: str, rows: list[int], name: str, signal: PlottedSignal) -> None:
        self.source, self.rows, self.name, self.signal = source, rows, name, signal
        self._samples = np.zeros((0, 1 + len(signal.labels)))
        self._before: FloatArray | None = None
        # The inputs of the sample at the present time, if there is one.
        self._last: tuple[FloatArray, float] | None = None
        self._time = 0.0
        self._scales = _SCALES
        series = [{"label": "time (s)"}] + [
            {"label": label, "stroke": colour, "width": 1.5}
            for label, colour in zip(signal.labels, COLOURS, strict=False)
        ]
        self.handle = gui.add_uplot(
            tuple(np.zeros(0) for _ in series),
            tuple(series),
            title=f"{source}: {name}" + (f" ({signal.unit})" if signal.unit else ""),
            aspect=1.6,
            scales=self._scales,
            # Keeps numbers at the upper end from being cut off.
            padding=(12, 8, 0, 0),
        )

    def sample(self, time_s: float, values: FloatArray) -> None:
        """Add a sample, in the order of time, unless there is one nearby. The samples farthest in time are dropped.

        A sample at the same time as the previous one replaces it.
        """
        gone, apart = time_s - self._time, APART_S * (1.0 - 1e-6)
        if self._before is not None and gone == 0.0:  # the instant may be known more completely now, as after a seek
            if self._last is not None:
                self._samples[self._samples[:, 0] == time_s, 1:] = self.signal.read(values, *self._last)
            self._before = np.array(values, dtype=np.float64)
            return
        if self._before is not None and 0.0 <= gone < apart:
            return
        place = int(np.searchsorted(self._samples[:, 0], time_s))
        beside = np.abs(self._samples[max(place - 1, 0) : place + 1, 0] - time_s)
        self._last = None
        if self._before is not None and gone > 0.0 and not (beside < apart).any():
            self._last = self._before, gone
            sample = np.concatenate([[time_s], self.signal.read(values, *self._last)])
            samples = np.insert(self._samples, place, sample, axis=0)
            later = samples[-1, 0] - time_s > time_s - samples[0, 0]
            self._samples = samples[:SAMPLES] if later else samples[-SAMPLES:]
        self._before, self._time = np.array(values, dtype=np.float64), time_s

    def clear(self) -> None:
        """Discard all samples."""
        self._samples, self._before, self._last, self._time = self._samples[:0], None, None, 0.0

    def show(self) -> None:
        """Send the samples."""
        # If all values are zero, uPlot would show 0 to 100.
        scales = _SCALES if self._samples[:, 1:].any() else {**_SCALES, "y": {"range": (-1, 1)}}
        if scales != self._scales:
            self._scales = self.handle.scales = scales
        self.handle.data = tuple(np.ascontiguousarray(column) for column in self._samples.T)


class Plots:
    """A tab to select a frame or sensor and a signal, add its plot, and remove all plots.

    Args:
        gui: viser's panel.
        scene: The scene.
        lock: Held while the scene is changed.
        sensors: Labels of the sensors' numbers, by name.
        units: Units of the sensors' numbers, by name and label.
        ghosts: Originals of the ghosts' frames. Differences of the initially followed frame's ghosts are plotted.
    """

    def __init__(
        self,
        gui: Any,
        scene: PageScene,
        lock: RLock,
        sensors: Mapping[str, tuple[str, ...]],
        units: Mapping[str, Mapping[str, str]],
        ghosts: Mapping[str, str],
    ) -> None:
        self._gui, self._scene, self._lock, self._sensors, self._ghosts = gui, scene, lock, dict(sensors), ghosts
        self._units = units
        self._plots: list[Plot] = []
        self._source = gui.add_dropdown("Plot", self._names(), hint="a frame or a sensor")
        self._signal = gui.add_dropdown("Signal", tuple(self._signals(self._source.value)))
        self._source.on_update(self._chosen)
        gui.add_button("Add plot").on_click(self._added)
        gui.add_button("Remove plots").on_click(self._removed)
        self._folder = gui.add_folder("Plots")
        with self._folder:
            self._none = gui.add_markdown("no plots yet: choose a frame or a sensor, and a signal")
        self._plot_ghosts(ghosts)

    def change(
        self, sensors: Mapping[str, tuple[str, ...]], units: Mapping[str, Mapping[str, str]], ghosts: Mapping[str, str]
    ) -> None:
        """Follow a change of the scene. Plots whose source still exists continue; others are removed."""
        before, self._sensors, self._units = self._sensors, dict(sensors), units
        earlier, self._ghosts = self._ghosts, ghosts
        kept = []
        for plot in self._plots:
            name = plot.source
            if plot.rows and plot.name in self._signals(name):
                plot.rows = self._rows(name, plot.name)
            elif plot.rows or before[name] != self._sensors.get(name):
                plot.handle.remove()
                continue
            kept.append(plot)
        self._plots = kept
        if (names := self._names()) != self._source.options:
            self._source.options = names
            self._choose()
        self._plot_ghosts({name: own for name, own in ghosts.items() if name not in earlier})

    def _plot_ghosts(self, ghosts: Mapping[str, str]) -> None:
        """Plot the differences between the initially followed frame and its ghosts."""
        scene = self._scene
        subject = scene.frames.names[scene.first if scene.followed_first is None else scene.followed_first]
        for ghost in [name for name, own in ghosts.items() if own == subject]:
            for name in DIFFERENCES:
                self._plot(ghost, name)

    def sample(self, time_ns: int, in_root: FloatArray, measurements: Latest) -> None:
        """Sample all plotted signals, given poses (N, 7) in the fixed frame and measurements by name."""
        for plot in self._plots:
            if plot.rows:
                plot.sample(time_ns / 1e9, in_root[plot.rows].ravel())
            elif plot.source in measurements:
                values, _ = measurements[plot.source]
                if not isinstance(values, Drawing):
                    plot.sample(time_ns / 1e9, values)

    def clear(self) -> None:
        """Discard all samples, after a reset of the run."""
        for plot in self._plots:
            plot.clear()

    def show(self) -> None:
        """Send the plots."""
        self._none.visible = not self._plots
        for plot in self._plots:
            plot.show()

    @property
    def shown(self) -> list[str]:
        """The plots, each as `SIGNAL of SOURCE`. When set, valid ones are added and others are removed."""
        return [f"{plot.name} of {plot.source}" for plot in self._plots]

    @shown.setter
    def shown(self, wanted: list[str]) -> None:
        with self._lock:
            for plot in [plot for plot in self._plots if f"{plot.name} of {plot.source}" not in wanted]:
                plot.handle.remove()
                self._plots.remove(plot)
            for text in wanted:
                name, _, source = text.partition(" of ")
                if text not in self.shown and len(self._plots) < MAX_SHOWN and source in self._names():
                    self._plot(source, name)

    def _names(self) -> tuple[str, ...]:
        """Return the names of all frames, moving main frames first, then of sensors that are not frames."""
        frames = self._scene.frames
        first = [row for row in self._scene.main if not frames.still[row]]
        names = [frames.names[row] for row in dict.fromkeys([*first, *range(len(frames))])]
        return tuple(dict.fromkeys([*names, *self._sensors]))

    def _signals(self, source: str) -> dict[str, PlottedSignal]:
        """Return the signals of a frame or a sensor, or of both if a sensor and its frame have the same name."""
        of_frame = SIGNALS if source in self._scene.frames.names else {}
        of_ghost = DIFFERENCES if source in self._ghosts else {}
        of_sensor = signals_of(self._sensors.get(source, ()), self._units.get(source, {}))
        return {**of_sensor, **of_frame, **of_ghost}

    def _rows(self, source: str, name: str) -> list[int]:
        """Return the rows of a frame for a signal, as in Plot."""
        names = [self._ghosts[source], source] if name in DIFFERENCES else [source] if name in SIGNALS else []
        return [self._scene.frames.index(each) for each in names]

    # The following callbacks are awaited before the page's next message, so that they use the selection at that time.

    async def _chosen(self, event: Any) -> None:
        await asyncio.to_thread(self._choose)

    async def _added(self, event: Any) -> None:
        await asyncio.to_thread(self._add, event, self._source.value, self._signal.value)

    async def _removed(self, event: Any) -> None:
        await asyncio.to_thread(self._remove)

    def _choose(self) -> None:
        signals = tuple(self._signals(self._source.value))
        if signals and signals != self._signal.options:
            self._signal.options = signals

    def _plot(self, source: str, name: str) -> None:
        signal = self._signals(source).get(name)
        if signal is None:
            return
        with self._folder:
            self._plots.append(Plot(self._gui, source, self._rows(source, name), name, signal))

    def _add(self, event: Any, source: str, signal: str) -> None:
        def add() -> None:
            if f"{signal} of {source}" in self.shown:
                raise Refused(f"there is a plot of {signal} of {source}")
            if len(self._plots) >= MAX_SHOWN:
                raise Refused(f"at most {MAX_SHOWN} plots can be shown")
            with self._lock:
                self._plot(source, signal)

        answer(event, add)

    def _remove(self) -> None:
        with self._lock:
            for plot in self._plots:
                plot.handle.remove()
            self._plots.clear()
