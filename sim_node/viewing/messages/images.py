"""Camera images, raw and compressed."""

from __future__ import annotations

import io
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from sim_node.viewing.messages.drawing import Drawing, Picture
from sim_node.viewing.messages.readers import Lenses, Read, ReaderContext, reader

_NAME = "camera_info"


@reader("sensor_msgs/msg/CameraInfo")
def camera_info(scope: ReaderContext) -> Read:
    """Read sensor_msgs/CameraInfo: a frustum, if the camera has no images. Raises ValueError."""

    def read(message: Any) -> Drawing:
        frame, fov = message.header.frame_id, fov_of(message)
        scope.lenses.by_topic[scope.topic] = scope.lenses.by_frame[frame] = fov
        return Drawing(frame, () if scope.topic in scope.lenses.with_images else (Picture(frame, None, fov),))

    return read


def fov_of(message: Any) -> tuple[float, float]:
    """Return the horizontal and vertical field of view, rad: 2 atan(w / 2 fx) and 2 atan(h / 2 fy), from the matrix K.

    This assumes a pinhole camera with a central principal point and no distortion. With a region of interest, w and h
    are those of the region. Raises ValueError if the camera is not calibrated.
    """
    focal = float(message.k[0]), float(message.k[4])
    region = message.roi
    size = (region.width, region.height) if region.width and region.height else (message.width, message.height)
    if not all(math.isfinite(each) and each > 0.0 for each in focal) or not all(size):
        raise ValueError(f"the camera is not calibrated: fx, fy of K are {focal[0]:g}, {focal[1]:g}, "
                         f"its size {size[0]} x {size[1]} pixels")  # fmt: skip
    horizontal, vertical = (2.0 * math.atan(0.5 * pixels / length) for pixels, length in zip(size, focal, strict=True))
    return horizontal, vertical


def lens_of(lenses: Lenses, topic: str, frame: str) -> tuple[float, float] | None:
    """Return the fields of view of an image's camera, rad; None if no CameraInfo has described it.

    The CameraInfo topic is next to the image, as in image_transport, or next to the base topic of a compressed image.
    Otherwise, the last CameraInfo in the same frame is used.
    """
    beside = topic.rpartition("/")[0]
    for place in (beside, beside.rpartition("/")[0]):
        if (name := f"{place}/{_NAME}") in lenses.by_topic:
            lenses.with_images.add(name)
            return lenses.by_topic[name]
    return lenses.by_frame.get(frame)


_CHANNELS = {"rgb8": 3, "bgr8": 3, "rgba8": 4, "bgra8": 4, "mono8": 1}
# Default horizontal field of view if no CameraInfo is known, rad.
FIELD_OF_VIEW = 1.2
# Formats of compressed images, by Pillow's names, and the maximum size of an image, pixels.
_COMPRESSED, _MAX_PIXELS = ("JPEG", "PNG", "WEBP"), 64_000_000


def decompressed(message: Any) -> npt.NDArray[Any]:
    """Return the pixels of a sensor_msgs/CompressedImage (JPEG, PNG or WebP), as pixels_of does. Raises ValueError."""
    from PIL import Image

    if "compressedDepth" in message.format:
        raise ValueError(f"images with format {message.format!r}; known: {', '.join(_COMPRESSED)}")
    try:
        with Image.open(io.BytesIO(bytes(message.data)), formats=_COMPRESSED) as picture:
            if picture.width * picture.height > _MAX_PIXELS:
                raise ValueError(f"an image of {picture.width} x {picture.height} pixels; at most {_MAX_PIXELS}")
            deep = picture.mode.startswith("I")  # 16 bits: a depth image in millimetres (REP 118)
            pixels = np.asarray(picture) * 1e-3 if deep else np.asarray(picture.convert("RGB"))
    except (OSError, SyntaxError) as fault:
        raise ValueError(f"not an image of {', '.join(_COMPRESSED)}: {fault}") from None
    return pixels


def pixels_of(message: Any) -> npt.NDArray[Any]:
    """Return colours (height, width, 3), or depths (height, width), m, of a sensor_msgs/Image. Raises ValueError."""
    if not message.height or not message.width:
        raise ValueError(f"an image of {message.width} x {message.height} pixels")
    data, shape = np.frombuffer(bytes(message.data), np.uint8), (message.height, message.width)
    rows = data.reshape(message.height, message.step)
    if message.encoding == "32FC1":
        depths: npt.NDArray[Any] = rows[:, : 4 * shape[1]].copy().view("<f4")
        return depths.reshape(shape)
    if message.encoding == "16UC1":
        millimetres: npt.NDArray[Any] = rows[:, : 2 * shape[1]].copy().view("<u2")
        return millimetres.reshape(shape) * 1e-3
    channels = _CHANNELS.get(message.encoding)
    if channels is None:
        raise ValueError(f"images with encoding {message.encoding}; known: 32FC1, 16UC1, {', '.join(_CHANNELS)}")
    pixels = rows[:, : channels * shape[1]].reshape(*shape, channels)
    if channels == 1:
        return np.repeat(pixels, 3, axis=-1)
    return pixels[..., 2::-1] if message.encoding.startswith("bgr") else pixels[..., :3]


def _reading(pixels_from: Callable[[Any], npt.NDArray[Any]]) -> Callable[[ReaderContext], Read]:
    """Return a factory of image readers, which use the field of view of a CameraInfo."""

    def open_(scope: ReaderContext) -> Read:
        def read(message: Any) -> Drawing:
            frame, pixels = message.header.frame_id, pixels_from(message)
            fov = lens_of(scope.lenses, scope.topic, frame)
            if fov is None:
                height, width = pixels.shape[:2]
                fov = FIELD_OF_VIEW, 2.0 * math.atan(math.tan(0.5 * FIELD_OF_VIEW) * height / width)
            return Drawing(frame, (Picture(frame, pixels, fov),))

        return read

    return open_


reader("sensor_msgs/msg/Image")(_reading(pixels_of))
reader("sensor_msgs/msg/CompressedImage")(_reading(decompressed))
