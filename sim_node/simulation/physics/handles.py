"""Handles: access to the bodies and vehicles of a run by name, to read and set values between two steps."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from sim_node.spatial.geometry.arrays import FloatArray, IntArray
from sim_node.text import did_you_mean
from sim_node.world.bounds import fault

if TYPE_CHECKING:
    from sim_node.simulation.control import Airframe
    from sim_node.simulation.physics.rotors import RotorFailures
    from sim_node.world.base_types import BaseType

# Default time-out of a velocity command to a multirotor, s, the same as for bases.
TIMEOUT_S = 0.5
R = TypeVar("R")
H = TypeVar("H")


class BodyRecord(Protocol):
    """An engine's access to a body, valid until the structure of the world changes."""

    def pose(self) -> FloatArray:
        """See BodyHandle."""

    def set_pose(self, pose: FloatArray) -> None:
        """Set the pose. What is coupled with the body follows. Raises ValueError for a body that cannot be placed."""

    def write_pose(self, pose: FloatArray) -> None:
        """Set the pose of a free-floating body without moving coupled ones. Raises ValueError for an invalid pose."""

    def twist(self) -> FloatArray:
        """See BodyHandle."""

    def set_twist(self, twist: FloatArray) -> None:
        """Set the twist. Raises ValueError for a body that cannot be placed."""

    def wrench(self) -> FloatArray:
        """Return its row (6,) of the column `wrench`. Raises ValueError for a body that no force can move."""

    def lever(self, point: FloatArray) -> FloatArray:
        """Return the vector (3,) from the centre of mass to a point (3,) of the body, along the fixed frame's axes."""


@dataclass(frozen=True, slots=True, eq=False)
class PilotRecord:
    """An engine's access to a pilot, to fly its multirotor by hand: rows of columns, and the time of the run.

    command (5,): [ahead left up turn until], m/s, rad/s and s. mode (1,): 0 unless the multirotor is flown by hand.
    """

    command: FloatArray
    mode: IntArray
    now: Callable[[], float]


@dataclass(frozen=True, slots=True, eq=False)
class VehicleRecord:
    """An engine's access to a vehicle: its rows of columns and its constants; see VehicleHandle.

    pilot: None if no pilot of the world flies it. autopilot: the type of its autopilot, or empty. failures: those of
    all rotors of the run; first: the row of its own first rotor.
    """

    command: FloatArray
    speeds: FloatArray
    pilot: PilotRecord | None
    autopilot: str
    airframe: Airframe
    centre: FloatArray
    waypoints: FloatArray
    failures: RotorFailures
    first: int


@dataclass(frozen=True, slots=True, eq=False)
class BaseRecord:
    """An engine's access to a wheeled base: its rows of columns, its constants, the run's time and its true twist."""

    command: FloatArray
    odometry: FloatArray
    shape: BaseType
    timeout: float
    now: Callable[[], float]
    truth: Callable[[], FloatArray]


class Handles(Mapping[str, H], Generic[H, R]):
    """Handles by name. They stay valid through resets and restores, since each looks up its record when it is used.

    noun: the kind of entity, for messages. records: the engines' current records, by name. make: creates a handle from
    a name and the records.
    """

    def __init__(self, noun: str, records: Mapping[str, R], make: Callable[[str, Mapping[str, R]], H]) -> None:
        self._noun, self._records, self._make = noun, records, make

    def __getitem__(self, name: str) -> H:
        """Return a handle. Raises KeyError, whose message names the nearest name."""
        if name not in self._records:
            raise KeyError(f"no {self._noun} {name!r}{did_you_mean(name, self._records)}")
        return self._make(name, self._records)

    def __iter__(self) -> Iterator[str]:
        return iter(self._records)

    def __len__(self) -> int:
        return len(self._records)


class NamedHandle(Generic[R]):
    """A name whose record is looked up at each use."""

    __slots__ = ("_records", "name")

    def __init__(self, name: str, records: Mapping[str, R]) -> None:
        self.name, self._records = name, records

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r}>"

    @property
    def _present(self) -> R:
        record = self._records.get(self.name)
        if record is None:
            raise KeyError(f"{self.name!r} is gone: the world has changed{did_you_mean(self.name, self._records)}")
        return record


class BodyHandle(NamedHandle[BodyRecord]):
    """Handle of a body of a run. Set its values between two steps.

    Setting a value raises ValueError if its shape is wrong or a number is not finite or out of range.
    """

    __slots__ = ()

    @property
    def pose(self) -> FloatArray:
        """Pose (7,) [x y z qx qy qz qw] in the fixed frame, m.

        It can be set for free-floating bodies only; for others, the ValueError states why. Setting it also moves
        bodies that closed loops couple with the body.
        """
        return self._present.pose()

    @pose.setter
    def pose(self, pose: npt.ArrayLike) -> None:
        self._present.set_pose(numbers_of(self.name, "pose", pose, 7))

    @property
    def twist(self) -> FloatArray:
        """Twist (6,) [vx vy vz wx wy wz] relative to the fixed frame, along the fixed frame's axes, m/s and rad/s.

        The linear part is the velocity of the body's origin. It can be set for free-floating bodies only.
        """
        return self._present.twist()

    @twist.setter
    def twist(self, twist: npt.ArrayLike) -> None:
        self._present.set_twist(numbers_of(self.name, "twist", twist, 6))

    @property
    def wrench(self) -> FloatArray:
        """External wrench (6,) [fx fy fz tx ty tz], N and N m, in addition to the forces of the world.

        It acts at the centre of mass, along the axes of the fixed frame, and stays until it is changed. It is a row of
        the column `wrench`, so it can also be written in place. A reset sets it to zero.
        """
        return self._present.wrench()

    @wrench.setter
    def wrench(self, wrench: npt.ArrayLike) -> None:
        self._present.wrench()[:] = numbers_of(self.name, "wrench", wrench, 6)

    def set_pose(self, pose: npt.ArrayLike) -> None:
        """Set the pose, like assigning `pose`.

        Args:
            pose: Pose (7,) [x y z qx qy qz qw] in the fixed frame, m.

        Raises:
            ValueError: The pose is invalid, or the body does not float free.
        """
        self.pose = pose

    def apply_force(
        self, force: npt.ArrayLike, *, torque: npt.ArrayLike = (0.0, 0.0, 0.0), point: npt.ArrayLike | None = None
    ) -> None:
        """Set `wrench` to a force at a point of the body, and a torque. Both are held until they are changed.

        Args:
            force: Force (3,) along the fixed frame's axes, N.
            torque: Torque (3,) along the fixed frame's axes, N m.
            point: Where the force acts (3,), in the body at this instant, m; None for the centre of mass.

        Raises:
            ValueError: A number is missing, not finite or out of range, or no force moves the body.
        """
        push, turn = numbers_of(self.name, "force", force, 3), numbers_of(self.name, "torque", torque, 3)
        if point is not None:
            turn = turn + np.cross(self._present.lever(numbers_of(self.name, "point", point, 3)), push)
        self._present.wrench()[:] = np.concatenate([push, turn])


class VehicleHandle(NamedHandle["VehicleRecord | BaseRecord"]):
    """Handle of a vehicle of a run: a multirotor or a wheeled base.

    Arrays are rows of columns, valid until the world's structure changes. Members that only the other kind of vehicle
    has raise TypeError.
    """

    __slots__ = ()

    @property
    def drives(self) -> bool:
        """Whether it is a wheeled base."""
        return isinstance(self._present, BaseRecord)

    def cmd_vel(
        self,
        linear_x: float = 0.0,
        linear_y: float = 0.0,
        angular_z: float = 0.0,
        *,
        linear_z: float = 0.0,
        timeout: float | None = None,
    ) -> None:
        """Command a velocity along the heading of the vehicle, until the next command or the time-out.

        A base moves along its own axes (FLU). For a multirotor, this ends the mission of its pilot: it moves along its
        level heading frame and, after the time-out, brakes and holds its position. On the ground, its motors are off
        until it is commanded up; it has landed when it cannot descend any further.

        Args:
            linear_x: Forwards, m/s.
            linear_y: To the left, m/s; ignored by wheels that do not allow it.
            angular_z: Counterclockwise, rad/s.
            linear_z: Up, m/s; for multirotors only.
            timeout: Simulated time after which the vehicle brakes, s; 0 for never. None stands for the time-out of the
                base in its world, or 0.5 s for a multirotor.

        Raises:
            ValueError: A number is not finite, the time-out is negative, or no pilot of the run flies the multirotor.
            TypeError: A base is commanded up.
        """
        x, y, z, turn = numbers_of(self.name, "cmd_vel", [linear_x, linear_y, linear_z, angular_z], 4)
        record = self._present
        own = record.timeout if isinstance(record, BaseRecord) else TIMEOUT_S
        seconds = own if timeout is None else timeout
        if not 0.0 <= seconds < np.inf:
            raise ValueError(f"{self.name!r}: timeout {seconds} s is out of range; it must be zero or more, and finite")
        if isinstance(record, BaseRecord):
            if z:
                raise TypeError(f"the vehicle {self.name!r} is a base on wheels; only a multirotor can go up")
            record.command[:] = x, y, turn, record.now() + seconds if seconds else np.inf
            return
        pilot = self._pilot_of(record)
        pilot.command[:] = x, y, z, turn, pilot.now() + seconds if seconds else np.inf
        pilot.mode[0] = max(int(pilot.mode[0]), 1)  # take over, unless it is flown by hand already

    def _pilot_of(self, record: VehicleRecord) -> PilotRecord:
        if record.autopilot:
            raise ValueError(
                f"{self.name!r} is flown by its autopilot ({record.autopilot}), which takes velocities by MAVLink: "
                f"use `sim_node teleop {self.name}`, or its bridge's setpoint_velocity/cmd_vel"
            )
        if record.pilot is None:
            raise ValueError(
                f"{self.name!r} has no pilot to fly it; add `pilot: {{after: hold}}`, or set its motors' `command`"
            )
        return record.pilot

    @property
    def odometry(self) -> FloatArray:
        """Odometry pose (3,) [x y yaw] of a base since the start, from its wheels, m and rad. Yaw is not wrapped."""
        return np.array(self._base.odometry[:3])

    @property
    def twist(self) -> FloatArray:
        """Odometry twist (3,) [vx vy wz] of a base along its axes, from its wheels, m/s and rad/s."""
        return np.array(self._base.odometry[3:6])

    @property
    def slip(self) -> FloatArray:
        """Slip (3,) of a base's wheels: `twist` minus the true twist, m/s and rad/s."""
        return self._base.odometry[3:6] - self._base.truth()

    @property
    def shape(self) -> BaseType:
        """The kind and dimensions of a base."""
        return self._base.shape

    @property
    def _base(self) -> BaseRecord:
        record = self._present
        if not isinstance(record, BaseRecord):
            raise TypeError(f"the vehicle {self.name!r} is a multirotor; only a base has this")
        return record

    @property
    def _multirotor(self) -> VehicleRecord:
        record = self._present
        if not isinstance(record, VehicleRecord):
            raise TypeError(f"the vehicle {self.name!r} is a base on wheels; only a multirotor has this")
        return record

    @property
    def command(self) -> FloatArray:
        """Command (R,) of each motor, 0 to 1, read at each timestep; rows of the column `motor_command`.

        Values are clipped to [0, 1]; NaN stops the motor, like 0. A vehicle's pilot overwrites them.
        """
        return self._multirotor.command

    @command.setter
    def command(self, command: npt.ArrayLike) -> None:
        self._multirotor.command[:] = command

    @property
    def speeds(self) -> FloatArray:
        """Rotor speeds (R,), rad/s; rows of the column `rotor_speed`."""
        return self._multirotor.speeds

    def fail(self, rotor: int, *, gain: float = 1.0, stuck: float = np.nan, blades: float = 1.0) -> None:
        """Set the failure of a rotor of a multirotor from now on; the defaults, and a reset, make it intact.

        Args:
            rotor: Index of the rotor, from 0.
            gain: Factor on the motor's command; 0 for a motor that is off.
            stuck: Command that the motor follows regardless of what it is sent; NaN for none.
            blades: Remaining fraction of the propeller's thrust, torque and drag.

        Raises:
            ValueError: There is no such rotor.
        """
        record = self._multirotor
        if not 0 <= rotor < len(record.speeds):
            raise ValueError(f"{self.name!r} has no rotor {rotor}; allowed: 0 to {len(record.speeds) - 1}")
        record.failures.set(record.first + rotor, gain=gain, stuck=stuck, blades=blades)

    @property
    def piloted(self) -> bool:
        """Whether a pilot of the world flies it."""
        return self._multirotor.pilot is not None

    @property
    def airframe(self) -> Airframe:
        """Its mass, inertia and rotors, as a controller needs them."""
        return self._multirotor.airframe

    @property
    def centre(self) -> FloatArray:
        """Centre of mass (3,) in the body's frame, m."""
        return self._multirotor.centre

    @property
    def waypoints(self) -> FloatArray:
        """Its pilot's mission (W, 7), with rows as for `fly_missions`; (0, 7) without a pilot."""
        return self._multirotor.waypoints


def numbers_of(name: str, what: str, given: npt.ArrayLike, size: int) -> FloatArray:
    """Return an array (size,) of numbers within the bounds of `what`; a scalar becomes (1,). Raises ValueError."""
    try:
        numbers = np.atleast_1d(np.asarray(given, dtype=np.float64))
    except (TypeError, ValueError):
        raise ValueError(f"{name!r}: {what} needs {size} numbers, found {given!r:.60}") from None
    if numbers.shape != (size,):
        raise ValueError(f"{name!r}: {what} has shape {numbers.shape}, needs ({size},)")
    if wrong := fault(what, numbers):
        raise ValueError(f"{name!r}: {what} {numbers.tolist()} {wrong}")
    return numbers
