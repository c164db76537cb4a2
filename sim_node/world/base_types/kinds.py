"""The shipped kinds of bases: bases with unsteered wheels, with or without rollers, and a car."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import ClassVar, NamedTuple

import numpy as np

from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.world.base_types.registry import BaseType, base, dimension
from sim_node.world.declared import declared, rule

# Below this speed a car cannot turn, m/s.
STANDING = 1e-9
# Angle of each wheel of a mecanum base from its heading to the axis of the roller that touches the ground, rad. Seen
# from above, the upper rollers of the four wheels form an X, the lower ones an O.
ROLLERS = (-math.pi / 4, math.pi / 4, math.pi / 4, -math.pi / 4)


class LinearKinematics:
    """Kinematics of K bases whose wheel rates are a matrix times the twist.

    Args:
        matrices: Matrices (K, D, 3) from twists to wheel rates, rad/s per m/s or rad/s.
        sideways: Whether the bases can move sideways.
    """

    def __init__(self, matrices: FloatArray, *, sideways: bool) -> None:
        self._matrices, self._inverses = matrices, np.linalg.pinv(matrices)
        self._allowed = np.array([1.0, float(sideways), 1.0])
        self._no_angles = np.zeros((len(matrices), 0))

    def nearest(self, twists: FloatArray) -> FloatArray:
        """Return the twists without their sideways velocity if the wheels do not allow it."""
        return np.asarray(twists * self._allowed)

    def inverse(self, twists: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return wheel rates (K, D), and no steering angles."""
        return np.asarray(np.matmul(self._matrices, twists[:, :, None])[:, :, 0]), self._no_angles

    def forward(self, rates: FloatArray, angles: FloatArray) -> FloatArray:
        """Return twists (K, 3) by the pseudoinverse: the least-squares fit to redundant wheels."""
        return np.asarray(np.matmul(self._inverses, rates[:, :, None])[:, :, 0])


class Wheel(NamedTuple):
    """A wheel that is not steered.

    Attributes:
        x: Position in the base, m.
        y: Position in the base, m.
        heading: Direction in which it rolls, rad from the base's x axis.
        roller: Angle from the heading to the axis of the roller on the ground, rad; 0 for a wheel without rollers, and
            for one whose rollers let it slide along its own axle.
    """

    x: float
    y: float
    heading: float = 0.0
    roller: float = 0.0


class _Rolling(BaseType):
    """A base whose wheels are not steered.

    Attributes:
        sideways: Whether the wheels let it move sideways.
    """

    sideways: ClassVar[bool] = True
    wheel_radius: float

    @abstractmethod
    def wheels(self) -> Sequence[Wheel]:
        """Return the driven wheels."""

    @classmethod
    def kinematics(cls, bases: Sequence[_Rolling]) -> LinearKinematics:
        """Return the kinematics of bases."""
        return LinearKinematics(np.array([_rates(each) for each in bases]), sideways=cls.sideways)


def _rates(of: _Rolling) -> FloatArray:
    """Return the matrix (D, 3) from the twist of a base to its wheel rates, rad/s per m/s or rad/s.

    The rim of a wheel at rate w moves at w r along the heading. A roller spins freely about its own axis; along that
    axis, the velocity of the wheel's centre equals that of the rim. (Siegwart and Nourbakhsh, Introduction to
    Autonomous Mobile Robots, section 3.2.3, the rolling constraint of a Swedish wheel.)
    """
    x, y, heading, roller = np.array(of.wheels()).T
    along = heading + roller
    gain = 1.0 / (of.wheel_radius * np.cos(along - heading))
    rows = np.stack([np.cos(along), np.sin(along), x * np.sin(along) - y * np.cos(along)], axis=1)
    return np.asarray(rows * gain[:, None])


@base("differential")
@declared
class Differential(_Rolling):
    """Two wheels on one axle that turn at different rates. The origin is in the middle of the axle."""

    wheel_radius: float = dimension("radius of the wheels")
    track: float = dimension("from the middle of the left wheel to that of the right one")

    driven: ClassVar = ("left", "right")
    sideways: ClassVar = False

    def wheels(self) -> Sequence[Wheel]:
        """Return the left wheel, then the right one."""
        return Wheel(0.0, self.track / 2), Wheel(0.0, -self.track / 2)


@base("skid")
@declared
class Skid(_Rolling):
    """Several wheels on each side, which skid when the base turns: like one axle whose wheels are farther apart.

    Wheels that skid turn the base about centres outside of its track (Mandow et al., Experimental kinematics for
    wheeled skid-steer mobile robots, IROS 2007): `track_factor` is how much farther, to be measured on each ground.
    """

    wheel_radius: float = dimension("radius of the wheels")
    track: float = dimension("from the middle of the left wheels to that of the right ones")
    track_factor: float = dimension("effective track over `track`", "", low=0.1, high=20.0, default=1.0)

    driven: ClassVar = ("left", "right")
    sideways: ClassVar = False

    def wheels(self) -> Sequence[Wheel]:
        """Return the wheels of a differential base with the effective track."""
        return Differential(self.wheel_radius, self.track * self.track_factor).wheels()


@base("ackermann")
@declared
class Ackermann(BaseType):
    """A car: two driven wheels behind, and two steered ones in front whose axles meet on the rear axle's line.

    The origin is in the middle of the rear axle.
    """

    wheel_radius: float = dimension("radius of the wheels")
    wheelbase: float = dimension("from the rear axle to the front axle")
    track: float = dimension("from the middle of the left wheels to that of the right ones")
    max_steering: float = dimension("largest steering angle", "rad", low=0.01, high=1.5, default=0.6)

    driven: ClassVar = ("rear_left", "rear_right")
    steered: ClassVar = ("front_left", "front_right")

    @rule
    def _turns(self) -> Iterator[tuple[str, str]]:
        """Yield that a turn is too tight for the inner wheel."""
        if self.track / 2 * math.tan(self.max_steering) >= self.wheelbase:
            most = math.atan(2 * self.wheelbase / self.track)
            yield "max_steering", f"{self.max_steering:g} turns about the inner wheel; allowed: less than {most:.4g}"

    @classmethod
    def kinematics(cls, bases: Sequence[Ackermann]) -> AckermannKinematics:
        """Return the kinematics of bases."""
        return AckermannKinematics(np.array([[b.wheel_radius, b.wheelbase, b.track, b.max_steering] for b in bases]))


class AckermannKinematics:
    """Kinematics of K cars. A car that stands still cannot turn, and its wheels are straight.

    Args:
        dimensions: Dimensions (K, 4): wheel radius, wheelbase and track, m, and maximum steering angle, rad.
    """

    def __init__(self, dimensions: FloatArray) -> None:
        radius, base, track, steering = dimensions.T
        self._radius, self._base = radius[:, None], base[:, None]
        self._most = np.tan(steering) / base
        # Distance along y from the middle to the left and the right wheel.
        self._aside = np.stack([track / 2, -track / 2], axis=1)

    def nearest(self, twists: FloatArray) -> FloatArray:
        """Return the twists with their curvature limited to that of the steering, without sideways velocity."""
        found = np.array(twists)
        found[:, 1] = 0.0
        found[:, 2] = twists[:, 0] * self._curvatures(twists)
        return found

    def inverse(self, twists: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the rates of the rear wheels and the angles of the front wheels (K, 2)."""
        bend = self._curvatures(twists)[:, None]
        rates = (twists[:, :1] - twists[:, 2:] * self._aside) / self._radius
        return rates, np.arctan(self._base * bend / (1.0 - self._aside * bend))

    def forward(self, rates: FloatArray, angles: FloatArray) -> FloatArray:
        """Return twists from the speed of the middle of the rear axle and the mean curvature of the front wheels."""
        tangent = np.tan(angles)
        bend = (tangent / (self._base + tangent * self._aside)).mean(axis=1)
        speed = (rates * self._radius).mean(axis=1)
        return np.stack([speed, np.zeros_like(speed), speed * bend], axis=1)

    def _curvatures(self, twists: FloatArray) -> FloatArray:
        """Return the curvature (K,) of the path, 1/m, limited to that of the steering."""
        speed = twists[:, 0]
        moving = np.abs(speed) > STANDING
        bend = np.divide(twists[:, 2], speed, out=np.zeros_like(speed), where=moving)
        return np.clip(bend, -self._most, self._most)


@base("mecanum")
@declared
class Mecanum(_Rolling):
    """Four wheels with rollers at 45 degrees, which move the base in any direction. The origin is in their middle."""

    wheel_radius: float = dimension("radius of the wheels")
    wheelbase: float = dimension("from the front axle to the rear axle")
    track: float = dimension("from the middle of the left wheels to that of the right ones")

    driven: ClassVar = ("front_left", "front_right", "rear_left", "rear_right")

    def wheels(self) -> Sequence[Wheel]:
        """Return the front wheels, then the rear ones."""
        x, y = self.wheelbase / 2, self.track / 2
        places = ((x, y), (x, -y), (-x, y), (-x, -y))
        return [Wheel(*place, roller=roller) for place, roller in zip(places, ROLLERS, strict=True)]


@base("omni")
@declared
class Omni(_Rolling):
    """Three wheels on a circle whose rollers let them slide along their own axes.

    They are 120 degrees apart; each rolls along the circle, counterclockwise.
    """

    wheel_radius: float = dimension("radius of the wheels")
    base_radius: float = dimension("from the origin to the middle of each wheel")
    first_angle: float = dimension("from the x axis to the first wheel", "rad", low=-10.0, high=10.0, default=0.0)

    driven: ClassVar = ("first", "second", "third")

    def wheels(self) -> Sequence[Wheel]:
        """Return the wheels counterclockwise."""
        angles = [self.first_angle + k * 2.0 * math.pi / 3.0 for k in range(3)]
        r = self.base_radius
        return [Wheel(r * math.cos(each), r * math.sin(each), each + math.pi / 2.0) for each in angles]
