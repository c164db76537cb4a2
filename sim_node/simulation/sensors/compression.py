"""Images as image_transport's plug-ins `compressed` and `compressedDepth` send them."""

from __future__ import annotations

import io
import struct
from typing import Any

import numpy as np
import numpy.typing as npt

# The defaults of image_transport_plugins: JPEG's quality; the greatest depth (m), and the quantization of depths.
QUALITY, DEPTH_MAX, DEPTH_QUANTISATION = 95, 10.0, 100.0
JPEG, DEPTH = "rgb8; jpeg compressed bgr8", "32FC1; compressedDepth png"
# compressed_depth_image_transport's ConfigHeader: INV_DEPTH, and the two parameters of its quantisation.
_HEADER = struct.Struct("<iff")
_INVERSE_DEPTH = 1


def jpeg(image: npt.NDArray[Any]) -> bytes:
    """Return an image (height, width, 3), uint8, as JPEG."""
    return _file(image, "JPEG", quality=QUALITY)


def compressed_depth(image: npt.NDArray[Any]) -> bytes:
    """Return depths (height, width), m, as a header and a PNG of 16 bits: inverse depths, 0 for none up to DEPTH_MAX.

    depth = A / (value - B), where A = q (q + 1) and B = 1 - A / DEPTH_MAX, for a quantisation of q.
    """
    a = DEPTH_QUANTISATION * (DEPTH_QUANTISATION + 1.0)
    b = 1.0 - a / DEPTH_MAX
    known = (image > 0.0) & (image < DEPTH_MAX)
    values = np.where(known, a / np.where(known, image, 1.0) + b, 0.0)
    return _HEADER.pack(_INVERSE_DEPTH, a, b) + _file(np.minimum(values, 65535.0).astype(np.uint16), "PNG")


def _file(pixels: npt.NDArray[Any], kind: str, **options: Any) -> bytes:
    from PIL import Image

    file = io.BytesIO()
    Image.fromarray(pixels).save(file, kind, **options)
    return file.getvalue()
