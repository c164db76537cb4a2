"""The panel of the page: readouts, and lookups between frames."""

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

# What is smaller is rounding of doubles, in any unit of a robot.
NOISE = 1e-12


class Readouts:
    """A tab that shows the numbers of a sensor's last measurement.

    labels: of the numbers of each sensor, by its name; one or more sensors. units: by sensor and label.
    """

    def __init__(self, gui: Any, labels: Mapping[str, tuple[str, ...]], units: Mapping[str, Mapping[str, str]]) -> None:
        self._labels, self._units = labels, units
        self._last: dict[str, npt.NDArray[Any]] = {}
        self._sensor = gui.add_dropdown("Sensor", tuple(labels))
        self._answer = gui.add_markdown("")
        self._shown_text = ""

    def change(self, labels: Mapping[str, tuple[str, ...]], units: Mapping[str, Mapping[str, str]]) -> None:
        """Show other sensors: one or more. The chosen one stays if it is among them."""
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
        """Show the numbers of the chosen sensor."""
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
    """Return numbers of any shape with 0 for those that are rounding only, for people to read."""
    given = np.array(values, dtype=np.float64)
    given[np.abs(given) < NOISE] = 0.0
    return given


# Maximum number of lines of the hierarchy.
MAX_LINES = 400


class Lookup:
    """A tab with the tree, indented, and the result of tf2's lookup_transform(target, source) at the shown time."""

    def __init__(self, gui: Any, scene: PageScene) -> None:
        self._scene = scene
        names, self._first = scene.frames.names, self._defaults()
        self._target = gui.add_dropdown("Target", names, initial_value=self._first[0])
        self._source = gui.add_dropdown("Source", names, initial_value=self._first[1])
        self._answer = gui.add_markdown("")
        self._shown_text = ""
        self._hierarchy = gui.add_markdown(f"```\n{hierarchy(scene)}\n```")

    def change(self) -> None:
        """Follow a change of the scene. Chosen frames stay if they are still there; those at first are found anew."""
        names, before, self._first = self._scene.frames.names, self._first, self._defaults()
        for chosen, was, first in zip((self._target, self._source), before, self._first, strict=True):
            wanted = first if chosen.value == was else chosen.value
            if names != chosen.options:
                chosen.options = names
            if wanted in names and wanted != chosen.value:
                chosen.value = wanted
        self._hierarchy.content = f"```\n{hierarchy(self._scene)}\n```"

    def _defaults(self) -> tuple[str, str]:
        """Return the fixed frame, and the most important one."""
        return self._scene.frames.names[0], self._scene.frames.names[self._scene.first]

    def show(self, poses: FloatArray) -> None:
        """Show the transform, from each frame's pose (N, 7) in its parent."""
        target, source = self._target.value, self._source.value
        text = described(target, source, self._scene.frames.lookup(poses, target, source))
        if text != self._shown_text:
            self._shown_text = self._answer.content = text


def depths_of(frames: FrameTable) -> list[int]:
    """Return how many frames (N,) each is below the root."""
    depths: list[int] = []
    for parent in frames.parents.tolist():
        depths.append(0 if parent < 0 else depths[parent] + 1)
    return depths


def hierarchy(scene: PageScene) -> str:
    """Return the names, indented below their parents'."""
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
