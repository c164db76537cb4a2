"""Cameras: colour and depth images, through lenses with and without distortion, and compressed ones."""

from __future__ import annotations

import io
import math
import struct
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NoReturn

import numpy as np
import numpy.typing as npt

from sim_node.names import OPTICAL
from sim_node.simulation.sensors.context import Exposure, Lens, SensorContext
from sim_node.simulation.sensors.distortion import DistortedExposure, Distortion, Optics, Sampling, optics
from sim_node.simulation.sensors.parameters import group, parameter, whole
from sim_node.simulation.sensors.registry import Channels, Encoded, Message, SensorType, sensor
from sim_node.simulation.sensors.truth import FrameState
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.world.declared import declared, given
from sim_node.world.model import Sensor, World
from sim_node.world.problems import WorldWarning
from sim_node.world.quantities import Flag, ListOf, Word

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


MAX_PIXELS = 8192
# Starts rendering the images of S cameras from the state of their frames, waiting or not; None if that is impossible.
Expose = Callable[[FrameState, bool], "Exposure | None"]


def _transports(name: str) -> Any:
    """Declare which image_transport plugins are published besides `raw`."""
    return given(ListOf(Word((name,))), f"further transports: {name}", default=())


@dataclass(frozen=True)
class ReadyExposure:
    """An Exposure whose images are available."""

    images: npt.NDArray[Any]

    def done(self) -> bool:
        """Return True."""
        return True

    def result(self) -> npt.NDArray[Any]:
        """Return the images."""
        return self.images


@declared
class CameraType(SensorType):
    """Base of cameras, whose images take time to render.

    Its frame looks along x (FLU). Messages are in the frame NAME_optical.
    """

    rate: float = parameter(15.0, "Hz", "images per second", above=0.0)
    latency: float = parameter(0.0, "s", "minimum time from exposure to publication", low=0.0, high=10.0)
    width: int = whole(640, "pixels", "width of an image", low=1, high=MAX_PIXELS)
    height: int = whole(480, "pixels", "height of an image", low=1, high=MAX_PIXELS)
    horizontal_fov: float = parameter(1.2, "rad", "horizontal field of view", low=0.01, high=3.0)
    near: float = parameter(0.02, "m", "distance of the near clipping plane", low=1e-4, high=1e3)
    far: float = parameter(200.0, "m", "distance of the far clipping plane", above=0.0, high=1e5)

    distortion: Distortion = group(Distortion(), "", "distortion of the lens")
    rectified: bool = given(Flag(), "whether image_rect has the image without distortion", default=False)
    baseline: float = parameter(
        0.0, "m", "of the right camera of a stereo pair: how far right of the left one it is", low=0.0
    )
    transports: tuple[str, ...] = _transports("compressed")

    # The format of the type's further transport, as image_transport names it.
    pressed: ClassVar[str]
    encoding: ClassVar[str]
    optical: ClassVar = True

    def lens(self) -> Lens:
        """Return the resolution, field of view and range, for colours or for depth."""
        depth = self.channels == ("depth",)
        return Lens(self.width, self.height, self.horizontal_fov, self.near, self.far, depth=depth)

    def shape(self) -> tuple[int, ...]:
        """Return the shape of an image."""
        return self.lens().shape

    def in_world(self, mounting: Sensor, world: World) -> CameraType:
        """Return the camera itself. Raises ValueError if its lens cannot be rendered."""
        self.optics()
        return self

    def optics(self) -> Optics | None:
        """Return the lens with its distortion; None without."""
        if self.distortion.is_none:
            return None
        return optics(self.distortion, self.width, self.height, float(self.matrix()[0, 0]))

    def rectify(self, image: npt.NDArray[Any]) -> bytes:
        """Return the rectified image, as image_proc computes it from the distorted one.

        Args:
            image: The image (height, width, ...).

        Returns:
            The bytes of its pixels.
        """
        lens = self.optics()
        return (image if lens is None else lens.rectify.take(image)).tobytes()

    def press(self, image: npt.NDArray[Any]) -> bytes:
        """Compress an image for the additional transport.

        Args:
            image: The image (height, width, ...).

        Returns:
            The compressed bytes.
        """
        raise NotImplementedError

    def matrix(self) -> FloatArray:
        """Return the camera matrix K (3, 3), pixels.

        Pixels are square, with centres at whole numbers; the principal point is the centre of the image.
        """
        focal = 0.5 * self.width / np.tan(0.5 * self.horizontal_fov)
        return np.array([[focal, 0, 0.5 * (self.width - 1)], [0, focal, 0.5 * (self.height - 1)], [0, 0, 1]])

    def messages(self, frame: str, fixed_frame: str) -> tuple[Message, ...]:
        """Return an Image, a CameraInfo, whose P is K with the column of the baseline, and the additional images."""
        lens, matrix, seen_from = self.lens(), self.matrix(), frame + OPTICAL
        size = {"header.frame_id": seen_from, "height": self.height, "width": self.width}
        images = np.zeros(lens.shape, lens.dtype)
        image = {"encoding": self.encoding, "step": images[0].nbytes, "data": Channels(..., within=images)}
        pressed = {"header.frame_id": seen_from, "format": self.pressed, "data": Encoded(self.press)}
        rectified = {**image, "data": Encoded(self.rectify)}
        projection = np.column_stack([matrix, [-matrix[0, 0] * self.baseline, 0.0, 0.0]])
        lens_of = {"distortion_model": self.distortion.model, "d": self.distortion.padded}
        camera = {**lens_of, "k": matrix, "r": np.eye(3), "p": projection}
        return (
            Message("image_raw", "sensor_msgs/msg/Image", {**size, **image}),
            Message("camera_info", "sensor_msgs/msg/CameraInfo", {**size, **camera}),
            *([Message("image_rect", "sensor_msgs/msg/Image", {**size, **rectified})] if self.rectified else []),
            *(
                Message(f"image_raw/{transport}", "sensor_msgs/msg/CompressedImage", pressed)
                for transport in dict.fromkeys(self.transports)
            ),
        )

    @classmethod
    def measure(cls, sensors: Sequence[Any], context: SensorContext) -> NoReturn:
        """Raise TypeError: images are not available immediately; see `expose`."""
        raise TypeError("images are exposed, not measured")

    @classmethod
    def expose(cls, sensors: Sequence[CameraType], context: SensorContext) -> Expose:
        """Return the function that starts rendering images."""
        lenses, samplings = _rendered(sensors)
        cameras = context.environment.cameras(lenses)
        if cameras is None:
            warnings.warn(f"{', '.join(context.frames)}: no images, the world has no shapes", WorldWarning, 2)
            return lambda state, wait: None

        def expose(state: FrameState, wait: bool) -> Exposure | None:
            exposure = cameras.render(state.pose, wait=wait)
            return exposure if exposure is None or not samplings else DistortedExposure(exposure, samplings)

        return expose


def _rendered(sensors: Sequence[CameraType]) -> tuple[list[Lens], list[Sampling]]:
    """Return the lenses of the images to render, all of one size, and the sampling of each camera's image from them.

    Without any distortion, these are the cameras' own lenses, and there are no samplings.
    """
    found = [each.optics() for each in sensors]
    if not any(found):
        return [each.lens() for each in sensors], []
    across, along = (max(each.margins[axis] for each in found if each) for axis in (0, 1))
    lenses, samplings = [], []
    for each, lens in zip(sensors, found, strict=True):
        width, height, focal = each.width + 2 * across, each.height + 2 * along, float(each.matrix()[0, 0])
        own = each.lens()
        field = 2.0 * math.atan(0.5 * width / focal)
        lenses.append(replace(own, width=width, height=height, horizontal_fov=field))
        pixels = np.stack(np.meshgrid(np.arange(each.width), np.arange(each.height)), axis=-1)
        places = pixels if lens is None else lens.places
        samplings.append(Sampling.at(places + np.array([across, along], float), width, height))
    return lenses, samplings


@sensor("camera")
@declared
class Camera(CameraType):
    """Takes RGB images (height, width, 3), uint8.

    A separate process renders them. A simulation that is stepped waits for them. One that keeps pace with the wall
    clock does not wait: images are published when they are ready, stamped with the time of exposure, and are dropped if
    rendering falls behind.
    """

    channels: ClassVar = ("red", "green", "blue")
    encoding: ClassVar = "rgb8"
    pressed: ClassVar = JPEG

    def press(self, image: npt.NDArray[Any]) -> bytes:
        """Compress an image.

        Args:
            image: The image (height, width, 3).

        Returns:
            The image as JPEG.
        """
        return jpeg(image)


@sensor("depth_camera")
@declared
class DepthCamera(CameraType):
    """Takes depth images (height, width), float32, m along its axis; inf where nothing is seen (REP 118).

    They are rendered and published like those of a `camera`.
    """

    near: float = parameter(0.1, "m", "distance of the near clipping plane", low=1e-4, high=1e3)
    far: float = parameter(20.0, "m", "distance of the far clipping plane", above=0.0, high=1e5)

    transports: tuple[str, ...] = _transports("compressedDepth")

    channels: ClassVar = ("depth",)
    encoding: ClassVar = "32FC1"
    pressed: ClassVar = DEPTH

    def press(self, image: npt.NDArray[Any]) -> bytes:
        """Return depths as image_transport's compressedDepth.

        Args:
            image: The image (height, width), m.

        Returns:
            The compressed bytes.
        """
        return compressed_depth(image)
