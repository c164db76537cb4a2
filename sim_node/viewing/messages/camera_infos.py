"""CameraInfo messages: the fields of view of cameras, with or without images."""

from __future__ import annotations

import math
from typing import Any

from sim_node.viewing.messages.drawing import Drawing, Picture
from sim_node.viewing.messages.readers import Lenses, Read, ReaderContext, reader

_NAME = "camera_info"


@reader("sensor_msgs/msg/CameraInfo")
def camera_info(scope: ReaderContext) -> Read:
    """Read sensor_msgs/CameraInfo: a frustum if there are no images to it. Raises ValueError."""

    def read(message: Any) -> Drawing:
        frame, fov = message.header.frame_id, fov_of(message)
        scope.lenses.by_topic[scope.topic] = scope.lenses.by_frame[frame] = fov
        return Drawing(frame, () if scope.topic in scope.lenses.with_images else (Picture(frame, None, fov),))

    return read


def fov_of(message: Any) -> tuple[float, float]:
    """Return the horizontal and vertical field of view, rad: 2 atan(w / 2 fx) and 2 atan(h / 2 fy) of the matrix K.

    That is of a pinhole camera whose principal point is in the middle; the distortion does not count. With a region of
    interest, w and h are the region's. Raises ValueError for a camera that is not calibrated.
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
    """Return the fields of view of the camera of an image, rad; None if no message has described it.

    The CameraInfo is beside the image, as image_transport has it, or beside the topic that a compressed one is below;
    otherwise the last one of its frame.
    """
    beside = topic.rpartition("/")[0]
    for place in (beside, beside.rpartition("/")[0]):
        if (name := f"{place}/{_NAME}") in lenses.by_topic:
            lenses.with_images.add(name)
            return lenses.by_topic[name]
    return lenses.by_frame.get(frame)
