"""Cameras without distortion: pictures in colour, or of depth."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NoReturn

import numpy as np
import numpy.typing as npt

from sim_node.geometry.arrays import FloatArray
from sim_node.names import OPTICAL
from sim_node.sensors.context import Exposure, Lens, SensorContext
from sim_node.sensors.noise import Quantities
from sim_node.sensors.parameters import parameter, whole
from sim_node.sensors.registry import Channels, Message, SensorType, sensor
from sim_node.sensors.truth import FrameState
from sim_node.world.problems import WorldWarning

MAX_PIXELS = 8192
# Begins the pictures of S cameras from the state of their frames, waiting or not; None where that is not possible.
Expose = Callable[[FrameState, bool], "Exposure | None"]


@dataclass(frozen=True)
class Drawn:
    """An Exposure that is done."""

    pictures: npt.NDArray[Any]

    def done(self) -> bool:
        """It is."""
        return True

    def take(self) -> npt.NDArray[Any]:
        """Its pictures."""
        return self.pictures


class CameraType(SensorType):
    """A sensor of pictures, which take a while to be drawn.

    Its frame looks along x (FLU). Messages are in the frame NAME_optical.
    """

    width: int
    height: int
    horizontal_fov: float
    encoding: ClassVar[str]
    optical: ClassVar = True

    @abstractmethod
    def lens(self) -> Lens:
        """How it pictures."""

    def shape(self) -> tuple[int, ...]:
        """Of one picture."""
        return self.lens().shape

    def quantities(self) -> Quantities:
        """None is off."""
        return ()

    def matrix(self) -> FloatArray:
        """The camera matrix K (3, 3), pixels: square ones, their centres at whole numbers, the axis in the middle."""
        focal = 0.5 * self.width / np.tan(0.5 * self.horizontal_fov)
        return np.array([[focal, 0, 0.5 * (self.width - 1)], [0, focal, 0.5 * (self.height - 1)], [0, 0, 1]])

    def messages(self, frame: str, fixed_frame: str) -> tuple[Message, ...]:
        """sensor_msgs/Image, and CameraInfo of a camera without distortion: P is K with a column of zeros."""
        lens, matrix, seen_from = self.lens(), self.matrix(), frame + OPTICAL
        size = {"header.frame_id": seen_from, "height": self.height, "width": self.width}
        pictures = np.zeros(lens.shape, lens.dtype)
        image = {"encoding": self.encoding, "step": pictures[0].nbytes, "data": Channels(..., within=pictures)}
        projection = np.column_stack([matrix, np.zeros(3)])
        camera = {"distortion_model": "plumb_bob", "d": [0.0] * 5, "k": matrix, "r": np.eye(3), "p": projection}
        return (
            Message("image_raw", "sensor_msgs/msg/Image", {**size, **image}),
            Message("camera_info", "sensor_msgs/msg/CameraInfo", {**size, **camera}),
        )

    @classmethod
    def measure(cls, sensors: Sequence[Any], context: SensorContext) -> NoReturn:
        """Pictures are no numbers that are there at once: see `expose`."""
        raise TypeError("pictures are exposed, not measured")

    @classmethod
    def expose(cls, sensors: Sequence[CameraType], context: SensorContext) -> Expose:
        """The function that begins pictures."""
        cameras = context.environment.cameras([each.lens() for each in sensors])
        if cameras is None:
            warnings.warn(f"{', '.join(context.frames)}: no pictures, the world has no shapes", WorldWarning, 2)
            return lambda state, wait: None
        return lambda state, wait: cameras.shoot(state.pose, wait=wait)


@sensor("camera")
@dataclass(frozen=True)
class Camera(CameraType):
    """Reads pictures (height, width, 3) of red, green and blue in bytes.

    They are drawn by a process of their own. A simulation that is stepped waits for them; one that keeps pace with
    the clock does not: then they come out when they are done, with the stamp of when they were taken, and are left
    out where drawing falls behind.
    """

    rate: float = parameter(15.0, "Hz", "pictures per second", above=0.0)
    latency: float = parameter(0.0, "s", "least time from a picture until it is out", low=0.0, high=10.0)
    width: int = whole(640, "pixels", "size across", low=1, high=MAX_PIXELS)
    height: int = whole(480, "pixels", "size downwards", low=1, high=MAX_PIXELS)
    horizontal_fov: float = parameter(1.2, "rad", "angle of view across", low=0.01, high=3.0)
    near: float = parameter(0.02, "m", "nearest that it sees", low=1e-4, high=1e3)
    far: float = parameter(200.0, "m", "farthest that it sees", above=0.0, high=1e5)

    channels: ClassVar = ("red", "green", "blue")
    encoding: ClassVar = "rgb8"

    def lens(self) -> Lens:
        """One of colours."""
        return Lens(self.width, self.height, self.horizontal_fov, self.near, self.far, depth=False)


@sensor("depth_camera")
@dataclass(frozen=True)
class DepthCamera(CameraType):
    """Reads pictures (height, width) of depth, float32, in m along its axis; inf where nothing is seen (REP 118).

    They come out as those of a `camera`.
    """

    rate: float = parameter(15.0, "Hz", "pictures per second", above=0.0)
    latency: float = parameter(0.0, "s", "least time from a picture until it is out", low=0.0, high=10.0)
    width: int = whole(640, "pixels", "size across", low=1, high=MAX_PIXELS)
    height: int = whole(480, "pixels", "size downwards", low=1, high=MAX_PIXELS)
    horizontal_fov: float = parameter(1.2, "rad", "angle of view across", low=0.01, high=3.0)
    near: float = parameter(0.1, "m", "nearest that it sees", low=1e-4, high=1e3)
    far: float = parameter(20.0, "m", "farthest that it sees", above=0.0, high=1e5)

    channels: ClassVar = ("depth",)
    encoding: ClassVar = "32FC1"

    def lens(self) -> Lens:
        """One of depth."""
        return Lens(self.width, self.height, self.horizontal_fov, self.near, self.far, depth=True)
