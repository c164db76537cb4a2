"""GNSS fixes: the path so far, in ENU about the origin of the fixed frame."""

from __future__ import annotations

from typing import Any

import numpy as np

from sim_node.spatial.frames import Frame, convert_position
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.viewing.messages.drawing import FIXED, Drawing, Lines, Points, in_one_colour, strip
from sim_node.viewing.messages.readers import Read, ReaderContext, reader

_COLOUR = (23, 150, 207)
# Maximum number of points of the path.
_LONGEST = 2000
_NO_FIX = -1


@reader("sensor_msgs/msg/NavSatFix")
def fix(scope: ReaderContext) -> Read:
    """Read sensor_msgs/NavSatFix. If no origin is known, the first fix becomes the origin of the fixed frame."""
    way: list[FloatArray] = []
    last = [-1]

    def read(message: Any) -> Drawing:
        frame, stamp = message.header.frame_id, message.header.stamp
        lla = np.array([message.latitude, message.longitude, message.altitude])
        if message.status.status == _NO_FIX or not np.isfinite(lla[:2]).all():
            return Drawing(frame, ())
        if not np.isfinite(lla[2]):  # a 2D fix
            lla[2] = scope.datum.lla[2] if scope.datum.lla else 0.0
        now = stamp.sec * 10**9 + stamp.nanosec
        if now < last[0]:
            way.clear()
        last[0] = now
        if scope.datum.lla is None:
            convert_position(lla, Frame.LLA, Frame.ECEF)  # raises ValueError for impossible fixes
            scope.datum.lla = (float(lla[0]), float(lla[1]), float(lla[2]))
        way.append(convert_position(lla, Frame.LLA, Frame.ENU, scope.datum.lla))
        del way[:-_LONGEST]
        segments = strip(np.array(way))
        at = Points(FIXED, way[-1][None], np.array([_COLOUR], dtype=np.uint8))
        line = Lines(FIXED, segments, in_one_colour(segments, _COLOUR))
        about = "{:.6f}, {:.6f}, {:.1f} m".format(*scope.datum.lla)
        return Drawing(FIXED, (at, line), way[-1], f"WGS84 to ENU about {about}")

    return read
