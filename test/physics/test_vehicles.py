"""Multirotors against formulas: what rotors do, how vehicles fall and hover, and that pilots fly their missions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest
from nightly import only
from scipy.spatial.transform import Rotation

from sim_node.simulation import Simulation
from sim_node.simulation.physics.rigid_bodies import RigidBodyEngine
from sim_node.spatial.geometry import quaternions
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.world import (
    Body,
    Geometry,
    Inertial,
    Multirotor,
    Physics,
    Pilot,
    Rotor,
    TimeGrid,
    Waypoint,
    World,
    WorldError,
    load,
)
from sim_node.world.forces import Wind

G = 9.81
FREE_AIR = Physics(timestep_ns=1_000_000, integrator="implicitfast", gravity=np.array([0, 0, -G]))
GROUND = Body("ground", "map", geometry=(Geometry("plane", np.array([])),))
# What a preset says, from its own sources: PX4's Gazebo model of the Iris, RotorS' of the Firefly.
IRIS = {"mass": 1.5, "izz": 0.055225, "k": 5.84e-6, "c": 0.05, "top": 1100.0}
HEXA = {"mass": 1.53, "k": 8.54858e-6, "c": 0.016, "top": 838.0}


@pytest.fixture
def preset(tmp_path: Path) -> Callable[..., World]:
    """A world with one vehicle of a shipped model in free air, without its pilot and sensors."""

    def make(model: str, **changes: Any) -> World:
        path = tmp_path / "w.yaml"
        entry = f"{{name: v, model: {model}, sensors: false, pose: {{position: [0, 0, 0]}}}}"
        path.write_text(f"world: w\nvehicles:\n  - {entry}\n")
        world = load(path)
        return replace(world, physics=FREE_AIR, **changes)

    return make


def single(rotors: tuple[Rotor, ...] = (), **drag: Any) -> World:
    """A ball of 1 kg with rotors."""
    body = Body("v/base_link", "map", "free", inertial=Inertial(1.0, 0.01 * np.eye(3)))
    return World("w", physics=FREE_AIR, bodies=(body,), vehicles=(Multirotor("v", "v/base_link", rotors, **drag),))


def rotor(**changes: Any) -> Rotor:
    values = {"position": [0, 0, 0], "spin": "ccw", "thrust_coefficient": 1e-5, "moment_coefficient": 0.0,
              "max_speed": 1000.0}  # fmt: skip
    return Rotor(**{**values, **changes})


def velocity(simulation: Simulation, name: str = "v/base_link") -> tuple[FloatArray, FloatArray]:
    """Of a body in the world: linear and angular, along the world's axes."""
    row = simulation.frames.index(name)
    turn = Rotation.from_quat(simulation.snapshot().poses[row, 3:])
    twist = simulation.motion()[0][row]
    return turn.apply(twist[:3]), turn.apply(twist[3:])


@pytest.mark.parametrize(("model", "is_", "rotors"), [("iris", IRIS, 4), ("hexarotor", HEXA, 6)])
def test_it_hovers_where_thrust_is_its_weight(
    preset: Callable[..., World], model: str, is_: Mapping[str, float], rotors: int
) -> None:
    """n k w^2 = m g."""
    simulation = Simulation(preset(model))
    vehicle = simulation.vehicles["v"]
    speed = np.sqrt(is_["mass"] * G / (rotors * is_["k"]))
    assert 0.5 < speed / is_["top"] < 0.8
    vehicle.command[:] = speed / is_["top"]
    vehicle.speeds[:] = speed
    simulation.run(2.0)
    linear, angular = velocity(simulation)
    np.testing.assert_allclose(linear, 0.0, atol=1e-9)
    np.testing.assert_allclose(angular, 0.0, atol=1e-9)


def test_it_falls_freely_with_its_motors_off() -> None:
    """z = -g t^2/2, by the integrator's own sum: velocity first."""
    simulation = Simulation(single((rotor(),)))
    simulation.run(2.0)
    n, h = 2000, 1e-3
    assert simulation.snapshot().poses[-1, 2] == pytest.approx(-G * h * h * n * (n + 1) / 2, rel=1e-9)


@pytest.mark.parametrize(("up", "down"), [(0.0125, 0.025), (0.1, 0.02)])
def test_rotor_speeds_follow_commands_exponentially(up: float, down: float) -> None:
    simulation = Simulation(single((rotor(time_constant_up=up, time_constant_down=down),)))
    vehicle = simulation.vehicles["v"]
    for command, lag, begin in ((0.8, up, 0.0), (0.3, down, None)):
        begin = vehicle.speeds[0] if begin is None else begin
        vehicle.command[:] = command
        for millisecond in range(10, 101, 10):
            simulation.run(0.01)
            expected = 1000 * command + (begin - 1000 * command) * np.exp(-millisecond * 1e-3 / lag)
            assert vehicle.speeds[0] == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("timestep_ns", [1_000_000, 10_000_000])
def test_the_momentum_of_a_spin_up_does_not_depend_on_the_timestep(timestep_ns: int) -> None:
    """The integral of k w^2, w = W (1 - exp(-t/T)), is k W^2 (t - 2 T (1 - e) + T (1 - e^2)/2)."""
    world = single((rotor(time_constant_up=0.05),))
    simulation = Simulation(replace(world, physics=replace(FREE_AIR, timestep_ns=timestep_ns)))
    simulation.vehicles["v"].command[:] = 1.0
    simulation.run(0.2)
    e, lag = np.exp(-0.2 / 0.05), 0.05
    impulse = 1e-5 * 1000**2 * (0.2 - 2 * lag * (1 - e) + lag * (1 - e * e) / 2)
    assert velocity(simulation)[0][2] == pytest.approx(impulse - G * 0.2, abs=1e-9)


@pytest.mark.parametrize("spin", ["ccw", "cw"])
def test_a_body_turns_against_its_rotor(spin: str) -> None:
    """dw/dt = c k w^2 / I."""
    simulation = Simulation(single((rotor(spin=spin, moment_coefficient=0.02),)))
    simulation.vehicles["v"].command[:] = 0.5
    simulation.run(0.1)
    expected = 0.02 * 1e-5 * 500**2 / 0.01 * 0.1
    assert velocity(simulation)[1][2] == pytest.approx(-expected if spin == "ccw" else expected, rel=1e-9)


def test_yaw_of_the_iris_from_reaction_torque(preset: Callable[..., World]) -> None:
    """A step of one diagonal up and the other down keeps the thrust: Izz dw/dt = c k (2 w1^2 - 2 w2^2)."""
    simulation = Simulation(preset("iris"))
    vehicle = simulation.vehicles["v"]
    squares = IRIS["mass"] * G / (4 * IRIS["k"]) * np.array([0.9, 0.9, 1.1, 1.1])
    vehicle.speeds[:] = np.sqrt(squares)
    vehicle.command[:] = vehicle.speeds / IRIS["top"]
    simulation.run(0.05)
    torque = IRIS["c"] * IRIS["k"] * np.abs(squares[2:].sum() - squares[:2].sum())
    # Turning, the rotors' own drag brakes it: less than 1 % by then.
    assert velocity(simulation)[1][2] == pytest.approx(torque / IRIS["izz"] * 0.05, rel=0.01)


# What raising one motor alone does, in (roll right, pitch up, yaw right): ArduPilot's "Connect ESCs and Motors" and
# PX4's "Airframes Reference" number them so, with their turning directions.
QUAD = {
    0: ("front right", "ccw", (-1, 1, 1)),
    1: ("rear left", "ccw", (1, -1, 1)),
    2: ("front left", "cw", (1, 1, -1)),
    3: ("rear right", "cw", (-1, -1, -1)),
}
HEXA_X = {
    0: ("right", "cw", (-1, 0, -1)),
    1: ("left", "ccw", (1, 0, 1)),
    2: ("front left", "cw", (1, 1, -1)),
    3: ("rear right", "ccw", (-1, -1, 1)),
    4: ("front right", "ccw", (-1, 1, 1)),
    5: ("rear left", "cw", (1, -1, -1)),
}


@pytest.mark.parametrize(
    ("model", "motor", "what"),
    [("iris", *item) for item in QUAD.items()] + [("hexarotor", *item) for item in HEXA_X.items()],
)
def test_a_motor_turns_the_vehicle_as_autopilots_expect_of_its_number(
    preset: Callable[..., World], model: str, motor: int, what: tuple[str, str, tuple[int, int, int]]
) -> None:
    """Of body rates in FLU, roll right is +x, pitch up -y and yaw right -z. A rotor's torque yaws against its spin."""
    world = preset(model)
    where, spin, expected = what
    assert world.vehicles[0].rotors[motor].spin == spin, where
    simulation = Simulation(world)
    simulation.vehicles["v"].command[motor] = 0.6
    simulation.run(0.05)
    rates = simulation.motion()[0][simulation.frames.index("v/base_link"), 3:] * [1, -1, -1]
    rates[np.abs(rates) < 1e-3 * np.abs(rates).max()] = 0.0
    assert np.sign(rates).tolist() == list(expected)


def test_drag_sets_the_terminal_speed() -> None:
    """m g = q v^2 for quadratic drag, m g = l v for linear; both together by the quadratic formula."""
    for linear, quadratic in ((0.0, 0.1), (2.0, 0.0), (0.5, 0.3)):
        world = single((rotor(),), drag_linear=[0, 0, linear], drag_quadratic=[0, 0, quadratic])
        simulation = Simulation(world)
        simulation.run(20.0)
        terminal = G / linear if quadratic == 0 else (np.sqrt(linear**2 + 4 * quadratic * G) - linear) / (2 * quadratic)
        assert velocity(simulation)[0][2] == pytest.approx(-terminal, rel=1e-6)


def test_a_fall_with_quadratic_drag_is_a_hyperbolic_tangent() -> None:
    """v = v_t tanh(g t / v_t)."""
    simulation = Simulation(single((rotor(),), drag_quadratic=[0.1] * 3))
    simulation.run(1.0)
    terminal = np.sqrt(G / 0.1)
    assert velocity(simulation)[0][2] == pytest.approx(-terminal * np.tanh(G / terminal), rel=1e-3)


def test_drag_is_along_the_axes_of_the_body() -> None:
    """Moving along x + y of the world, turned by 45 degrees, it is its own x that drags."""
    world = single((rotor(),), drag_linear=[1.0, 0, 0])
    turned = np.array([0, 0, 0, *quaternions.from_axis_angle([0, 0, 1], np.pi / 4)])
    body = replace(world.bodies[0], q=turned, qd=np.array([1.0, 1, 0, 0, 0, 0]))
    physics = replace(FREE_AIR, gravity=np.zeros(3))
    simulation = Simulation(replace(world, bodies=(body,), physics=physics))
    simulation.run(1.0)
    np.testing.assert_allclose(velocity(simulation)[0], np.exp(-1.0) * np.array([1, 1, 0]), rtol=1e-3)


def test_a_rotor_drags_across_its_axis_only() -> None:
    """F = -c w v at right angles to the axis: exponential decay of v at w c/m, none along."""
    world = single((rotor(drag_coefficient=1e-3, thrust_coefficient=1e-12),))
    body = replace(world.bodies[0], qd=np.array([3, 0, 2, 0, 0, 0]))
    simulation = Simulation(replace(world, bodies=(body,), physics=replace(FREE_AIR, gravity=np.zeros(3))))
    simulation.vehicles["v"].command[:] = 0.7
    simulation.run(1.0)
    linear, _ = velocity(simulation)
    assert linear[0] == pytest.approx(3 * np.exp(-0.7), rel=1e-3)
    assert linear[2] == pytest.approx(2.0, rel=1e-5)


def test_a_tilted_rotor_pushes_along_its_axis_with_its_lever() -> None:
    """F = T n and M = r x F, about the centre of mass that is not at the body's origin."""
    axis = np.array([0.6, 0.0, 0.8])
    world = single((rotor(position=[0.1, 0.2, 0.0], axis=axis),))
    inertial = Inertial(2.0, np.diag([0.01, 0.02, 0.03]), np.array([0.0, 0.05, 0.0]))
    body, physics = replace(world.bodies[0], inertial=inertial), replace(FREE_AIR, gravity=np.zeros(3))
    simulation = Simulation(replace(world, bodies=(body,), physics=physics))
    simulation.vehicles["v"].command[:] = 1.0
    simulation.run(0.01)
    force = 10.0 * axis
    moment = np.cross([0.1, 0.15, 0.0], force)
    rates = simulation.motion()[0][simulation.frames.index("v/base_link"), 3:]
    np.testing.assert_allclose(rates, moment / [0.01, 0.02, 0.03] * 0.01, rtol=2e-2)


@pytest.mark.parametrize(
    ("command", "counts_as"), [(1.7, 1.0), (-0.5, 0.0), (np.inf, 1.0), (-np.inf, 0.0), (np.nan, 0.0)]
)
def test_commands_that_are_none(command: float, counts_as: float) -> None:
    simulation = Simulation(single((rotor(min_speed=100.0),)))
    vehicle = simulation.vehicles["v"]
    vehicle.speeds[:] = 500.0
    vehicle.command[:] = command
    simulation.step()
    assert vehicle.speeds[0] == (1000.0 if counts_as else 0.0)


def test_a_slowest_speed_is_where_commands_begin() -> None:
    simulation = Simulation(single((rotor(min_speed=100.0),)))
    vehicle = simulation.vehicles["v"]
    for command, speed in ((0.0, 0.0), (1e-12, 100.0), (0.5, 550.0), (1.0, 1000.0)):
        vehicle.command[:] = command
        simulation.step()
        assert vehicle.speeds[0] == pytest.approx(speed)


def test_rk4_and_implicit_steps_see_the_same_forces(preset: Callable[..., World]) -> None:
    """One is stepped in halves around the rotors, the other whole after them: they differ by their own error."""
    found = []
    for integrator in ("rk4", "implicitfast", "euler"):
        world = preset("iris")
        simulation = Simulation(replace(world, physics=replace(FREE_AIR, integrator=integrator)))
        simulation.vehicles["v"].command[:] = [0.75, 0.75, 0.7, 0.7]
        simulation.run(0.5)
        found.append(simulation.snapshot().poses[1])
    np.testing.assert_allclose(found[1], found[0], atol=5e-3)
    np.testing.assert_allclose(found[2], found[1], atol=1e-3)


@pytest.mark.parametrize("integrator", ["implicitfast", "euler"])
def test_steps_in_halves_equal_whole_ones_to_the_bit(preset: Callable[..., World], integrator: str) -> None:
    """mj_step with the wrenches that were applied, replayed by MuJoCo alone, goes the same way."""
    world = preset("iris")
    world = replace(world, time=TimeGrid(step_ns=1_000_000), bodies=(*world.bodies, GROUND))
    simulation = Simulation(replace(world, physics=replace(FREE_AIR, integrator=integrator)))
    (engine,) = simulation.engines.values()
    assert isinstance(engine, RigidBodyEngine)
    twin = mujoco.MjData(engine.model)
    twin.qpos[:] = engine.data.qpos
    simulation.vehicles["v"].command[:] = [0.8, 0.7, 0.75, 0.7]
    for _ in range(300):
        simulation.step()
        twin.xfrc_applied[:] = engine.data.xfrc_applied
        mujoco.mj_step(engine.model, twin)
        assert twin.qpos.tobytes() == engine.data.qpos.tobytes()
        assert twin.qvel.tobytes() == engine.data.qvel.tobytes()


# Pilots


def flying(world: World, pilots: Sequence[Pilot]) -> World:
    """The world with pilots on its vehicles, 0.13 m above a ground."""
    vehicles = tuple(replace(v, pilot=p) for v, p in zip(world.vehicles, pilots, strict=True))
    bodies = tuple(replace(b, q=b.q + np.array([0, 0, 0.13, 0, 0, 0, 0])) for b in world.bodies)
    return replace(world, vehicles=vehicles, bodies=(GROUND, *bodies))


def path(simulation: Simulation, duration: float, name: str = "v/base_link") -> FloatArray:
    """Positions (T, 3) at 50 Hz."""
    row = simulation.frames.index(name)
    found = []
    for _ in range(round(duration * 50)):
        simulation.run(0.02)
        found.append(simulation.snapshot().poses[row, :3])
    return np.array(found)


WAYPOINTS = (
    Waypoint(np.array([8, 0, 4]), yaw=1.0, radius=0.3),
    Waypoint(np.array([8, 6, 2]), speed=2.0, hold=2.0, radius=0.3),
)


@pytest.mark.parametrize("model", only(["iris", "hexarotor"], 0))
def test_a_mission_reaches_every_waypoint_within_its_limits_and_lands(preset: Callable[..., World], model: str) -> None:
    pilot = Pilot(WAYPOINTS, speed=4.0, acceleration=2.0)
    simulation = Simulation(flying(preset(model), [pilot]))
    flown = path(simulation, 25.0)
    at = [int(np.argmin(np.linalg.norm(flown - w.position, axis=1))) for w in WAYPOINTS]
    assert at[0] < at[1]
    for waypoint in WAYPOINTS:
        away = np.linalg.norm(flown - waypoint.position, axis=1)
        assert away.min() < waypoint.radius
        assert np.sum(away < waypoint.radius) / 50 >= waypoint.hold
    speeds = np.linalg.norm(np.diff(flown, axis=0), axis=1) * 50
    assert speeds.max() < 4.0 * 1.1
    assert speeds[at[0] + 50 : at[1]].max() < 2.0 * 1.1
    accelerations = np.linalg.norm(np.diff(flown, n=2, axis=0), axis=1) * 2500
    assert accelerations[100 : at[1]].max() < 2.0 * 1.5
    # It stands where the last waypoint is above, its motors off, in the heading that was asked for.
    assert np.linalg.norm(flown[-1, :2] - [8, 6]) < 0.2
    assert np.abs(flown[-1] - flown[-50]).max() < 1e-3
    assert simulation.vehicles["v"].command.tolist() == [0.0] * len(simulation.vehicles["v"].command)
    yaw = quaternions.to_rpy(simulation.snapshot().poses[simulation.frames.index("v/base_link"), 3:])[2]
    assert yaw == pytest.approx(1.0, abs=0.05)


# A hexarotor has the same controller, and gusts differ by their profile alone.
@pytest.mark.parametrize(("model", "exponent"), only([("iris", 0.0), ("hexarotor", 0.0), ("iris", 0.2)], 0))
def test_it_holds_its_place_in_a_wind_of_8_m_s(preset: Callable[..., World], model: str, exponent: float) -> None:
    """The integral makes up for a steady wind, leaning into it by the angle at which thrust carries drag and weight."""
    world = flying(preset(model), [Pilot(after="hold")])
    simulation = Simulation(replace(world, wind=Wind(np.array([0, -8, 0]), exponent)))
    flown = path(simulation, 40.0)
    np.testing.assert_allclose(flown[-1], [0, 0, 2.13], atol=0.02)
    if exponent == 0.0:
        rotors = world.vehicles[0].rotors
        vehicle = simulation.vehicles["v"]
        drag = sum(r.drag_coefficient * w for r, w in zip(rotors, vehicle.speeds, strict=True)) * 8 + 0.02 * 8 * 8
        inertial = world.bodies[1].inertial
        assert inertial is not None
        attitude = simulation.snapshot().poses[simulation.frames.index("v/base_link"), 3:]
        lean = Rotation.from_quat(attitude).apply([0, 0, 1])
        # Tilted, the drag of rotors is less by the cosine squared; of 8 degrees at most, 2 %.
        assert np.arctan2(lean[1], lean[2]) == pytest.approx(np.arctan(drag / (inertial.mass * G)), rel=0.03)


def test_the_air_carries_a_vehicle_along() -> None:
    """Drag is relative to the wind: dv/dt = -l (v - u)/m."""
    world = single((rotor(),), drag_linear=[1.0, 1.0, 1.0])
    physics = replace(FREE_AIR, gravity=np.zeros(3))
    simulation = Simulation(replace(world, physics=physics, wind=Wind(np.array([3, 2, 0]))))
    simulation.run(1.0)
    np.testing.assert_allclose(velocity(simulation)[0], (1 - np.exp(-1.0)) * np.array([3, 2, 0]), rtol=1e-3)


def test_it_holds_its_place_against_a_pull(preset: Callable[..., World]) -> None:
    """The integral: of 1.4 m/s^2 sideways, of which the controller is not told."""
    simulation = Simulation(flying(preset("iris"), [Pilot(after="hold")]))
    (engine,) = simulation.engines.values()
    assert isinstance(engine, RigidBodyEngine)
    engine.model.opt.gravity[:] = [1.4, 0.0, -G]
    flown = path(simulation, 40.0)
    np.testing.assert_allclose(flown[-1], [0, 0, 2.13], atol=0.02)


def test_the_same_world_gives_the_same_bytes(preset: Callable[..., World]) -> None:
    world = flying(preset("iris"), [Pilot(WAYPOINTS)])
    first, second = Simulation(world), Simulation(world)
    first.run(6.0)
    for _ in range(600):
        second.step()
        second.present()
    assert first.snapshot().poses.tobytes() == second.snapshot().poses.tobytes()
    first.reset()
    first.run(6.0)
    assert first.snapshot().poses.tobytes() == second.snapshot().poses.tobytes()


def test_a_restored_run_goes_on_to_the_bit(preset: Callable[..., World]) -> None:
    """Rotor speeds, commands, integrals and missions are part of the state."""
    simulation = Simulation(flying(preset("iris"), [Pilot(WAYPOINTS, rate=90.0)]))
    simulation.run(4.007)
    before = simulation.state
    simulation.run(3.0)
    after, speeds = simulation.snapshot().poses.tobytes(), simulation.vehicles["v"].speeds.tobytes()
    simulation.restore(before)
    simulation.run(3.0)
    assert simulation.snapshot().poses.tobytes() == after
    assert simulation.vehicles["v"].speeds.tobytes() == speeds


def test_a_state_of_other_vehicles_is_refused(preset: Callable[..., World]) -> None:
    one = Simulation(preset("iris"))
    with pytest.raises(ValueError, match=r"column 'motor_command': found float64 of shape \(4,\)|'motor_command'"):
        one.restore(Simulation(preset("hexarotor")).state)


def test_vehicles_do_not_influence_each_other(preset: Callable[..., World]) -> None:
    """Each of three flies as it does alone, to the bit; the one in the middle has no pilot and falls.

    In the air: where several touch the ground, MuJoCo solves all their contacts together, to its tolerance.
    """
    iris, hexa = preset("iris"), preset("hexarotor")
    pilots = [Pilot(WAYPOINTS, wait=0.0), None, Pilot(WAYPOINTS[:1], wait=0.0, rate=500.0)]

    def named(world: World, name: str, aside: float) -> tuple[Body, Multirotor]:
        body = replace(world.bodies[0], name=f"{name}/base_link", q=np.array([aside, -aside, 0, 0, 0, 0, 1]))
        return body, replace(world.vehicles[0], name=name, body=f"{name}/base_link")

    parts = [named(iris, "a", 0.0), named(iris, "b", 30.0), named(hexa, "c", 60.0)]

    def worlds(parts: Sequence[tuple[Body, Multirotor]], pilots: Sequence[Pilot | None]) -> Simulation:
        bodies, vehicles = zip(*parts, strict=True)
        vehicles = tuple(replace(v, pilot=pilot) for v, pilot in zip(vehicles, pilots, strict=True))
        return Simulation(replace(iris, bodies=bodies, vehicles=vehicles, frames=()))

    together = worlds(parts, pilots)
    together.run(5.0)
    for part, pilot in zip(parts, pilots, strict=True):
        alone = worlds([part], [pilot])
        alone.run(5.0)
        name = part[0].name
        found = [s.snapshot().poses[s.frames.index(name)].tobytes() for s in (alone, together)]
        assert found[0] == found[1], name


def test_a_vehicle_that_is_too_heavy_for_a_pilot_is_refused(preset: Callable[..., World]) -> None:
    world = flying(preset("iris"), [Pilot()])
    inertial = world.bodies[1].inertial
    assert inertial is not None
    heavy = replace(world.bodies[1], inertial=replace(inertial, mass=5.0))
    with pytest.raises(WorldError, match=r"its rotors lift 28.27 N at most, it weighs 49.05 N"):
        Simulation(replace(world, bodies=(GROUND, heavy)))


def test_commands_and_pushes_that_come_after_a_look_at_the_motion_act_as_if_nobody_had_looked(
    preset: Callable[..., World],
) -> None:
    """A look evaluates the first half of a timestep, which the step then takes over."""
    ways = []
    for looks in (False, True):
        run = Simulation(preset("iris", wind=Wind(velocity=np.array([3.0, 0.0, 0.0]))))
        look = run.observer(["v/base_link"])
        for step in range(200):
            if looks:
                look()
            run.vehicles["v"].command[:] = [0.5 + 0.001 * step, 0.6, 0.55, 0.5]
            run.bodies["v/base_link"].wrench = [0.01 * step, 0.0, 0.0, 0.0, 0.0, 0.0]
            run.step()
        ways.append(run.snapshot().poses.tobytes())
    assert ways[0] == ways[1]
