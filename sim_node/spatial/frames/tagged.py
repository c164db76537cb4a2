"""Values that carry the name of their frame, from where they enter to where they are converted.

Inside sim_node everything is ENU and FLU, in plain arrays. Between an interface (an autopilot link, a GNSS driver, a
file) and the conversion, a value is tagged, and the code that uses it states the frame that it expects:

    position = Position(message_xyz, Frame.NED)
    position.to(Frame.ENU).in_frame(Frame.ENU)      # the array
    position.in_frame(Frame.ENU)                    # FrameMismatch: position is in NED, ENU was expected
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from numbers import Real
from typing import TYPE_CHECKING, ClassVar, overload

import numpy as np
import numpy.typing as npt

from sim_node.spatial.frames.altitudes import VerticalDatum, convert_altitude
from sim_node.spatial.frames.conventions import Frame, FrameKind, FrameMismatch
from sim_node.spatial.frames.conversions import (
    FramePair,
    convert_covariance,
    convert_orientation,
    convert_transform,
    convert_velocity,
    per_block,
    rotated_covariance,
)
from sim_node.spatial.frames.positions import convert_position
from sim_node.spatial.frames.vectors import AttitudeEnu, AttitudeFlu
from sim_node.spatial.geometry import quaternions
from sim_node.spatial.geometry.arrays import FloatArray, as_rows

if TYPE_CHECKING:
    from typing_extensions import Self

Origin = tuple[float, float, float]

Frames = Frame | tuple[Frame, ...]


class Tagged:
    """Numbers with a tag, equal if both parts are. Only subclasses define other operators; NumPy's are disabled."""

    values: FloatArray
    __array_ufunc__ = None
    __hash__ = None  # type: ignore[assignment]

    def _tag(self) -> object:
        """Return the tag: the frame, frames or datum of the numbers."""
        return tuple(getattr(self, field.name) for field in fields(self) if field.name != "values")  # type: ignore[arg-type]

    def __eq__(self, other: Self) -> bool:  # type: ignore[override]
        if type(other) is not type(self):
            return NotImplemented
        return self._tag() == other._tag() and np.array_equal(self.values, other.values)


@dataclass(frozen=True, eq=False)
class Position(Tagged):
    """Positions in a frame.

    Args:
        values: Array-like (..., 3): m, or degrees, degrees and m for LLA. It is copied.
        frame: The frame.
        origin: LLA of the origin of a local frame, if known.

    Raises:
        TypeError: `frame` is not a Frame.
        ValueError: The shape is wrong.
    """

    values: FloatArray
    frame: Frame
    origin: Origin | None

    def __init__(self, values: npt.ArrayLike, frame: Frame, origin: Iterable[float] | None = None) -> None:
        object.__setattr__(self, "values", _frozen(values, 3, "position", frame))
        object.__setattr__(self, "frame", frame)
        object.__setattr__(self, "origin", None if origin is None else tuple(float(number) for number in origin))

    def to(self, frame: Frame, origin: Sequence[float] | None = None) -> Position:
        """Convert to another frame.

        Args:
            frame: The frame to convert to.
            origin: LLA of the local frame's origin; needed between local and global frames if the position has none.

        Returns:
            The converted position. It keeps the origin if the frame is local.

        Raises:
            FrameMismatch: The position has another origin.
            OriginRequired: As in convert_position, and its other exceptions.
        """
        if self.origin is not None and origin is not None and tuple(origin) != self.origin:
            raise FrameMismatch(
                f"position in {_place(self)} meets {frame} about {origin}; convert to ECEF or LLA first"
            )
        about = self.origin if origin is None else origin
        values = convert_position(self.values, self.frame, frame, about)
        return Position(values, frame, about if frame.kind is FrameKind.LOCAL else None)

    def in_frame(self, frame: Frame) -> FloatArray:
        """Return the array if it is in `frame`.

        Args:
            frame: The expected frame.

        Returns:
            The positions (..., 3), read-only.

        Raises:
            FrameMismatch: The position is in another frame.
        """
        return _expected(self, self.frame, frame)

    def __sub__(self, other: Position) -> Displacement:
        """Return the displacement from another position in the same frame to this one."""
        if not isinstance(other, Position):
            return NotImplemented
        if (self.frame, self.origin) != (other.frame, other.origin):
            raise FrameMismatch(f"position in {_place(self)} and position in {_place(other)}")
        self._check_metric()
        return Displacement(self.values - other.values, self.frame)

    def __add__(self, other: Displacement) -> Position:
        """Return the position after a displacement along the axes of the frame."""
        if not isinstance(other, Displacement):
            return NotImplemented
        if self.frame is not other.frame:
            raise FrameMismatch(f"position in {_place(self)} and displacement in {other.frame}")
        self._check_metric()
        return Position(self.values + other.values, self.frame, self.origin)

    def _check_metric(self) -> None:
        if self.frame is Frame.LLA:
            raise FrameMismatch("the difference of positions in LLA is not a displacement in metres; convert to ECEF")


@dataclass(frozen=True, eq=False)
class _Free(Tagged):
    """Free vectors, by their components along the axes of a frame."""

    values: FloatArray
    frame: Frame

    def __init__(self, values: npt.ArrayLike, frame: Frame) -> None:
        object.__setattr__(self, "values", _frozen(values, 3, self._what(), frame))
        object.__setattr__(self, "frame", frame)

    def to(self, frame: Frame, origin: Origin | None = None) -> Self:
        """Convert to the axes of another frame, as convert_velocity does.

        Args:
            frame: The frame to convert to.
            origin: LLA of the local frame's origin; needed between ECEF and ENU or NED.

        Returns:
            The converted vectors.

        Raises:
            OriginRequired: As in convert_velocity, and its other exceptions.
        """
        return type(self)(convert_velocity(self.values, self.frame, frame, origin), frame)

    def in_frame(self, frame: Frame) -> FloatArray:
        """Return the array if it is in `frame`.

        Args:
            frame: The expected frame.

        Returns:
            The vectors (..., 3), read-only.

        Raises:
            FrameMismatch: They are in another frame.
        """
        return _expected(self, self.frame, frame)

    def __add__(self, other: Self) -> Self:
        return self._made(self.values + self._same_axes(other)) if type(other) is type(self) else NotImplemented

    def __sub__(self, other: Self) -> Self:
        return self._made(self.values - self._same_axes(other)) if type(other) is type(self) else NotImplemented

    def __neg__(self) -> Self:
        return self._made(-self.values)

    def __mul__(self, factor: float) -> Self:
        if not isinstance(factor, Real):
            return NotImplemented
        return self._made(self.values * float(factor))

    __rmul__ = __mul__

    def __truediv__(self, divisor: float) -> Self:
        if not isinstance(divisor, Real):
            return NotImplemented
        return self._made(self.values / float(divisor))

    def _made(self, values: FloatArray) -> Self:
        return type(self)(values, self.frame)

    def _same_axes(self, other: Self) -> FloatArray:
        if self.frame is not other.frame:
            raise FrameMismatch(f"{self._what()} in {self.frame} and {self._what()} in {other.frame}")
        return other.values

    @classmethod
    def _what(cls) -> str:
        return cls.__name__.lower()


class Velocity(_Free):
    """Velocities or other free vectors, by their components along the axes of a frame.

    Args:
        values: Array-like (..., 3), usually in m/s. It is copied.
        frame: The frame.

    Raises:
        TypeError: `frame` is not a Frame.
        ValueError: The shape is wrong.
    """


class Displacement(_Free):
    """Displacements from one position to another, along the axes of a frame.

    Args:
        values: Array-like (..., 3), m. It is copied.
        frame: The frame.

    Raises:
        TypeError: `frame` is not a Frame.
        ValueError: The shape is wrong.
    """


@dataclass(frozen=True, eq=False)
class _Between(Tagged):
    """Values that relate two frames. A subclass defines the width of a row and the name of the values."""

    values: FloatArray
    frames: FramePair
    _width: ClassVar[int]

    def __init__(self, values: npt.ArrayLike, frames: FramePair) -> None:
        object.__setattr__(self, "values", _frozen(values, self._width, type(self).__name__.lower(), *frames))
        object.__setattr__(self, "frames", frames)

    def in_frames(self, outer: Frame, inner: Frame) -> FloatArray:
        """Return the array if it is of `inner` in `outer`.

        Args:
            outer: The expected world or parent frame.
            inner: The expected body or child frame.

        Returns:
            The values, read-only.

        Raises:
            FrameMismatch: The values are of other frames.
        """
        if self.frames != (outer, inner):
            found = f"{self.frames[1]} in {self.frames[0]}"
            raise FrameMismatch(f"{type(self).__name__.lower()} is of {found}, {inner} in {outer} was expected")
        return self.values


@dataclass(frozen=True, eq=False, init=False)
class Orientation(_Between):
    """Orientations of a body frame in a world frame.

    Args:
        values: Quaternions (..., 4) [x, y, z, w] that rotate components in the body frame into the world frame. Copied.
        frames: The pair (world, body).

    Raises:
        TypeError: `frames` has an element that is not a Frame.
        ValueError: The shape is wrong.
    """

    _width: ClassVar[int] = 4

    def to(self, world: Frame, body: Frame, origin: Origin | None = None) -> Orientation:
        """Convert to another pair of frames, as convert_orientation does.

        Args:
            world: The world frame to convert to.
            body: The body frame to convert to.
            origin: LLA of the local frame's origin; needed between ECEF and ENU or NED.

        Returns:
            The converted orientation.

        Raises:
            OriginRequired: As in convert_orientation, and its other exceptions.
        """
        frames = (world, body)
        return Orientation(convert_orientation(self.values, self.frames, frames, origin), frames)

    def rotate(self, velocity: Velocity) -> Velocity:
        """Rotate a velocity from body axes into world axes.

        Args:
            velocity: In the body frame.

        Returns:
            The velocity in the world frame.

        Raises:
            FrameMismatch: The velocity is in another frame.
        """
        world, body = self.frames
        return Velocity(quaternions.rotate(self.values, velocity.in_frame(body)), world)

    def unrotate(self, velocity: Velocity) -> Velocity:
        """Rotate a velocity from world axes into body axes.

        Args:
            velocity: In the world frame.

        Returns:
            The velocity in the body frame.

        Raises:
            FrameMismatch: The velocity is in another frame.
        """
        world, body = self.frames
        return Velocity(quaternions.rotate(quaternions.conjugate(self.values), velocity.in_frame(world)), body)


@dataclass(frozen=True, eq=False, init=False)
class Transform(_Between):
    """Poses of a child frame in a parent frame.

    Args:
        values: Poses (..., 7) [x y z qx qy qz qw], m. They are copied.
        frames: The pair (parent, child), as in (Frame.NED, Frame.FRD) for a vehicle or (Frame.FRD, Frame.FRD) for a
            mounting.

    Raises:
        TypeError: `frames` has an element that is not a Frame.
        ValueError: The shape is wrong.
    """

    _width: ClassVar[int] = 7

    def to(self, parent: Frame, child: Frame, origin: Origin | None = None) -> Transform:
        """Convert to another pair of frames, as convert_transform does.

        Args:
            parent: The parent frame to convert to.
            child: The child frame to convert to.
            origin: LLA of the local frame's origin; needed between ECEF and a local frame.

        Returns:
            The converted transform.

        Raises:
            OriginRequired: As in convert_transform, and its other exceptions.
        """
        frames = (parent, child)
        return Transform(convert_transform(self.values, self.frames, frames, origin), frames)


@overload
def convert(value: Position, target: Frame, origin: Origin | None = None) -> Position: ...
@overload
def convert(value: Velocity, target: Frame, origin: Origin | None = None) -> Velocity: ...
@overload
def convert(value: Displacement, target: Frame, origin: Origin | None = None) -> Displacement: ...
@overload
def convert(value: Orientation, target: FramePair, origin: Origin | None = None) -> Orientation: ...
def convert(
    value: Position | Velocity | Displacement | Orientation,
    target: Frame | FramePair,
    origin: Origin | None = None,
) -> Position | Velocity | Displacement | Orientation:
    """Convert a tagged value to another frame.

    Args:
        value: The position, velocity, displacement or orientation.
        target: The frame to convert to; for an orientation, a pair (world, body).
        origin: LLA (degrees, degrees, m) of the local frame's origin; needed between ENU or NED and ECEF or LLA.

    Returns:
        The converted value, of the same class.

    Raises:
        TypeError: `value` is not tagged, or `target` is not a Frame, or a pair of them.
        OriginRequired: As in convert_position, convert_velocity and convert_orientation.
        AttitudeRequired: Likewise.
        InvalidCoordinates: Likewise.
        FrameMismatch: The position has another origin.
    """
    if not isinstance(value, Position | Velocity | Displacement | Orientation):
        raise TypeError(
            f"a {type(value).__name__} does not say its frame; convert takes a Position, Velocity or Orientation, "
            "convert_position, convert_velocity and convert_orientation take arrays"
        )
    if isinstance(value, Orientation):
        if not (isinstance(target, tuple) and len(target) == 2 and all(isinstance(each, Frame) for each in target)):
            raise TypeError(f"an Orientation is converted to a pair of frames (world, body), not to {target!r}")
        return value.to(*target, origin)
    if not isinstance(target, Frame):
        raise TypeError(f"a {type(value).__name__} is converted to a Frame, not to {target!r}")
    return value.to(target, origin)


def _expected(value: Position | _Free, found: Frame, expected: Frame) -> FloatArray:
    if found is not expected:
        raise FrameMismatch(f"{type(value).__name__.lower()} is in {found}, {expected} was expected")
    return value.values


def _place(position: Position) -> str:
    return f"{position.frame} about {position.origin}" if position.origin else f"{position.frame}"


def _frozen(values: npt.ArrayLike, width: int, what: str, *frames: Frame) -> FloatArray:
    for frame in frames:
        if not isinstance(frame, Frame):
            raise TypeError(f"{frame!r} is not a Frame; Frame.named() finds one by its name")
    return _copied(as_rows(values, width, what))


def _copied(values: npt.ArrayLike) -> FloatArray:
    """Return a read-only copy."""
    own = np.array(values, dtype=np.float64)
    own.setflags(write=False)  # flags.writeable would leave a string in a cache each time
    return own


@dataclass(frozen=True, eq=False)
class Altitude(Tagged):
    """Altitudes above a vertical datum.

    Args:
        values: Metres above `datum`, of any shape. It is copied.
        datum: The reference surface.
    """

    values: FloatArray
    datum: VerticalDatum

    def __init__(self, values: npt.ArrayLike, datum: VerticalDatum) -> None:
        object.__setattr__(self, "values", _copied(values))
        object.__setattr__(self, "datum", datum)

    def to(self, datum: VerticalDatum, latitude: npt.ArrayLike, longitude: npt.ArrayLike) -> Altitude:
        """Convert to another datum, as convert_altitude does.

        Args:
            datum: The datum to convert to.
            latitude: Degrees.
            longitude: Degrees.

        Returns:
            The converted altitude.

        Raises:
            InvalidCoordinates: A latitude or longitude is out of range.
        """
        return Altitude(convert_altitude(self.values, self.datum, datum, latitude, longitude), datum)

    def above(self, datum: VerticalDatum) -> FloatArray:
        """Return the array if its datum is `datum`.

        Args:
            datum: The expected datum.

        Returns:
            The altitudes in metres, read-only.

        Raises:
            FrameMismatch: The altitude has another datum.
        """
        if self.datum is not datum:
            raise FrameMismatch(f"altitude is above {self.datum.value}, above {datum.value} was expected")
        return self.values

    def __sub__(self, other: Altitude) -> FloatArray:
        """Return the difference in height, in metres."""
        if not isinstance(other, Altitude):
            return NotImplemented
        return np.asarray(self.values - other.above(self.datum))


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
        own = _copied(values)
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
