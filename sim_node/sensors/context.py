"""SensorContext: where sensors of one type are, and what they can perceive beside how their own frames move."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from sim_node.geometry.arrays import FloatArray
from sim_node.world.model import World


class Echoes(NamedTuple):
    """What rays hit: distances in m, infinite where nothing is in reach, and the brightness of its colour, 0 to 1."""

    distances: FloatArray
    brightness: FloatArray


@dataclass(frozen=True, slots=True)
class Lens:
    """How a camera pictures: in so many pixels, at an angle (rad) across, shapes from near to far (m).

    It sees colours, red, green and blue in bytes, or depth: float32, m along its x axis, inf where nothing is.
    """

    width: int
    height: int
    horizontal_fov: float
    near: float
    far: float
    depth: bool

    @property
    def shape(self) -> tuple[int, ...]:
        """Of a picture: its rows from the top down, in them pixels from left to right."""
        return (self.height, self.width) if self.depth else (self.height, self.width, 3)

    @property
    def dtype(self) -> np.dtype[Any]:
        """Of its numbers."""
        return np.dtype(np.float32 if self.depth else np.uint8)


class Exposure(Protocol):
    """Pictures in the making."""

    def done(self) -> bool:
        """Whether `take` returns at once."""

    def take(self) -> npt.NDArray[Any] | None:
        """The pictures (S, *shape of their lenses), or None where they were lost; waits for them."""


class Cameras(Protocol):
    """Lenses of one shape that take their pictures at once."""

    def shoot(self, poses: FloatArray, *, wait: bool) -> Exposure | None:
        """Begins pictures from poses (S, 7), FLU axes, of the present step; None where that is not possible.

        With too many in the making it waits, or with `wait` False does not begin. What makes pictures impossible for
        the rest of a run is reported once, as a WorldWarning.
        """


class Environment(Protocol):
    """A world as it is at the present step of a run; vectors lie along the fixed frame's axes.

    A frame is named as in the world; what its own body is made of does not stand in its way.
    """

    def wind(self, positions: FloatArray) -> FloatArray:
        """The velocity (S, 3) of the air at positions (S, 3), m/s."""

    def cast(self, frames: Sequence[str], origins: FloatArray, directions: FloatArray, reach: float) -> Echoes:
        """What is first hit within `reach` (m) from origins (S, 3) along unit directions (S, R, 3); arrays (S, R)."""

    def contact(self, frames: Sequence[str], about: FloatArray) -> FloatArray:
        """The wrenches (S, 6) [force, torque], N and N m, of all contacts on each frame's body, about points (S, 3)."""

    def joint(self, frames: Sequence[str], about: FloatArray) -> FloatArray:
        """The wrenches (S, 6) that each frame's body feels through its joint, about points (S, 3), as `contact`."""

    def cameras(self, lenses: Sequence[Lens]) -> Cameras | None:
        """Cameras with these lenses, asked for before the first picture; None where there is nothing to see."""

    def joints(self, names: Sequence[str]) -> Callable[[], FloatArray]:
        """Return a function for the states (3, J) of joints: positions, velocities, efforts of actuators.

        Positions in rad or m, velocities, efforts in N m or N; of hinges and slides, named as joints_below has them.
        """


class OpenAir:
    """Environment without wind, shapes and joints."""

    def wind(self, positions: FloatArray) -> FloatArray:
        """Still air."""
        return np.zeros_like(positions)

    def cast(self, frames: Sequence[str], origins: FloatArray, directions: FloatArray, reach: float) -> Echoes:
        """Nothing is hit."""
        return Echoes(np.full(directions.shape[:-1], np.inf), np.zeros(directions.shape[:-1]))

    def contact(self, frames: Sequence[str], about: FloatArray) -> FloatArray:
        """Nothing touches."""
        return np.zeros((len(about), 6))

    def joint(self, frames: Sequence[str], about: FloatArray) -> FloatArray:
        """Nothing holds."""
        return np.zeros((len(about), 6))

    def cameras(self, lenses: Sequence[Lens]) -> Cameras | None:
        """Nothing is to be seen."""
        return None

    def joints(self, names: Sequence[str]) -> Callable[[], FloatArray]:
        """None moves."""
        still = np.zeros((3, len(names)))
        return lambda: still


OPEN_AIR = OpenAir()


@dataclass(frozen=True, slots=True, eq=False)
class SensorContext:
    """The frames (S,) that sensors of one type are, the world and its environment."""

    world: World
    frames: tuple[str, ...] = ()
    environment: Environment = OPEN_AIR
