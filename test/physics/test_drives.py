"""Implicit drives and transmissions against the equations of motion of what they move."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from nightly import only

from sim_node.simulation import Simulation
from sim_node.world import Actuator, Stop, Transmission, World, WorldError, WorldWarning, lay_out, loads
from sim_node.world.bodies import Body
from sim_node.world.model import TimeGrid
from sim_node.world.physics import Physics
from sim_node.world.shapes import Inertial

GRAVITY = 9.81


def lift(*actuators: Actuator, mass: float = 2.0, step_ns: int = 1_000_000, **physics: Any) -> World:
    """A body that moves up and down."""
    physics = {"integrator": "implicitfast", "timestep_ns": step_ns, **physics}
    body = Body("cart", "map", "pz", inertial=Inertial(mass, np.eye(3)))
    time = TimeGrid(step_ns=step_ns)
    return World("w", time=time, bodies=(body,), actuators=actuators, physics=Physics(**physics))


def motor(gain: float, **fields: Any) -> Actuator:
    return Actuator("cart", damping=gain, type="velocity", implicit=True, **fields)


@pytest.mark.parametrize("gain", only([20.0, 1e3, 1e5, 1e8], 1, 3))
def test_a_motor_settles_at_its_target_plus_load_over_gain(gain: float) -> None:
    run = Simulation(lift(motor(gain, target=0.5)))
    run.run(2.0)
    assert run.joints["cart"].velocity[0] == pytest.approx(0.5 - 2.0 * GRAVITY / gain, abs=1e-7)
    assert run.joints["cart"].effort[0] == pytest.approx(2.0 * GRAVITY, rel=1e-6)


def test_a_transient_converges_at_first_order() -> None:
    """v = target (1 - exp(-gain t / m)) without a load."""
    errors = []
    for step_ns in (2_000_000, 1_000_000, 500_000):
        run = Simulation(lift(motor(20.0, target=1.0), step_ns=step_ns, gravity=np.zeros(3)))
        run.run(0.1)
        errors.append(abs(float(run.joints["cart"].velocity[0]) - (1.0 - math.exp(-1.0))))
    assert errors[0] / errors[1] == pytest.approx(2.0, abs=0.05)
    assert errors[1] / errors[2] == pytest.approx(2.0, abs=0.05)


def test_a_saturated_motor_accelerates_by_its_limit_and_does_not_chatter() -> None:
    run = Simulation(lift(motor(1e8, target=1.0, force=30.0)))
    run.run(0.1)
    assert run.joints["cart"].velocity[0] == pytest.approx(0.1 * (30.0 / 2.0 - GRAVITY), rel=1e-9)
    run.run(0.4)
    for _ in range(50):
        run.step()
        assert run.joints["cart"].effort[0] == pytest.approx(2.0 * GRAVITY, rel=1e-5)


# Takes seconds: make test has springs and motors where implicit Euler has them.
@pytest.mark.nightly
def test_a_brake_holds_at_half_its_limit() -> None:
    run = Simulation(lift(motor(1e8, force=4.0 * GRAVITY)))
    run.run(10.0)
    creep = 2.0 * GRAVITY / 1e8 * 10.0
    assert run.joints["cart"].position[0] == pytest.approx(-creep, rel=1e-3)


def test_a_brake_slips_above_its_limit() -> None:
    run = Simulation(lift(motor(1e8, force=GRAVITY)))
    run.run(1.0)
    assert run.joints["cart"].velocity[0] == pytest.approx(-GRAVITY / 2.0, rel=1e-9)


def test_a_limit_in_one_direction_only_pulls() -> None:
    """A winch lets go what falls no faster than it winds off, and holds what would."""
    held = Simulation(lift(motor(1e8, target=-0.1, force=(0.0, math.inf))))
    held.run(0.5)
    assert held.joints["cart"].velocity[0] == pytest.approx(-0.1, abs=1e-5)
    slack = Simulation(lift(motor(1e8, target=-20.0, force=(0.0, math.inf))))
    slack.run(0.5)
    assert slack.joints["cart"].velocity[0] == pytest.approx(-GRAVITY * 0.5, rel=1e-9)


numbers = st.floats(-5.0, 5.0)
grids = st.sampled_from([1, 2, 5, 7, 20])
powers = st.floats(-1.0, 6.0).map(lambda power: 10.0**power)
# None, in both directions alike, in each, and in one only.
limits = st.one_of(
    st.none(),
    powers,
    st.tuples(powers.map(lambda low: -low), powers),
    st.sampled_from([(0.0, math.inf), (-math.inf, 0.0), (-20.0, math.inf)]),
)


@pytest.mark.filterwarnings("ignore:.*is reduced to")
@given(
    milliseconds=grids,
    power=st.floats(-1.0, 12.0),
    mass=st.floats(0.01, 100.0),
    targets=st.lists(numbers, min_size=1, max_size=3),
    speed=st.one_of(st.just(0.0), numbers),
    force=limits,
    gravity=st.sampled_from([0.0, GRAVITY]),
)
def test_a_motor_is_where_limited_implicit_euler_has_it(
    milliseconds: int,
    power: float,
    mass: float,
    targets: list[float],
    speed: float,
    force: float | tuple[float, float] | None,
    gravity: float,
) -> None:
    """v' = v + h (F / m - g), F = gain (target - v') within its limits, z' = z + h v', from the first step on.

    The target changes in mid-run. A gain has no more effect than the largest for what the joint moves.
    """
    h = milliseconds * 1e-3
    gain = min(10.0**power, 1e7 * mass / h)
    drive = motor(10.0**power, target=targets[0], force=force)
    run = Simulation(lift(drive, mass=mass, step_ns=milliseconds * 1_000_000, gravity=np.array([0.0, 0.0, -gravity])))
    run.joints["cart"].velocity = speed
    low, high = drive.forces
    z = 0.0
    for target in targets:
        run.joints["cart"].target = target
        for _ in range(2):
            run.step()
            wanted = gain * (target - speed + h * gravity) / (1.0 + gain * h / mass)
            speed += h * (min(max(wanted, low), high) / mass - gravity)
            z += h * speed
            assert run.joints["cart"].velocity[0] == pytest.approx(speed, rel=1e-6, abs=1e-6)
            assert run.joints["cart"].position[0] == pytest.approx(z, rel=1e-6, abs=1e-7)


@pytest.mark.filterwarnings("ignore:.*is reduced to")
@given(
    milliseconds=grids, power=st.floats(-1.0, 8.0), damping=powers, targets=st.lists(numbers, min_size=1), mass=powers
)
def test_a_spring_is_where_implicit_euler_has_it(
    milliseconds: int, power: float, damping: float, targets: list[float], mass: float
) -> None:
    """v' = v + h (k (target - z) - (h k + d) v') / m - h g; a spring that is slow for the timestep is without h k."""
    h, k = milliseconds * 1e-3, 10.0**power
    stiff = k * h**2 / mass > 0.25
    assume((h * k + damping) * h / mass < 1e7 and k * h**2 / mass < 1e7)
    drive = Actuator("cart", k, damping, target=targets[0], implicit=True)
    run = Simulation(lift(drive, mass=mass, step_ns=milliseconds * 1_000_000))
    z = speed = 0.0
    for target in targets[:3]:
        run.joints["cart"].target = target
        for _ in range(2):
            run.step()
            gain = h * k * stiff + damping
            speed = (speed - h * GRAVITY + h * k * (target - z) / mass) / (1.0 + h * gain / mass)
            z += h * speed
            assert run.joints["cart"].position[0] == pytest.approx(z, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("milliseconds", [1, 2, 5, 7, 20])
@pytest.mark.parametrize("gain", [1.0, 1e3, 1e6, 1e12])
def test_an_explicit_motor_is_where_implicit_euler_has_it(gain: float, milliseconds: int) -> None:
    """By MuJoCo's implicit integrator, over a change of the target."""
    h, z, speed = milliseconds * 1e-3, 0.0, 0.0
    run = Simulation(lift(replace(motor(gain), implicit=False), step_ns=milliseconds * 1_000_000))
    for target in (0.5, -0.5):
        run.joints["cart"].target = target
        for _ in range(3):
            run.step()
            speed = (speed - h * GRAVITY + h * gain * target / 2.0) / (1.0 + h * gain / 2.0)
            z += h * speed
            assert run.joints["cart"].position[0] == pytest.approx(z, rel=1e-9, abs=1e-12)


@pytest.mark.filterwarnings("ignore:.*is reduced to")
def test_motors_of_a_chain_turn_as_their_targets_have_it() -> None:
    """Three arms in gravity, each on the one before: angles, for motors without a limit and with one."""
    for force in (None, 1e4, (-1e3, 1e5)):
        arms = tuple(
            Body(
                f"a{k}",
                f"a{k - 1}" if k else "map",
                "ry",
                np.array([0.3, 0, 0, 0, 0, 0, 1]),
                inertial=Inertial(1.0 + k, 0.01 * np.eye(3), np.array([0.2, 0, 0])),
            )
            for k in range(3)
        )
        drives = tuple(
            Actuator(f"a{k}", damping=1e12, type="velocity", implicit=True, target=0.5 - k, force=force)
            for k in range(3)
        )
        for ms in (1, 5, 20):
            physics = Physics(integrator="implicitfast")
            run = Simulation(
                World("w", time=TimeGrid(step_ns=ms * 1_000_000), bodies=arms, actuators=drives, physics=physics)
            )
            for _ in range(5):
                run.step()
            found = [float(run.joints[f"a{k}"].position[0]) for k in range(3)]
            assert found == pytest.approx([5e-3 * ms * (0.5 - k) for k in range(3)], abs=1e-5)


def test_a_stiff_spring_neither_diverges_nor_creeps() -> None:
    spring = Actuator("cart", 1e8, 1e3, target=0.2, implicit=True)
    run = Simulation(lift(spring))
    run.run(1.0)
    assert run.joints["cart"].position[0] == pytest.approx(0.2 - 2.0 * GRAVITY / 1e8, abs=1e-9)


# Takes seconds: make test has springs and motors where implicit Euler has them.
@pytest.mark.nightly
def test_a_soft_implicit_spring_keeps_its_energy() -> None:
    """x = a cos(w t), w = sqrt(k / m)."""
    run = Simulation(lift(Actuator("cart", 50.0, implicit=True), gravity=np.zeros(3)))
    run.joints["cart"].position = 0.3
    run.run(20 * math.pi / 5.0)
    assert run.joints["cart"].position[0] == pytest.approx(0.3, rel=1e-4)


def test_states_go_back_with_targets_and_limits() -> None:
    run = Simulation(lift(motor(1e5, target=1.0, force=50.0)))
    run.run(0.05)
    state = run.state
    run.run(0.05)
    after = run.joints["cart"].position.copy()
    run.joints["cart"].target = -3.0
    run.run(0.1)
    run.restore(state)
    run.run(0.05)
    assert run.joints["cart"].position == after


def test_a_gain_beyond_what_a_timestep_carries_is_reduced_and_named() -> None:
    world = lift(motor(1e11, target=1.0), mass=1e-4)
    with pytest.warns(WorldWarning, match=r"actuators\[cart\]: a gain of 1e\+11 is reduced to 1e\+06"):
        Simulation(world)


def test_rk4_gives_way() -> None:
    run = Simulation(lift(motor(1e8, target=0.5), integrator="rk4"))
    run.run(0.1)
    assert run.joints["cart"].velocity[0] == pytest.approx(0.5, abs=1e-6)


def shafts(*inertias: float, actuators: tuple[Actuator, ...] = (), **parts: Any) -> World:
    bodies = tuple(Body(f"s{k}", "map", "rz", inertial=Inertial(1.0, i * np.eye(3))) for k, i in enumerate(inertias))
    physics = Physics(integrator="implicitfast")
    return World("w", time=TimeGrid(step_ns=1_000_000), bodies=bodies, actuators=actuators, physics=physics, **parts)


def test_a_gear_adds_inertia_by_the_square_of_its_ratio() -> None:
    """Torque T on the input of a gear n: T / (I1 + I2 / n^2)."""
    gear = Transmission("gear", (("s0", 1.0), ("s1", -3.0)))
    run = Simulation(shafts(0.2, 1.8, actuators=(Actuator("s0", type="effort", target=2.0),), transmissions=(gear,)))
    run.run(0.5)
    speed = 0.5 * 2.0 / (0.2 + 1.8 / 9.0)
    assert run.joints["s0"].velocity[0] == pytest.approx(speed, rel=1e-4)
    assert run.joints["s1"].velocity[0] == pytest.approx(speed / 3.0, rel=1e-4)


def test_a_differential_shares_torque_and_not_speed() -> None:
    """Each axle has half of the drive's torque: speeds are as 1 / inertia, and their mean is the drive's."""
    differential = Transmission("differential", (("s0", 1.0), ("s1", -0.5), ("s2", -0.5)))
    drive = Actuator("s0", damping=1e8, type="velocity", implicit=True, target=1.0)
    run = Simulation(shafts(1.0, 1.0, 3.0, actuators=(drive,), transmissions=(differential,)))
    run.run(0.5)
    speeds = [float(run.joints[f"s{k}"].velocity[0]) for k in range(3)]
    assert speeds == pytest.approx([1.0, 1.5, 0.5], rel=1e-3)


def test_a_clutch_transmits_its_torque_until_both_turn_alike() -> None:
    """A driven shaft takes up 0.5 N m until it is as fast as the driving one."""
    slip = Transmission("slip", (("s0", 1.0), ("s1", -1.0)), held=False)
    drive = Actuator("s0", damping=1e8, type="velocity", implicit=True, target=1.0)
    clutch = Actuator("slip", damping=1e8, type="velocity", implicit=True, force=0.5)
    run = Simulation(shafts(1.0, 1.0, actuators=(drive, clutch), transmissions=(slip,)))
    run.run(1.0)
    assert run.joints["s1"].velocity[0] == pytest.approx(0.5, rel=2e-3)
    run.run(2.0)
    assert run.joints["s1"].velocity[0] == pytest.approx(1.0, rel=1e-4)


YAML = """
physics: {integrator: implicitfast}
bodies:
  - {name: a, joint: rx, inertial: {mass: 1, inertia: [1, 1, 1]}}
  - {name: b, joint: rx, inertial: {mass: 1, inertia: [1, 1, 1]}}
"""


def test_world_files_have_transmissions_and_limits_of_both_directions() -> None:
    text = """
transmissions: [{name: gear, joints: {a: 1, b: -2}}]
actuators:
  - {joint: gear, name: hand, type: velocity, kv: 1.0e+8, force: [-.inf, 2], implicit: true, engagement: 0,
     ramp: [1, 2]}
"""
    world = loads(YAML + text)
    assert world.transmissions == (Transmission("gear", (("a", 1.0), ("b", -2.0))),)
    hand = Actuator("gear", damping=1e8, type="velocity", implicit=True, force=(-math.inf, 2.0), name="hand")
    assert world.actuators == (replace(hand, engagement=0.0, ramp=(1.0, 2.0)),)
    assert loads(YAML + text) == world


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("transmissions: [{name: gear, joints: {a: 1, bee: -2}}]", "'bee' is no joint with one degree of freedom"),
        ("transmissions: [{name: gear, joints: {a: 0}}]", r"joints\.a: 0 is out of range"),
        ("transmissions: [{name: gear, joints: {}}]", "it has no joints"),
        ("transmissions: [{name: a, joints: {b: 1}}]", "'a' is the name of another"),
        ("transmissions: [{name: gear, joints: [a, b]}]", "a mapping of joints to coefficients is needed"),
        ("actuators: [{joint: a, type: effort, implicit: true}]", "does not depend on the motion"),
        ("actuators: [{joint: a, type: velocity, kv: 1, force: [2, 1]}]", "the lower limit must not be above"),
        ("actuators: [{joint: a, type: velocity, kv: 1, engagement: 0}]", "only implicit actuators"),
        ("actuators: [{joint: a, kp: 1, speed: 1, implicit: true}]", "no limit of speed"),
    ],
)
def test_faults_are_named(text: str, message: str) -> None:
    with pytest.raises(WorldError, match=message):
        lay_out(loads(YAML + text))


def test_a_motor_holds_the_position_where_its_target_became_zero() -> None:
    """With a gain of 50 it would creep by m g / 50 = 0.39 m/s; the spring gives way by m g / k."""
    run = Simulation(lift(motor(50.0, target=1.0, hold=Stop(1e5))))
    run.run(0.5)
    run.joints["cart"].target = 0.0
    run.step()
    stopped = float(run.joints["cart"].position[0])
    run.run(2.0)
    assert run.joints["cart"].position[0] == pytest.approx(stopped - 2.0 * GRAVITY / 1e5, abs=2e-3)
    assert abs(run.joints["cart"].velocity[0]) < 1e-9


def test_a_clutch_engages_over_its_ramp() -> None:
    """Half of the limit after half of the ramp: speed = limit t^2 / (2 ramp I)."""
    slip = Transmission("slip", (("s0", 1.0), ("s1", -1.0)), held=False)
    drive = Actuator("s0", damping=1e8, type="velocity", implicit=True, target=10.0)
    fields: dict[str, Any] = {"damping": 1e8, "type": "velocity", "implicit": True, "force": 2.0}
    clutch = Actuator("slip", name="clutch", engagement=0.0, ramp=(1.0, 0.0), **fields)
    run = Simulation(shafts(1.0, 1.0, actuators=(drive, clutch), transmissions=(slip,)))
    run.run(0.1)
    assert run.joints["s1"].velocity[0] == 0.0
    run.columns["drive_engaged"][:] = 1.0
    run.run(0.5)
    assert run.joints["s1"].velocity[0] == pytest.approx(2.0 * 0.5**2 / 2.0, rel=5e-3)


def test_poses_between_steps_are_those_of_the_held_motion() -> None:
    world = replace(lift(motor(1e8, target=0.5)), time=TimeGrid(step_ns=10_000_000))
    run = Simulation(world)
    between = run.seek(23_400_000).poses[run.frames.index("cart"), 2]
    assert between == pytest.approx(0.5 * 0.0234, abs=2e-6)
