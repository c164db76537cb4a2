"""Single vectors and attitudes that carry their frame, as plain floats: for each message that comes in or goes out.

Each frame is a class, so that type checkers find a wrong mix, and adding two frames raises FrameMismatch at run time.
They are tuples, which cost a tenth of an array of one row; tagged.py has arrays. The conversions are those of
conversions.py, against which they are tested.

    position = Ned((fields.x, fields.y, fields.z))
    position.to_enu()                               # Enu
    position + Enu((1.0, 0.0, 0.0))                 # FrameMismatch: vector in NED and vector in ENU
"""

from __future__ import annotations

import math
from typing import ClassVar, NoReturn

from sim_node.frames.conventions import Frame, FrameMismatch
from sim_node.frames.yaws import YawEnu, YawNed

_S = math.sqrt(0.5)


class _Vector(tuple[float, float, float]):
    """x, y and z along the axes of `frame`."""

    __slots__ = ()
    frame: ClassVar[Frame]

    def _refuse(self, other: object) -> NoReturn:
        found = f"vector in {other.frame}" if isinstance(other, _Vector) else f"a {type(other).__name__} without one"
        raise FrameMismatch(f"vector in {self.frame} and {found}")

    def __repr__(self) -> str:
        return f"{type(self).__name__}({tuple(self)})"


class Ned(_Vector):
    """North, east and down."""

    __slots__ = ()
    frame = Frame.NED

    @staticmethod
    def along(yaw: YawNed, length: float, down: float = 0.0) -> Ned:
        """Return a vector by its direction, such as a velocity by course and speed.

        Args:
            yaw: Its direction.
            length: Of its horizontal part.
            down: Component downwards.

        Returns:
            The vector.
        """
        return Ned((length * math.cos(yaw.radians), length * math.sin(yaw.radians), down))

    @property
    def direction(self) -> YawNed:
        """The direction of its horizontal part, in [-pi, pi]."""
        return YawNed(math.atan2(self[1], self[0]))

    def to_enu(self) -> Enu:
        """Return the vector along east, north and up.

        Returns:
            The vector in ENU.
        """
        north, east, down = self
        return Enu((east, north, -down))

    def __add__(self, other: Ned) -> Ned:  # type: ignore[override]
        if type(other) is not Ned:
            self._refuse(other)
        return Ned((self[0] + other[0], self[1] + other[1], self[2] + other[2]))

    def __sub__(self, other: Ned) -> Ned:
        if type(other) is not Ned:
            self._refuse(other)
        return Ned((self[0] - other[0], self[1] - other[1], self[2] - other[2]))


class Enu(_Vector):
    """East, north and up."""

    __slots__ = ()
    frame = Frame.ENU

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
        return Enu((east, north, -down))

    def to_ned(self) -> Ned:
        """Return the vector along north, east and down.

        Returns:
            The vector in NED.
        """
        east, north, up = self
        return Ned((north, east, -up))

    def __add__(self, other: Enu) -> Enu:  # type: ignore[override]
        if type(other) is not Enu:
            self._refuse(other)
        return Enu((self[0] + other[0], self[1] + other[1], self[2] + other[2]))

    def __sub__(self, other: Enu) -> Enu:
        if type(other) is not Enu:
            self._refuse(other)
        return Enu((self[0] - other[0], self[1] - other[1], self[2] - other[2]))


class Frd(_Vector):
    """Forward, right and down."""

    __slots__ = ()
    frame = Frame.FRD

    def to_flu(self) -> Flu:
        """Return the vector along forward, left and up.

        Returns:
            The vector in FLU.
        """
        forward, right, down = self
        return Flu((forward, -right, -down))

    def __add__(self, other: Frd) -> Frd:  # type: ignore[override]
        if type(other) is not Frd:
            self._refuse(other)
        return Frd((self[0] + other[0], self[1] + other[1], self[2] + other[2]))

    def __sub__(self, other: Frd) -> Frd:
        if type(other) is not Frd:
            self._refuse(other)
        return Frd((self[0] - other[0], self[1] - other[1], self[2] - other[2]))


class Flu(_Vector):
    """Forward, left and up."""

    __slots__ = ()
    frame = Frame.FLU

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
        return Flu((forward, -right, -down))

    def to_frd(self) -> Frd:
        """Return the vector along forward, right and down.

        Returns:
            The vector in FRD.
        """
        forward, left, up = self
        return Frd((forward, -left, -up))

    def __add__(self, other: Flu) -> Flu:  # type: ignore[override]
        if type(other) is not Flu:
            self._refuse(other)
        return Flu((self[0] + other[0], self[1] + other[1], self[2] + other[2]))

    def __sub__(self, other: Flu) -> Flu:
        if type(other) is not Flu:
            self._refuse(other)
        return Flu((self[0] - other[0], self[1] - other[1], self[2] - other[2]))


class AttitudeNed(tuple[float, float, float, float]):
    """Attitude of an FRD body in NED as in MAVLink: a quaternion, w first."""

    __slots__ = ()

    def to_enu(self) -> AttitudeEnu:
        """Return the attitude of the body in FLU, in ENU.

        This is MAVROS' NED_ENU_Q * q * AIRCRAFT_BASELINK_Q, including signs (mavros/src/lib/ftf_frame_conversions.cpp).

        Returns:
            The attitude in ENU.
        """
        return AttitudeEnu.of_ned(*self)

    @property
    def yaw(self) -> YawNed:
        """The yaw about the world's z axis, clockwise from north, in [-pi, pi] rad."""
        w, x, y, z = self
        return YawNed(_yaw(w, x, y, z))


class AttitudeEnu(tuple[float, float, float, float]):
    """Attitude of an FLU body in ENU: a quaternion [x, y, z, w]."""

    __slots__ = ()

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
        return AttitudeEnu((-_S * (x + y), _S * (y - x), _S * (z - w), -_S * (w + z)))

    @staticmethod
    def of_yaw(yaw: YawEnu) -> AttitudeEnu:
        """Return the attitude of a level body.

        Args:
            yaw: Where it looks.

        Returns:
            The attitude in ENU.
        """
        return AttitudeEnu((0.0, 0.0, math.sin(0.5 * yaw.radians), math.cos(0.5 * yaw.radians)))

    def to_ned(self) -> AttitudeNed:
        """Return the attitude of the body in FRD, in NED.

        Returns:
            The attitude in NED, w first.
        """
        x, y, z, w = self
        return AttitudeNed((-_S * (w + z), -_S * (x + y), _S * (y - x), _S * (z - w)))

    def to_body(self, vector: Enu) -> Flu:
        """Return a vector along the body's axes.

        Args:
            vector: Along the world's axes.

        Returns:
            The vector in FLU.
        """
        x, y, z, w = self
        vx, vy, vz = vector
        tx, ty, tz = 2.0 * (z * vy - y * vz), 2.0 * (x * vz - z * vx), 2.0 * (y * vx - x * vy)
        return Flu((vx + w * tx + z * ty - y * tz, vy + w * ty + x * tz - z * tx, vz + w * tz + y * tx - x * ty))

    def to_world(self, vector: Flu) -> Enu:
        """Return a vector along the world's axes.

        Args:
            vector: Along the body's axes.

        Returns:
            The vector in ENU.
        """
        x, y, z, w = self
        vx, vy, vz = vector
        tx, ty, tz = 2.0 * (y * vz - z * vy), 2.0 * (z * vx - x * vz), 2.0 * (x * vy - y * vx)
        return Enu((vx + w * tx + y * tz - z * ty, vy + w * ty + z * tx - x * tz, vz + w * tz + x * ty - y * tx))

    @property
    def yaw(self) -> YawEnu:
        """The yaw about the world's z axis, counterclockwise from east, in [-pi, pi] rad."""
        x, y, z, w = self
        return YawEnu(_yaw(w, x, y, z))


class AttitudeFrd(tuple[float, float, float, float]):
    """Attitude of an FRD body in a local FRD frame, whose heading is unknown, as in MAVLink: w first."""

    __slots__ = ()

    def to_flu(self) -> AttitudeFlu:
        """Return the attitude of the body in FLU, in the local frame with y to the left and z up.

        Returns:
            The attitude in the local FLU frame.
        """
        w, x, y, z = self
        return AttitudeFlu((x, -y, -z, w))


class AttitudeFlu(tuple[float, float, float, float]):
    """Attitude of an FLU body in a local FLU frame: a quaternion [x, y, z, w]."""

    __slots__ = ()

    def to_frd(self) -> AttitudeFrd:
        """Return the attitude of the body in FRD, in the local frame with y to the right and z down.

        Returns:
            The attitude in the local FRD frame, w first.
        """
        x, y, z, w = self
        return AttitudeFrd((w, x, -y, -z))

    def to_body(self, vector: Flu) -> Flu:
        """Return a vector along the body's axes.

        Args:
            vector: Along the axes of the local frame.

        Returns:
            The vector in FLU.
        """
        return AttitudeEnu(self).to_body(Enu(vector))


def _yaw(w: float, x: float, y: float, z: float) -> float:
    return math.atan2(2.0 * (w * z + x * y), 1.0 - 2.0 * (y * y + z * z))
