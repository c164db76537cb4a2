"""Single vectors and attitudes that carry their frame, as plain floats, for incoming and outgoing messages.

Each frame is a class, so that type checkers find wrong combinations. Vectors of one frame can be added, subtracted and
scaled by a number; any other operation, and any with two frames, is a TypeError that names both. Vectors of different
frames are never equal. For arrays, see tagged.py. The conversions are those of conversions.py, against which they are
tested.

    position = Ned((fields.x, fields.y, fields.z))
    position.to_enu().up                            # a float
    position + Enu((1.0, 0.0, 0.0))                 # FrameMismatch: vector in NED and vector in ENU
    north, east, down = position                    # its components, without the frame
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from numbers import Real
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NoReturn, TypeVar, cast, overload

import numpy as np
import numpy.typing as npt

from sim_node.spatial.frames.conventions import Frame, FrameMismatch
from sim_node.spatial.frames.yaws import YawEnu, YawNed
from sim_node.spatial.geometry.arrays import FloatArray

if TYPE_CHECKING:
    from typing_extensions import Self

_S = math.sqrt(0.5)
_Numbers = tuple[float, ...]
# Used by the `of_...` methods: a constructor would check the numbers again, and take four times as long.
_new = object.__new__


class _Tagged:
    """Numbers in a frame. Neither a tuple nor a number, so that Python rejects operations that a subclass lacks."""

    __slots__ = ("_numbers",)
    __array_ufunc__ = None  # so that NumPy rejects them, too
    _size: ClassVar[int]

    def __init__(self, numbers: Sequence[float] | FloatArray) -> None:
        if type(numbers) is not tuple:  # the usual case, and this is called for each message
            if isinstance(numbers, _Tagged):
                raise FrameMismatch(f"{self._what()} cannot be made of {numbers._what()}; convert it")
            numbers = tuple(numbers)
        self._numbers: _Numbers = numbers
        if len(self._numbers) != self._size:
            raise ValueError(f"{self._what()}: {self._size} numbers are needed, found {len(self._numbers)}")

    @classmethod
    def _what(cls) -> str:
        """Return a description for messages."""
        raise NotImplementedError

    @property
    def numbers(self) -> tuple[float, ...]:
        """The numbers in the order of the class, without the frame; faster than iteration, for hot paths."""
        return self._numbers

    def __eq__(self, other: Self) -> bool:  # type: ignore[override]
        return self._numbers == other._numbers if type(other) is type(self) else NotImplemented

    def __hash__(self) -> int:
        return hash((type(self), self._numbers))

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[float]:
        return iter(self._numbers)

    @overload
    def __getitem__(self, index: int) -> float: ...
    @overload
    def __getitem__(self, index: slice) -> _Numbers: ...
    def __getitem__(self, index: int | slice) -> float | _Numbers:
        return self._numbers[index]

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> npt.NDArray[Any]:
        return np.array(self._numbers, dtype=np.float64 if dtype is None else dtype)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._numbers})"


class _Axis:
    """A component of a vector, by its name."""

    __slots__ = ("_index",)

    def __init__(self, index: int) -> None:
        self._index = index

    @overload
    def __get__(self, vector: None, kind: type) -> _Axis: ...
    @overload
    def __get__(self, vector: _Vector, kind: type) -> float: ...
    def __get__(self, vector: _Vector | None, kind: type) -> float | _Axis:
        return self if vector is None else vector._numbers[self._index]

    def __set__(self, vector: _Vector, value: NoReturn) -> NoReturn:
        raise AttributeError(f"components of a {vector._what()} cannot be changed")


class _Vector(_Tagged):
    """x, y and z along the axes of `frame`."""

    __slots__ = ()
    _size = 3
    frame: ClassVar[Frame]

    @classmethod
    def _what(cls) -> str:
        return f"vector in {cls.frame}"

    def _refuse(self, other: object) -> NoReturn:
        raise FrameMismatch(f"{self._what()} and {_found(other)}")

    @property
    def xyz(self) -> tuple[float, float, float]:
        """Its components, without the frame."""
        x, y, z = self._numbers
        return x, y, z

    @property
    def length(self) -> float:
        """The Euclidean norm."""
        return math.hypot(*self._numbers)

    def __add__(self, other: Self) -> Self:
        if type(other) is not type(self):
            self._refuse(other)
        (x, y, z), (a, b, c) = self._numbers, other._numbers
        return type(self)((x + a, y + b, z + c))

    def __sub__(self, other: Self) -> Self:
        if type(other) is not type(self):
            self._refuse(other)
        (x, y, z), (a, b, c) = self._numbers, other._numbers
        return type(self)((x - a, y - b, z - c))

    def __neg__(self) -> Self:
        x, y, z = self._numbers
        return type(self)((-x, -y, -z))

    def __mul__(self, factor: float) -> Self:
        if not isinstance(factor, Real):
            return NotImplemented
        x, y, z = self._numbers
        return type(self)((x * factor, y * factor, z * factor))

    __rmul__ = __mul__

    def __truediv__(self, divisor: float) -> Self:
        if not isinstance(divisor, Real):
            return NotImplemented
        x, y, z = self._numbers
        return type(self)((x / divisor, y / divisor, z / divisor))


class Ned(_Vector):
    """North, east and down."""

    __slots__ = ()
    frame = Frame.NED
    north, east, down = _Axis(0), _Axis(1), _Axis(2)

    @staticmethod
    def along(yaw: YawNed, length: float, down: float = 0.0) -> Ned:
        """Return a vector from its direction and length, such as a velocity from course and speed.

        Args:
            yaw: Direction of the horizontal part.
            length: Length of the horizontal part.
            down: Component downwards.

        Returns:
            The vector.
        """
        return Ned((length * math.cos(yaw.radians), length * math.sin(yaw.radians), down))

    @staticmethod
    def of_enu(east: float, north: float, up: float) -> Ned:
        """Return a vector that is given in ENU: Enu((east, north, up)).to_ned() in one step, for hot paths.

        Args:
            east: Component along east.
            north: Component along north.
            up: Component upwards.

        Returns:
            The vector in NED.
        """
        made = _new(Ned)
        made._numbers = (north, east, -up)
        return made

    @property
    def direction(self) -> YawNed:
        """The direction of its horizontal part, in [-pi, pi]."""
        return YawNed(math.atan2(self[1], self[0]))

    def to_enu(self) -> Enu:
        """Return the vector along east, north and up.

        Returns:
            The vector in ENU.
        """
        north, east, down = self._numbers
        return Enu((east, north, -down))


class Enu(_Vector):
    """East, north and up."""

    __slots__ = ()
    frame = Frame.ENU
    east, north, up = _Axis(0), _Axis(1), _Axis(2)

    @staticmethod
    def of_ned(north: float, east: float, down: float) -> Enu:
        """Return a vector that is given in NED: Ned((north, east, down)).to_enu() in one step, for hot paths.

        Args:
            north: Component along north.
            east: Component along east.
            down: Component downwards.

        Returns:
            The vector in ENU.
        """
        made = _new(Enu)
        made._numbers = (east, north, -down)
        return made

    def to_ned(self) -> Ned:
        """Return the vector along north, east and down.

        Returns:
            The vector in NED.
        """
        return Ned.of_enu(*self._numbers)


class Frd(_Vector):
    """Forward, right and down."""

    __slots__ = ()
    frame = Frame.FRD
    forward, right, down = _Axis(0), _Axis(1), _Axis(2)

    @staticmethod
    def of_flu(forward: float, left: float, up: float) -> Frd:
        """Return a vector that is given in FLU: Flu((forward, left, up)).to_frd() in one step, for hot paths.

        Args:
            forward: Component along the body's x axis.
            left: Component to the left.
            up: Component upwards.

        Returns:
            The vector in FRD.
        """
        made = _new(Frd)
        made._numbers = (forward, -left, -up)
        return made

    def to_flu(self) -> Flu:
        """Return the vector along forward, left and up.

        Returns:
            The vector in FLU.
        """
        forward, right, down = self._numbers
        return Flu((forward, -right, -down))


class Flu(_Vector):
    """Forward, left and up."""

    __slots__ = ()
    frame = Frame.FLU
    forward, left, up = _Axis(0), _Axis(1), _Axis(2)

    @staticmethod
    def of_frd(forward: float, right: float, down: float) -> Flu:
        """Return a vector that is given in FRD: Frd((forward, right, down)).to_flu() in one step, for hot paths.

        Args:
            forward: Component along the body's x axis.
            right: Component to the right.
            down: Component downwards.

        Returns:
            The vector in FLU.
        """
        made = _new(Flu)
        made._numbers = (forward, -right, -down)
        return made

    def to_frd(self) -> Frd:
        """Return the vector along forward, right and down.

        Returns:
            The vector in FRD.
        """
        return Frd.of_flu(*self._numbers)


World = TypeVar("World", bound=_Vector)
Body = TypeVar("Body", bound=_Vector)


class _Attitude(_Tagged, Generic[World, Body]):
    """A quaternion that rotates vectors of the class `body` into those of the class `world`."""

    __slots__ = ()
    _size = 4
    world: ClassVar[type[_Vector]]
    body: ClassVar[type[_Vector]]

    @classmethod
    def _what(cls) -> str:
        return f"attitude of {cls.body.frame} in {cls.world.frame}"

    @property
    def xyzw(self) -> tuple[float, float, float, float]:
        """The quaternion as [x, y, z, w], whatever the order of the class."""
        x, y, z, w = self._numbers
        return x, y, z, w

    def to_body(self, vector: World) -> Body:
        """Return a vector along the body's axes.

        Args:
            vector: Along the world's axes.

        Returns:
            The vector in the body's frame.

        Raises:
            FrameMismatch: The vector is not in the frame of the world.
        """
        if type(vector) is not self.world:
            self._refuse(vector, self.world)
        x, y, z, w = self.xyzw
        return cast(Body, self.body(_turned(-x, -y, -z, w, vector)))

    def to_world(self, vector: Body) -> World:
        """Return a vector along the world's axes.

        Args:
            vector: Along the body's axes.

        Returns:
            The vector in the world's frame.

        Raises:
            FrameMismatch: The vector is not in the frame of the body.
        """
        if type(vector) is not self.body:
            self._refuse(vector, self.body)
        return cast(World, self.world(_turned(*self.xyzw, vector)))

    def _refuse(self, vector: object, needed: type[_Vector]) -> NoReturn:
        raise FrameMismatch(f"{self._what()} turns a {needed._what()}; found {_found(vector)}")


class AttitudeNed(_Attitude[Ned, Frd]):
    """Attitude of an FRD body in NED as in MAVLink: a quaternion, w first."""

    __slots__ = ()
    world, body = Ned, Frd

    @property
    def xyzw(self) -> tuple[float, float, float, float]:
        """The quaternion as [x, y, z, w]."""
        w, x, y, z = self._numbers
        return x, y, z, w

    def to_enu(self) -> AttitudeEnu:
        """Return the attitude of the body in FLU, in ENU.

        This is MAVROS' NED_ENU_Q * q * AIRCRAFT_BASELINK_Q, including signs (mavros/src/lib/ftf_frame_conversions.cpp).

        Returns:
            The attitude in ENU.
        """
        return AttitudeEnu.of_ned(*self)

    @staticmethod
    def of_enu(x: float, y: float, z: float, w: float) -> AttitudeNed:
        """Return an attitude that is given as FLU in ENU: AttitudeEnu((x, y, z, w)).to_ned() in one step.

        Args:
            x: First component of the quaternion's vector part.
            y: Second component of its vector part.
            z: Third component of its vector part.
            w: Its scalar part.

        Returns:
            The attitude in NED, w first.
        """
        made = _new(AttitudeNed)
        made._numbers = (-_S * (w + z), -_S * (x + y), _S * (y - x), _S * (z - w))
        return made

    @property
    def yaw(self) -> YawNed:
        """The yaw about the world's z axis, clockwise from north, in [-pi, pi] rad."""
        w, x, y, z = self._numbers
        return YawNed(_yaw(w, x, y, z))


class AttitudeEnu(_Attitude[Enu, Flu]):
    """Attitude of an FLU body in ENU: a quaternion [x, y, z, w]."""

    __slots__ = ()
    world, body = Enu, Flu

    @staticmethod
    def of_ned(w: float, x: float, y: float, z: float) -> AttitudeEnu:
        """Return an attitude that is given as FRD in NED: AttitudeNed((w, x, y, z)).to_enu() in one step.

        Args:
            w: Scalar part of the quaternion.
            x: First component of its vector part.
            y: Second component of its vector part.
            z: Third component of its vector part.

        Returns:
            The attitude in ENU.
        """
        made = _new(AttitudeEnu)
        made._numbers = (-_S * (x + y), _S * (y - x), _S * (z - w), -_S * (w + z))
        return made

    @staticmethod
    def of_yaw(yaw: YawEnu) -> AttitudeEnu:
        """Return the attitude of a level body.

        Args:
            yaw: Yaw of its forward axis.

        Returns:
            The attitude in ENU.
        """
        return AttitudeEnu((0.0, 0.0, math.sin(0.5 * yaw.radians), math.cos(0.5 * yaw.radians)))

    def to_ned(self) -> AttitudeNed:
        """Return the attitude of the body in FRD, in NED.

        Returns:
            The attitude in NED, w first.
        """
        return AttitudeNed.of_enu(*self._numbers)

    @property
    def yaw(self) -> YawEnu:
        """The yaw about the world's z axis, counterclockwise from east, in [-pi, pi] rad."""
        x, y, z, w = self._numbers
        return YawEnu(_yaw(w, x, y, z))


class AttitudeFrd(_Attitude[Frd, Frd]):
    """Attitude of an FRD body in a local FRD frame, whose heading is unknown, as in MAVLink: w first."""

    __slots__ = ()
    world, body = Frd, Frd

    @property
    def xyzw(self) -> tuple[float, float, float, float]:
        """The quaternion as [x, y, z, w]."""
        w, x, y, z = self._numbers
        return x, y, z, w

    def to_flu(self) -> AttitudeFlu:
        """Return the attitude of the body in FLU, in the local frame with y to the left and z up.

        Returns:
            The attitude in the local FLU frame.
        """
        w, x, y, z = self._numbers
        return AttitudeFlu((x, -y, -z, w))


class AttitudeFlu(_Attitude[Flu, Flu]):
    """Attitude of an FLU body in a local FLU frame: a quaternion [x, y, z, w]."""

    __slots__ = ()
    world, body = Flu, Flu

    def to_frd(self) -> AttitudeFrd:
        """Return the attitude of the body in FRD, in the local frame with y to the right and z down.

        Returns:
            The attitude in the local FRD frame, w first.
        """
        x, y, z, w = self._numbers
        return AttitudeFrd((w, x, -y, -z))


def _found(other: object) -> str:
    return other._what() if isinstance(other, _Tagged) else f"a {type(other).__name__} without one"


def _turned(x: float, y: float, z: float, w: float, vector: _Vector) -> _Numbers:
    vx, vy, vz = vector._numbers
    tx, ty, tz = 2.0 * (y * vz - z * vy), 2.0 * (z * vx - x * vz), 2.0 * (x * vy - y * vx)
    return vx + w * tx + y * tz - z * ty, vy + w * ty + z * tx - x * tz, vz + w * tz + x * ty - y * tx


def _yaw(w: float, x: float, y: float, z: float) -> float:
    return math.atan2(2.0 * (w * z + x * y), 1.0 - 2.0 * (y * y + z * z))
