"""Handles of joints: positions, velocities, efforts and targets by name, or of all joints at once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol

import numpy as np
import numpy.typing as npt

from sim_node.simulation.physics.handles import Handles, NamedHandle, numbers_of
from sim_node.spatial.geometry.arrays import FloatArray, IntArray
from sim_node.world.joint_motion import ACTUATOR_TYPES

if TYPE_CHECKING:
    from sim_node.simulation.physics.actuators import Drive


class JointRecord(Protocol):
    """An engine's access to a joint, valid until the structure of the world changes."""

    q_size: int
    qd_size: int
    # Actuators by type.
    drives: Mapping[str, Drive]
    # Indices of its velocities in those of the engine.
    velocity_places: IntArray

    def position(self) -> FloatArray:
        """See JointHandle."""

    def set_position(self, position: FloatArray, *others: tuple[JointRecord, FloatArray]) -> None:
        """Set the position (q_size,), together with those of other joints. Coupled joints follow.

        Raises ValueError, and changes nothing, if a quaternion does not have unit norm, or if positions contradict the
        couplings between joints.
        """

    def write_position(self, position: FloatArray) -> None:
        """Set the position (q_size,) without moving coupled joints. Raises ValueError for an invalid quaternion."""

    def velocity(self) -> FloatArray:
        """See JointHandle."""

    def set_velocity(self, velocity: FloatArray) -> None:
        """Set the velocity (qd_size,)."""

    def effort(self) -> FloatArray:
        """See JointHandle."""

    def set_effort(self, effort: FloatArray) -> None:
        """Set the effort (qd_size,). Raises ValueError for a ball."""


class JointHandle(NamedHandle[JointRecord]):
    """Handle of a joint of a run. Set its values between two steps.

    Setting a value raises ValueError if its shape is wrong or a number is not finite.
    """

    __slots__ = ()

    @property
    def position(self) -> FloatArray:
        """Position, m or rad: an array, (1,) for a hinge or a slide.

        For the joint of a body, this is `q` as in world files; for a ball joint of a model, a quaternion [qx qy qz qw].

        Setting it also moves what is coupled with the joint by a mimic, a transmission or a closed loop. If no position
        satisfies these, ValueError names them, and nothing changes. `JointHandles.set_positions` sets several joints.
        """
        return self._present.position()

    @position.setter
    def position(self, position: npt.ArrayLike) -> None:
        record = self._present
        record.set_position(numbers_of(self.name, "position", position, record.q_size))

    @property
    def velocity(self) -> FloatArray:
        """Velocity, m/s or rad/s: an array, (1,) for a hinge or a slide.

        For the joint of a body this is `qd` as in world files. A ball's angular velocity is along its body's axes.
        """
        return self._present.velocity()

    @velocity.setter
    def velocity(self, velocity: npt.ArrayLike) -> None:
        record = self._present
        record.set_velocity(numbers_of(self.name, "velocity", velocity, record.qd_size))

    @property
    def effort(self) -> FloatArray:
        """Force or torque on the joint at this instant, N or N m: that of its actuators and that set here.

        Setting it sets the target of the joint's effort actuator, which limits it. Without such an actuator, the effort
        acts on the joint directly. Either is held until it is changed, is part of the state, and is undone by a reset.
        """
        return self._present.effort()

    @effort.setter
    def effort(self, effort: npt.ArrayLike) -> None:
        record = self._present
        record.set_effort(numbers_of(self.name, "effort", effort, record.qd_size))

    @property
    def target(self) -> FloatArray:
        """Target (1,) of its actuator, in the unit of its type: m or rad, m/s or rad/s, N or N m.

        If the joint has several actuators, this is the target of the position actuator, or else of the velocity
        actuator; `set_targets` sets each of them. A joint without an actuator raises ValueError.
        """
        return np.array([self._first().get()])

    @target.setter
    def target(self, target: npt.ArrayLike) -> None:
        self._first().set(float(numbers_of(self.name, "target", target, 1)[0]))

    @property
    def targets(self) -> dict[str, float]:
        """The targets of its actuators by type: position, velocity, effort."""
        drives = self._present.drives
        return {kind: drives[kind].get() for kind in ACTUATOR_TYPES if kind in drives}

    def set_targets(
        self,
        *,
        position: npt.ArrayLike | None = None,
        velocity: npt.ArrayLike | None = None,
        effort: npt.ArrayLike | None = None,
    ) -> None:
        """Set the targets of its actuators.

        Args:
            position: Target of the position actuator, m or rad; None keeps the current one.
            velocity: Target of the velocity actuator, m/s or rad/s; None keeps the current one.
            effort: Target of the effort actuator, N or N m; None keeps the current one.

        Raises:
            ValueError: The joint has no such actuator, or a number is not finite. No target is changed.
        """
        given = {"position": position, "velocity": velocity, "effort": effort}
        drives = self._present.drives
        wanted = {
            kind: float(numbers_of(self.name, f"{kind} target", value, 1)[0])
            for kind, value in given.items()
            if value is not None
        }
        for kind in wanted:
            if kind not in drives:
                raise ValueError(f"{self.name!r} has no {kind} actuator; it has {_listed(drives)}")
        for kind, target in wanted.items():
            drives[kind].set(target)

    def _first(self) -> Drive:
        drives = self._present.drives
        for kind in ACTUATOR_TYPES:
            if kind in drives:
                return drives[kind]
        raise ValueError(f"{self.name!r} has no actuator, and so no target; give it one, or set its effort")


class JointHandles(Handles[JointHandle, JointRecord]):
    """Handles of joints by name, and arrays (J,) of all hinges and slides at once, in the order of `scalar`.

    Args:
        records: The engines' current records, by name.
    """

    def __init__(self, records: Mapping[str, JointRecord]) -> None:
        super().__init__("joint", records, JointHandle)

    @property
    def scalar(self) -> tuple[str, ...]:
        """The names of the joints with a scalar position: hinges and slides."""
        return tuple(name for name, record in self._records.items() if record.q_size == record.qd_size == 1)

    @property
    def positions(self) -> FloatArray:
        """Positions (J,), m or rad."""
        return self._numbers([record.position()[0] for record in self._scalars()])

    @positions.setter
    def positions(self, positions: npt.ArrayLike) -> None:
        _set_positions(list(zip(self._scalars(), self._given("positions", positions), strict=True)))

    def set_positions(self, positions: Mapping[str, npt.ArrayLike]) -> None:
        """Set the positions of several joints at once. Coupled joints follow.

        Args:
            positions: The position of each joint by name, as in `JointHandle.position`.

        Raises:
            KeyError: There is no such joint.
            ValueError: A position is invalid, or positions contradict the couplings. No position has changed.
        """
        records = {name: self[name]._present for name in positions}
        _set_positions(
            [(record, numbers_of(name, "position", positions[name], record.q_size)) for name, record in records.items()]
        )

    @property
    def velocities(self) -> FloatArray:
        """Velocities (J,), m/s or rad/s."""
        return self._numbers([record.velocity()[0] for record in self._scalars()])

    @velocities.setter
    def velocities(self, velocities: npt.ArrayLike) -> None:
        for record, value in zip(self._scalars(), self._given("velocities", velocities), strict=True):
            record.set_velocity(value)

    @property
    def efforts(self) -> FloatArray:
        """Efforts (J,), N or N m; see `JointHandle.effort`."""
        return self._numbers([record.effort()[0] for record in self._scalars()])

    @efforts.setter
    def efforts(self, efforts: npt.ArrayLike) -> None:
        for record, value in zip(self._scalars(), self._given("efforts", efforts), strict=True):
            record.set_effort(value)

    @property
    def targets(self) -> FloatArray:
        """Targets (J,), as in `JointHandle.target`; NaN for joints without an actuator.

        Setting them keeps the current target where the array is NaN.
        """
        return self._numbers([self[name].target[0] if self._records[name].drives else np.nan for name in self.scalar])

    @targets.setter
    def targets(self, targets: npt.ArrayLike) -> None:
        numbers = np.asarray(targets, dtype=np.float64)
        self._given("targets", np.where(np.isnan(numbers), 0.0, numbers))
        each = zip(self.scalar, numbers.tolist(), strict=True)
        wanted = {self[name]: value for name, value in each if not np.isnan(value)}
        for handle in wanted:
            handle.target  # noqa: B018  raises before any target is changed
        for handle, value in wanted.items():
            handle.target = value

    def _scalars(self) -> list[JointRecord]:
        return [self._records[name] for name in self.scalar]

    def _given(self, what: str, values: npt.ArrayLike) -> FloatArray:
        """Return values as rows (J, 1). Raises ValueError."""
        return numbers_of("joints", what, values, len(self.scalar))[:, None]

    @staticmethod
    def _numbers(values: list[float]) -> FloatArray:
        return np.array(values, dtype=np.float64)


def _set_positions(positions: list[tuple[JointRecord, FloatArray]]) -> None:
    if positions:
        (first, value), *others = positions
        first.set_position(value, *others)


def _listed(drives: Mapping[str, Drive]) -> str:
    return " and ".join(kind for kind in ACTUATOR_TYPES if kind in drives) or "none"
