"""Signals and actions by name, beside mechanics by hand and SciPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from sim_node.extensions.gym import (
    BodyAction,
    ColumnSignal,
    FrameSignal,
    JointAction,
    JointSignal,
    SensorSignal,
    Spec,
    VehicleAction,
    VehicleSignal,
    load_spec,
)
from sim_node.extensions.gym.interface import Action, Signal
from sim_node.extensions.gym.task import GymTask
from sim_node.world import World, WorldError, load, loads

SPACE = """\
world: space
time: {step: 0.01}
physics: {gravity: [0, 0, 0], contact: false}
bodies:
  - name: box
    joint: {type: free, q: [1, 2, 3, 0.5, 0.5, 0.5, 0.5], qd: [0, 0, 0, 0, 0, 2]}
    inertial: {mass: 2, inertia: [0.1, 0.1, 0.1]}
    geometry: [{box: [0.1, 0.1, 0.1]}]
  - name: arm
    joint: {type: hinge, axis: [0, 0, 1]}
    inertial: {mass: 1, inertia: [0.2, 0.2, 0.2]}
    geometry: [{sphere: 0.1}]
actuators:
  - {joint: arm, type: position, stiffness: 20, damping: 4}
frames:
  - {name: mark, parent: arm, pose: {position: [1, 0, 0], rpy_deg: [0, 0, 90]}}
sensors:
  - {name: IMU, parent: box, type: imu, gyroscope: none, accelerometer: none}
"""


def opened(world: World, signals: dict[str, Signal], actions: dict[str, Action]) -> GymTask:
    task = GymTask(Spec(world, 10.0, actions, dict.fromkeys(signals), {"one": "1"}, signals=signals, normalised=False))
    task.begin(np.random.default_rng(0))
    return task


@pytest.fixture(scope="module")
def space() -> World:
    return loads(SPACE)


def test_a_force_and_a_torque_accelerate_a_body(space: World) -> None:
    """v = F t / m and w = w0 + T t / I; a spinning body keeps its spin."""
    signals: dict[str, Signal] = {
        "velocity": FrameSignal("box", "velocity"),
        "spin": FrameSignal("box", "angular_velocity"),
        "rates": FrameSignal("box", "body_rates"),
        "own": FrameSignal("box", "body_velocity"),
        "acceleration": FrameSignal("box", "acceleration"),
        "attitude": FrameSignal("box", "quaternion"),
        "imu": SensorSignal("IMU"),
        "force_x": SensorSignal("IMU", ("force_x",)),
    }
    task = opened(space, signals, {"force": BodyAction("box", "force", -9.0, 9.0)})
    start = task.values["spin"]
    for _ in range(5):
        task.advance(np.array([4.0, 0.0, -2.0]))
    values = task.values
    turn = Rotation.from_quat(values["attitude"])
    assert values["velocity"] == pytest.approx([4.0 * 0.5 / 2.0, 0.0, -2.0 * 0.5 / 2.0], abs=1e-9)
    assert values["acceleration"] == pytest.approx([2.0, 0.0, -1.0], abs=1e-9)
    assert values["own"] == pytest.approx(turn.inv().apply(values["velocity"]), abs=1e-9)
    assert values["rates"] == pytest.approx(turn.inv().apply(values["spin"]), abs=1e-9)
    assert values["spin"] == pytest.approx(start, abs=1e-9)
    assert np.linalg.norm(start) == pytest.approx(2.0)
    assert values["imu"] == pytest.approx([*values["rates"], *turn.inv().apply([2.0, 0.0, -1.0])], abs=1e-9)
    assert values["force_x"][0] == values["imu"][3]


def test_poses_are_relative_to_a_frame(space: World) -> None:
    signals: dict[str, Signal] = {
        name: FrameSignal("box", name, relative_to="mark") for name in ("position", "quaternion", "rpy", "rotation")
    }
    task = opened(space, signals, {"force": BodyAction("box", "force", -9.0, 9.0)})
    mark = Rotation.from_euler("z", 90, degrees=True)  # at [1, 0, 0]
    turn = mark.inv() * Rotation.from_quat([0.5, 0.5, 0.5, 0.5])
    assert task.values["position"] == pytest.approx(mark.inv().apply([0.0, 2.0, 3.0]), abs=1e-12)
    assert abs(task.values["quaternion"] @ turn.as_quat()) == pytest.approx(1.0)
    assert task.values["rpy"] == pytest.approx(turn.as_euler("xyz"), abs=1e-9)
    assert task.values["rotation"] == pytest.approx(turn.as_matrix().ravel(), abs=1e-12)


def test_a_joint_follows_the_target_of_its_actuator(space: World) -> None:
    """A spring and a damper, critically damped: x = g (1 - (1 + w t) exp(-w t)) with w^2 = k / I = 100."""
    signals: dict[str, Signal] = {
        "q": JointSignal("arm"),
        "w": JointSignal("arm", "velocity"),
        "a": ColumnSignal("qpos"),
    }
    task = opened(space, signals, {"target": JointAction("arm", "position", -1.0, 1.0)})
    for step in range(1, 8):
        task.advance(np.array([0.5]))
        t = 10.0 * 0.1 * step
        assert task.values["q"] == pytest.approx(0.5 * (1.0 - (1.0 + t) * np.exp(-t)), abs=1e-6)
        assert task.values["w"] == pytest.approx(0.5 * 10.0 * t * np.exp(-t), abs=1e-5)
    assert task.values["a"][-1] == task.values["q"]


def test_rotor_speeds_follow_their_commands() -> None:
    """After five time constants of 12.5 ms a rotor turns at its share of 1100 rad/s."""
    world: Any = load_spec("hover").world
    signals: dict[str, Signal] = {
        "speeds": VehicleSignal("drone"),
        "command": VehicleSignal("drone", "command"),
        "one": ColumnSignal("rotor_speed", "drone/rotor1"),
    }
    task = opened(world, signals, {"motors": VehicleAction("drone", "command", 0.0, 1.0)})
    task.advance(np.array([0.2, 0.4, 0.6, 0.8]))
    assert task.values["command"].tolist() == [0.2, 0.4, 0.6, 0.8]
    assert task.values["speeds"] == pytest.approx(1100.0 * np.array([0.2, 0.4, 0.6, 0.8]), rel=1e-3)
    assert task.values["one"] == task.values["speeds"][1]


@pytest.mark.parametrize(
    ("action", "reason"),
    [
        (BodyAction("post", "force", -1.0, 1.0), "no force moves it"),
        (BodyAction("box", "push", -1.0, 1.0), "found 'push'; allowed: force, torque, wrench"),
        (JointAction("box", "effort", -1.0, 1.0), "has no effort along an axis"),
        (JointAction("arm", "velocity", -1.0, 1.0), r"has no velocity actuator \(it has: position\)"),
        (VehicleAction("dron", "command", 0.0, 1.0), "no vehicle 'dron'"),
    ],
)
def test_an_action_that_the_world_cannot_take_is_refused(action: Action, reason: str) -> None:
    post = "  - {name: post, geometry: [{sphere: 0.1}], pose: {position: [5, 0, 0]}}\nactuators:"
    with pytest.raises(WorldError, match=reason):
        opened(loads(SPACE.replace("actuators:", post)), {"q": JointSignal("arm")}, {"it": action})


def test_a_lidar_is_observed_whole() -> None:
    world = load("lidar_room")
    lidar = next((each.name for each in world.sensors if each.type == "lidar_2d"), None)
    if lidar is None:
        pytest.skip("the world has none any more")
    task = GymTask(
        Spec(world, 10.0, {"push": _any_action(world)}, {"scan": 50.0}, {"one": "1"}, {"scan": SensorSignal(lidar)})
    )
    task.begin(np.random.default_rng(0))
    assert task.observation().shape == (task.values["scan"].size,)


def _any_action(world: World) -> Action:
    return BodyAction(next(body.name for body in world.bodies if body.type.parts), "force", -1.0, 1.0)
