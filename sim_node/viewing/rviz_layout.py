"""Common parts of rviz2 configurations: panels and tools, a grid, the transforms, views."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import yaml

from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.viewing.extent import Extent
from sim_node.viewing.rviz_displays import PLUGINS, Properties, head
from sim_node.world import FrameTable

# Vertical field of view of rviz' cameras (Ogre::Frustum), and their pitch.
FIELD_OF_VIEW = math.pi / 4.0
PITCH, YAW = 0.5, 0.8
# Above this number of frames, names hide the scene.
MAX_NAMES = 60
_FIXED = "<Fixed Frame>"


def configuration(fixed_frame: str, displays: Sequence[Properties], extent: Extent, views: Sequence[Properties]) -> str:
    """Return the YAML text, with the whole extent in view; views: further views to choose."""
    config = {
        "Panels": [
            {"Class": "rviz_common/Displays", "Name": "Displays"},
            {"Class": "rviz_common/Views", "Name": "Views"},
            {"Class": "rviz_common/Time", "Name": "Time", "SyncMode": 0},
        ],
        "Visualization Manager": {
            "Class": "",
            "Displays": list(displays),
            "Enabled": True,
            "Global Options": {"Background Color": "48; 48; 48", "Fixed Frame": fixed_frame, "Frame Rate": 60},
            "Name": "root",
            "Tools": [{"Class": f"{PLUGINS}/{tool}"} for tool in ("MoveCamera", "Select", "FocusCamera", "Measure")],
            "Transformation": {"Current": {"Class": f"{PLUGINS}/TF"}},
            "Value": True,
            "Views": {"Current": _orbit(extent), "Saved": list(views)},
        },
        "Window Geometry": {"Height": 900, "Width": 1400},
    }
    return yaml.safe_dump(config, sort_keys=False, allow_unicode=True, width=120)


def grid(extent: Extent) -> Properties:
    """Return a grid with cells of 1, 10 or 100 m, slightly above a ground at height zero."""
    radius = extent.radius
    cell = 10.0 ** max(0, math.ceil(math.log10(radius / 40.0)))
    return {
        **head("Grid", "Grid"),
        "Reference Frame": _FIXED,
        "Plane": "XY",
        "Cell Size": cell,
        "Plane Cell Count": max(10, 2 * math.ceil(1.2 * radius / cell)),
        "Offset": {"X": 0, "Y": 0, "Z": 0.005},
        "Color": "160; 160; 164",
        "Alpha": 0.5,
    }


def tf(frames: FrameTable, poses: FloatArray) -> Properties:
    """Return the TF display, with axes about as long as fixed frames are apart."""
    apart = np.linalg.norm(poses[frames.static & (frames.parents > 0), :3], axis=1)
    apart = apart[apart > 1e-3]
    scale = float(np.clip(2.0 * np.median(apart), 0.15, 2.0)) if len(apart) else 1.0
    return {
        **head("TF", "TF"),
        "Frame Timeout": 15,
        "Marker Scale": round(scale, 3),
        "Show Arrows": len(frames) <= MAX_NAMES,
        "Show Axes": True,
        "Show Names": len(frames) <= MAX_NAMES,
        "Update Interval": 0,
    }


def from_above(extent: Extent) -> Properties:
    """Return a view from above."""
    return {
        "Class": f"{PLUGINS}/TopDownOrtho",
        "Name": "From above",
        "Target Frame": _FIXED,
        "Angle": 0,
        "X": float(extent.centre[0]),
        "Y": float(extent.centre[1]),
        "Scale": round(400.0 / extent.radius, 3),
    }


def point(position: FloatArray) -> Properties:
    """Return a position in rviz' form."""
    return {axis: round(float(value), 3) + 0.0 for axis, value in zip("XYZ", position, strict=True)}


def _orbit(extent: Extent) -> Properties:
    return {
        "Class": f"{PLUGINS}/Orbit",
        "Name": "Whole world",
        "Target Frame": _FIXED,
        "Distance": round(extent.radius / math.sin(FIELD_OF_VIEW / 2.0), 3),
        "Focal Point": point(extent.centre),
        "Pitch": PITCH,
        "Yaw": YAW,
        "Near Clip Distance": 0.01,
    }
