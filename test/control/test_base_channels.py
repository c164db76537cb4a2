"""What autopilots' channels command, against the rolling of wheels worked out by hand."""

from __future__ import annotations

import math
from typing import Any

import pytest

from sim_node.world.base_types.channels import BaseChannels
from sim_node.world.base_types.kinds import Ackermann, Differential, Mecanum, Omni, Skid

SKID = Skid(wheel_radius=0.1, track=0.5, track_factor=1.6)
MECANUM = Mecanum(wheel_radius=0.05, wheelbase=0.3, track=0.4)
CAR = Ackermann(wheel_radius=0.1, wheelbase=0.4, track=0.3, max_steering=0.5)


@pytest.mark.parametrize(
    ("roles", "shape", "values", "twist"),
    [
        # Both wheels at full rate: full speed. Against each other: 2 v over the effective track, to the left.
        (("left", "none", "right"), Differential(0.1, 0.5), (1.0, 0.3, 1.0), (2.0, 0.0, 0.0)),
        (("left", "none", "right"), Differential(0.1, 0.5), (-1.0, 0.0, 1.0), (0.0, 0.0, 2 * 2.0 / 0.5)),
        (("right", "left"), SKID, (1.0, -1.0), (0.0, 0.0, 2 * 2.0 / 0.8)),
        # One stands: half the speed, about the wheel that stands.
        (("right", "left"), SKID, (0.5, 0.0), (0.5, 0.0, 1.0 / 0.8)),
        (("throttle", "turn", "lateral"), SKID, (0.5, 0.25, 0.0), (1.0, 0.0, -0.25 * 1.5)),
        (("throttle", "turn", "lateral"), MECANUM, (0.0, 0.0, 1.0), (0.0, -2.0, 0.0)),
        # All wheels of a mecanum base at full rate; left ones back and right ones ahead: on the spot, (lx + ly) apart.
        (
            ("front_left", "front_right", "rear_left", "rear_right"),
            Mecanum(0.05, 0.3, 0.4),
            (1.0,) * 4,
            (2.0, 0.0, 0.0),
        ),
        (
            ("front_right", "front_left", "rear_right", "rear_left"),
            MECANUM,
            (1.0, -1.0, 1.0, -1.0),
            (0.0, 0.0, 2.0 / (0.15 + 0.2)),
        ),
        # A bicycle: v tan(angle) / wheelbase, to the right for a positive channel. It does not turn where it stands.
        (("steering", "none", "throttle"), CAR, (1.0, 0.0, 0.5), (1.0, 0.0, -math.tan(0.5) / 0.4)),
        (("steering", "none", "throttle"), CAR, (-1.0, 0.0, -0.5), (-1.0, 0.0, -math.tan(0.5) / 0.4)),
        (("throttle", "steering"), CAR, (0.0, 1.0), (0.0, 0.0, 0.0)),
    ],
)
def test_channels_are_parts_of_what_the_base_can_do(
    roles: tuple[str, ...], shape: Any, values: tuple[float, ...], twist: tuple[float, ...]
) -> None:
    assert BaseChannels(roles, shape, 2.0, 1.5).twist(values) == pytest.approx(twist, abs=1e-12)


def test_wheels_of_an_omni_base_are_parts_of_the_fastest_of_them() -> None:
    """Its wheels are 120 degrees apart: straight ahead, the fastest has cos 30 degrees of the speed."""
    channels = BaseChannels(("first", "second", "third"), Omni(wheel_radius=0.1, base_radius=0.2), 1.0, 1.0)
    assert channels.twist((1.0, 1.0, 1.0)) == pytest.approx((0.0, 0.0, math.cos(math.radians(30)) / 0.2), abs=1e-12)
