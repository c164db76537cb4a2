"""The panel of the page: sensor readouts, and lookups between frames."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from sim_node.spatial.geometry import poses as pose_math
from sim_node.spatial.geometry import quaternions
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.viewing.browser.scene import PageScene
from sim_node.viewing.browser.stream import Latest
from sim_node.viewing.messages.drawing import Drawing
from sim_node.world import FrameTable

# Smaller values are rounding errors of doubles, in any unit used in robotics.
NOISE = 1e-12


class Readouts:
    """A tab that shows the numbers of a sensor's last measurement.

    labels: labels of each sensor's numbers, by sensor; at least one sensor. units: units by sensor and label.
    """

    def __init__(self, gui: Any, labels: Mapping[str, tuple[str, ...]], units: Mapping[str, Mapping[str, str]]) -> None:
        self._labels, self._units = labels, units
        self._last: dict[str, npt.NDArray[Any]] = {}
        self._sensor = gui.add_dropdown("Sensor", tuple(labels))
        self._answer = gui.add_markdown("")
        self._shown_text = ""

    def change(self, labels: Mapping[str, tuple[str, ...]], units: Mapping[str, Mapping[str, str]]) -> None:
        """Show other sensors, at least one. The selection is kept if possible."""
        self._last = {name: values for name, values in self._last.items() if labels.get(name) == self._labels[name]}
        self._labels, self._units = labels, units
        if tuple(labels) != self._sensor.options:
            self._sensor.options = tuple(labels)

    def update(self, described: Latest) -> None:
        """Store the latest measurement of each sensor."""
        for name, (values, _) in described.items():
            if name in self._labels and not isinstance(values, Drawing):
                self._last[name] = values

    def show(self) -> None:
        """Show the numbers of the selected sensor."""
        name = self._sensor.value
        text = "no measurement yet"
        if name in self._last:
            text = table(self._labels[name], self._last[name], self._units.get(name, {}))
        if text != self._shown_text:
            self._shown_text = self._answer.content = text


def table(labels: tuple[str, ...], values: npt.NDArray[Any], units: Mapping[str, str]) -> str:
    """Return one row per number, with six digits and the unit of its label."""
    rows = [
        f"| {label} | {value:.6g} | {units.get(label, '')} |"
        for label, value in zip(labels, without_noise(values).tolist(), strict=True)
    ]
    return "\n".join(["| channel | value | |", "|---|---|---|", *rows])


def without_noise(values: npt.ArrayLike) -> FloatArray:
    """Replace values that are mere rounding errors by 0, for display. Any shape."""
    given = np.array(values, dtype=np.float64)
    given[np.abs(given) < NOISE] = 0.0
    return given


# Maximum number of lines of the hierarchy.
MAX_LINES = 400


class Lookup:
    """A tab with the indented tree, and the result of tf2's lookup_transform(target, source) at the shown time."""

    def __init__(self, gui: Any, scene: PageScene) -> None:
        self._scene = scene
        names, self._first = scene.frames.names, self._defaults()
        self._target = gui.add_dropdown("Target", names, initial_value=self._first[0])
        self._source = gui.add_dropdown("Source", names, initial_value=self._first[1])
        self._answer = gui.add_markdown("")
        self._shown_text = ""
        self._hierarchy = gui.add_markdown(f"```\n{hierarchy(scene)}\n```")

    def change(self) -> None:
        """Follow a change of the scene. Selected frames are kept if they still exist; defaults are determined again."""
        names, before, self._first = self._scene.frames.names, self._first, self._defaults()
        for chosen, was, first in zip((self._target, self._source), before, self._first, strict=True):
            wanted = first if chosen.value == was else chosen.value
            if names != chosen.options:
                chosen.options = names
            if wanted in names and wanted != chosen.value:
                chosen.value = wanted
        self._hierarchy.content = f"```\n{hierarchy(self._scene)}\n```"

    def _defaults(self) -> tuple[str, str]:
        """Return the fixed frame and the most important frame."""
        return self._scene.frames.names[0], self._scene.frames.names[self._scene.first]

    def show(self, poses: FloatArray) -> None:
        """Show the transform, given the pose (N, 7) of each frame in its parent."""
        target, source = self._target.value, self._source.value
        text = described(target, source, self._scene.frames.lookup(poses, target, source))
        if text != self._shown_text:
            self._shown_text = self._answer.content = text


def depths_of(frames: FrameTable) -> list[int]:
    """Return the depth of each frame (N,) below the root."""
    depths: list[int] = []
    for parent in frames.parents.tolist():
        depths.append(0 if parent < 0 else depths[parent] + 1)
    return depths


def hierarchy(scene: PageScene) -> str:
    """Return the frame names, indented below their parents."""
    frames = scene.frames
    lines = [
        f"{'  ' * depth}{name}{'' if static or depth == 0 else '  ~'}"
        for depth, name, static in zip(depths_of(frames), frames.names, frames.static.tolist(), strict=True)
    ]
    more = len(lines) - MAX_LINES
    return "\n".join([*lines[:MAX_LINES], *([f"... and {more} more"] if more > 0 else [])])


def described(target: str, source: str, pose: FloatArray) -> str:
    """Return a pose (7,) as Markdown."""
    pose = without_noise(pose)
    position, rotation = pose_math.position(pose), pose_math.orientation(pose)
    rpy = np.round(np.degrees(quaternions.to_rpy(rotation)), 2) + 0.0
    return "\n".join(
        [
            f"`{source}` in `{target}`",
            "",
            "| | x | y | z | w |",
            "|---|---|---|---|---|",
            f"| position, m | {position[0]:.3f} | {position[1]:.3f} | {position[2]:.3f} | |",
            "| quaternion | " + " | ".join(f"{part:.4f}" for part in rotation) + " |",
            f"| rpy, degrees | {rpy[0]:.2f} | {rpy[1]:.2f} | {rpy[2]:.2f} | |",
            "",
            f"distance {float(np.linalg.norm(position)):.3f} m",
        ]
    )
