"""Failures of motors, propellers and actuators, and winds: against the equations that they stand for."""

import math
import re

import numpy as np
import pytest

from sim_node import Simulation
from sim_node.extensions.scenario.timetable import happened, surroundings_of
from sim_node.session.entities import Rejected
from sim_node.world import loads

# A quadrotor on free motors, in free fall without drag of its body.
DRONE = """
world: drone
origin: {latitude: 47.397742, longitude: 8.545594, altitude: 488.0}
time: {step: 0.001}
physics: {integrator: euler, timestep: 0.001}
vehicles:
  - {name: drone, model: iris, pose: {position: [0, 0, 100]}}
"""
JOINT = """
world: joint
time: {step: 0.001}
physics: {integrator: implicitfast, timestep: 0.001, gravity: [0, 0, 0]}
bodies:
  - {name: base, geometry: [{box: [0.1, 0.1, 0.1], pose: {position: [0, 0, -5]}}]}
  - {name: arm, parent: base, joint: {type: px}, geometry: [{sphere: 0.1, mass: 2}]}
actuators:
  - {joint: arm, type: position, stiffness: 8, damping: 4}
"""


def run_of(world: str, scenario: str) -> Simulation:
    return Simulation(loads(f"{world}scenario:\n{scenario}"), sensors=False)


def test_a_motor_that_is_off_runs_down_with_its_time_constant() -> None:
    run = run_of(DRONE, "  - {at: 1, do: {fail: {unit: motor, instance: 2}}}")
    vehicle = run.world.vehicles[0]
    handle = run.vehicles["drone"]
    handle.command = [0.6] * 4
    run.step(1000)
    before = handle.speeds.copy()
    run.step(50)
    left = math.exp(-0.05 / vehicle.rotors[1].time_constant_down)
    assert handle.speeds[1] == pytest.approx(before[1] * left, rel=1e-12)
    np.testing.assert_allclose(np.delete(handle.speeds, 1), np.delete(before, 1), rtol=1e-6)


def test_a_stuck_motor_keeps_its_command_and_a_sound_one_follows_again() -> None:
    run = run_of(
        DRONE, "  - {at: 1, do: {fail: {unit: motor, instance: 1, type: stuck}}}\n"
        "  - {at: 3, do: {fail: {unit: motor, instance: 1, type: ok}}}",
    )  # fmt: skip
    handle = run.vehicles["drone"]
    handle.command = [0.6] * 4
    run.step(1001)
    handle.command = [0.2] * 4
    rotor = run.world.vehicles[0].rotors[0]

    def speed(command: float) -> float:
        return rotor.min_speed + (rotor.max_speed - rotor.min_speed) * command

    run.step(1500)
    np.testing.assert_allclose(handle.speeds, [speed(0.6), *[speed(0.2)] * 3], rtol=1e-6)
    run.step(1500)
    np.testing.assert_allclose(handle.speeds, speed(0.2), rtol=1e-6)


@pytest.mark.parametrize(("type", "left"), [("off", 0.0), ("wrong", 0.25)])
def test_a_propeller_loses_its_thrust_and_nothing_else(type: str, left: float) -> None:
    """The thrust of the others, over the mass, is what is measured in the first timestep after it."""
    run = run_of(DRONE, f"  - {{at: 1, do: {{fail: {{unit: propeller, instance: 3, type: {type}, gain: 0.25}}}}}}")
    handle = run.vehicles["drone"]
    handle.command = [0.6] * 4
    run.step(1000)
    body, rotors = run.bodies["drone/base_link"], run.world.vehicles[0].rotors
    thrusts = np.array([rotor.thrust_coefficient for rotor in rotors]) * handle.speeds**2
    before, speeds = body.twist[2], handle.speeds.copy()
    sound = run_of(DRONE, "  - {at: 9, do: {pause: }}")
    sound.vehicles["drone"].command = [0.6] * 4
    sound.step(1000)
    then = sound.bodies["drone/base_link"].twist[2]
    run.step(1)
    sound.step(1)
    lost = (sound.bodies["drone/base_link"].twist[2] - then) - (body.twist[2] - before)
    mass = handle.airframe.mass
    # The centre of mass loses this; the body's origin, near it, also turns.
    assert lost == pytest.approx((1.0 - left) * thrusts[2] / mass * 0.001, rel=2e-3)
    np.testing.assert_allclose(handle.speeds, speeds, rtol=1e-6)


def test_a_gust_has_its_shape_and_winds_add_up() -> None:
    run = run_of(
        DRONE.replace("step: 0.001", "step: 0.01", 1),
        "  - {at: 1, do: {gust: {velocity: [6, 0, 0], seconds: 2}}}\n"
        "  - {at: 1.5, do: {wind: {velocity: [0, 4, 0], ramp: 1}}}",
    )
    found = []
    for _ in range(400):
        run.step(1)  # the wind of a step is that which blew in it
        found.append(run.wind(np.zeros((1, 3)))[0])
    times = np.arange(400) * 0.01  # of the steps' beginnings
    gust = np.where((times >= 1.0) & (times <= 3.0), 3.0 * (1.0 - np.cos(2.0 * np.pi * (times - 1.0) / 2.0)), 0.0)
    np.testing.assert_allclose(np.array(found)[:, 0], gust, atol=1e-12)
    np.testing.assert_allclose(np.array(found)[:, 1], 4.0 * np.clip(times - 1.5, 0.0, 1.0), atol=1e-12)


def test_an_actuator_that_is_off_lets_its_joint_go_on_and_a_weak_one_pulls_less() -> None:
    for kind, factor in (("off", 0.0), ("wrong", 0.5)):
        run = run_of(JOINT, f"  - {{at: 0.5, do: {{fail: {{unit: servo, of: arm, type: {kind}, gain: 0.5}}}}}}")
        joint = run.joints["arm"]
        joint.target = 1.0
        run.step(500)
        q, qd = joint.position[0], joint.velocity[0]
        run.step(1)
        force = factor * (8.0 * (1.0 - q) - 4.0 * qd)
        # implicitfast takes the damping at the step's end.
        assert joint.velocity[0] - qd == pytest.approx(
            force * 0.001 / (2.0 + factor * 4.0 * 0.001), rel=1e-9, abs=1e-12
        )


# Takes seconds: make test has motors and propellers that fail.
@pytest.mark.nightly
def test_a_stuck_actuator_keeps_its_target() -> None:
    run = run_of(JOINT, "  - {at: 0.5, do: {fail: {unit: servo, of: arm, type: stuck}}}")
    run.joints["arm"].target = 1.0
    run.step(501)
    run.joints["arm"].target = -1.0
    run.step(20_000)
    assert run.joints["arm"].position[0] == pytest.approx(1.0, abs=1e-6)


def test_joints_follow_a_cubic_to_their_goals() -> None:
    run = run_of(JOINT, "  - {at: 1, do: {joints: {goals: [arm=0.8], seconds: 2}}}")
    for step in range(1, 4000):
        run.step(1)
        part = min(max((step - 1000) / 2000, 0.0), 1.0)
        assert run.joints["arm"].target[0] == pytest.approx(0.8 * part * part * (3.0 - 2.0 * part), abs=1e-12)


# Takes seconds: make test has motors and propellers that fail.
@pytest.mark.nightly
def test_a_body_is_led_along_its_path() -> None:
    ball = "{name: b, joint: {type: free}, geometry: [{sphere: 0.1, mass: 1}]}"
    world = f"world: w\ntime: {{step: 0.01}}\nbodies:\n  - {ball}\n"
    run = run_of(world, "  - {at: 0, do: {move: {body: b, path: [2, 0, 0, 2, 1, 0], speed: 0.5, stay: true}}}")
    run.run(2.0)
    np.testing.assert_allclose(run.bodies["b"].pose[:3], [1.0, 0.0, 0.0], atol=2e-3)  # it falls within a step
    run.run(3.0)
    np.testing.assert_allclose(run.bodies["b"].pose[:3], [2.0, 0.5, 0.0], atol=6e-3)
    run.run(10.0)
    np.testing.assert_allclose(run.bodies["b"].pose[:3], [2.0, 1.0, 0.0], atol=2e-3)


@pytest.mark.parametrize(
    ("action", "reason"),
    [
        ({"unit": "motor", "instance": 5}, "'drone' has 4 motors, and no number 5"),
        (
            {"unit": "motor", "type": "slow"},
            "a motor cannot be slow; allowed: off, stuck, garbage, wrong, intermittent",
        ),
        ({"unit": "mga"}, "no sensor or unit 'mga'; did you mean mag?"),
        ({"unit": "gps", "of": "dron"}, "no vehicle 'dron'; did you mean drone? (known: drone)"),
        ({"unit": "airspeed"}, "'drone' has no sensor of the type airspeed"),
        ({"unit": "servo", "of": "wing"}, "no actuated joint 'wing' (known: none)"),
    ],
)
def test_what_cannot_fail_says_why(action: dict[str, object], reason: str) -> None:
    run = Simulation(loads(DRONE))
    with pytest.raises(Rejected, match=re.escape(reason)):
        surroundings_of(run).context.ask("fail", **action)
    assert not happened(run)
