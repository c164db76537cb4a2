"""Worlds written as YAML and read again: the same, to the last bit."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from nightly import only, rows

from sim_node.assembly import assemble
from sim_node.names import fault
from sim_node.simulation import Simulation
from sim_node.world import (
    Body,
    Geometry,
    LoopClosure,
    Motion,
    Origin,
    Sensor,
    StaticFrame,
    TimeGrid,
    World,
    WorldError,
    load,
    loads,
)
from sim_node.world.bodies import Marker
from sim_node.world.bounds import MAX_STAMP_NS
from sim_node.world.forces import Force
from sim_node.world.locate import shipped_worlds
from sim_node.world.writers.yaml import to_yaml

IDENTITY = np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0])
Again = Callable[[World], World]


@pytest.fixture
def again(tmp_path: Path) -> Again:
    """Writes a world and reads it; every file may be read, as paths are absolute."""

    def read(world: World) -> World:
        path = tmp_path / "again.yaml"
        path.write_text(to_yaml(world), encoding="utf-8")
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            return load(path, allow=["/"])

    return read


@pytest.mark.parametrize(
    "name", rows(sorted({*shipped_worlds()} - {"all_joints"}), ("arm_pick", "buoys", "formation", "four_bar"))
)
def test_a_shipped_world_reads_back_as_it_was(name: str, again: Again) -> None:
    world = load(name)
    assert again(world) == world


SCENARIOS = sorted((Path(__file__).parents[2] / "config" / "scenarios").glob("*.yaml"))


@pytest.mark.parametrize("path", only(SCENARIOS, 0, 3), ids=lambda path: path.stem)
def test_a_shipped_scenario_reads_back_as_it_was(path: Path, again: Again) -> None:
    world = load(path)
    assert again(world) == world


def test_a_world_read_back_runs_as_it_did(again: Again) -> None:
    one, other = Simulation(load("quadrotor"), 3), Simulation(again(load("quadrotor")), 3)
    for simulation in (one, other):
        simulation.step(500)
    assert one.snapshot().poses.tobytes() == other.snapshot().poses.tobytes()
    assert one.snapshot().poses[one.frames.index("drone/base_link"), 2] > 0.2, "it flies"


def test_what_has_no_words_is_refused() -> None:
    with pytest.raises(WorldError) as refused:
        to_yaml(load("all_joints"))
    assert [(problem.key, problem.message) for problem in refused.value.problems] == [
        ("bodies[13].draws_axes", "a world file cannot express draws_axes"),
        ("bodies[14].draws_axes", "a world file cannot express draws_axes"),
        ("bodies[15].marker", "a world file cannot express marker"),
        ("bodies[15].draws_axes", "a world file cannot express draws_axes"),
        ("bodies[16].geometry[0].edge_colour", "a world file cannot express edge_colour"),
        ("bodies[16].position_range", "a world file cannot express position_range"),
    ]


class Thruster(Force):
    pass


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ({"forces": (Thruster("a"),)}, "forces: a world file cannot express forces"),
        (
            {"bodies": (Body("a", "map", marker=Marker("omc", 1)),)},
            r"bodies\[0\]\.marker: a world file cannot express marker",
        ),
        ({"origin": Origin(91, 0, 0)}, "origin.latitude: 91 is out of range"),
    ],
)
def test_what_has_no_words_or_is_not_sound_is_named(parts: dict[str, Any], expected: str) -> None:
    with pytest.raises(WorldError, match=expected):
        to_yaml(World("w", **parts))


def test_an_assembled_world_with_loops_reads_back_and_runs_as_it_did(again: Again) -> None:
    """Also one with joints that turn about other points than their bodies' origins."""
    for name in ("four_bar", "clock"):
        world = assemble(load(name))
        back = again(world)
        assert back.loop_closures == world.loop_closures
        assert back.contact_exclusions == world.contact_exclusions != ()
        assert back.bodies == world.bodies
        one, other = Simulation(world), Simulation(back)
        for simulation in (one, other):
            simulation.step(200)
        assert one.snapshot().poses == pytest.approx(other.snapshot().poses, abs=1e-9)


def test_distances_of_loops_read_back(again: Again) -> None:
    bodies = (Body("a", "map", "free"), Body("b", "map", "free"))
    ends = np.array([[0.1, 0.2, 0.3, 0.0, 0.6, 0.0, 0.8], IDENTITY])
    world = World("w", bodies=bodies, loop_closures=(LoopClosure("l", "distance", ("a", "b"), ends, 0.5, 0.25),))
    assert again(world) == world


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("loop_closures: [{name: l, type: ball}]", "w.yaml:1:17: loop_closures[0]: between is missing"),
        (
            "loop_closures: [{name: l, type: ball, between: [{frame: a}]}]",
            "w.yaml:1:48: loop_closures[0].between: two ends are needed, found a list of 1",
        ),
        (
            "loop_closures: [{name: l, type: ball, between: [{frame: a}, {frame: mapp}]}]",
            "w.yaml:1:17: loop_closures[0]: no frame 'mapp'; did you mean map?",
        ),
        (
            "loop_closures: [{name: l, type: balls, between: [{frame: a}, {frame: b}]}]",
            "w.yaml:1:17: loop_closures[0]: no loop closure 'balls'; allowed: lock, ball, hinge, distance",
        ),
        ("contact_exclusions: [[a]]", "w.yaml:1:22: contact_exclusions[0]: two bodies are needed"),
    ],
)
def test_faults_of_loops_are_located(text: str, expected: str, write: Callable[..., Path]) -> None:
    inertial = "{mass: 1, inertia: [1, 1, 1]}"
    bodies = "\n".join(f"  - {{name: {name}, parent: map, joint: free, inertial: {inertial}}}" for name in "ab")
    with pytest.raises(WorldError) as refused:
        Simulation(load(write(f"{text}\nbodies:\n{bodies}\n")))
    assert str(refused.value).startswith(expected)


TEXTS = st.text(st.characters(min_codepoint=33, max_codepoint=0x2FF, exclude_categories=("C", "Z")), min_size=1)
WORDS = TEXTS.filter(lambda text: "/" not in text) | st.sampled_from(
    ["1e5", "true", "~", ".inf", "0x1", "<<", "a: b", "-"]
)
NAMES = WORDS.filter(lambda name: not fault(name))
NUMBERS = st.floats(-1e11, 1e11)
QUATERNIONS = st.lists(st.floats(-1, 1), min_size=4, max_size=4).filter(lambda q: math.hypot(*q) > 0.1)
POSES = st.builds(
    lambda position, q: [*position, *(np.array(q) / math.hypot(*q))], st.tuples(NUMBERS, NUMBERS, NUMBERS), QUATERNIONS
)
PARAMETERS = st.dictionaries(
    WORDS.filter(lambda key: key not in ("name", "parent", "pose", "mate", "type")),
    st.recursive(
        NUMBERS | WORDS | st.booleans() | st.none(),
        lambda inner: st.lists(inner, min_size=1, max_size=3) | st.dictionaries(WORDS, inner, min_size=1, max_size=3),
        max_leaves=5,
    ),
    max_size=4,
)
TIMES = st.integers(-MAX_STAMP_NS, MAX_STAMP_NS)


@example([("s", [0.0, 0, 0, 0, 0, 0, 1])], {"tags": None, "size": 2.0, "description": ["a"]}, [0], 0)
@given(
    st.lists(st.tuples(NAMES, POSES), min_size=1, max_size=4, unique_by=lambda each: each[0]),
    PARAMETERS,
    st.lists(TIMES, min_size=1, max_size=4, unique=True),
    st.integers(0, MAX_STAMP_NS),
)
def test_any_texts_and_numbers_read_back(
    tmp_path_factory: pytest.TempPathFactory,
    frames: list[tuple[str, list[float]]],
    parameters: dict[str, Any],
    instants: list[int],
    start_ns: int,
) -> None:
    times_ns = np.array(sorted(instants))
    turns = [frames[k % len(frames)][1] for k in range(len(times_ns))]
    first = frames[0][0]
    world = World(
        first,
        "the_fixed",
        time=TimeGrid(start_ns),
        frames=tuple(
            StaticFrame(f"f/{name}", "the_fixed", np.array(pose), scale=np.array([1, 0.1, 3])) for name, pose in frames
        ),
        sensors=(Sensor("s", f"f/{first}", np.array(frames[0][1]), type=first, parameters=parameters),),
        motions=(Motion("m", f"f/{first}", times_ns, np.array(turns), "step", "loop", "pingpong"),),
    )
    path = tmp_path_factory.mktemp("w") / "w.yaml"
    path.write_text(to_yaml(world), encoding="utf-8")
    assert load(path) == world


def test_models_start_as_they_did(again: Again, tmp_path: Path) -> None:
    (tmp_path / "cart.xml").write_text(
        """<mujoco model="cart"><worldbody><body name="cart"><joint name="rail" type="slide" axis="1 0 0"/>
        <geom size=".1" mass="1"/><body name="ball"><joint name="b" type="ball"/><geom size=".1" mass="1"/></body>
        </body>
        <body name="box" pos="0 0 1"><geom size=".1" mass="1"/></body></worldbody>
        <actuator><motor joint="rail"/></actuator>
        <keyframe><key name="far" qpos="2 1 0 0 0" qvel="1 0 0 0" ctrl="3"/></keyframe></mujoco>"""
    )
    path = tmp_path / "w.yaml"
    path.write_text(
        """
physics: {integrator: euler, timestep: 0.002}
frames: [{name: table, pose: {position: [0, 0, 1]}}]
include:
  - {file: cart.xml, prefix: one, parent: table, keyframe: far, q: {b: [0.6, 0, 0, 0.8]}}
  - {file: cart.xml, prefix: two, pose: {position: [1, 0, 0]}, q: {rail: 0.1}}
  - {file: cart.xml, prefix: loose, free: true}
"""
    )
    world = load(path)
    assert [model.floats() for model in world.models] == [False, False, True]
    assert again(world) == world


def test_files_are_named_as_is_asked(tmp_path: Path) -> None:
    ball = Geometry("mesh", np.ones(3), file=tmp_path / "ball.obj")
    (tmp_path / "ball.obj").write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n")
    world = World("w", bodies=(Body("ball", "map", geometry=(ball,)),))
    text = to_yaml(world, lambda path: path.name)
    assert "mesh: ball.obj" in text
    path = tmp_path / "w.yaml"
    path.write_text(text)
    assert load(path) == world


def test_numbers_from_single_precision_are_written_as_near_as_they_can_be(again: Again) -> None:
    pose = np.array([0.1, 0.2, 0.3, 0.1, 0.2, 0.3, 0.9273618], dtype=np.float32).astype(float)
    world = World("w", frames=(StaticFrame("a", "map", pose),))
    assert np.allclose(again(world).frames[0].pose, pose, atol=1e-7)


def test_a_frozen_body_keeps_its_anchor() -> None:
    body = Body("a", "map", anchor=np.array([1.0, 0.0, 0.0]))
    assert loads(to_yaml(World("w", bodies=(body,)))).bodies == (body,)
