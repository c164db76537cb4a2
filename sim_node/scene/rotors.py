"""Rotors of vehicles as frames that turn: their angles, integrated from their speeds, and their poses."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sim_node.geometry import poses as pose_math
from sim_node.geometry import quaternions
from sim_node.geometry.arrays import FloatArray
from sim_node.world.model import World
from sim_node.world.vehicles import SPINS, Multirotor


class RotorFrames:
    """The rotors of all vehicles of a world, in their order: that of the column `rotor_speed`.

    A rotor's frame has its origin at the hub and z along the axis of its thrust; its angle is about z, positive
    counterclockwise seen from above.
    """

    def __init__(self, world: World) -> None:
        self._vehicles = tuple(world.vehicles)
        rotors = [rotor for vehicle in self._vehicles for rotor in vehicle.rotors]
        self.spins: FloatArray = np.array([float(SPINS[rotor.spin]) for rotor in rotors])
        self._still = np.array([[*rotor.position, *upwards(rotor.axis)] for rotor in rotors]).reshape(-1, 7)

    def __len__(self) -> int:
        return len(self.spins)

    def of_vehicles(self) -> Iterator[tuple[Multirotor, int]]:
        """Yield the vehicle of each rotor, and the rotor's index there."""
        return ((vehicle, index) for vehicle in self._vehicles for index in range(len(vehicle.rotors)))

    def ends(self) -> list[tuple[str, str]]:
        """Return for each rotor the frame of its body, and that of the rotor on /tf: BODY/rotor_0, BODY/rotor_1, ..."""
        return [(vehicle.body, f"{vehicle.body}/rotor_{index}") for vehicle, index in self.of_vehicles()]

    def angles(self, poses: FloatArray) -> FloatArray:
        """Return the angles (R,) in [-pi, pi] of rotors at poses (R, 7) in their bodies; zero for NaN."""
        turns = pose_math.compose(pose_math.invert(self._still), np.nan_to_num(poses)) if len(self) else self._still
        half = np.arctan2(turns[:, 5], turns[:, 6])
        return np.asarray(np.remainder(2.0 * half + np.pi, 2.0 * np.pi) - np.pi)

    def poses(self, angles: FloatArray | None = None) -> FloatArray:
        """Return the poses (R, 7) in the bodies of their vehicles (FLU, m) at angles (R,), rad; None for zero."""
        turns = np.zeros((len(self), 7))
        half = 0.5 * (np.zeros(len(self)) if angles is None else angles)
        turns[:, 5], turns[:, 6] = np.sin(half), np.cos(half)
        return pose_math.compose(self._still, turns) if len(self) else turns


class RotorAngles:
    """The angles of rotors during a run, from their speeds at its instants by the trapezoidal rule.

    A run that goes back in time starts again at zero.
    """

    def __init__(self, rotors: RotorFrames) -> None:
        self._spins = rotors.spins
        self._last: tuple[int, FloatArray] | None = None
        self.angles: FloatArray = np.zeros(len(rotors))

    def advance(self, time_ns: int, speeds: FloatArray) -> FloatArray:
        """Return the angles (R,) at an instant, rad, in [-pi, pi].

        Args:
            time_ns: The instant.
            speeds: Speeds (R,) then, rad/s, zero or more.
        """
        if self._last is not None and time_ns < self._last[0]:
            self._last, self.angles = None, np.zeros(len(self._spins))
        if self._last is not None:
            before_ns, before = self._last
            turned = 0.5 * (before + speeds) * ((time_ns - before_ns) / 1e9)
            self.angles = np.remainder(self.angles + self._spins * turned + np.pi, 2.0 * np.pi) - np.pi
        self._last = time_ns, np.array(speeds)
        return self.angles


def upwards(axis: FloatArray) -> FloatArray:
    """Return the shortest rotation from z to a unit axis."""
    x, y, z = axis
    return quaternions.normalise([-y, x, 0.0, 1.0 + z]) if z > -1.0 + 1e-9 else np.array([1.0, 0.0, 0.0, 0.0])
