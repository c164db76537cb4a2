"""Kinds of bases whose kinematics give nonsense: named with the file and line of what gave it."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest

from sim_node.world.base_types import BASE_TYPES, BaseType, dimension, kinematics_of


class Rolling:
    """Two wheels, of which each test makes one method wrong."""

    def nearest(self, twists: Any) -> Any:
        return twists * [1.0, 0.0, 1.0]

    def inverse(self, twists: Any) -> Any:
        return np.zeros((len(twists), 2)), np.zeros((len(twists), 0))

    def forward(self, rates: Any, angles: Any) -> Any:
        return np.zeros((len(rates), 3))


class Flat(Rolling):
    def nearest(self, twists: Any) -> Any:
        return twists[0]


class OneWheel(Rolling):
    def inverse(self, twists: Any) -> Any:
        return np.zeros((len(twists), 1)), np.zeros((len(twists), 0))


class NoAngles(Rolling):
    def inverse(self, twists: Any) -> Any:
        return np.zeros((len(twists), 2))


class Forgetful(Rolling):
    def forward(self, rates: Any, angles: Any) -> Any:
        """Return nothing."""


class Incomplete:
    def inverse(self, twists: Any) -> Any: ...


def kind(made: object) -> type[BaseType]:
    @dataclass(frozen=True)
    class Tricycle(BaseType):
        track: float = dimension("between the wheels")
        driven: ClassVar = ("left", "right")

        @classmethod
        def kinematics(cls, bases: Sequence[Any]) -> Any:
            return made

    return Tricycle


def line_of(what: Callable[..., object] | None = None) -> str:
    return rf" \({re.escape(__file__)}:{what.__code__.co_firstlineno}\)" if what else rf" \({re.escape(__file__)}:\d+\)"


@pytest.mark.parametrize(
    ("made", "reported", "where"),
    [
        (None, r"from kinematics\(\), a Kinematics is needed, found None", None),
        (Incomplete(), r".*a Kinematics is needed, found .*, which has no nearest, forward", None),
        (Flat(), r"from nearest\(\), an array of shape \(2, 3\) is needed, found one of shape \(3,\)", Flat.nearest),
        (OneWheel(), r"from inverse\(\), an array of shape \(2, 2\) is needed", OneWheel.inverse),
        (NoAngles(), r"from inverse\(\), a tuple is needed, found a ndarray", NoAngles.inverse),
        (Forgetful(), r"from forward\(\), an array of shape \(2, 3\) is needed, found None", Forgetful.forward),
    ],
)
def test_nonsense_names_what_gave_it(made: object, reported: str, where: Callable[..., object] | None) -> None:
    tricycle = kind(made)
    with (
        BASE_TYPES.extended({"tricycle": tricycle}),
        pytest.raises(TypeError, match=f"kind of base 'tricycle': {reported}.*{line_of(where)}"),
    ):
        kinematics_of([tricycle(0.5), tricycle(0.6)])  # type: ignore[call-arg]


def test_what_is_right_passes() -> None:
    rolling = Rolling()
    tricycle = kind(rolling)
    with BASE_TYPES.extended({"tricycle": tricycle}):
        assert kinematics_of([tricycle(0.5)]) is rolling  # type: ignore[call-arg]
