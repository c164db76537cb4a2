"""Handles: bodies, joints and vehicles of a run by name, to be read and set between two steps."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from sim_node.geometry.arrays import FloatArray
from sim_node.text import did_you_mean

if TYPE_CHECKING:
    from sim_node.control import Airframe

R = TypeVar("R")
H = TypeVar("H")


class BodyRecord(Protocol):
    """What an engine knows of a body, as long as the structure of the world stays as it is."""

    def pose(self) -> FloatArray:
        """See Body."""

    def set_pose(self, pose: FloatArray) -> None:
        """Raises ValueError for a body that cannot be placed."""

    def twist(self) -> FloatArray:
        """See Body."""

    def set_twist(self, twist: FloatArray) -> None:
        """Raises ValueError as set_pose."""

    def wrench(self) -> FloatArray:
        """Its row of the column. Raises ValueError for a body that no force moves."""


class JointRecord(Protocol):
    """What an engine knows of a joint, as long as the structure of the world stays as it is."""

    q_size: int
    qd_size: int

    def position(self) -> FloatArray:
        """See Joint."""

    def set_position(self, position: FloatArray) -> None:
        """Raises ValueError for a quaternion that is none."""

    def velocity(self) -> FloatArray:
        """See Joint."""

    def set_velocity(self, velocity: FloatArray) -> None:
        """Of qd_size."""


@dataclass(frozen=True, slots=True, eq=False)
class VehicleRecord:
    """What an engine knows of a vehicle: its rows of columns, and what does not change; see Vehicle."""

    command: FloatArray
    speeds: FloatArray
    piloted: bool
    airframe: Airframe
    centre: FloatArray
    waypoints: FloatArray


class Handles(Mapping[str, H], Generic[H, R]):
    """Handles by name. They stay valid through resets and restores: each looks up what it needs when it is used.

    noun: what they are of. records: what the engines of the run know of each at present. make: a handle, of its name
    and of these.
    """

    def __init__(self, noun: str, records: Mapping[str, R], make: Callable[[str, Mapping[str, R]], H]) -> None:
        self._noun, self._records, self._make = noun, records, make

    def __getitem__(self, name: str) -> H:
        """Return a handle. Raises KeyError, which names the nearest."""
        if name not in self._records:
            raise KeyError(f"no {self._noun} {name!r}{did_you_mean(name, self._records)}")
        return self._make(name, self._records)

    def __iter__(self) -> Iterator[str]:
        return iter(self._records)

    def __len__(self) -> int:
        return len(self._records)


class _Handle(Generic[R]):
    """What was found by name, and is looked up whenever it is used."""

    __slots__ = ("_records", "name")

    def __init__(self, name: str, records: Mapping[str, R]) -> None:
        self.name, self._records = name, records

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r}>"

    @property
    def _present(self) -> R:
        return self._records[self.name]


class Body(_Handle[BodyRecord]):
    """A body of a run. Set its numbers between two steps.

    Setting raises ValueError for another number of numbers and for numbers that are not finite.
    """

    __slots__ = ()

    @property
    def pose(self) -> FloatArray:
        """Its pose (7,) [x y z qx qy qz qw] in the fixed frame, m.

        Only bodies that float free can be set. ValueError says why another body cannot.
        """
        return self._present.pose()

    @pose.setter
    def pose(self, pose: npt.ArrayLike) -> None:
        self._present.set_pose(_numbers(self.name, "pose", pose, 7))

    @property
    def twist(self) -> FloatArray:
        """Its twist (6,) [vx vy vz wx wy wz] relative to the fixed frame and along its axes, m/s and rad/s.

        The linear part is the velocity of the body's origin. Only bodies that float free can be set.
        """
        return self._present.twist()

    @twist.setter
    def twist(self, twist: npt.ArrayLike) -> None:
        self._present.set_twist(_numbers(self.name, "twist", twist, 6))

    @property
    def wrench(self) -> FloatArray:
        """The wrench (6,) [fx fy fz tx ty tz] that is applied to it beside the forces of the world, N and N m.

        It acts at the centre of mass, along the axes of the fixed frame, and is held until it is changed: a row of the
        column `wrench`, to be written in place, too. A reset makes it zero.
        """
        return self._present.wrench()

    @wrench.setter
    def wrench(self, wrench: npt.ArrayLike) -> None:
        self._present.wrench()[:] = _numbers(self.name, "wrench", wrench, 6)


class Joint(_Handle[JointRecord]):
    """A joint of a run. Set its numbers between two steps.

    Setting raises ValueError for another number of numbers and for numbers that are not finite.
    """

    __slots__ = ()

    @property
    def position(self) -> FloatArray:
        """Where it is, m or rad: an array, of one number for a hinge or a slide.

        Of a joint of a body, `q` as in world files; of a joint of a model, a ball is a quaternion [qx qy qz qw].
        """
        return self._present.position()

    @position.setter
    def position(self, position: npt.ArrayLike) -> None:
        record = self._present
        record.set_position(_numbers(self.name, "position", position, record.q_size))

    @property
    def velocity(self) -> FloatArray:
        """How it moves, m/s or rad/s: an array, of one number for a hinge or a slide.

        Of a joint of a body, `qd` as in world files. A ball turns about the axes of its body.
        """
        return self._present.velocity()

    @velocity.setter
    def velocity(self, velocity: npt.ArrayLike) -> None:
        record = self._present
        record.set_velocity(_numbers(self.name, "velocity", velocity, record.qd_size))


class Vehicle(_Handle[VehicleRecord]):
    """A vehicle of a run. Its arrays are the run's own: rows of columns, valid until the structure of a run changes."""

    __slots__ = ()

    @property
    def command(self) -> FloatArray:
        """What each motor is told (R,), read at each timestep; rows of the column `motor_command`.

        Below 0 counts as 0, above 1 as 1, and NaN stops the motor, like 0. A pilot writes its vehicle's; without one it
        is for others to write.
        """
        return self._present.command

    @command.setter
    def command(self, command: npt.ArrayLike) -> None:
        self._present.command[:] = command

    @property
    def speeds(self) -> FloatArray:
        """The speeds (R,) of its rotors, rad/s; rows of the column `rotor_speed`."""
        return self._present.speeds

    @property
    def piloted(self) -> bool:
        """Whether a pilot flies it within the run."""
        return self._present.piloted

    @property
    def airframe(self) -> Airframe:
        """What a controller knows of it."""
        return self._present.airframe

    @property
    def centre(self) -> FloatArray:
        """The centre of mass (3,) in its body, m."""
        return self._present.centre

    @property
    def waypoints(self) -> FloatArray:
        """Its pilot's mission (W, 7), as rows of fly_missions; none without a pilot."""
        return self._present.waypoints


def _numbers(name: str, what: str, given: npt.ArrayLike, size: int) -> FloatArray:
    """An array (size,) of finite numbers; a bare number is one. Raises ValueError."""
    try:
        numbers = np.atleast_1d(np.asarray(given, dtype=np.float64))
    except (TypeError, ValueError):
        raise ValueError(f"{name!r}: {what} needs {size} numbers, found {given!r:.60}") from None
    if numbers.shape != (size,):
        raise ValueError(f"{name!r}: {what} has shape {numbers.shape}, needs ({size},)")
    if not np.isfinite(numbers).all():
        raise ValueError(f"{name!r}: {what} {numbers.tolist()} is not finite")
    return numbers
