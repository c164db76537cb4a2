"""Environments, met by Gymnasium's own checker and vector environments, and beside equations of motion."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

gymnasium = pytest.importorskip("gymnasium", reason="needs gymnasium")

from gymnasium.utils.env_checker import check_env  # noqa: E402
from scipy.integrate import solve_ivp  # noqa: E402

import sim_node.extensions.gym  # noqa: E402
from sim_node.extensions.gym import Environment, FrameSignal, Spec, VehicleAction, load_spec  # noqa: E402
from sim_node.extensions.gym.shipped import ANY, SHIPPED  # noqa: E402
from sim_node.simulation import Simulation  # noqa: E402
from sim_node.world import load  # noqa: E402
from sim_node.world.problems import RunFailed  # noqa: E402

IDS = tuple(SHIPPED.values())


@pytest.fixture(scope="module")
def environments() -> Iterator[dict[str, Environment]]:
    """The shipped environments by id, opened once."""
    made = {identifier: gymnasium.make(identifier) for identifier in IDS}
    yield {identifier: each.unwrapped for identifier, each in made.items()}
    for each in made.values():
        each.close()


def rollout(environment: Any, seed: int, steps: int) -> list[Any]:
    """Observations, rewards and ends of random actions, over the ends of episodes."""
    random = np.random.default_rng(seed)
    seen: list[Any] = [environment.reset(seed=seed)[0]]
    for _ in range(steps):
        observation, reward, terminated, truncated, _ = environment.step(
            random.uniform(-1, 1, environment.action_space.shape)
        )
        seen += [observation, reward, terminated, truncated]
        if terminated or truncated:
            seen.append(environment.reset()[0])
    return seen


@pytest.mark.parametrize("identifier", IDS)
def test_gymnasiums_checker_accepts_it_without_a_warning(environments: Any, identifier: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # Whether pictures can be rendered depends on the machine: see test_display.py.
        check_env(environments[identifier], skip_render_check=True)


@pytest.mark.parametrize("identifier", IDS)
def test_the_same_seed_gives_the_same_numbers_in_another_environment(environments: Any, identifier: str) -> None:
    other = gymnasium.make(identifier).unwrapped
    first, second = rollout(environments[identifier], 7, 40), rollout(other, 7, 40)
    assert all(np.array_equal(a, b) for a, b in zip(first, second, strict=True))
    assert not np.array_equal(first[0], environments[identifier].reset(seed=8)[0]) or identifier.endswith(
        "Waypoints-v0"
    )


# Takes seconds: make test has each environment.
@pytest.mark.nightly
def test_vector_environments_step_as_single_ones_do(environments: Any) -> None:
    """In processes of their own: Gymnasium's AsyncVectorEnv."""
    vector = gymnasium.make_vec("sim_node/CartPole-v0", num_envs=2, vectorization_mode="async")
    try:
        observations, _ = vector.reset(seed=[3, 4])
        actions = np.random.default_rng(0).uniform(-0.2, 0.2, (20, 2, 1)).astype(np.float32)
        seen = [observations.copy(), *(vector.step(each)[0].copy() for each in actions)]
    finally:
        vector.close()
    single = environments["sim_node/CartPole-v0"]
    for row, seed in enumerate((3, 4)):
        expected = [single.reset(seed=seed)[0], *(single.step(each[row])[0] for each in actions)]
        assert np.array_equal(np.array(seen)[:, row], expected)


def test_an_episode_is_repeated_by_what_reset_returned(environments: Any) -> None:
    environment = environments["sim_node/Hover-v0"]
    environment.reset(seed=1)
    first, info = environment.reset()
    observations = [environment.step(np.zeros(4))[0] for _ in range(5)]
    again, same = environment.reset(options={"values": info["values"], "seed": info["seed"]})
    assert (same["seed"], same["values"]) == (info["seed"], info["values"])
    assert np.array_equal(again, first)
    assert np.array_equal([environment.step(np.zeros(4))[0] for _ in range(5)], observations)


def test_episodes_reuse_one_simulation_and_start_as_a_new_one_would(environments: Any) -> None:
    for identifier, path in (("sim_node/CartPole-v0", "bodies[pole].joint.q"), ("sim_node/Hover-v0", None)):
        environment = environments[identifier]
        before = environment.task.simulation
        _, info = environment.reset(seed=5)
        assert environment.task.simulation is before
        assert path is None or path in info["values"]
        fresh = Simulation(environment.task.spec.world.with_values(info["values"]), info["seed"], sensors=False)
        for simulation in (before, fresh):
            simulation.step(3)
        assert before.present().poses.tobytes() == fresh.present().poses.tobytes()


def test_masses_are_written_into_one_simulation_and_lengths_make_another() -> None:
    """Either way a run starts as a new simulation of the changed world does."""
    for path, reused in (("bodies[pole].geometry[0].mass", True), ("bodies[pole].geometry[0].cylinder[1]", False)):
        environment = Environment("cart_pole", variations={path: "uniform(0.5, 1)"})
        first = environment.task.simulation
        _, info = environment.reset(seed=1)
        assert (environment.task.simulation is first) == reused
        assert 0.5 <= info["values"][path] <= 1.0
        present = environment.task.simulation
        fresh = Simulation(load("cart_pole").with_values(info["values"]), info["seed"], sensors=False)
        for simulation in (present, fresh):
            simulation.step(10)
        assert present.present().poses.tobytes() == fresh.present().poses.tobytes()


def test_the_cart_pole_moves_as_its_equations_of_motion(environments: Any) -> None:
    """Lagrange's equations of a cart and a rod, with viscous friction in both joints, by scipy."""
    environment = environments["sim_node/CartPole-v0"]
    cart, pole, half, gravity = 1.0, 0.1, 0.5, 9.81
    inertia = pole * (3.0 * 0.02**2 + 1.0) / 12.0 + pole * half**2

    def motion(_: float, state: Any, force: float) -> list[float]:
        _, angle, speed, rate = state
        mass = [[cart + pole, pole * half * math.cos(angle)], [pole * half * math.cos(angle), inertia]]
        pushes = [
            force - 0.1 * speed + pole * half * rate**2 * math.sin(angle),
            pole * gravity * half * math.sin(angle) - 0.002 * rate,
        ]
        return [speed, rate, *np.linalg.solve(mass, pushes)]

    start, _ = environment.reset(seed=2)
    state = np.array([start[0], start[2], start[1], start[3]], dtype=float)
    random = np.random.default_rng(1)
    for _ in range(15):
        action = random.uniform(-0.2, 0.2)
        observation, reward, terminated, truncated, _ = environment.step([action])
        state = solve_ivp(motion, (0.0, 0.02), state, args=(10.0 * action,), rtol=1e-9, atol=1e-12).y[:, -1]
        assert observation == pytest.approx(state[[0, 2, 1, 3]], abs=1e-6)
        assert (reward, terminated, truncated) == (1.0, False, False)


def test_the_quadrotor_hovers_where_its_thrust_is_its_weight(environments: Any) -> None:
    """4 k w^2 = m g with the numbers of config/vehicles/iris.yaml."""
    environment = environments["sim_node/Hover-v0"]
    command = math.sqrt(1.5 * 9.81 / (4.0 * 5.84e-6)) / 1100.0
    environment.reset(seed=0)
    action = np.full(4, (command - 0.72) / 0.15)  # the range is 0.57 to 0.87
    speeds = [environment.step(action)[0][8] for _ in range(50)]
    assert abs(speeds[-1] - speeds[25]) < 1e-3  # what it lost while the rotors sped up stays, but for a little drag
    assert speeds[25] < -0.1


def test_an_episode_is_truncated_after_its_duration() -> None:
    environment = Environment("hover", duration=0.1)
    environment.reset(seed=0)
    assert [environment.step(np.zeros(4))[3] for _ in range(5)] == [False] * 4 + [True]


@pytest.mark.parametrize(
    ("value", "goal", "signal"),
    [
        ("position", [1.0, -0.5, 3.0, 0.5], "position"),
        ("velocity", [1.0, -0.5, 0.3, 0.0], "velocity"),
    ],
)
def test_a_multirotor_reaches_its_setpoint(environments: Any, value: str, goal: list[float], signal: str) -> None:
    world = environments["sim_node/Hover-v0"].task.spec.world
    spec = Spec(
        world=world,
        rate=10.0,
        actions={"setpoint": VehicleAction("drone", value, -10.0, 10.0)},
        signals={signal: FrameSignal("drone/base_link", signal), "rpy": FrameSignal("drone/base_link", "rpy")},
        observation={signal: None, "rpy": None},
        reward={"one": "1"},
        normalised=False,
    )
    environment = Environment(spec)
    environment.reset(seed=0)
    for _ in range(100 if value == "position" else 60):
        observation, *_ = environment.step(goal)
    assert observation[:3] == pytest.approx(goal[:3], abs=0.03)
    if value == "position":
        assert observation[5] == pytest.approx(goal[3], abs=0.02)


def test_attitude_setpoints_are_tracked(environments: Any) -> None:
    spec = environments["sim_node/Waypoints-v0"].task.spec
    action = VehicleAction("drone", "attitude", (-0.5, -0.5, -1.0, 0.0), (0.5, 0.5, 1.0, 1.0))
    rpy = FrameSignal("drone/base_link", "rpy")
    spec = replace(
        spec, actions={"setpoint": action}, signals={"rpy": rpy}, observation={"rpy": None}, normalised=False
    )
    environment = Environment(spec)
    environment.reset(seed=0)
    for _ in range(15):
        observation, *_ = environment.step([0.1, -0.2, 0.5, 0.6])
    assert observation[:2] == pytest.approx([0.1, -0.2], abs=0.03)
    yaw = observation[2]
    assert environment.step([0.1, -0.2, 0.5, 0.6])[0][2] - yaw == pytest.approx(0.05, abs=0.01)  # 0.5 rad/s for 0.1 s


def test_a_route_is_flown_by_heading_for_each_goal(environments: Any) -> None:
    """The progress is the way from goal to goal, less what is left when a goal is reached: at most its radius."""
    environment = environments["sim_node/Waypoints-v0"]
    observation, _ = environment.reset(seed=3)
    legs, progress, reached, info = [float(np.linalg.norm(observation[:3]))], 0.0, 0.0, {}
    for _ in range(300):
        action = np.array([*np.clip(0.5 * observation[:3], -1.5, 1.5) / [4, 4, 2], 0.0])
        observation, _, terminated, truncated, info = environment.step(action)
        progress, reached = progress + info["reward"]["progress"], reached + info["reward"]["reached"]
        if terminated or truncated:
            break
        if info["reward"]["reached"]:
            legs.append(float(np.linalg.norm(observation[:3])))
    assert (terminated, truncated, info["is_success"], reached, len(legs)) == (True, False, True, 40.0, 4)
    assert sum(legs) - 4 * 0.5 <= progress <= sum(legs)


def test_a_run_that_diverges_ends_the_episode() -> None:
    spec = load_spec("cart_pole")
    action = replace(spec.actions["force"], low=-1e9, high=1e9)
    environment = Environment(replace(spec, actions={"force": action}, termination=None, diverged=-5.0))
    environment.reset(seed=0)
    for _ in range(400):
        observation, reward, terminated, _, info = environment.step([1.0])
        assert np.isfinite(observation).all()
        if terminated:
            break
    assert (terminated, reward, info["diverged"]) == (True, -5.0, True)
    assert np.isfinite(environment.reset()[0]).all()


def test_previous_values_are_those_of_the_step_before() -> None:
    """At the start they are the present ones; a signal may use them, and a reward those of signals that do."""
    spec = load_spec("cart_pole")
    signals = {**spec.signals, "moved": "position - previous(position)", "jerk": "moved - previous(moved)"}
    reward = {"moved": "moved", "jerk": "jerk", "push": "force - previous(force)"}
    environment = Environment(replace(spec, signals=signals, reward=reward))
    observation, _ = environment.reset(seed=0)
    seen, terms = [float(observation[0])], []
    for action in (0.1, -0.2, 0.3):
        observation, _, _, _, info = environment.step([action])
        seen.append(float(observation[0]))
        terms.append(info["reward"])
    moved = np.diff(seen)
    assert [each["moved"] for each in terms] == pytest.approx(moved, abs=1e-6)
    assert [each["jerk"] for each in terms] == pytest.approx(np.diff([0.0, *moved]), abs=1e-6)
    assert [each["push"] for each in terms] == pytest.approx([1.0, -3.0, 5.0], abs=1e-6)


def test_an_expression_that_fails_in_a_run_is_named() -> None:
    environment = Environment("cart_pole", reward={"late": "1 / (time - 0.04) + 1"})
    environment.reset(seed=0)
    environment.step([0.0])
    with pytest.raises(RunFailed, match=r"cart_pole: '1 / \(time - 0.04\) \+ 1' cannot be evaluated"):
        environment.step([0.0])


def test_any_spec_can_be_made_by_id() -> None:
    environment = gymnasium.make(ANY, spec=load_spec("cart_pole"), duration=1.0)
    assert environment.unwrapped.task.spec.duration == 1.0
    assert gymnasium.make("sim_node.extensions.gym:sim_node/CartPole-v0").spec.id == "sim_node/CartPole-v0"
    assert sim_node.extensions.gym.load_spec("cart_pole") == load_spec("cart_pole")


@pytest.mark.parametrize("action", [[0.0, 0.0], [math.nan], [[0.0]]])
def test_an_action_that_does_not_fit_is_refused(environments: Any, action: Any) -> None:
    environment = environments["sim_node/CartPole-v0"]
    environment.reset(seed=0)
    with pytest.raises(ValueError, match="is not 1 finite numbers"):
        environment.step(action)


def test_options_that_do_not_exist_are_refused(environments: Any) -> None:
    environment = environments["sim_node/CartPole-v0"]
    with pytest.raises(ValueError, match="no option 'vales'"):
        environment.reset(options={"vales": {}})
    with pytest.raises(Exception, match="is not drawn by this environment"):
        environment.reset(options={"values": {"bodies[cart].joint.damping": 1.0}})
