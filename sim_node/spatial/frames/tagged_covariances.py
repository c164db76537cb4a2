"""Covariances that carry the names of their frames, one for each block of three components."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sim_node.spatial.frames.conventions import Frame, FrameMismatch
from sim_node.spatial.frames.conversions import convert_covariance, per_block, rotated_covariance
from sim_node.spatial.frames.tagged import Tagged
from sim_node.spatial.frames.vectors import AttitudeEnu, AttitudeFlu
from sim_node.spatial.geometry import quaternions
from sim_node.spatial.geometry.arrays import FloatArray

Frames = Frame | tuple[Frame, ...]


@dataclass(frozen=True, eq=False)
class Covariance(Tagged):
    """Covariances of position, orientation and so on, in blocks of three components.

    Args:
        values: Array-like (..., 3, 3), (..., 6, 6) or (..., 9, 9); NaN for what is not known. It is copied.
        frames: The frame of all blocks, or a tuple with that of each.

    Raises:
        ValueError: There are not as many frames as blocks.
    """

    values: FloatArray
    frames: tuple[Frame, ...]

    def __init__(self, values: npt.ArrayLike, frames: Frames) -> None:
        own = np.array(values, dtype=np.float64)
        own.flags.writeable = False
        object.__setattr__(self, "values", own)
        object.__setattr__(self, "frames", per_block(frames, own.shape[-1] if own.ndim else 0))

    def to(self, frames: Frames, origin: npt.ArrayLike | None = None) -> Covariance:
        """Convert to other frames, as convert_covariance does.

        Args:
            frames: The frame of all blocks to convert to, or a tuple with that of each.
            origin: LLA of the local frame's origin; needed between ECEF and ENU or NED.

        Returns:
            The converted covariances.

        Raises:
            AttitudeRequired: As in convert_covariance, and its other exceptions.
        """
        return Covariance(convert_covariance(self.values, self.frames, frames, origin), frames)

    def to_body(self, attitude: AttitudeEnu | AttitudeFlu, block: int = 0) -> Covariance:
        """Rotate a block from the axes of the world into those of the body.

        Args:
            attitude: Of the body in ENU, or in a local FLU frame.
            block: Which block.

        Returns:
            The covariances, with this block in FLU.

        Raises:
            FrameMismatch: The block is in another frame than the attitude.
        """
        if not isinstance(attitude, (AttitudeEnu, AttitudeFlu)):
            raise FrameMismatch(f"an attitude of FLU in ENU or FLU is needed, found a {type(attitude).__name__}")
        world = attitude.world.frame
        if self.frames[block] is not world:
            raise FrameMismatch(f"block {block} of the covariance is in {self.frames[block]}, {world} was expected")
        turns = [np.eye(3) for _ in self.frames]
        turns[block] = quaternions.to_matrix(np.array(attitude.xyzw)).T
        frames = (*self.frames[:block], Frame.FLU, *self.frames[block + 1 :])
        return Covariance(rotated_covariance(self.values, turns), frames)

    def in_frames(self, frames: Frames) -> FloatArray:
        """Return the array if its blocks are in these frames.

        Args:
            frames: The expected frame of all blocks, or a tuple with that of each.

        Returns:
            The covariances, read-only.

        Raises:
            FrameMismatch: A block is in another frame.
        """
        expected = per_block(frames, self.values.shape[-1])
        if self.frames != expected:
            raise FrameMismatch(f"covariance is in {_shown(self.frames)}, {_shown(expected)} was expected")
        return self.values


def _shown(frames: tuple[Frame, ...]) -> str:
    return str(frames[0]) if len(set(frames)) == 1 else ", ".join(map(str, frames))
