"""The Setting: where sensors of one type are, and what they can perceive beside how their own frames move."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from sim_node.geometry.arrays import FloatArray
from sim_node.world.model import World


class Surroundings(Protocol):
    """A world as it is at the present step of a run; vectors lie along the fixed frame's axes.

    A frame is named as in the world; what its own body is made of does not stand in its way.
    """

    def wind(self, positions: FloatArray) -> FloatArray:
        """The velocity (S, 3) of the air at positions (S, 3), m/s."""

    def cast(self, frames: Sequence[str], origins: FloatArray, directions: FloatArray, reach: float) -> FloatArray:
        """How far (S, R) shapes are from origins (S, 3) along unit directions (S, R, 3), m; infinite beyond reach."""

    def joints(self, names: Sequence[str]) -> Callable[[], FloatArray]:
        """A function that tells (3, J) where these joints are, how they move and what actuators exert on them.

        Positions in rad or m, velocities, efforts in N m or N; of hinges and slides, named as in scalar_joints.
        """


class OpenAir:
    """Surroundings without wind, shapes and joints."""

    def wind(self, positions: FloatArray) -> FloatArray:
        """Still air."""
        return np.zeros_like(positions)

    def cast(self, frames: Sequence[str], origins: FloatArray, directions: FloatArray, reach: float) -> FloatArray:
        """Nothing is hit."""
        return np.full(directions.shape[:-1], np.inf)

    def joints(self, names: Sequence[str]) -> Callable[[], FloatArray]:
        """None moves."""
        still = np.zeros((3, len(names)))
        return lambda: still


OPEN_AIR = OpenAir()


@dataclass(frozen=True, slots=True, eq=False)
class Setting:
    """The frames (S,) that sensors of one type are, the world and its surroundings."""

    world: World
    frames: tuple[str, ...] = ()
    surroundings: Surroundings = OPEN_AIR
