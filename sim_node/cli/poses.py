"""Poses as a terminal shows them."""

from __future__ import annotations

import numpy as np

from sim_node.geometry import quaternions
from sim_node.geometry.arrays import FloatArray


def pose_lines(target: str, source: str, stamp_s: float | None, pose: FloatArray) -> list[str]:
    """The pose (7,) of source in target, in metres and degrees; no stamp where it holds for all times."""
    rpy = np.degrees(quaternions.to_rpy(pose[3:]))
    return [
        f"{source} in {target}" + (" at all times" if stamp_s is None else f" at {stamp_s:.12g} s"),
        f"  translation [{', '.join(f'{part:.6f}' for part in np.round(pose[:3], 6) + 0.0)}] m",
        f"  rotation    [{', '.join(f'{part:.6f}' for part in np.round(pose[3:], 6) + 0.0)}] xyzw",
        f"  rpy         [{', '.join(f'{part:.3f}' for part in np.round(rpy, 3) + 0.0)}] degrees",
    ]


def short_pose(pose: FloatArray) -> str:
    """A pose (7,) on one line."""
    position = ", ".join(f"{part:.3f}" for part in np.round(pose[:3], 3) + 0.0)
    rpy = ", ".join(f"{part:.1f}" for part in np.round(np.degrees(quaternions.to_rpy(pose[3:])), 1) + 0.0)
    return f"position [{position}]  rpy_deg [{rpy}]"
