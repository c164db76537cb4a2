"""The hierarchy of frames, and the transform between two of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from sim_node.geometry import poses as pose_math
from sim_node.geometry import quaternions
from sim_node.geometry.arrays import FloatArray
from sim_node.viewing.browser.scene import Scene

# Lines of the hierarchy that are written out.
MAX_LINES = 400


class Lookup:
    """A tab: the tree, indented, and what tf2's lookup_transform(target, source) would say at the shown time."""

    def __init__(self, gui: Any, scene: Scene) -> None:
        self._scene = scene
        names = scene.frames.names
        self._target = gui.add_dropdown("Target", names, initial_value=names[0])
        self._source = gui.add_dropdown("Source", names, initial_value=names[scene.first])
        self._answer = gui.add_markdown("")
        self._told = ""
        gui.add_markdown(f"```\n{hierarchy(scene)}\n```")

    def show(self, poses: FloatArray) -> None:
        """Writes the transform out, from each frame's pose (N, 7) in its parent."""
        target, source = self._target.value, self._source.value
        text = told(target, source, self._scene.frames.lookup(poses, target, source))
        if text != self._told:
            self._told = self._answer.content = text


def hierarchy(scene: Scene) -> str:
    """Names indented below their parents'."""
    frames = scene.frames
    depths: list[int] = []
    for parent in frames.parents.tolist():
        depths.append(0 if parent < 0 else depths[parent] + 1)
    lines = [
        f"{'  ' * depth}{name}{'' if static or depth == 0 else '  ~'}"
        for depth, name, static in zip(depths, frames.names, frames.static.tolist(), strict=True)
    ]
    more = len(lines) - MAX_LINES
    return "\n".join([*lines[:MAX_LINES], *([f"... and {more} more"] if more > 0 else [])])


def told(target: str, source: str, pose: FloatArray) -> str:
    """A pose (7,) in words."""
    position, rotation = pose_math.position(pose) + 0.0, pose_math.orientation(pose)
    rpy = np.round(np.degrees(quaternions.to_rpy(rotation)), 2) + 0.0
    return "\n".join(
        [
            f"`{source}` in `{target}`",
            "",
            "| | x | y | z | w |",
            "|---|---|---|---|---|",
            f"| position, m | {position[0]:.3f} | {position[1]:.3f} | {position[2]:.3f} | |",
            "| quaternion | " + " | ".join(f"{part + 0.0:.4f}" for part in rotation) + " |",
            f"| rpy, degrees | {rpy[0]:.2f} | {rpy[1]:.2f} | {rpy[2]:.2f} | |",
            "",
            f"distance {float(np.linalg.norm(position)):.3f} m",
        ]
    )
