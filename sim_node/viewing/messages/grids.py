"""Occupancy grids."""

from __future__ import annotations

from typing import Any

import numpy as np

from sim_node.viewing.messages.drawing import Colours, Drawing, Raster
from sim_node.viewing.messages.readers import reader, stateless
from sim_node.viewing.messages.stamped_poses import pose_of

# Colours from free to occupied, of unknown cells, and of undefined values above 100.
_FREE, _OCCUPIED, _UNKNOWN, _INVALID = (246, 247, 248), (28, 32, 40), (120, 140, 140), (200, 60, 60)
_OPACITY, _FAINT = 235, 110


def occupancy(message: Any) -> Drawing:
    """Read a nav_msgs/OccupancyGrid: 0 (free) to 100 (occupied) and -1 (unknown). Raises ValueError."""
    info, frame = message.info, message.header.frame_id
    values = np.asarray(message.data, dtype=np.int8)
    if values.size != info.width * info.height:
        raise ValueError(f"{info.width} x {info.height} cells in {values.size} values")
    if not info.resolution > 0.0:
        raise ValueError(f"cells of {info.resolution} m")
    if not values.size:
        return Drawing(frame, ())
    origin = pose_of(info.origin)
    raster = Raster(frame, origin, _COLOURS[values.view(np.uint8)].reshape(info.height, info.width, 4), info.resolution)
    return Drawing(frame, (raster,), origin[:3])


def _palette() -> Colours:
    """Return the colours (256, 4) of values read as bytes."""
    colours = np.tile(np.array([*_INVALID, _OPACITY], dtype=np.uint8), (256, 1))
    share = np.linspace(0.0, 1.0, 101)[:, None]
    colours[:101, :3] = np.round((1.0 - share) * np.array(_FREE) + share * np.array(_OCCUPIED))
    colours[255] = *_UNKNOWN, _FAINT
    return colours


_COLOURS = _palette()
reader("nav_msgs/msg/OccupancyGrid")(stateless(occupancy))
