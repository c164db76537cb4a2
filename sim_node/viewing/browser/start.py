"""Where the camera of a new page begins: the scene fills what the panel leaves free."""

from __future__ import annotations

import math

import numpy as np

from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.viewing.view import View, fitted

# Vertical field of view of the page, rad.
FIELD_OF_VIEW = 0.9
# A common page, and the width of the panel with its margin, pixels. Wider pages leave more room.
PAGE, PANEL = (1280, 720), 335
# Minimum radius of what is seen, m.
MIN_RADIUS = 0.1
_CORNERS = np.array([[k & 1, k & 2, k & 4] for k in range(8)], dtype=bool)


def start_view(points: FloatArray) -> View:
    """Return the view of a common page that has the points (P, 3) beside its panel.

    A scene smaller than MIN_RADIUS is seen as if it were that large. Points that are not finite do not count.
    """
    points = points[np.isfinite(points).all(axis=1)]
    low, high = points.min(axis=0), points.max(axis=0)
    if np.linalg.norm(high - low) < 2.0 * MIN_RADIUS:
        middle, half = 0.5 * (low + high), MIN_RADIUS / math.sqrt(3.0)
        points = middle + np.where(_CORNERS, half, -half)
    horizontal = 2.0 * math.atan(math.tan(0.5 * FIELD_OF_VIEW) * PAGE[0] / PAGE[1])
    return fitted(points, PAGE, horizontal, covered=PANEL / PAGE[0])
