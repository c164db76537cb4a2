"""The viewports of a schematic as views of rviz2."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from sim_node.spatial.geometry import poses, quaternions
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.viewing.cameras import Sight, ViewportCamera
from sim_node.viewing.rviz_displays import PLUGINS, Properties
from sim_node.viewing.rviz_layout import point
from sim_node.viewing.schematic import Viewport
from sim_node.viewing.shown_signals import WORLD_POS, ShownSignals, scene_reference
from sim_node.world import FrameTable, World
from sim_node.world.layout import Layout

_FIXED = "<Fixed Frame>"
# For the direction of a camera without look_at, m.
_AHEAD = 5.0


def viewport_views(world: World, layout: Layout, prefix: str) -> Iterator[Properties]:
    """Yield a view for each viewport that has a name and a `pos`, as it is at the start.

    A camera that moves with a frame is an Orbit around it; one that also turns with it a ThirdPersonFollower, which
    follows its heading. rviz' cameras have one field of view, and are upright. Raises WorldError for an unknown name.
    """
    if world.schematic is None:
        return
    frames, in_root = layout.frames, layout.frames.in_root(layout.poses)
    for viewport in world.schematic.viewports():
        if viewport.name and viewport.pos is not None:
            signals = ShownSignals(frames, reference=scene_reference(world.schematic, world))
            sight = _sight(viewport, signals, in_root)
            if sight is not None:
                yield _view(viewport, signals, frames, in_root, sight, prefix)


def _sight(viewport: Viewport, signals: ShownSignals, in_root: FloatArray) -> Sight | None:
    signals.update(in_root, {})
    return ViewportCamera(viewport, signals).sight()


def _view(
    viewport: Viewport, signals: ShownSignals, frames: FrameTable, in_root: FloatArray, sight: Sight, prefix: str
) -> Properties:
    followed = _followed(viewport)
    eye, target = sight.position, sight.target
    if viewport.look_at is None:
        target = eye + _AHEAD * (target - eye) / np.linalg.norm(target - eye)
    kind, frame, origin = "Orbit", _FIXED, np.array(poses.IDENTITY)
    if followed:
        row = frames.index(followed)
        frame, heading = prefix + followed, quaternions.to_rpy(in_root[row, 3:])[2]
        turned = in_root.copy()
        quarter = quaternions.from_axis_angle([0.0, 0.0, 1.0], 0.5 * np.pi)
        turned[row, 3:] = quaternions.multiply(quarter, turned[row, 3:])
        after = _sight(viewport, signals, turned)
        turns = after is not None and not np.allclose(after.position - after.target, sight.position - sight.target)
        if turns:
            kind = "ThirdPersonFollower"
        upright = quaternions.from_axis_angle([0.0, 0.0, 1.0], heading if turns else 0.0)
        origin = poses.pose(in_root[row, :3], upright)
    eye, target = (poses.apply(poses.invert(origin), each) for each in (eye, target))
    away = eye - target
    distance = float(np.linalg.norm(away))
    return {
        "Class": f"{PLUGINS}/{kind}",
        "Name": viewport.name,
        "Target Frame": frame,
        "Distance": round(distance, 3),
        "Focal Point": point(target),
        "Pitch": round(math.asin(float(np.clip(away[2] / distance, -1.0, 1.0))), 4),
        "Yaw": round(math.atan2(away[1], away[0]) % (2.0 * math.pi), 4),
    }


def _followed(viewport: Viewport) -> str:
    """Return the frame that the camera moves with, or an empty string."""
    assert viewport.pos is not None
    suffix = f".{WORLD_POS}"
    names = [str(name) for name in viewport.pos.names()]
    return next((name.removesuffix(suffix) for name in names if name.endswith(suffix)), "")
