"""Commands of joints while a run steps: when they act, when they time out, and trajectories within tolerances."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.interpolate import CubicHermiteSpline

from sim_node.simulation import Simulation
from sim_node.simulation.joint_commander import Following, JointCommander, Tolerances, TrajectoryOutcome
from sim_node.simulation.joint_setpoints import (
    Code,
    JointCommandRefused,
    JointSetpoint,
    Point,
    setpoints_of,
    trajectory_of,
)
from sim_node.world import Actuator, Body, Inertial, JointCommands, Physics, TimeGrid, World

MASS = 1.0
JOINTS = {
    "arm/a": frozenset({"position", "velocity"}),
    "arm/b": frozenset({"position"}),
    "arm/c": frozenset({"effort"}),
}


def run(*groups: JointCommands) -> tuple[Simulation, JointCommander]:
    """Slides without weight: a is a position and velocity servo, b a position servo, c has no actuator."""
    bodies = tuple(
        Body(f"arm/{name}", "map", f"p{axis}", inertial=Inertial(MASS, np.eye(3)))
        for name, axis in zip("abc", "xyz", strict=True)
    )
    drives = (
        Actuator("arm/a", 1e5),
        Actuator("arm/a", damping=600.0, type="velocity"),
        Actuator("arm/b", 400.0, 40.0),
    )
    physics = Physics(gravity=np.zeros(3))
    world = World(
        "w", time=TimeGrid(step_ns=2_000_000), bodies=bodies, actuators=drives, physics=physics, joint_commands=groups
    )
    simulation = Simulation(world)
    commander = JointCommander(simulation, world.joint_commands)
    simulation.connect(commander)
    return simulation, commander


def test_groups_have_the_joints_with_actuators_below_their_namespace_or_those_that_they_name() -> None:
    _, commander = run(JointCommands(), JointCommands("arm"), JointCommands("leg"), JointCommands("c", ("arm/c",)))
    moved = {name: JOINTS[name] for name in ("arm/a", "arm/b")}
    assert commander.groups == {"": moved, "arm": moved, "leg": {}, "c": {"arm/c": frozenset({"effort"})}}


@pytest.mark.parametrize("drained", [False, True])
def test_a_command_acts_within_one_step(drained: bool) -> None:
    """A force F from a step on: after n steps v = F n dt / m."""
    simulation, commander = run(JointCommands("arm", ("arm/c",)))
    simulation.step(10)
    commander.post([JointSetpoint("arm/c", "effort", 5.0)])
    if drained:
        commander.drain()
    simulation.step(10)
    acted = 10 if drained else 9
    assert simulation.joints["arm/c"].velocity == pytest.approx([5.0 / MASS * acted * 0.002], abs=1e-12)


def test_velocities_and_efforts_time_out_and_positions_are_held() -> None:
    simulation, commander = run(JointCommands("arm", ("arm/a", "arm/b", "arm/c"), timeout=0.1))
    for _ in range(3):
        commander.post(
            [
                JointSetpoint("arm/a", "velocity", 1.0),
                JointSetpoint("arm/b", "position", 0.2),
                JointSetpoint("arm/c", "effort", 1.0),
            ]
        )
        simulation.run(0.08)
        assert simulation.joints["arm/a"].targets["velocity"] == 1.0, "it keeps coming"
    simulation.run(0.02)
    simulation.step()
    assert simulation.joints["arm/a"].targets["velocity"] == 0.0
    assert simulation.joints["arm/c"].effort == pytest.approx([0.0])
    assert simulation.joints["arm/b"].target == [0.2]
    simulation.run(2.0)
    assert simulation.joints["arm/b"].position == pytest.approx([0.2], abs=1e-6)


def test_of_commands_between_two_steps_the_newest_acts() -> None:
    simulation, commander = run(JointCommands("arm"))
    for value in (1.0, 2.0, 3.0):
        commander.post([JointSetpoint("arm/a", "velocity", value), JointSetpoint("arm/b", "position", -value)])
    commander.post([JointSetpoint("arm/a", "position", 0.5)])
    simulation.step()
    assert simulation.joints["arm/a"].targets == {"position": 0.5, "velocity": 3.0}
    assert simulation.joints["arm/b"].targets == {"position": -3.0}


def test_a_timeout_of_zero_never_comes() -> None:
    simulation, commander = run(JointCommands("arm", ("arm/a",), timeout=0.0))
    commander.post([JointSetpoint("arm/a", "velocity", 1.0)])
    simulation.run(3.0)
    assert simulation.joints["arm/a"].targets["velocity"] == 1.0


POINTS = [Point(0.4, [0.3], [0.5]), Point(1.0, [-0.2], [-0.1]), Point(1.5, [0.1], [0.0])]


def follow(
    commander: JointCommander,
    path: float = math.inf,
    goal: float = 1e-3,
    points: list[Point] = POINTS,
    speed: float = math.inf,
) -> list[TrajectoryOutcome]:
    outcomes: list[TrajectoryOutcome] = []
    trajectory = trajectory_of(commander.groups["arm"], ["arm/a"], points)
    limits = Tolerances(np.array([[path], [speed]]), np.array([[goal], [math.inf]]), 0.5)
    commander.follow(Following(("arm/a",), trajectory, limits, ended=outcomes.append))
    return outcomes


def test_a_trajectory_is_followed_within_its_tolerance() -> None:
    """Beside scipy's spline from rest through the points."""
    simulation, commander = run(JointCommands("arm"))
    simulation.run(0.1)
    outcomes = follow(commander, path=1e-3)
    commander.drain()
    curve = CubicHermiteSpline([0.0, 0.4, 1.0, 1.5], [0.0, 0.3, -0.2, 0.1], [0.0, 0.5, -0.1, 0.0])
    worst = 0.0
    for step in range(1, 750):
        simulation.step()
        worst = max(worst, abs(float(simulation.joints["arm/a"].position[0]) - float(curve(step * 0.002))))
    assert worst < 1e-3
    assert not outcomes
    simulation.run(0.1)
    assert outcomes == [TrajectoryOutcome(Code.SUCCESSFUL)]
    assert simulation.joints["arm/a"].targets == {"position": 0.1, "velocity": 0.0}


def test_a_joint_that_cannot_follow_ends_its_trajectory_where_it_is() -> None:
    simulation, commander = run(JointCommands("arm"))
    outcomes = follow(commander, path=1e-6)
    simulation.run(1.0)
    (outcome,) = outcomes
    assert outcome.code is Code.PATH_TOLERANCE_VIOLATED
    assert outcome.message.startswith("'arm/a' is ")
    held = simulation.joints["arm/a"].targets
    assert held["velocity"] == 0.0
    assert simulation.joints["arm/a"].position == pytest.approx([held["position"]], abs=1e-6)


def test_velocities_have_tolerances_of_their_own() -> None:
    """A push of 100 N on 1 kg changes the velocity by 0.2 m/s in the first step, before the servos act."""
    for limit, violated in ((0.05, True), (0.5, False)):
        simulation, commander = run(JointCommands("arm"))
        outcomes = follow(commander, path=1e-2, speed=limit)
        simulation.step(100)
        assert not outcomes
        simulation.joints["arm/a"].effort = 100.0
        simulation.step(10)
        assert [each.code for each in outcomes] == [Code.PATH_TOLERANCE_VIOLATED] * violated
        if violated:
            assert outcomes[0].message.startswith("the velocity of 'arm/a' is ")
            assert outcomes[0].message.endswith("off; allowed: 0.05")


def test_a_goal_that_is_not_reached_in_time_is_an_error() -> None:
    simulation, commander = run(JointCommands("arm"))
    simulation.joints["arm/a"].effort = 100.0  # 1 mm at its stiffness
    outcomes = follow(commander, goal=5e-4)
    simulation.run(1.9)
    assert not outcomes
    simulation.run(0.2)
    assert [outcome.code for outcome in outcomes] == [Code.GOAL_TOLERANCE_VIOLATED]


def test_trajectories_end_by_other_commands_cancelling_resets_and_the_end_of_the_run() -> None:
    simulation, commander = run(JointCommands("arm"))
    first = follow(commander)
    simulation.run(0.2)
    second = follow(commander)
    simulation.run(0.2)
    assert [(each.cancelled, each.message) for each in first] == [(True, "replaced by another trajectory")]
    commander.post([JointSetpoint("arm/b", "position", 0.0)])
    simulation.run(0.1)
    assert not second, "that was another joint"
    commander.post([JointSetpoint("arm/a", "position", 0.05)])
    simulation.run(0.1)
    assert [each.message for each in second] == ["another command came"]
    assert simulation.joints["arm/a"].target == [0.05]
    third = follow(commander)
    simulation.run(0.1)
    simulation.reset()
    assert [each.message for each in third] == ["the run went back in time"]
    fourth = follow(commander)
    simulation.run(0.1)
    simulation.close()
    assert [each.message for each in fourth] == ["the run has ended"]


def test_it_starts_at_its_stamp() -> None:
    simulation, commander = run(JointCommands("arm"))
    trajectory = trajectory_of(commander.groups["arm"], ["arm/a"], [Point(1.0, [1.0])])
    limits = Tolerances.of(JointCommands(), 1)
    commander.follow(Following(("arm/a",), trajectory, limits, start_ns=1_000_000_000))
    commander.drain()
    simulation.run(1.0)
    assert simulation.joints["arm/a"].position == pytest.approx([0.5], abs=2e-2), "half of the way from 0 s to 2 s"
    simulation.run(1.5)
    assert simulation.joints["arm/a"].position == pytest.approx([1.0], abs=1e-4)


@pytest.mark.parametrize(
    ("names", "given", "message"),
    [
        (["arm/x"], {"position": [1.0]}, "there is no commanded joint 'arm/x'; did you mean arm/a"),
        (["arm/a", "arm/a"], {"position": [1.0, 2.0]}, "it names a joint twice"),
        (["arm/a", "arm/b"], {"position": [1.0]}, "1 values of position for 2 joints"),
        (["arm/a"], {"position": [1.0, 2.0]}, "2 values of position for 1 joints"),
        (["arm/b"], {"velocity": [1.0]}, "'arm/b' has no velocity actuator"),
        (["arm/a"], {"position": [math.inf]}, "the position of 'arm/a': inf is not finite"),
        (["arm/a"], {"velocity": [-math.inf]}, "-inf is not finite"),
        (["arm/a"], {"position": []}, "it has no values"),
        ([], {}, "it has no values"),
    ],
)
def test_commands_that_do_not_fit_are_refused(names: list[str], given: dict[str, list[float]], message: str) -> None:
    with pytest.raises(JointCommandRefused, match=message):
        setpoints_of(JOINTS, names, given)


def test_commands_may_be_packed_as_topic_based_hardware_sends_them() -> None:
    """A value for each joint that has the interface, in the order of the names."""
    found = setpoints_of(
        JOINTS, ["arm/c", "arm/a", "arm/b"], {"position": [1.0, 2.0], "velocity": [3.0], "effort": [4.0]}
    )
    assert set(found) == {
        JointSetpoint("arm/a", "position", 1.0),
        JointSetpoint("arm/b", "position", 2.0),
        JointSetpoint("arm/a", "velocity", 3.0),
        JointSetpoint("arm/c", "effort", 4.0),
    }


def test_hardware_names_joints_that_it_only_reads_and_sends_nan_for_what_no_controller_has_claimed() -> None:
    """As joint_state_topic_hardware_interface does; a typing error is still told."""
    names = ["arm/passive", "arm/a", "arm/b"]
    found = setpoints_of(JOINTS, names, {"position": [math.nan, 2.0]}, passive=["arm/passive"])
    assert found == [JointSetpoint("arm/b", "position", 2.0)]
    assert setpoints_of(JOINTS, names, {"position": [math.nan] * 2}, passive=["arm/passive"]) == []
    with pytest.raises(JointCommandRefused, match="'arm/passive' has no position actuator"):
        setpoints_of(JOINTS, names, {"position": [1.0, 2.0, 3.0]}, passive=["arm/passive"])
    with pytest.raises(JointCommandRefused, match="there is no commanded joint 'arm/pasive'; did you mean arm/passive"):
        setpoints_of(JOINTS, ["arm/pasive", "arm/a"], {"position": [1.0]}, passive=["arm/passive"])


@given(
    st.lists(st.sampled_from([*JOINTS, "other", "\x1b[31m"]), max_size=4),
    st.dictionaries(st.sampled_from(["position", "velocity", "effort"]), st.lists(st.floats(), max_size=4)),
)
def test_any_command_is_either_refused_or_fits(names: list[str], given: dict[str, list[float]]) -> None:
    try:
        found = setpoints_of(JOINTS, names, given)
    except JointCommandRefused:
        return
    assert found or all(map(math.isnan, (value for values in given.values() for value in values)))
    assert all(setpoint.type in JOINTS[setpoint.joint] and math.isfinite(setpoint.value) for setpoint in found)


@pytest.mark.parametrize(
    ("names", "points", "code", "message"),
    [
        ([], POINTS, Code.INVALID_JOINTS, "it names no joint"),
        (["arm/x"], POINTS, Code.INVALID_JOINTS, "no commanded joint 'arm/x'"),
        (["arm/c"], POINTS, Code.INVALID_JOINTS, "'arm/c' has no position actuator, which a trajectory needs"),
        (["arm/a"], [], Code.INVALID_GOAL, "it has no points"),
        (["arm/a"], [Point(1.0, [1.0]), Point(1.0, [2.0])], Code.INVALID_GOAL, "times of its points must increase"),
        (["arm/a"], [Point(-1.0, [1.0])], Code.INVALID_GOAL, "must increase, from 0 on"),
        (["arm/a"], [Point(1.0, [])], Code.INVALID_GOAL, "point 0 has 0 positions for 1 joints"),
        (["arm/a"], [Point(1.0, [1.0], [1.0, 2.0])], Code.INVALID_GOAL, "point 0 has 2 velocities for 1 joints"),
        (["arm/a"], [Point(1.0, [math.nan])], Code.INVALID_GOAL, r"positions of point 0: \[nan\] is not finite"),
        (["arm/a"], [Point(1.0, [1.0], [0.5])], Code.INVALID_GOAL, "velocities of its last point must be 0"),
    ],
)
def test_trajectories_that_do_not_fit_are_refused(
    names: list[str], points: list[Point], code: Code, message: str
) -> None:
    with pytest.raises(JointCommandRefused, match=message) as refused:
        trajectory_of(JOINTS, names, points)
    assert refused.value.code is code
