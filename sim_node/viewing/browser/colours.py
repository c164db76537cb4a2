"""Colours as viser takes them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sim_node.geometry.arrays import FloatArray


def linear(srgb: FloatArray) -> npt.NDArray[np.uint8]:
    """Colours (..., 3) in 0 to 1, as screens have them, in the linear bytes that viser wants of instances and of lines.

    IEC 61966-2-1.
    """
    light = np.where(srgb <= 0.04045, srgb / 12.92, ((srgb + 0.055) / 1.055) ** 2.4)
    return np.asarray(np.round(light * 255.0), dtype=np.uint8)
