"""Limits, stops, dry friction, mimics and drives of joints, by the equations of point masses and springs."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq

from sim_node.simulation import Simulation
from sim_node.world import Actuator, Body, Inertial, Mimic, Physics, Stop, World, WorldError, WorldWarning, loads

G = 9.81
MASS = 2.0
INERTIAL = Inertial(MASS, np.eye(3))


def cart(
    joint: str = "px", *, actuators: tuple[Actuator, ...] = (), physics: Physics | None = None, **of: Any
) -> World:
    return World(
        "w",
        bodies=(Body("cart", "map", joint, inertial=INERTIAL, **of),),
        actuators=actuators,
        physics=physics or Physics(),
    )


def ran(world: World, duration: float) -> tuple[float, float]:
    """Position and velocity of the cart after a while."""
    simulation = Simulation(world)
    simulation.run(duration)
    joint = simulation.joints["cart"]
    return float(joint.position[0]), float(joint.velocity[0])


# Stops


@given(stiffness=st.floats(2e3, 4e5), height=st.floats(-1.0, 1.0))
@settings(max_examples=8, deadline=None)
def test_a_load_rests_on_its_stop_as_on_a_spring(stiffness: float, height: float) -> None:
    """m g / k below the limit."""
    world = cart("pz", limits=np.array([height, height + 1.0]), stop=Stop(stiffness), q=np.array([height]))
    position, velocity = ran(world, 2.0)
    assert position == pytest.approx(height - MASS * G / stiffness, abs=2e-4 * MASS * G / stiffness)
    assert abs(velocity) < 1e-6


@pytest.mark.parametrize("integrator", ["rk4", "implicitfast"])
def test_a_stop_without_damping_gives_back_the_speed(integrator: str) -> None:
    """At most v sqrt(m / k) deep, after which it leaves at -v: an undamped oscillator's half period."""
    speed, stiffness = 1.5, 8e3
    world = cart(
        limits=np.array([-1.0, 1.0]),
        stop=Stop(stiffness, 0.0),
        qd=np.array([speed]),
        physics=Physics(integrator=integrator, timestep_ns=100_000),
    )
    simulation = Simulation(world)
    history = simulation.history("qpos", every=0.01)
    simulation.run(1.0)
    assert float(simulation.joints["cart"].velocity[0]) == pytest.approx(-speed, rel=1e-2)
    assert history["qpos"].max() <= 1.0 + speed * math.sqrt(MASS / stiffness) * 1.01


@pytest.mark.parametrize("speed", [0.2, 1.0, 3.0])
@pytest.mark.parametrize("timestep_ns", [1_000_000, 5_000_000])
def test_a_cart_goes_no_deeper_into_its_end_stop_than_a_critical_damper_lets_it(speed: float, timestep_ns: int) -> None:
    """A critically damped impact is v T / e deep; T is 5 ms, or four timesteps where these are longer."""
    constant = max(0.005, 4e-9 * timestep_ns)
    step = cart(limits=np.array([-0.5, 0.5]), qd=np.array([speed]), physics=Physics(timestep_ns=timestep_ns))
    simulation = Simulation(step)
    deepest = 0.0
    for _ in range(400):
        simulation.step()
        deepest = max(deepest, float(simulation.joints["cart"].position[0]) - 0.5)
    # The contact begins within a timestep.
    assert 0.0 < deepest <= speed * (constant / math.e + 1e-9 * timestep_ns) * 1.1
    # A stop that cannot pull lets go where the damper balances the spring: r'' = 0, at -v / e^2.
    assert abs(float(simulation.joints["cart"].velocity[0])) <= speed / math.e**2 * 1.1


def test_a_ball_turns_up_to_its_angle() -> None:
    """A pendulum on a ball that falls against the cone: m g l sin(a) = k (a - limit)."""
    length, limit, stiffness = 0.5, 0.6, 200.0
    inertial = Inertial(1.0, 0.01 * np.eye(3), np.array([0.0, 0.0, length]))
    start = np.array([0.0, math.sin(0.05), 0.0, math.cos(0.05)])
    body = Body(
        "rod",
        "map",
        "spherical",
        inertial=inertial,
        q=start,
        limits=np.array([0.0, limit]),
        stop=Stop(stiffness),
        damping=0.5 * np.ones(3),
    )
    simulation = Simulation(World("w", bodies=(body,)))
    simulation.run(8.0)
    x, y, z, w = simulation.joints["rod"].position
    angle = 2.0 * math.atan2(math.hypot(x, y, z), abs(w))
    expected = brentq(lambda a: G * length * math.sin(a) - stiffness * (a - limit), limit, math.pi)
    assert angle == pytest.approx(expected, rel=1e-3)


def test_each_part_of_a_joint_has_its_own_limits() -> None:
    body = Body(
        "table",
        "map",
        "p3d",
        inertial=INERTIAL,
        qd=np.array([1.0, 1.0, 1.0]),
        limits=np.array([[-0.1, 0.1], [-math.inf, math.inf], [-math.inf, 0.2]]),
    )
    simulation = Simulation(World("w", bodies=(body,), physics=Physics(gravity=np.zeros(3))))
    history = simulation.history("qpos")
    simulation.run(1.0)
    x, y, z = history["qpos"].max(axis=0)
    assert x == pytest.approx(0.1, abs=3e-3)
    assert y == pytest.approx(1.0, abs=1e-9)
    assert z == pytest.approx(0.2, abs=3e-3)


def test_a_stop_that_is_too_stiff_for_the_timestep_is_refused_with_the_largest_that_works() -> None:
    with pytest.raises(
        WorldError, match=r"stop\.stiffness: 1e\+09 is too stiff .* allowed: up to 5e\+05, or a shorter"
    ):
        Simulation(cart(limits=np.array([-1.0, 1.0]), stop=Stop(1e9)))
    with pytest.raises(WorldError, match=r"stop\.damping: 1e\+06 is too large"):
        Simulation(cart(limits=np.array([-1.0, 1.0]), stop=Stop(1e4, 1e6)))
    position, _ = ran(cart("pz", limits=np.array([0.0, 1.0]), q=np.array([0.5]), stop=Stop(5e5)), 3.0)
    assert position == pytest.approx(-MASS * G / 5e5, rel=1e-3), "the largest one works"


SLIDING_DOOR = """
world: sliding_door
bodies:
  - name: wall
    geometry:
      - {box: [2, 0.02, 2.2], pose: {position: [1, 0.04, 1.1]}}
      - {box: [2, 0.02, 2.2], pose: {position: [1, -0.04, 1.1]}}
  - name: door
    pose: {position: [0, 0, 1.05]}
    joint: {type: px, q: -0.5, limits: [-0.5, 1.0], friction_loss: 5, damping: 20}
    geometry: [{box: [1, 0.04, 2.1], mass: 30}]
actuators:
  - {joint: door, type: velocity, damping: 400, force: 150, target: 0.5}
"""


def test_a_sliding_door_runs_into_its_wall_and_stays_at_the_end() -> None:
    """Its speed on the way is where the drive balances friction and damping; at the end it pushes on."""
    simulation = Simulation(loads(SLIDING_DOOR))
    simulation.run(1.5)
    door = simulation.joints["door"]
    assert float(door.velocity[0]) == pytest.approx((400 * 0.5 - 5) / (400 + 20), rel=1e-4)
    simulation.run(4.0)
    assert 1.0 <= float(door.position[0]) < 1.0005
    assert abs(float(door.velocity[0])) < 1e-4


# Dry friction


@pytest.mark.parametrize("integrator", ["rk4", "implicitfast", "euler"])
def test_dry_friction_brakes_evenly_and_then_holds(integrator: str) -> None:
    """v^2 m / (2 F) until it stands."""
    friction, speed = 4.0, 2.0
    world = cart(qd=np.array([speed]), friction_loss=np.array([friction]), physics=Physics(integrator=integrator))
    position, velocity = ran(world, 0.5)
    assert velocity == pytest.approx(speed - friction / MASS * 0.5, abs=1e-3)
    position, velocity = ran(world, 3.0)
    assert position == pytest.approx(speed**2 * MASS / (2.0 * friction), rel=2e-3)
    assert abs(velocity) < 1e-9


@pytest.mark.parametrize("share", [0.95, 1.05])
def test_dry_friction_holds_a_load_up_to_its_force(share: float) -> None:
    """It creeps by micrometres a second below, and falls with the difference above."""
    load = MASS * G
    position, velocity = ran(cart("pz", friction_loss=np.array([load / share])), 2.0)
    if share < 1.0:
        assert abs(velocity) < 5e-6
        assert abs(position) < 1e-5
    else:
        assert velocity == pytest.approx(-2.0 * (load - load / share) / MASS, rel=2e-3)


# Mimics


def test_a_mimic_adds_its_inertia_by_the_square_of_its_ratio() -> None:
    """F = (m1 + r^2 m2) a."""
    ratio, force = -1.5, 6.0
    bodies = (
        Body("cart", "map", "px", inertial=INERTIAL),
        Body(
            "follower",
            "map",
            "py",
            inertial=Inertial(0.8, np.eye(3)),
            mimic=Mimic("cart", ratio, 0.25),
            q=np.array([0.25]),
        ),
    )
    drive = Actuator("cart", type="effort", target=force)
    simulation = Simulation(World("w", bodies=bodies, actuators=(drive,)))
    simulation.run(1.0)
    x, y = (float(simulation.joints[name].position[0]) for name in ("cart", "follower"))
    assert x == pytest.approx(0.5 * force / (MASS + ratio**2 * 0.8), rel=1e-3)
    assert y == pytest.approx(ratio * x + 0.25, abs=1e-4)
    x, y = (float(simulation.joints[name].velocity[0]) for name in ("cart", "follower"))
    assert y == pytest.approx(ratio * x, abs=1e-3)


# Drives


def test_a_velocity_actuator_settles_where_its_gain_carries_the_load() -> None:
    """target - load / gain; stiff ones need an implicit integrator."""
    for gain, integrator in ((50.0, "rk4"), (2e5, "implicitfast")):
        drive = Actuator("cart", damping=gain, target=0.3, type="velocity")
        _, velocity = ran(cart("pz", actuators=(drive,), physics=Physics(integrator=integrator)), 2.0)
        assert velocity == pytest.approx(0.3 - MASS * G / gain, abs=1e-6)


def test_damping_that_diverges_with_the_integrator_is_refused_or_warned_about() -> None:
    stiff = Actuator("cart", damping=1e4, type="velocity")
    with pytest.raises(WorldError, match=r"damping: 10000 diverges with the integrator rk4 .* up to 5570, or physics"):
        Simulation(cart(actuators=(stiff,)))
    with pytest.warns(WorldWarning, match="damping: 10000 diverges"):
        Simulation(cart(actuators=(Actuator("cart", 1.0, 1e4),)))
    held = Actuator("cart", damping=5400.0, target=1.0, type="velocity")
    assert ran(cart(actuators=(held,)), 1.0)[1] == pytest.approx(1.0), "just below it does not diverge"


def test_effort_and_speed_of_actuators_are_limited() -> None:
    pushed = Actuator("cart", type="effort", target=100.0, force=4.0)
    assert ran(cart(actuators=(pushed,)), 1.0)[1] == pytest.approx(4.0 / MASS, abs=1e-9)
    governed = Actuator("cart", type="effort", target=4.0, speed=0.5)
    position, velocity = ran(cart(actuators=(governed,)), 2.0)
    assert velocity == pytest.approx(0.5, abs=4.0 / MASS * 1e-3), "up to one timestep's push"
    assert position == pytest.approx(0.5 * 0.25 * 0.5 + 0.5 * 1.75, rel=2e-3)
    clipped = Actuator("cart", damping=500.0, type="velocity", target=9.0, speed=0.25)
    assert ran(cart(actuators=(clipped,)), 1.0)[1] == pytest.approx(0.25, abs=1e-9)


def test_the_setpoint_of_a_position_actuator_moves_at_its_speed() -> None:
    """A critically damped servo follows a ramp 2 v / w behind, w = sqrt(k / m): k (v t - x) = c v."""
    stiffness, damping, speed = 2e4, 400.0, 0.4
    servo = Actuator("cart", stiffness, damping, target=1.0, speed=speed)
    simulation = Simulation(cart(actuators=(servo,), q=np.array([-0.2])))
    simulation.run(2.0)
    joint = simulation.joints["cart"]
    assert float(joint.velocity[0]) == pytest.approx(speed, abs=1e-3)  # the setpoint moves in steps
    assert float(joint.position[0]) == pytest.approx(-0.2 + speed * 2.0 - damping * speed / stiffness, abs=1e-3)
    simulation.run(2.0)
    assert float(joint.position[0]) == pytest.approx(1.0, abs=1e-6)


def test_actuators_of_one_joint_add_up() -> None:
    """k (x0 - x) + c (v0 - v) + F = 0 at rest."""
    drives = (
        Actuator("cart", 100.0, target=0.2),
        Actuator("cart", damping=40.0, target=0.5, type="velocity"),
        Actuator("cart", target=3.0, type="effort"),
    )
    assert ran(cart(actuators=drives), 10.0)[0] == pytest.approx(0.2 + (40.0 * 0.5 + 3.0) / 100.0, abs=1e-6)


def test_targets_are_part_of_the_state() -> None:
    drives = (
        Actuator("cart", 50.0, 5.0, amplitude=0.3, speed=0.2),
        Actuator("cart", type="effort", target=1.0, speed=0.1),
    )
    one, other = Simulation(cart(actuators=drives)), Simulation(cart(actuators=drives))
    one.step(70)
    one.columns["target"][:] = 0.4, 2.0
    state = one.state
    one.step(130)
    other.restore(state)
    for _ in range(130):
        other.step()
        other.snapshot()
    assert one.snapshot().poses.tobytes() == other.snapshot().poses.tobytes()
    one.reset()
    assert one.columns["target"].tolist() == [0.0, 1.0]
