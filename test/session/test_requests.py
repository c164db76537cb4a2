"""Requests to a run, as simulators answer them: entities, filters, states, steps, and what changes the world."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import psutil
import pytest
from claims import free_instance
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from nightly import only
from scipy.optimize import minimize
from scipy.spatial.transform import Rotation
from waiting import PATIENCE

from sim_node import Loop, Simulation, loads
from sim_node.autopilots.lockstep.px4 import FIRST_PORT as PX4_PORT
from sim_node.autopilots.vehicle_co_simulator import attach_autopilots
from sim_node.mavlink.instances import AutopilotInstances
from sim_node.messages.odometry import odometry_topics
from sim_node.session.entities import Category, Filters, Rejected
from sim_node.session.entity_bounds import Region
from sim_node.session.entity_requests import EntityRequests
from sim_node.session.graph_names import graph_names
from sim_node.session.requests import RequestContext
from sim_node.session.resources import Resources, uri_of
from sim_node.session.run_requests import RunRequests, RunState
from sim_node.session.structure_requests import StructureRequests
from sim_node.world import World

YARD = """
world: yard
origin: {latitude: 47, longitude: 8, altitude: 500}
time: {step: 0.004}
physics: {gravity: [0, 0, 0]}
bodies:
  - {name: floor, geometry: [{plane: true}]}
  - {name: crate, joint: free, pose: {position: [1, 2, 3]}, geometry: [{box: [2, 4, 6], mass: 3}]}
  - {name: bench, pose: {position: [9, 0, 0]}, geometry: [{box: [1, 1, 1], mass: 3}]}
  - {name: bench/ball, parent: bench, joint: free, pose: {position: [0, 0, 1]}, geometry: [{sphere: 0.1, mass: 1}]}
  - {name: bench/door, parent: bench, joint: {type: hinge, axis: [0, 0, 1]}, geometry: [{box: [1, 0.1, 1], mass: 1}]}
frames:
  - {name: pad, pose: {position: [4, 5, 0], rpy_deg: [0, 0, 90]}, size: [2, 3, 1], tags: [landing]}
motions:
  - frame: shuttle/base_link
    keyframes: [{t: 0, position: [0, 0, 0]}, {t: 10, position: [20, 0, 0]}]
"""
BOX = "world: box\nbodies:\n  - {name: body, joint: free, geometry: [{box: [0.2, 0.2, 0.2], mass: 1}]}\n"
UNTURNED = (0.0, 0.0, 0.0, 1.0)


class Run(SimpleNamespace):
    """A run that is not started, with what answers requests to it."""

    simulation: Simulation
    loop: Loop
    entities: EntityRequests
    structure: StructureRequests
    run: RunRequests
    requests: RequestContext
    quits: list[bool]


def run_of(world: str, *, prefix: str = "", folder: Path | None = None) -> Run:
    simulation = Simulation(loads(world))
    loop = Loop(simulation, (), paused=True)
    entities = EntityRequests(loop, prefix)
    resources = Resources(simulation.world, [folder] if folder else [])
    structure = StructureRequests(loop, entities, resources, AutopilotInstances(lambda line: None, bridged=False))
    quits: list[bool] = []
    run = RunRequests(loop, entities, despawn=structure.despawn, seed=lambda: 0, quit=lambda: quits.append(True))
    requests = RequestContext(entities, run, structure, loop)
    return Run(**vars(requests), simulation=simulation, requests=requests, quits=quits)


@pytest.fixture
def yard() -> Iterator[Run]:
    run = run_of(YARD)
    yield run
    run.loop.stop()


def rejected(act: Callable[[], object]) -> str:
    with pytest.raises(Rejected) as rejection:
        act()
    return f"{rejection.value.code}: {rejection.value}"


def test_what_counts_as_an_entity(yard: Run) -> None:
    found = {name: yard.entities.info(name) for name in yard.entities.names(Filters())}
    assert {name: info.category for name, info in found.items()} == {
        "floor": Category.STATIC_OBJECT,
        "crate": Category.DYNAMIC_OBJECT,
        "bench": Category.DYNAMIC_OBJECT,  # its door turns
        "bench/ball": Category.DYNAMIC_OBJECT,
        "shuttle": Category.DYNAMIC_OBJECT,
    }
    assert found["shuttle"].tags == ("keyframes",)
    assert rejected(lambda: yard.entities.info("crat")) == "NOT_FOUND: no entity 'crat'; did you mean crate?"


def test_vehicles_and_models_are_robots() -> None:
    world = "world: w\nvehicles: [{name: drone, model: iris, sensors: false}]\ninclude:\n  - {file: 'package://sim_node/config/models/"
    run = run_of(world + "arm.urdf', prefix: arm, pose: {position: [3, 0, 0]}}\n")
    assert run.entities.names(Filters(categories=(Category.ROBOT,))) == ["arm", "drone"]
    assert run.entities.names(Filters(tags=("model", "multirotor"))) == ["arm", "drone"]
    assert run.entities.names(Filters(tags=("model", "multirotor"), all_tags=True)) == []
    assert run.entities.names(Filters(expression="^a", tags=("model",))) == ["arm"]
    run.loop.stop()


def test_filters_by_name_and_region(yard: Run) -> None:
    names = yard.entities.names
    assert names(Filters("^bench(/|$)")) == ["bench", "bench/ball"]
    assert rejected(lambda: names(Filters("("))).startswith("OPERATION_FAILED: filter '(': at character 1")
    # The crate spans 0..2, 0..4, 0..6; a plane has no bounds and is everywhere.
    assert names(Filters(bounds=(3, [(3, 2, 3), (0.99, 0, 0)]))) == ["floor"]
    assert names(Filters(bounds=(3, [(3, 2, 3), (1.01, 0, 0)]))) == ["floor", "crate"]
    assert names(Filters(bounds=(1, [(3, 5, 7), (1.9, 3.9, 5.9)]))) == ["floor", "crate"]
    assert names(Filters(bounds=(2, [(3, 0, 0), (3, 4, 0), (1.9, 2, 0)]))) == ["floor", "crate"]
    assert names(Filters(bounds=(2, [(3, 0, 0), (3, 4, 0), (2.1, 2, 0)]))) == ["floor"]
    assert rejected(lambda: names(Filters(bounds=(3, [(0, 0, 0)])))).startswith("OPERATION_FAILED: bounds.points: 1")
    assert rejected(lambda: names(Filters(bounds=(9, [])))).startswith("FEATURE_UNSUPPORTED: bounds.type: 9")


vectors = st.tuples(st.floats(-3, 3), st.floats(-3, 3), st.floats(-3, 3)).map(np.array)


@given(vectors, vectors, vectors, st.lists(vectors, min_size=4, max_size=6))
def test_a_hull_overlaps_a_box(place: np.ndarray, turn: np.ndarray, size: np.ndarray, points: list[np.ndarray]) -> None:
    """Their distance by a general minimiser over weights of the points and a point of the box."""
    half, rotation = np.abs(size) + 0.1, Rotation.from_rotvec(turn)
    local = rotation.inv().apply(np.array(points) - place)

    def gap(x: np.ndarray) -> float:
        return float(np.sum((x[3:] @ local - x[:3]) ** 2))

    count = len(points)
    found = minimize(
        gap,
        np.concatenate([np.zeros(3), np.full(count, 1.0 / count)]),
        bounds=[*zip(-half, half, strict=True), *[(0.0, 1.0)] * count],
        constraints={"type": "eq", "fun": lambda x: x[3:].sum() - 1.0},
    )
    if 1e-7 < found.fun < 1e-3:
        return  # too near to call
    pose = np.concatenate([place, rotation.as_quat()])
    assert Region(2, [tuple(point) for point in points]).overlaps(pose, half) == (found.fun <= 1e-7)


def test_states_are_in_the_fixed_frame(yard: Run) -> None:
    yard.simulation.bodies["crate"].twist = [0.5, 0, 0, 0, 0, 1.0]
    # In the order of the world; the floor has no bounds, so that it is within any.
    names, states, _ = yard.entities.states(Filters(bounds=(1, [(3, 5, 7), (1.9, 3.9, 5.9)])))
    assert names == ["floor", "crate"]
    np.testing.assert_allclose(states.pose[:, :3], [[0, 0, 0], [1, 2, 3]], atol=1e-12)
    names, states, time_ns = yard.entities.states(Filters("crate|shuttle"))
    assert (names, time_ns) == (["shuttle", "crate"], 0)
    expected = np.array([[0, 0, 0, *UNTURNED], [1, 2, 3, *UNTURNED]], dtype=float)
    np.testing.assert_allclose(states.pose, expected, rtol=0, atol=1e-12)
    moving = np.array([[2, 0, 0, 0, 0, 0], [0.5, 0, 0, 0, 0, 1.0]])
    np.testing.assert_allclose(states.twist, moving, rtol=0, atol=1e-9)
    found = yard.entities.bounds("crate")
    assert found is not None
    np.testing.assert_allclose(np.array(found), [[1, 2, 3], [-1, -2, -3]], atol=1e-12)
    assert yard.entities.bounds("floor") is None


def test_a_state_is_set_in_a_moving_frame(yard: Run) -> None:
    """On the shuttle, 2 m ahead of it at its speed of 2 m/s, and 1 m/s to its left."""
    yard.simulation.run(1.0)
    yard.entities.set_state("crate", "shuttle/base_link", ((2, 0, 0), UNTURNED), (0, 1, 0, 0, 0, 0))
    states, _ = yard.entities.state("crate")
    np.testing.assert_allclose(states.pose[0], [4, 0, 0, *UNTURNED], atol=1e-9)
    np.testing.assert_allclose(states.twist[0], [2, 1, 0, 0, 0, 0], atol=1e-6)
    yard.entities.set_state("bench/ball", "pad", ((1, 0, 0), UNTURNED), (0,) * 6)
    np.testing.assert_allclose(yard.entities.state("bench/ball")[0].pose[0, :3], [4, 6, 0], atol=1e-12)


def test_states_that_cannot_be_set(yard: Run) -> None:
    def setting(name: str, pose: Any = ((0, 0, 0), UNTURNED), twist: Any = (0,) * 6, frame: str = "") -> str:
        before = yard.simulation.snapshot().poses
        message = rejected(lambda: yard.entities.set_state(name, frame, pose, twist))
        np.testing.assert_array_equal(yard.simulation.snapshot().poses, before)
        return message

    assert setting("nobody").startswith("NOT_FOUND")
    assert setting("crate", ((0, 0, 0), (0, 0, 0, 0))).startswith("INVALID_POSE")
    assert setting("crate", ((float("nan"), 0, 0), UNTURNED)).startswith("INVALID_POSE")
    assert setting("crate", ((1e13, 0, 0), UNTURNED)).startswith("INVALID_POSE")
    assert setting("crate", frame="pda") == "INVALID_POSE: no frame or entity 'pda'; did you mean pad?"
    assert setting("floor", twist=(1, 0, 0, 0, 0, 0)).startswith("OPERATION_FAILED: 'floor' is static")
    assert setting("shuttle").startswith("OPERATION_FAILED")
    yard.entities.set_state("bench", "", ((5, 0, 0), UNTURNED), (0,) * 6)
    np.testing.assert_allclose(yard.entities.state("bench")[0].pose[0, :3], [5, 0, 0], atol=1e-12)


@pytest.mark.parametrize(
    ("twist", "message"),
    [
        ([1e308, 0, 0, 0, 0, 0], r"twist .* out of range; allowed: -1e\+09 to 1e\+09"),
        ([0, 0, 0, 1e8, 1e8, 1e8], r"'crate': not finite any more"),
    ],
)
def test_a_twist_that_no_step_survives_is_undone(twist: list[float], message: str, yard: Run) -> None:
    before = yard.simulation.state
    with pytest.raises(Rejected, match=message) as refusal:
        yard.entities.set_state("crate", "", ((1, 2, 3), UNTURNED), twist)
    assert refusal.value.code == "OPERATION_FAILED"
    with pytest.raises(Rejected, match=message):
        yard.requests.ask("set", what=["crate"], twist=twist)
    assert yard.simulation.state == before
    yard.loop.step(10)
    assert np.isfinite(yard.simulation.snapshot().poses).all()


@given(
    position=st.tuples(*[st.floats(-50.0, 50.0)] * 3),
    rpy=st.tuples(st.floats(-3.1, 3.1), st.floats(-1.5, 1.5), st.floats(-3.1, 3.1)),
    twist=st.lists(st.floats(-5.0, 5.0), min_size=6, max_size=6),
)
@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_poses_and_twists_of_requests_may_be_in_ned(
    yard: Run, position: tuple[float, ...], rpy: tuple[float, ...], twist: list[float]
) -> None:
    """The quaternion of FRD in NED is NED's matrix in ENU, times the attitude, times FLU's matrix in FRD."""
    swap, flip = np.array([[0, 1, 0], [1, 0, 0], [0, 0, -1.0]]), np.diag([1.0, -1.0, -1.0])
    attitude = Rotation.from_euler("ZYX", rpy[::-1])
    pose = [*position, *attitude.as_quat()]
    yard.requests.ask("set", what=["crate"], pose=pose, twist=twist, convention="NED")
    handle = yard.simulation.bodies["crate"]
    np.testing.assert_allclose(handle.pose[:3], swap @ position, atol=1e-9)
    np.testing.assert_allclose(
        Rotation.from_quat(handle.pose[3:]).as_matrix(), swap @ attitude.as_matrix() @ flip, atol=1e-9
    )
    np.testing.assert_allclose(handle.twist, [*(swap @ twist[:3]), *(swap @ twist[3:])], atol=1e-9)


def test_information_that_is_set_is_filtered_by(yard: Run) -> None:
    yard.entities.set_info("crate", Category.HUMAN, "a person", ["person"])
    assert yard.entities.names(Filters(categories=(2,), tags=("person",))) == ["crate"]
    assert rejected(lambda: yard.entities.set_info("crate", 3, "", [])).startswith("OPERATION_FAILED: category 3")
    yard.run.reset(0)
    assert yard.entities.info("crate").category == Category.DYNAMIC_OBJECT


def test_named_poses(yard: Run) -> None:
    [pad] = yard.entities.named_poses()
    assert (pad.name, pad.description, pad.tags) == ("pad", "frame pad", ("frame", "landing"))
    assert pad.size is not None
    assert pad.size.tolist() == [2, 3, 1]
    assert [each.name for each in yard.entities.named_poses(["landing"])] == ["pad"]
    np.testing.assert_allclose(pad.pose, [4, 5, 0, 0, 0, np.sqrt(0.5), np.sqrt(0.5)], atol=1e-12)
    assert yard.entities.named_poses(["parking"]) == []


def test_states_of_the_run(yard: Run) -> None:
    run = yard.run
    assert run.state() == RunState.STOPPED
    assert rejected(lambda: run.set_state(RunState.STOPPED)).startswith("ALREADY_IN_TARGET_STATE")
    run.set_state(RunState.PAUSED)  # without a step: 103 of the standard contradicts its SimulationState
    assert run.state() == RunState.PAUSED
    run.set_state(RunState.PLAYING)
    assert run.state() == RunState.PLAYING
    assert rejected(run.check_paused).startswith("OPERATION_FAILED")
    run.set_state(RunState.PAUSED)
    for part in run.stepping(7):
        done = part()
    assert (done, yard.simulation.steps) == (7, 7)
    run.set_state(RunState.STOPPED)
    assert (run.state(), yard.simulation.steps) == (RunState.STOPPED, 0)
    assert rejected(lambda: run.set_state(RunState.NO_WORLD)).startswith("INCORRECT_TRANSITION")
    assert rejected(lambda: run.set_state(17)).startswith("FEATURE_UNSUPPORTED")
    run.set_state(RunState.QUITTING)
    assert (run.state(), yard.quits) == (RunState.QUITTING, [True])


def test_all_goals_together_have_few_steps_between_two_calls(yard: Run) -> None:
    """Each of three goals had 500: other calls waited for 1500, a second on a busy machine."""
    goals = [yard.run.stepping(10**12) for _ in range(3)]
    parts = [next(goal) for goal in goals]
    for part in parts:
        part()
    assert yard.simulation.steps == 99
    for goal in goals[1:]:
        goal.close()
    assert next(goals[0])() == 133


def test_what_is_spawned_starts_at_its_pose(yard: Run) -> None:
    assert yard.structure.spawn("box1", text=BOX, frame="pad", pose=((1, 0, 2), UNTURNED)) == "box1"
    states, _ = yard.entities.state("box1")
    np.testing.assert_allclose(states.pose[0], [4, 6, 2, 0, 0, np.sqrt(0.5), np.sqrt(0.5)], atol=1e-12)
    assert yard.entities.info("box1").tags == ("spawned", "body")

    def again(*, allow_renaming: bool = False) -> str:
        pose = (7, 7, 7), UNTURNED
        return yard.structure.spawn("box1", text=BOX, pose=pose, allow_renaming=allow_renaming)

    assert rejected(again).startswith("NAME_NOT_UNIQUE")
    assert again(allow_renaming=True) == "box1_1"
    assert yard.structure.spawn("", text=BOX, namespace="/lab/", pose=((9, 9, 9), UNTURNED)) == "lab/box"
    assert yard.structure.spawn("d", uri="iris", pose=((0, 9, 9), UNTURNED)) == "d"
    assert yard.entities.info("d").category == Category.ROBOT
    assert [frame for frame in yard.simulation.frames.names if frame.startswith("d/")][:2] == [
        "d/base_link",
        "d/rotor_0",
    ]
    yard.structure.delete("box1")
    assert rejected(lambda: yard.structure.delete("box1")).startswith("NOT_FOUND")
    yard.structure.delete("bench/ball")
    yard.run.reset(4)
    assert sorted(yard.entities.names(Filters())) == ["bench", "crate", "floor", "shuttle"]
    yard.run.reset(255)
    assert yard.entities.names(Filters("ball")) == ["bench/ball"]


def test_a_reset_of_time_and_state_keeps_what_was_spawned(yard: Run) -> None:
    yard.structure.spawn("box1", text=BOX, pose=((5, 5, 5), UNTURNED))
    yard.entities.set_state("box1", "", ((0, 0, 9), UNTURNED), (1, 0, 0, 0, 0, 0))
    yard.loop.step(5)
    yard.run.reset(3)
    assert yard.simulation.steps == 0
    np.testing.assert_allclose(yard.entities.state("box1")[0].pose[0, :3], [5, 5, 5], atol=1e-12)
    assert rejected(lambda: yard.run.reset(8)).startswith("FEATURE_UNSUPPORTED: scope 8 is not defined")


def test_time_and_state_are_reset_each_on_its_own(yard: Run) -> None:
    yard.structure.spawn("box1", text=BOX, pose=((5, 5, 50), UNTURNED))
    yard.entities.set_state("box1", "", ((0, 0, 90), UNTURNED), (0,) * 6)
    yard.loop.step(10)
    fallen = yard.entities.state("box1")[0]
    yard.run.reset(1)
    assert yard.simulation.steps == 0
    assert np.array_equal(yard.entities.state("box1")[0].pose, fallen.pose)
    assert np.array_equal(yard.entities.state("box1")[0].twist, fallen.twist)
    assert yard.run.state() == RunState.STOPPED
    yard.loop.step(10)
    yard.run.reset(2)
    assert yard.simulation.steps == 10
    np.testing.assert_allclose(yard.entities.state("box1")[0].pose[0, :3], [5, 5, 50], atol=1e-12)
    yard.run.reset(6)
    assert yard.simulation.steps == 10
    assert "box1" not in yard.entities.names(Filters())
    yard.run.reset(5)
    assert yard.simulation.steps == 0


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({"name": "x", "uri": "/etc/passwd"}, "NOT_FOUND"),
        ({"name": "x", "uri": "file:///etc/passwd"}, "NOT_FOUND"),
        ({"name": "x", "uri": "../../../../etc/passwd"}, "NOT_FOUND"),
        ({"name": "x", "uri": "package://sim_node/../../etc/passwd"}, "NOT_FOUND"),
        ({"name": "x", "uri": "https://example.org/box.yaml"}, "NOT_FOUND"),
        ({"name": "x", "uri": "a\0b.yaml"}, "NOT_FOUND"),
        ({"name": "x", "text": "world: w\ninclude: [/etc/passwd]"}, "MISSING_ASSETS"),
        ({"name": "x", "text": "<mujoco><include file='/etc/passwd'/></mujoco>"}, "MISSING_ASSETS"),
        ({"name": "x", "text": "<svg version='1.1'/>"}, "UNSUPPORTED_FORMAT"),
        ({"name": "x", "uri": "package://sim_node/config/python/ball.py"}, "UNSUPPORTED_FORMAT"),
        ({"name": "x", "text": "world: ["}, "RESOURCE_PARSE_ERROR"),
        ({"name": "x"}, "NO_RESOURCE"),
        ({"name": "9 x", "text": BOX}, "NAME_INVALID"),
        ({"name": "", "text": "world: '9'\n"}, "NAME_INVALID"),
        ({"name": "x", "text": BOX, "namespace": "a b"}, "NAMESPACE_INVALID"),
        ({"name": "x", "text": BOX, "pose": ((0, 0, 0), (0, 0, 0, 0))}, "INVALID_POSE"),
        ({"name": "x", "text": BOX, "frame": "nowhere"}, "INVALID_POSE"),
        ({"name": "crate", "text": BOX}, "NAME_NOT_UNIQUE"),
    ],
)
def test_what_is_not_spawned(given: dict[str, Any], code: str, yard: Run) -> None:
    before = yard.simulation.world
    assert rejected(lambda: yard.structure.spawn(**given)).startswith(f"{code}: ")
    assert yard.simulation.world is before


def test_a_file_is_read_below_allowed_folders_only(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    for folder in (tmp_path, tmp_path / "in"):
        (folder / "box.yaml").write_text(BOX)
    (tmp_path / "in" / "link.yaml").symlink_to(tmp_path / "box.yaml")
    run = run_of(YARD, folder=tmp_path / "in")
    assert run.structure.spawn("a", uri=str(tmp_path / "in" / "box.yaml")) == "a"
    assert run.structure.spawn("b", uri="box.yaml", pose=((9, 9, 9), UNTURNED)) == "b"
    for outside in (tmp_path / "box.yaml", tmp_path / "in" / "link.yaml"):
        message = rejected(lambda outside=outside: run.structure.spawn("c", uri=str(outside)))  # type: ignore[misc]
        assert message.startswith("NOT_FOUND")
        assert "outside the folders" in message
    listed, unknown = run.structure.resources.spawnables(["/etc", str(tmp_path / "in")])
    assert unknown == ["/etc"]
    assert {"iris", "arm", "box"} <= {each.name for each in listed}
    run.loop.stop()


def test_worlds_are_loaded_and_unloaded(yard: Run) -> None:
    yard.run.set_state(RunState.PAUSED)
    assert yard.structure.current() == ("yard", "")
    uri = "package://sim_node/config/worlds/double_pendulum.yaml"
    assert yard.structure.load(yard.run, uri, "") == ("double_pendulum", uri)
    assert (yard.run.state(), yard.simulation.time_ns) == (RunState.STOPPED, 0)
    assert yard.entities.names(Filters()) == ["upper"]
    assert yard.simulation.world.time.step_ns != 4_000_000
    yard.loop.step(1)
    yard.run.reset(0)
    assert uri_of(yard.simulation.world) == uri
    assert rejected(lambda: yard.structure.load(yard.run, "no_such", "")).startswith("NOT_FOUND")
    yard.structure.unload(yard.run)
    assert yard.run.state() == RunState.NO_WORLD
    assert yard.entities.names(Filters()) == []
    assert rejected(lambda: yard.structure.unload(yard.run)).startswith("NO_WORLD_LOADED")
    assert rejected(lambda: yard.run.set_state(RunState.PLAYING)).startswith("INCORRECT_STATE")
    assert yard.structure.load(yard.run, "", YARD)[0] == "yard"
    assert yard.run.state() == RunState.STOPPED


FLOWN = """
world: flown
origin: {{latitude: 47, longitude: 8, altitude: 500}}
time: {{step: 0.004}}
bodies: [{{name: ground, geometry: [{{plane: true}}]}}]
vehicles:
  - {{name: a, model: iris, pose: {{position: [0, 0, 0.13]}}, autopilot: {{type: mavlink_builtin, instance: {own}}}}}
  - {{name: b, model: iris, pose: {{position: [3, 0, 0.13]}}, autopilot: {{type: px4, instance: {other}}}}}
"""


@pytest.mark.parametrize("what", only(["load", "unload", "delete"], 0))
def test_autopilots_end_with_the_world_that_has_them(what: str) -> None:
    """The process of the built-in one and the port of PX4 are gone; the run goes on, and takes another world."""
    own, other = free_instance(), free_instance()
    run = run_of(FLOWN.format(own=own, other=other))
    before = psutil.Process().children()  # of tests before
    attached = attach_autopilots(run.simulation)
    connections = list(attached)
    run.loop.step(5)
    assert attached[0].wait.answered
    assert [is_open(PX4_PORT + each) for each in (own, other)] == [True, True]
    children = [each for each in psutil.Process().children() if each not in before]
    assert len(children) == 1
    if what == "load":
        run.structure.load(run.run, "", YARD)
    elif what == "unload":
        run.structure.unload(run.run)
    else:
        run.structure.delete("a")
        run.structure.delete("b")
    assert [each.is_closed for each in connections] == [True, True]
    assert [is_open(PX4_PORT + each) for each in (own, other)] == [False, False]
    assert psutil.wait_procs(children, PATIENCE)[1] == []
    if what != "load":
        run.loop.step(5)
        refusal = rejected(lambda: run.structure.load(run.run, "guided", ""))
        assert refusal == "OPERATION_FAILED: worlds with autopilots are run from the start; name it to `run`"
    run.structure.load(run.run, "", YARD)
    run.loop.step(5)
    assert run.simulation.world.name == "yard"
    run.loop.stop()
    run.simulation.close()


def is_open(port: int) -> bool:
    """Whether something listens on a TCP port of this machine."""
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@pytest.mark.parametrize("what", ["load", "spawn"])
def test_a_large_world_is_prepared_while_the_run_goes_on(what: str, yard: Run) -> None:
    """Requests are answered, and ticks come, between the begin of a preparation and its end."""
    ticks: list[int] = []
    seen: list[RunState] = []
    yard.loop.start()
    text = "world: big\nframes:\n" + "".join(
        f"  - {{name: f{k}, pose: {{position: [{k}, 0, 1]}}}}\n" for k in range(300)
    )
    prepare = yard.simulation.prepare_load if what == "load" else yard.simulation.prepare

    def slowly(world: World) -> Any:
        """Make requests from another thread in the middle of a preparation."""
        assert threading.current_thread() is threading.main_thread()  # not that of the loop
        seen.append(yard.run.state())
        yard.loop.step(2)
        ticks.append(yard.simulation.steps)
        return prepare(world)

    setattr(yard.simulation, prepare.__name__, slowly)
    if what == "load":
        assert yard.structure.load(yard.run, "", text)[0] == "big"
        assert seen == [RunState.LOADING_WORLD]
    else:
        assert yard.structure.spawn("big", text=text) == "big"
        assert "big" in yard.entities.names(Filters())
    assert ticks == [2]
    assert "f299" in yard.simulation.frames.names or "big/f299" in yard.simulation.frames.names


def test_a_change_that_comes_first_lets_a_preparation_begin_again(yard: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    prepare, worlds = yard.simulation.prepare, []

    def overtaken(world: World) -> Any:
        prepared = prepare(world)
        worlds.append(world)
        if len(worlds) == 1:
            yard.loop.remove("crate")
        return prepared

    monkeypatch.setattr(yard.simulation, "prepare", overtaken)
    yard.structure.spawn("box1", text=BOX)
    names = yard.entities.names(Filters())
    assert "box1" in names
    assert "crate" not in names


def test_attach_and_detach(yard: Run) -> None:
    yard.structure.spawn("box1", text=BOX, pose=((1, 2, 7), UNTURNED))
    yard.requests.ask("attach", name="box1", parent="crate")
    assert yard.simulation.frames.lookup(yard.simulation.snapshot().poses, "crate", "box1/body")[2] == pytest.approx(4)
    yard.requests.ask("detach", name="box1")
    assert yard.entities.info("box1").tags == ("spawned", "body")
    assert rejected(lambda: yard.requests.ask("attach", name="shuttle", parent="crate")).startswith("OPERATION_FAILED")
    yard.requests.ask("set", what=["bench/door=0.5"])
    assert yard.simulation.joints["bench/door"].position[0] == pytest.approx(0.5)
    assert rejected(lambda: yard.requests.ask("set", what=["bench/dor=0.5"])).startswith("OPERATION_FAILED")


def test_a_loaded_world_runs_as_if_it_had_been_the_first() -> None:
    """Another time grid, fixed frame and seed of sensors: the same bytes as a run of its own."""
    simulation, fresh = Simulation(loads(YARD), seed=3), Simulation("double_pendulum", seed=3)
    simulation.run(0.1)
    simulation.load("double_pendulum")
    for each in (simulation, fresh):
        each.run(0.5)
    assert simulation.time_ns == fresh.time_ns
    ours, theirs = simulation.state, fresh.state
    assert ours.columns.keys() == theirs.columns.keys()
    for name, column in ours.columns.items():
        np.testing.assert_array_equal(column, theirs.columns[name])


def test_a_name_of_an_entity_is_a_frame_of_reference(yard: Run) -> None:
    """What is spawned has no frame of its own name: its canonical link stands for it."""
    yard.structure.spawn("box1", text=BOX, pose=((1, 2, 7), UNTURNED))
    yard.structure.spawn("box2", text=BOX, frame="box1", pose=((0, 0, 2), UNTURNED))
    np.testing.assert_allclose(yard.entities.state("box2")[0].pose[0, :3], [1, 2, 9], atol=1e-12)
    yard.entities.set_state("box2", "box1", ((0, 3, 0), UNTURNED), (0,) * 6)
    np.testing.assert_allclose(yard.entities.state("box2")[0].pose[0, :3], [1, 5, 7], atol=1e-12)
    message = rejected(lambda: yard.structure.spawn("x", text=BOX, frame="box3"))
    assert message == "INVALID_POSE: no frame or entity 'box3'; did you mean box1?"


def test_pose_and_twist_are_set_each_on_its_own(yard: Run) -> None:
    """As the flags of simulation_interfaces 2 ask for it; what is not asked for stays."""
    yard.entities.set_state("crate", "", ((1, 2, 3), UNTURNED), (1, 0, 0, 0, 0, 0))
    yard.entities.set_state("crate", "", ((7, 8, 9), UNTURNED), None)
    state = yard.entities.state("crate")[0]
    np.testing.assert_allclose(state.pose[0, :3], [7, 8, 9], atol=1e-12)
    np.testing.assert_allclose(state.twist[0], [1, 0, 0, 0, 0, 0], atol=1e-12)
    # The pad is turned by 90 degrees: its x axis is the fixed frame's y axis.
    yard.entities.set_state("crate", "pad", None, (2, 0, 0, 0, 0, 0))
    state = yard.entities.state("crate")[0]
    np.testing.assert_allclose(state.pose[0, :3], [7, 8, 9], atol=1e-12)
    np.testing.assert_allclose(state.twist[0], [0, 2, 0, 0, 0, 0], atol=1e-12)
    yard.entities.set_state("bench", "", None, None)
    assert rejected(lambda: yard.entities.set_state("bench", "", None, (1, 0, 0, 0, 0, 0))).startswith("OPERATION")


def lamp(root: str = "foot", more: str = "") -> str:
    """A URDF model whose root link is fixed to another one, which has the mass."""
    inertia = "<inertia ixx='1' iyy='1' izz='1' ixy='0' ixz='0' iyz='0'/>"
    return (
        f"<robot name='lamp'>{more}<link name='{root}'/><link name='shade'><inertial><mass value='1'/>{inertia}"
        f"</inertial></link><joint name='j' type='fixed'><parent link='{root}'/><child link='shade'/></joint></robot>"
    )


FIELD = "world: field\ntime: {step: 0.01}\nphysics: {gravity: [0, 0, -10], timestep: 0.01}\n"
STATIC = "<gazebo><static>true</static></gazebo>"


def test_a_urdf_model_that_is_spawned_falls(tmp_path: Path) -> None:
    """As in Gazebo: s = g t^2 / 2, unless it is fixed to the world or static. A world that it is stays what it was."""
    (tmp_path / "lamp.urdf").write_text(lamp())
    (tmp_path / "shop.yaml").write_text("world: shop\ninclude: [lamp.urdf]\n")
    run = run_of(FIELD, folder=tmp_path)

    def height(name: str) -> float:
        return float(run.entities.state(name)[0].pose[0, 2])

    at = ((0.0, 0.0, 9.0), UNTURNED)
    models: dict[str, dict[str, Any]] = {
        "file": {"uri": "lamp.urdf"},
        "text": {"text": lamp()},
        "reference": {"text": lamp(more="<gazebo reference='foot'><static>true</static></gazebo>")},
        "static": {"uri": "lamp.urdf", "static": True},
        "gazebo": {"text": lamp(more=STATIC)},
        "rooted": {"text": lamp("world")},
        "shop": {"uri": "shop.yaml"},
    }
    for name, what in models.items():
        run.structure.spawn(name, pose=at, **what)
    run.loop.step(100)
    for name in ("file", "text", "reference"):
        assert height(name) == pytest.approx(9.0 - 5.0, abs=0.06)
        assert run.entities.info(name).category == Category.DYNAMIC_OBJECT
    for name in ("static", "gazebo", "rooted", "shop"):
        assert height(name) == 9.0
    bare = "<robot name='bare'><link name='foot'/></robot>"
    message = rejected(lambda: run.structure.spawn("bare", text=bare))
    assert message.startswith("RESOURCE_PARSE_ERROR: bare cannot float free: ")
    assert message.endswith("; spawn it as static to fix it in place")
    run.structure.spawn("bare", text=bare, static=True)
    run.structure.load(run.run, "lamp.urdf", "")
    run.loop.step(100)
    assert height("lamp") == 0.0
    run.loop.stop()


def test_a_base_is_named_alike_in_a_file_and_spawned() -> None:
    """The frames, and the names of the topics, of /robot are the same however it came into the world."""
    yard = "world: w\norigin: {latitude: 47, longitude: 8, altitude: 500}\ntime: {step: 0.004}\nphysics: {}\n"
    listed = loads(yard + "bases: [{name: robot, model: differential}]\n")
    run = run_of(yard)
    assert run.structure.spawn("robot", uri="differential", pose=((1, 2, 0), UNTURNED)) == "robot"
    spawned = run.simulation.world
    assert [each.name for each in odometry_topics(spawned)] == ["robot/odom"]
    assert {each.name for each in graph_names(spawned)} == {each.name for each in graph_names(listed)}
    assert set(run.simulation.frames.names) == set(Simulation(listed).frames.names)
    assert run.simulation.vehicles.keys() == {"robot"}
    np.testing.assert_allclose(run.entities.state("robot")[0].pose[0, :2], [1, 2], atol=1e-9)
    run.structure.delete("robot")
    assert run.simulation.frames.names == ("map",)
    run.loop.stop()


def test_a_base_within_a_world_that_is_spawned_keeps_its_own_name() -> None:
    run = run_of("world: w\norigin: {latitude: 47, longitude: 8, altitude: 500}\ntime: {step: 0.004}\nphysics: {}\n")
    run.structure.spawn("fleet", text="world: f\nbases: [{name: robot, model: differential}]\n")
    assert [each.name for each in odometry_topics(run.simulation.world)] == ["fleet/robot/odom"]
    run.loop.stop()


def test_shipped_things_are_spawned_by_their_names() -> None:
    run = run_of(YARD)
    for name in ("iris", "gripper", "double_pendulum"):
        assert run.structure.spawn(f"my_{name}", uri=name, pose=((0, 0, 50), UNTURNED)) == f"my_{name}"
    assert rejected(lambda: run.structure.spawn("x", uri="griper")).endswith("did you mean gripper?")
    run.loop.stop()


# Takes seconds: make test has worlds that are loaded by name and as texts.
@pytest.mark.nightly
def test_the_worlds_that_are_listed_can_be_loaded(tmp_path: Path) -> None:
    """Those that wait for an autopilot, and what is no world, are not."""
    (tmp_path / "box.yaml").write_text(BOX)
    (tmp_path / "broken.yaml").write_text("world: [")
    run = run_of(YARD, folder=tmp_path)
    listed, _ = run.structure.resources.worlds()
    names = {each.name for each in listed}
    assert {"orbit", "box"} <= names
    assert not names & {"ardupilot", "guided", "px4", "rover", "broken"}
    for each in listed:
        run.structure.resources.world(each.uri, "")
    (tmp_path / "broken.yaml").write_text(BOX + "# mended\n")
    assert "broken" in {each.name for each in run.structure.resources.worlds()[0]}
    run.loop.stop()


@pytest.mark.parametrize("uri", ["missing.yaml", "missing", "missing.sdf", "package://sim_node/config/missing.yaml"])
def test_a_file_that_does_not_exist_is_not_found(uri: str, tmp_path: Path) -> None:
    run = run_of(YARD, folder=tmp_path)
    assert rejected(lambda: run.structure.load(run.run, uri, "")).startswith("NOT_FOUND: ")
    assert rejected(lambda: run.structure.spawn("x", uri=uri)).startswith("NOT_FOUND: ")
    run.loop.stop()


def test_folders_of_models_are_spawned_and_loaded_from_within_what_may_be_read(tmp_path: Path) -> None:
    inertial = "<inertial><mass>1</mass><inertia><ixx>1</ixx><iyy>1</iyy><izz>1</izz></inertia></inertial>"
    model = f'<sdf version="1.9"><model name="box"><link name="l">{inertial}</link></model></sdf>'
    config = '<model><name>box</name><sdf version="1.9">model.sdf</sdf></model>'
    for folder in (tmp_path / "yard" / "box", tmp_path / "secret"):
        folder.mkdir(parents=True)
        (folder / "model.config").write_text(config)
        (folder / "model.sdf").write_text(model)
    linked = tmp_path / "yard" / "linked"
    linked.mkdir()
    (linked / "model.config").write_text(config)
    (linked / "model.sdf").symlink_to(tmp_path / "secret" / "model.sdf")
    run = run_of(YARD, folder=tmp_path / "yard")
    assert run.structure.spawn("x", uri="box", pose=((0, 0, 50), UNTURNED)) == "x"
    assert "x/box/l" in {body.name for body in run.loop.simulation.world.bodies}
    for outside in (str(tmp_path / "secret"), "linked"):
        assert "may read" in rejected(partial(run.structure.spawn, "y", uri=outside))
    run.structure.load(run.run, "box", "")
    assert [body.name for body in run.loop.simulation.world.bodies] == ["box/l"]
    run.loop.stop()


def test_nothing_is_spawned_where_there_is_no_world(yard: Run) -> None:
    yard.structure.unload(yard.run)
    assert rejected(lambda: yard.structure.spawn("x", text=BOX)).startswith("INCORRECT_STATE: ")
    yard.structure.load(yard.run, "", YARD)
    assert yard.structure.spawn("x", text=BOX, pose=((0, 0, 50), UNTURNED)) == "x"
