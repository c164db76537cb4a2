"""Distortion of lenses, as sensor_msgs/CameraInfo and OpenCV name it, and images through such lenses.

A camera renders a sufficiently large image without distortion, and samples each distorted pixel from it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from sim_node.simulation.sensors.context import Exposure
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.world.declared import declared, given
from sim_node.world.quantities import ListOf, Number, Word

# Number of coefficients by model: k1, k2, t1, t2, k3 (Brown-Conrady), and k1 to k4 (Kannala and Brandt).
MODELS = {"plumb_bob": 5, "equidistant": 4}
# Maximum size of the rendered image in each direction, pixels, and maximum angle from the axis, rad.
MAX_RENDERED, MAX_ANGLE = 8192, 1.5
_STEPS, _EXACT = 50, 1e-12


@declared
class Distortion:
    """Distortion of a lens: where a ray meets the image, in focal lengths from the axis, by where it would without."""

    model: str = given(Word(tuple(MODELS)), "plumb_bob, or equidistant for fisheyes", default="plumb_bob")
    coefficients: tuple[float, ...] = given(
        ListOf(Number()), "k1, k2, t1, t2, k3 of plumb_bob; k1 to k4 of equidistant; missing ones are 0", default=()
    )

    @property
    def is_none(self) -> bool:
        """Whether there is no distortion."""
        return self.model == "plumb_bob" and not any(self.coefficients)

    @property
    def padded(self) -> tuple[float, ...]:
        """All coefficients of the model, with zeros for missing ones."""
        return (*self.coefficients, *[0.0] * (MODELS[self.model] - len(self.coefficients)))

    def distorted(self, points: FloatArray) -> FloatArray:
        """Return the distorted image points of rays.

        Args:
            points: Undistorted points (..., 2), in focal lengths to the right of and below the axis.

        Returns:
            Distorted points (..., 2), likewise.
        """
        x, y = points[..., 0], points[..., 1]
        if self.model == "equidistant":
            radius = np.hypot(x, y)
            scale = np.ones_like(radius)
            np.divide(self._bent(np.arctan(radius)), radius, out=scale, where=radius > 0.0)
            return points * scale[..., None]
        k1, k2, t1, t2, k3 = self.padded
        square = x * x + y * y
        radial = 1.0 + square * (k1 + square * (k2 + square * k3))
        aside = 2.0 * t1 * x * y + t2 * (square + 2.0 * x * x)
        below = t1 * (square + 2.0 * y * y) + 2.0 * t2 * x * y
        return np.stack([x * radial + aside, y * radial + below], axis=-1)

    def undistorted(self, points: FloatArray) -> FloatArray:
        """Return the undistorted image points of rays: the inverse of `distorted`, near the axis.

        Args:
            points: Distorted points (..., 2), in focal lengths to the right of and below the axis.

        Returns:
            Undistorted points (..., 2), likewise.

        Raises:
            ValueError: A point has no inverse: the distortion folds the image there, or the ray is too far off axis.
        """
        if self.model == "equidistant":
            radius = np.hypot(points[..., 0], points[..., 1])
            angle = _newton(radius.copy(), lambda theta: self._bent(theta) - radius, self._bending)
            if angle.size and angle.max() > MAX_ANGLE:
                most = math.degrees(angle.max())
                raise ValueError(
                    f"sees {most:.0f} degrees off its axis; at most {math.degrees(MAX_ANGLE):.0f} are drawn"
                )
            scale = np.ones_like(radius)
            np.divide(np.tan(angle), radius, out=scale, where=radius > 0.0)
            return points * scale[..., None]
        wanted = points.reshape(-1, 2)
        found: FloatArray = wanted.copy()
        left = np.arange(len(wanted))
        with np.errstate(all="ignore"):  # points without an inverse may diverge
            for _ in range(_STEPS):
                error = self.distorted(found[left]) - wanted[left]
                off = ~(np.abs(error) < _EXACT).all(axis=-1)
                left, error = left[off], error[off]
                if not len(left):
                    break
                xx, xy, yy = self._slopes(found[left])
                across, along = error[:, 0], error[:, 1]
                step = np.stack([yy * across - xy * along, xx * along - xy * across], axis=-1)
                found[left] -= step / (xx * yy - xy * xy)[:, None]
            if not np.abs(self.distorted(found) - wanted).max(initial=0.0) < 1e-9:
                raise ValueError("folds the image: some pixel is met by no ray")
        xx, xy, yy = self._slopes(found)
        if (xx * yy <= xy * xy).any():
            raise ValueError("folds the image: some pixel is met by two rays")
        return found.reshape(points.shape)

    def _bent(self, theta: FloatArray) -> FloatArray:
        square = theta * theta
        k1, k2, k3, k4 = self.padded
        return theta * (1.0 + square * (k1 + square * (k2 + square * (k3 + square * k4))))

    def _bending(self, theta: FloatArray) -> FloatArray:
        square = theta * theta
        k1, k2, k3, k4 = self.padded
        return 1.0 + square * (3.0 * k1 + square * (5.0 * k2 + square * (7.0 * k3 + square * 9.0 * k4)))

    def _slopes(self, points: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the derivatives (...) of plumb_bob: dx/dx, dx/dy = dy/dx, and dy/dy."""
        x, y = points[..., 0], points[..., 1]
        k1, k2, t1, t2, k3 = self.padded
        square = x * x + y * y
        radial = 1.0 + square * (k1 + square * (k2 + square * k3))
        slope = 2.0 * (k1 + square * (2.0 * k2 + square * 3.0 * k3))
        mixed = x * y * slope + 2.0 * t1 * x + 2.0 * t2 * y
        across = radial + x * x * slope + 2.0 * t1 * y + 6.0 * t2 * x
        return across, mixed, radial + y * y * slope + 6.0 * t1 * y + 2.0 * t2 * x


def _newton(start: FloatArray, error: Any, slope: Any) -> FloatArray:
    """Return the zeros of monotonic functions by Newton's method. Raises ValueError if there are none."""
    found = start
    for _ in range(_STEPS):
        off = error(found)
        if np.abs(off).max(initial=0.0) < _EXACT:
            break
        found = found - off / slope(found)
    if not np.abs(error(found)).max(initial=0.0) < 1e-9 or (slope(found) <= 0.0).any() or (found < 0.0).any():
        raise ValueError("folds the image: some pixel is met by no ray, or by two")
    return found


@dataclass(frozen=True)
class Sampling:
    """Samples an image at given places.

    Attributes:
        rows: Row (H, W) of the pixel at the upper left of each place.
        columns: Column (H, W) of that pixel.
        weights: Bilinear weights (4, H, W) of that pixel and those to the right, below, and below right.
        outside: Whether each place (H, W) is outside of the image.
    """

    rows: npt.NDArray[np.intp]
    columns: npt.NDArray[np.intp]
    weights: npt.NDArray[np.float32]
    outside: npt.NDArray[np.bool_]

    @classmethod
    def at(cls, places: FloatArray, width: int, height: int) -> Sampling:
        """Return the sampling of an image at places (H, W, 2): columns and rows, pixels."""
        x, y = places[..., 0], places[..., 1]
        # Pixels extend to half a pixel beyond their centres.
        outside = (x < -0.5) | (x > width - 0.5) | (y < -0.5) | (y > height - 0.5)
        x, y = np.clip(x, 0.0, width - 1.0), np.clip(y, 0.0, height - 1.0)
        columns = np.clip(np.floor(x).astype(np.intp), 0, max(width - 2, 0))
        rows = np.clip(np.floor(y).astype(np.intp), 0, max(height - 2, 0))
        right, below = x - columns, y - rows
        weights = [(1 - right) * (1 - below), right * (1 - below), (1 - right) * below, right * below]
        return cls(rows, columns, np.stack(weights).astype(np.float32), outside)

    def take(self, image: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return the image sampled at the places.

        Args:
            image: Colours (height, width, 3), uint8, which are interpolated; or depths (height, width), of which the
                nearest is taken, because there is nothing between two surfaces.

        Returns:
            The sampled image (H, W, ...): outside of the image, black or an infinite depth.
        """
        last_row, last_column = image.shape[0] - 1, image.shape[1] - 1
        below, right = np.minimum(self.rows + 1, last_row), np.minimum(self.columns + 1, last_column)
        if image.ndim == 2:
            lower, righter = self.weights[2] + self.weights[3] > 0.5, self.weights[1] + self.weights[3] > 0.5
            found = image[np.where(lower, below, self.rows), np.where(righter, right, self.columns)]
            found[self.outside] = np.inf
            return found
        corners = ((self.rows, self.columns), (self.rows, right), (below, self.columns), (below, right))
        total = np.full((*self.rows.shape, image.shape[2]), 0.5, np.float32)
        for weight, corner in zip(self.weights, corners, strict=True):
            total += weight[..., None] * image[corner]
        total[self.outside] = 0.0
        return total.astype(image.dtype)


@dataclass(frozen=True)
class Optics:
    """A lens with distortion.

    Attributes:
        margins: Additional pixels of the rendered image on the left and right each, and above and below each.
        places: Undistorted place (H, W, 2) of each pixel: column and row in the image without margins.
        rectify: Samples the distorted image to rectify it.
    """

    margins: tuple[int, int]
    places: FloatArray
    rectify: Sampling


@lru_cache(32)
def optics(distortion: Distortion, width: int, height: int, focal: float) -> Optics:
    """Return a lens with distortion.

    Args:
        distortion: The distortion.
        width: Width of the image, pixels.
        height: Height of the image, pixels.
        focal: Focal length, pixels. The axis is in the middle of the image.

    Returns:
        The lens.

    Raises:
        ValueError: There are too many coefficients, the distortion folds the image, or the image to render would be too
            large.
    """
    count = len(distortion.coefficients)
    if count > MODELS[distortion.model]:
        allowed = MODELS[distortion.model]
        raise ValueError(f"distortion: {distortion.model} has {allowed} coefficients, found {count}")
    centre = np.array([0.5 * (width - 1), 0.5 * (height - 1)])
    pixels = np.stack(np.meshgrid(np.arange(width), np.arange(height)), axis=-1).astype(float)
    ahead = (pixels - centre) / focal
    try:
        # Check the edges first: lenses that fold the image mostly do so there.
        distortion.undistorted(np.concatenate([ahead[0], ahead[-1], ahead[:, 0], ahead[:, -1]]))
        without = distortion.undistorted(ahead)
    except ValueError as wrong:
        raise ValueError(f"distortion: {wrong}") from None
    beyond = np.abs(without).reshape(-1, 2).max(axis=0) * focal - centre
    across, along = (max(0, math.ceil(each)) for each in beyond.tolist())
    if max(width + 2 * across, height + 2 * along) > MAX_RENDERED:
        size = f"{width + 2 * across} x {height + 2 * along}"
        raise ValueError(f"distortion: needs a rendered image of {size} pixels; allowed: up to {MAX_RENDERED}")
    rectify = Sampling.at(distortion.distorted(ahead) * focal + centre, width, height)
    return Optics((across, along), without * focal + centre, rectify)


@dataclass(frozen=True)
class DistortedExposure:
    """An Exposure of distorted images, sampled from images that are rendered without distortion.

    Attributes:
        of: The images that are being rendered, with margins.
        samplings: The sampling of each camera's image.
    """

    of: Exposure
    samplings: Sequence[Sampling]

    def done(self) -> bool:
        """Return whether `result` would return immediately."""
        return self.of.done()

    def result(self) -> npt.NDArray[Any] | None:
        """Wait for the images (S, height, width, ...) and return them; None if they were lost."""
        images = self.of.result()
        if images is None:
            return None
        return np.stack([each.take(image) for each, image in zip(self.samplings, images, strict=True)])
