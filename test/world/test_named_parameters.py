"""Names that the parameters of sensors refer to: renamed in an include, kept or dropped with what they name."""

from __future__ import annotations

import pytest

from sim_node import World, WorldError, loads
from sim_node.assembly import assemble
from sim_node.simulation.changes import with_include
from sim_node.simulation.removal import without
from sim_node.simulation.sensors.suite import groups_of

YARD = "origin: {latitude: 1, longitude: 2, altitude: 3}\ntime: {step: 0.004}\nphysics: {}\n"
DIFFERENTIAL = "package://sim_node/config/models/differential.yaml"
WHEELS = ("robot/left_wheel", "robot/right_wheel")
INCLUDED = f"include: [{{file: {DIFFERENTIAL}, prefix: robot}}]\n"
AS_BASE = "bases: [{name: robot, model: differential}]\n"
FLOWN = "bases: [{name: robot, model: differential, autopilot: {type: ardupilot, instance: 0}}]\n"


def encoders(world: World) -> list[tuple[str, ...]]:
    """The joints that each sensor of joints measures, as it is opened."""
    groups = groups_of(assemble(world))
    return [tuple(each.joints) for group in groups for each in group.sensors if hasattr(each, "joints")]


@pytest.mark.parametrize("how", [INCLUDED, AS_BASE, FLOWN])
def test_encoders_measure_the_wheels_of_their_own_robot(how: str) -> None:
    assert encoders(loads(YARD + how)) == [WHEELS]


def test_encoders_are_renamed_through_every_prefix() -> None:
    fleet = with_include(with_include(loads(YARD), DIFFERENTIAL, "robot", (1, 0, 0)), DIFFERENTIAL, "other", (4, 0, 0))
    assert encoders(fleet) == [WHEELS, ("other/left_wheel", "other/right_wheel")]


CART = """\
time: {step: 0.01}
physics: {}
bodies:
  - {name: base_link}
  - {name: lift, parent: base_link, joint: pz, geometry: [{box: [1, 1, 1], mass: 1}]}
  - {name: turn, parent: base_link, joint: rz, geometry: [{box: [1, 1, 1], mass: 1}]}
sensors: [{name: ENCODERS, type: joint_states, joints: [lift, turn]}]
"""


def test_an_encoder_goes_with_its_joint_and_leaves_the_other() -> None:
    assert encoders(without(loads(CART), "lift")) == [("turn",)]


def test_encoders_whose_joints_are_all_gone_are_refused_by_name() -> None:
    with pytest.raises(WorldError, match="there is no joint 'turn' below 'base_link'"):
        encoders(without(without(loads(CART), "lift"), "turn"))
