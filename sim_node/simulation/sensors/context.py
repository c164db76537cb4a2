"""SensorContext: the frames of sensors of one type, and their environment: rays, contacts, joints, wind and cameras."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from sim_node.spatial.geometry import poses
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.world.model import World


class Echoes(NamedTuple):
    """Hits of rays: distances in m, infinite where nothing is in reach, and brightness of the hit colours, 0 to 1."""

    distances: FloatArray
    brightness: FloatArray


@dataclass(frozen=True, slots=True)
class Lens:
    """Resolution, horizontal field of view (rad) and clipping planes (m) of a camera.

    It renders colours (height, width, 3), uint8; or depths (height, width), float32, m along its x axis, inf where
    there is nothing.
    """

    width: int
    height: int
    horizontal_fov: float
    near: float
    far: float
    depth: bool

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of an image: rows from top to bottom, pixels from left to right."""
        return (self.height, self.width) if self.depth else (self.height, self.width, 3)

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of its numbers."""
        return np.dtype(np.float32 if self.depth else np.uint8)


class Exposure(Protocol):
    """Images that are being rendered."""

    def done(self) -> bool:
        """Return whether `result` would return immediately."""

    def result(self) -> npt.NDArray[Any] | None:
        """Wait for the images (S, *shape of their lenses) and return them; None if they were lost."""


class Cameras(Protocol):
    """Cameras with lenses of one shape, whose images are rendered together."""

    def render(self, poses: FloatArray, *, wait: bool) -> Exposure | None:
        """Start rendering from poses (S, 7), FLU axes, at the current step. Return None if that is impossible.

        If too many images are being rendered, it waits or, if `wait` is False, returns None. A failure that makes
        rendering impossible for the rest of a run is reported once, as a WorldWarning.
        """


class Environment:
    """What sensors perceive at the current step of a run, along the fixed frame's axes. The base class is open air.

    Frames are given by their names in the world. Rays from a frame ignore the shapes of its own body.
    """

    def wind(self, positions: FloatArray) -> FloatArray:
        """Return the velocity of the air.

        Args:
            positions: (S, 3), m.

        Returns:
            Velocities (S, 3), m/s.
        """
        return np.zeros_like(positions)

    def cast(self, frames: Sequence[str], origins: FloatArray, directions: FloatArray, reach: float) -> Echoes:
        """Return the first hits of rays.

        Args:
            frames: The frame (S,) of each sensor, whose own body its rays ignore.
            origins: Origins (S, 3) of the rays, m.
            directions: Unit vectors (S, R, 3) of the rays.
            reach: The longest distance, m.

        Returns:
            The hits (S, R).
        """
        return Echoes(np.full(directions.shape[:-1], np.inf), np.zeros(directions.shape[:-1]))

    def contact(self, frames: Sequence[str], about: FloatArray) -> FloatArray:
        """Return the wrenches of all contacts on the bodies of frames.

        Args:
            frames: The frames (S,).
            about: Reference points (S, 3) of the torques, m.

        Returns:
            Wrenches (S, 6) [force, torque], N and N m.
        """
        return np.zeros((len(about), 6))

    def touches(self, frames: Sequence[str], targets: Sequence[Sequence[str]]) -> npt.NDArray[np.bool_]:
        """Return which frames' bodies are in contact with their targets.

        Args:
            frames: The frames (S,).
            targets: For each frame, the frames whose bodies count; any body if there are none.

        Returns:
            Whether each (S,) is in contact with a body that counts.
        """
        return np.zeros(len(targets), dtype=np.bool_)

    def poses(self, names: Sequence[str]) -> Callable[[], FloatArray]:
        """Return a function that reads the poses of bodies in the fixed frame.

        Args:
            names: N bodies, or links of models.

        Returns:
            A function that returns poses (N, 7), m.
        """
        still = np.tile(poses.IDENTITY, (len(names), 1))
        return lambda: still

    def joint(self, frames: Sequence[str], about: FloatArray) -> FloatArray:
        """Return the wrenches on the bodies of frames through their joints.

        Args:
            frames: The frames (S,).
            about: Reference points (S, 3) of the torques, m.

        Returns:
            Wrenches (S, 6) [force, torque], N and N m.
        """
        return np.zeros((len(about), 6))

    def cameras(self, lenses: Sequence[Lens]) -> Cameras | None:
        """Return cameras, before the first image.

        Args:
            lenses: Their lenses.

        Returns:
            The cameras; None if there is nothing to see.
        """
        return None

    def close(self) -> None:
        """End the processes that render images. The next image starts them again."""

    def joints(self, names: Sequence[str]) -> Callable[[], FloatArray]:
        """Return a function that reads the states of joints.

        Args:
            names: J hinges and slides, named as by joints_below.

        Returns:
            A function that returns an array (3, J): positions in rad or m, velocities, and actuator efforts in N m or
            N.
        """
        still = np.zeros((3, len(names)))
        return lambda: still


OPEN_AIR = Environment()


@dataclass(frozen=True, slots=True, eq=False)
class SensorContext:
    """The frames, world and environment in which sensors of one type measure.

    Attributes:
        world: The world.
        frames: Names of the sensors' frames (S,).
        environment: What they perceive besides the motion of their frames, an Environment: `wind(positions)`,
            `cast(frames, origins, directions, reach)`, `contact(frames, about)`, `touches(frames, targets)`,
            `joint(frames, about)`, `joints(names)`, `poses(names)` and `cameras(lenses)`.
    """

    world: World
    frames: tuple[str, ...] = ()
    environment: Environment = OPEN_AIR
