"""Rotating frames for the rotors of vehicles: angles integrated from rotor speeds, and poses on /tf."""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import numpy as np

from sim_node.messages.clock import Stamp, simulation_stamp
from sim_node.messages.tf_sink import TF, LayOutPoses, PoseOutlet, SendPoses
from sim_node.simulation import Sink, Snapshot
from sim_node.spatial.geometry import poses as pose_math
from sim_node.spatial.geometry import quaternions
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.world import FrameTable, World
from sim_node.world.problems import WorldWarning, counted
from sim_node.world.vehicles import SPINS, Multirotor

# The column of rotor speeds.
SPEEDS = "rotor_speed"


class RotorFrames:
    """The rotors of all vehicles of a world, in the order of the column `rotor_speed`.

    A rotor's frame has its origin at the hub and z along its thrust axis. Its angle is about z, positive
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
        """Yield the vehicle of each rotor, and the rotor's index in the vehicle."""
        return ((vehicle, index) for vehicle in self._vehicles for index in range(len(vehicle.rotors)))

    def ends(self) -> list[tuple[str, str]]:
        """Return, for each rotor, the frame of its body and its own frame on /tf: BODY/rotor_0, BODY/rotor_1, ..."""
        return [(vehicle.body, f"{vehicle.body}/rotor_{index}") for vehicle, index in self.of_vehicles()]

    def angles(self, poses: FloatArray) -> FloatArray:
        """Return the angles (R,) in [-pi, pi] of rotors with poses (R, 7) in their bodies; zero for NaN."""
        turns = pose_math.compose(pose_math.invert(self._still), np.nan_to_num(poses)) if len(self) else self._still
        half = np.arctan2(turns[:, 5], turns[:, 6])
        return np.asarray(np.remainder(2.0 * half + np.pi, 2.0 * np.pi) - np.pi)

    def poses(self, angles: FloatArray | None = None) -> FloatArray:
        """Return the poses (R, 7) in the vehicles' bodies (FLU, m) at angles (R,), rad; None for zero angles."""
        turns = np.zeros((len(self), 7))
        half = 0.5 * (np.zeros(len(self)) if angles is None else angles)
        turns[:, 5], turns[:, 6] = np.sin(half), np.cos(half)
        return pose_math.compose(self._still, turns) if len(self) else turns


class RotorAngles:
    """Integrates rotor angles during a run from rotor speeds, using the trapezoidal rule.

    If time goes back, the angles restart at zero.
    """

    def __init__(self, rotors: RotorFrames) -> None:
        self._spins = rotors.spins
        self._last: tuple[int, FloatArray] | None = None
        self.angles: FloatArray = np.zeros(len(rotors))

    def advance(self, time_ns: int, speeds: FloatArray) -> FloatArray:
        """Return the angles (R,) at an instant, rad, in [-pi, pi].

        Args:
            time_ns: The instant.
            speeds: Rotor speeds (R,) at the instant, rad/s, zero or more.
        """
        if self._last is not None and time_ns < self._last[0]:
            self._last, self.angles = None, np.zeros(len(self._spins))
        if self._last is not None:
            before_ns, before = self._last
            turned = 0.5 * (before + speeds) * ((time_ns - before_ns) / 1e9)
            self.angles = np.remainder(self.angles + self._spins * turned + np.pi, 2.0 * np.pi) - np.pi
        self._last = time_ns, np.array(speeds)
        return self.angles


class Instants:
    """Selects instants that are at least a period apart, aligned to multiples of the period."""

    def __init__(self, rate: float) -> None:
        self._period_ns = round(1e9 / rate)
        self._next_ns: int | None = None

    def due(self, time_ns: int) -> bool:
        """Return whether an instant is due. If so, it counts as used."""
        if self._next_ns is not None and self._next_ns - self._period_ns <= time_ns < self._next_ns:
            return False
        self._next_ns = time_ns - time_ns % self._period_ns + self._period_ns
        return True


class RotorFrameSink(Sink):
    """Publishes rotating frames of rotors on /tf: BODY/rotor_0, BODY/rotor_1, ...

    Args:
        outlet: The outlet of the transforms.
        rate: Maximum number of transforms per simulated second, Hz.
        prefix: Prefix of all frame names.
        stamp: Returns the stamp for a simulation time.
    """

    def __init__(self, outlet: PoseOutlet, rate: float, *, prefix: str = "", stamp: Stamp = simulation_stamp) -> None:
        self._outlet, self._prefix, self._stamp = outlet, prefix, stamp
        self._lay_out: LayOutPoses | None = None
        self._rate = Instants(rate)
        self._rotors = RotorFrames(World("none"))
        self._angles = RotorAngles(self._rotors)
        self._send: SendPoses | None = None
        self._chosen: FloatArray = np.zeros(0, dtype=np.intp)

    def open(self, world: World, frames: FrameTable) -> None:
        """Find the rotors. Frames of the world with the name of a rotor frame take precedence."""
        self._rotors = RotorFrames(world)
        self._angles = RotorAngles(self._rotors)
        names = self._rotors.ends()
        taken = [child for _, child in names if child in frames.names]
        if taken:
            message = f"{counted(len(taken), 'rotor')} not on /tf: the world has frames of the names {', '.join(taken)}"
            warnings.warn(WorldWarning(message), stacklevel=2)
        self._chosen = np.array([row for row, (_, child) in enumerate(names) if child not in taken], dtype=np.intp)
        ends = [names[row] for row in self._chosen.tolist()]
        self._send = None
        if ends:
            parents, children = ([self._prefix + name for name in each] for each in zip(*ends, strict=True))
            if self._lay_out is None:
                self._lay_out = self._outlet(TF)
            self._send = self._lay_out(parents, children)

    def write(self, snapshot: Snapshot) -> None:
        """Publish the rotors if they are due."""
        if self._send is None:
            return
        angles = self._angles.advance(snapshot.time_ns, snapshot[SPEEDS])
        if self._rate.due(snapshot.time_ns):
            self._send(self._stamp(snapshot.time_ns), self._rotors.poses(angles)[self._chosen])


def upwards(axis: FloatArray) -> FloatArray:
    """Return the shortest rotation from z to a unit axis."""
    x, y, z = axis
    return quaternions.normalise([-y, x, 0.0, 1.0 + z]) if z > -1.0 + 1e-9 else np.array([1.0, 0.0, 0.0, 0.0])
