"""Numbers from outside that no run can follow: refused by their bounds, or undone, with the bodies named."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import suppress
from threading import Event
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from waiting import PATIENCE

from sim_node.simulation import Loop, Simulation
from sim_node.simulation.commander import Commander
from sim_node.simulation.joint_commander import Following, JointCommander, Tolerances, TrajectoryOutcome
from sim_node.simulation.joint_setpoints import Code, JointSetpoint, Point, setpoints_of, trajectory_of
from sim_node.simulation.latest_commands import CommandRefused
from sim_node.world import Diverged, WorldError, loads
from sim_node.world.bounds import MAX_DISTANCE, MAX_FORCE, MAX_RATE, MAX_TARGET

WORLD = """
world: yard
time: {step: 0.01}
physics: {timestep: 0.002}
bodies:
  - {name: ball, joint: free, pose: {position: [0, 0, 2]}, geometry: [{sphere: 0.1, mass: 1}]}
  - {name: brick, joint: free, pose: {position: [3, 0, 2]}, geometry: [{box: [0.1, 0.2, 0.4], mass: 1.0e-3}]}
  - name: door
    pose: {position: [6, 0, 2]}
    joint: {type: hinge, axis: [0, 0, 1]}
    geometry: [{box: [1, 0.1, 1], mass: 1}]
  - name: leaf
    pose: {position: [9, 0, 2]}
    joint: {type: hinge, axis: [0, 1, 0]}
    geometry: [{box: [0.1, 0.01, 0.01], mass: 1.0e-6}]
  - name: tip
    parent: leaf
    pose: {position: [0.1, 0, 0]}
    joint: {type: hinge, axis: [0, 0, 1], q: 0.5, qd: 1}
    geometry: [{box: [0.1, 0.01, 0.01], mass: 1.0e-6}]
  - name: knob
    pose: {position: [12, 0, 2]}
    joint: {type: hinge, axis: [1, 0, 0]}
    geometry: [{box: [0.1, 0.01, 0.01], mass: 1.0e-6}]
  - name: key
    parent: knob
    pose: {position: [0.1, 0, 0]}
    joint: {type: hinge, axis: [0, 0, 1], q: 0.5, qd: 1}
    geometry: [{box: [0.1, 0.01, 0.01], mass: 1.0e-6}]
actuators:
  - {joint: door, type: position, stiffness: 10, damping: 1}
  - {joint: leaf, type: effort, name: leaf/motor}
  - {joint: knob, type: position, stiffness: 10, damping: 1}
joint_commands: [{name: hand, joints: [door, leaf, knob]}]
body_commands: [{body: brick, duration: 1}]
signals: [{name: leaf/effort, of: leaf/motor, quantity: target, input: true}]
"""
# On a box of 1 g that spins about none of its principal axes: a rate that no timestep of 2 ms integrates.
SPINNING = [0.0, 0.0, 0.0, 1e8, 1e8, 1e8]


def same(left: Simulation, right: Simulation) -> None:
    """Assert that two runs have the same state, to the byte, and the same future."""
    for _ in range(3):
        assert left.state == right.state
        left.step(7)
        right.step(7)


@pytest.mark.parametrize(
    ("act", "bound"),
    [
        (lambda run: run.set_twist("ball", [1e308, 0, 0, 0, 0, 0]), MAX_RATE),
        (lambda run: run.set_pose("ball", [0, 0, -1e300, 0, 0, 0, 1]), MAX_DISTANCE),
        (lambda run: setattr(run.bodies["ball"], "wrench", [1e300] * 6), MAX_FORCE),
        (lambda run: run.bodies["ball"].apply_force([0, 0, 1], point=[1e300, 0, 0]), MAX_DISTANCE),
        (lambda run: run.set_joint_positions({"door": -1e300}), MAX_DISTANCE),
        (lambda run: setattr(run.joints["door"], "velocity", 1e300), MAX_RATE),
        (lambda run: setattr(run.joints["leaf"], "effort", 1e12), MAX_TARGET),
        (lambda run: setattr(run.joints["door"], "target", 1e300), MAX_TARGET),
        (lambda run: setattr(run.joints, "velocities", [1e300] * 5), MAX_RATE),
        (lambda run: setattr(run.signals["leaf/effort"], "value", -1e300), MAX_TARGET),
    ],
)
def test_python_handles_know_the_bounds(act: Callable[[Simulation], Any], bound: float) -> None:
    run, other = Simulation(loads(WORLD)), Simulation(loads(WORLD))
    with pytest.raises((ValueError, WorldError), match=rf"allowed: .*{bound:g}".replace("+", r"\+")):
        act(run)
    same(run, other)


@pytest.mark.parametrize(
    "act",
    [
        lambda run: run.set_twist("brick", SPINNING),
        lambda run: run.set_twist("brick", [0, 0, 0, MAX_RATE, MAX_RATE, MAX_RATE]),
        lambda run: run.edit(
            lambda simulation: setattr(simulation.bodies["brick"], "wrench", [0, 0, 0, 1e12, 1e12, 0])
        ),
    ],
)
def test_a_request_that_no_step_survives_is_undone(act: Callable[[Any], None]) -> None:
    """The run goes on from the state before, and the bodies are named, from Python as in a loop."""
    run, other = Simulation(loads(WORLD)), Simulation(loads(WORLD))
    for each in (run, other):
        each.step(5)
    with pytest.raises(Diverged, match="brick"):
        act(run)
    with pytest.raises(Diverged, match="brick"):
        act(Loop(run, (), paused=True))
    same(run, other)


def test_a_world_that_has_no_first_step_is_not_loaded_and_such_a_part_is_not_added() -> None:
    run, other = Simulation(loads(WORLD)), Simulation(loads(WORLD))
    wild = (
        "world: wild\nbodies: [{name: top, joint: {type: free, qd: [0, 0, 0, 1.0e8, 1.0e8, 1.0e8]}, "
        "geometry: [{box: [1, 2, 3], mass: 1}]}]"
    )
    for each in (run, Loop(run, (), paused=True)):
        with pytest.raises(Diverged, match="top"):
            each.load(loads(wild))
        with pytest.raises(Diverged, match="wild/top"):
            each.include(loads(wild), "wild/")
    same(run, other)


def test_a_divergence_without_a_request_ends_the_run_with_the_names() -> None:
    run = Simulation(loads(WORLD))
    over = Event()
    loop = Loop(run, (), real_time_factor=0.0)
    run.columns["qvel"][6:12] = math.inf  # as an explosion leaves it: no request did
    loop.start(ended=over.set)
    assert over.wait(PATIENCE)
    with pytest.raises(Diverged, match="brick"):
        loop.stop()


def test_a_paused_run_that_diverges_at_a_step_ends() -> None:
    run = Simulation(loads(WORLD))
    loop, over = Loop(run, (), paused=True), Event()
    loop.start(ended=over.set)
    loop.call(lambda: run.columns["qvel"].__setitem__(slice(6, 12), math.inf))
    with pytest.raises(Diverged, match="brick"):
        loop.step(1)
    assert over.wait(PATIENCE)


def commanded(refused: list[str], text: str = WORLD) -> tuple[Simulation, Commander, JointCommander]:
    run = Simulation(loads(text))

    def undone(what: str, reason: str) -> None:
        refused.append(f"{what}: {reason}")

    bodies = Commander(run, undone)
    joints = JointCommander(run, run.world.joint_commands, undone)
    run.connect(bodies)
    run.connect(joints)
    return run, bodies, joints


@pytest.mark.parametrize("drained", [True, False])
def test_a_wrench_that_no_step_survives_is_undone_and_the_one_before_goes_on(drained: bool) -> None:
    refused: list[str] = []
    run, commander, _ = commanded(refused)
    other, others, _ = commanded([])
    for each in (commander, others):
        each.push("brick", "", np.array([0.0, 0, 0.01, 0, 0, 0]))
    run.step(3)
    other.step(3)
    assert not refused
    commander.push("brick", "", np.array([0.0, 0, 0, 1e12, 1e12, 0]))
    if drained:
        commander.drain()
    run.step(3)
    other.step(3)
    assert len(refused) == 1
    assert "brick" in refused[0]
    same(run, other)


def test_an_effort_that_no_step_survives_is_undone() -> None:
    refused: list[str] = []
    run, _, joints = commanded(refused)
    other = commanded([])[0]
    joints.post([JointSetpoint("leaf", "effort", -1e9)])
    run.step(3)
    other.step(3)
    assert len(refused) == 1
    assert "leaf" in refused[0]
    joints.post([JointSetpoint("door", "position", 0.5)])  # commands go on
    run.step(3)
    assert run.joints["door"].targets["position"] == 0.5


def test_a_trajectory_that_no_step_survives_ends_with_a_reason() -> None:
    refused: list[str] = []
    run = commanded(refused, WORLD.replace("stiffness: 10, damping: 1", "stiffness: 1.0e12, damping: 0"))[0]
    joints = JointCommander(run, run.world.joint_commands, lambda what, reason: refused.append(reason))
    run.connect(joints)
    outcomes: list[TrajectoryOutcome] = []
    points = [Point(0.0, [0.0]), Point(1.0, [1e9])]
    trajectory = trajectory_of(joints.groups["hand"], ["knob"], points)
    tolerances = Tolerances.of(run.world.joint_commands[0], 1)
    joints.follow(Following(("knob",), trajectory, tolerances, ended=outcomes.append))
    run.step(200)
    assert np.isfinite(run.snapshot().poses).all()
    assert [outcome.code for outcome in outcomes] == [Code.INVALID_GOAL]
    assert "'key'" in outcomes[0].message


EXTREME = st.sampled_from([0.0, 1e9, -1e9, 1e12, -1e12, 1e300, -1e308, math.nan, math.inf])


@settings(max_examples=20, deadline=None)
@given(wrenches=st.lists(st.lists(EXTREME, min_size=6, max_size=6), max_size=3), efforts=st.lists(EXTREME, max_size=3))
def test_no_extreme_number_stops_a_run(wrenches: list[list[float]], efforts: list[float]) -> None:
    run, bodies, joints = commanded([])
    for wrench in wrenches:
        with suppress(CommandRefused):
            bodies.push("brick", "", np.array(wrench))
            run.step(2)
    for effort in efforts:
        with suppress(CommandRefused):
            joints.post(setpoints_of(joints.groups["hand"], ["leaf"], {"effort": [effort]}))
            run.step(2)
    assert np.isfinite(run.snapshot().poses).all()
