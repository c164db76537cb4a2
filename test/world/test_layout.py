"""The FrameTable of a world, worlds made in Python, and what is refused of them."""

from __future__ import annotations

import copy
import math
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from sim_node.simulation import Simulation
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.world import (
    FrameNotFound,
    Motion,
    Origin,
    Sensor,
    StaticFrame,
    TimeGrid,
    World,
    WorldError,
    lay_out,
)

IDENTITY = [0.0, 0, 0, 0, 0, 0, 1]


def at(x: float, y: float = 0.0, z: float = 0.0) -> FloatArray:
    return np.array([x, y, z, 0, 0, 0, 1.0])


def lines(world: World) -> list[str]:
    with pytest.raises(WorldError) as error:
        lay_out(world)
    return error.value.lines()


# The table


@st.composite
def random_worlds(draw: st.DrawFn) -> World:
    """Trees of up to 30 frames in random order, with random poses."""
    count = draw(st.integers(1, 30))
    parents = ["map"] + [f"f{draw(st.integers(0, i - 1))}" if draw(st.booleans()) else "map" for i in range(1, count)]
    generator = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    q = generator.normal(size=(count, 4))
    poses = np.hstack([generator.uniform(-5, 5, (count, 3)), q / np.linalg.norm(q, axis=1, keepdims=True)])
    frames = [StaticFrame(f"f{i}", parents[i], poses[i]) for i in range(count)]
    return World("random", frames=tuple(draw(st.permutations(frames))))


def homogeneous(pose: FloatArray) -> FloatArray:
    matrix = np.eye(4)
    matrix[:3, :3] = Rotation.from_quat(pose[3:]).as_matrix()
    matrix[:3, 3] = pose[:3]
    return matrix


@given(random_worlds())
def test_parents_come_before_their_children(world: World) -> None:
    table = lay_out(world).frames
    assert table.parents[0] == -1
    assert table.names[0] == world.fixed_frame
    assert all(0 <= parent < row for row, parent in enumerate(table.parents.tolist()) if row)
    assert {name: table.names[table.parents[table.index(name)]] for name in table.names[1:]} == {
        frame.name: frame.parent for frame in world.frames
    }


@given(random_worlds(), st.data())
def test_lookup_is_the_product_of_matrices(world: World, data: st.DataObject) -> None:
    """tf2's lookup_transform(target, source): inv(root_target) root_source, by 4x4 matrices from scipy."""
    layout = lay_out(world)
    table = layout.frames
    rooted = {"map": np.eye(4)}
    for row, name in enumerate(table.names[1:], start=1):
        rooted[name] = rooted[table.names[table.parents[row]]] @ homogeneous(layout.poses[row])
    target, source = (data.draw(st.sampled_from(table.names)) for _ in range(2))
    expected = np.linalg.inv(rooted[target]) @ rooted[source]
    np.testing.assert_allclose(homogeneous(table.lookup(layout.poses, target, source)), expected, atol=1e-9)
    everywhere = table.in_root(layout.poses)
    for name, matrix in rooted.items():
        np.testing.assert_allclose(homogeneous(everywhere[table.index(name)]), matrix, atol=1e-9)


def test_siblings_keep_the_order_of_the_world() -> None:
    world = World("w", frames=tuple(StaticFrame(name, "map", np.array(IDENTITY)) for name in "cab"))
    assert lay_out(world).frames.names == ("map", "c", "a", "b")


def test_a_name_that_is_not_there_is_reported_with_the_nearest() -> None:
    table = lay_out(World("w", frames=(StaticFrame("drone/base_link", "map", np.array(IDENTITY)),))).frames
    with pytest.raises(FrameNotFound, match=r"^no frame 'drone/bas_link'; did you mean drone/base_link\?$"):
        table.index("drone/bas_link")
    with pytest.raises(KeyError):
        table.path("x")


def test_a_chain_of_ten_thousand_frames_is_laid_out() -> None:
    """No recursion, no path kept for each."""
    frames = [StaticFrame("f0", "map", at(1))] + [StaticFrame(f"f{i}", f"f{i - 1}", at(1)) for i in range(1, 10_000)]
    layout = lay_out(World("chain", frames=tuple(reversed(frames))))
    assert layout.frames.lookup(layout.poses, "map", "f9999").tolist() == at(10_000).tolist()
    assert layout.frames.path("f9999").count("/") == 10_000


# Worlds made in Python


def test_a_world_may_be_made_in_python_of_plain_lists() -> None:
    world = World(
        "made",
        frames=(StaticFrame("mast", "map", np.array([1, 2, 3, 0, 0, 0, 1]), scale=np.array([1, 2, 3])),),
        sensors=(Sensor("CAM_1", "mast", np.array(IDENTITY)),),
        motions=(
            Motion(
                "bird", "mast", np.array([0, 1_000_000_000]), np.array([[0, 0, 0, 0, 0, 0, 1], [2, 0, 0, 0, 0, 0, 1]])
            ),
        ),
    )
    simulation = Simulation(world)
    simulation.run(0.5)
    assert simulation.snapshot().poses[simulation.frames.index("bird"), 0] == pytest.approx(1.0, abs=1e-12)


def test_the_callers_own_arrays_stay_writable() -> None:
    pose, times, poses = at(1), np.array([0, 1]), np.tile(at(1), (2, 1))
    frame, motion = StaticFrame("a", "map", pose), Motion("b", "map", times, poses)
    for array in (frame.pose, motion.poses, motion.times_ns):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0
    pose[0] = times[0] = poses[0, 0] = 7


def test_keyframes_are_brought_into_one_hemisphere() -> None:
    poses = [[0, 0, 0, 0, 0, 0, 1], [0, 0, 0, 0, 0, 0, -1], [0, 0, 0, 0, 0, 0, 1]]
    motion = Motion("a", "map", np.array([0, 1, 2]), np.array(poses))
    assert motion.poses[:, 6].tolist() == [1, 1, 1]
    assert not motion.moves(), "q and -q are one rotation"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: StaticFrame("a", "map", np.array([1, 2, 3])), r"'a': pose has shape \(3,\), needs \(7,\)"),
        (
            lambda: StaticFrame("a", "map", "no"),  # type: ignore[arg-type]
            r"'a': pose must be numbers of shape \(7,\), found 'no'",
        ),
        (
            lambda: StaticFrame("a", "map", np.array(IDENTITY), scale=np.array([1, 2])),
            r"'a': scale has shape \(2,\), needs \(3,\)",
        ),
        (
            lambda: Motion("a", "map", np.array([0, 1]), np.array([IDENTITY])),
            r"'a': poses has shape \(1, 7\), needs \(2, 7\)",
        ),
        (
            lambda: Motion("a", "map", np.array([0.5]), np.array([IDENTITY])),
            "'a': times_ns must be one or more whole nanoseconds, found f",
        ),
        (lambda: TimeGrid(0, 1e7), "step_ns: 10000000.0 is not a whole number of nanoseconds"),  # type: ignore[arg-type]
        (lambda: TimeGrid(start_ns="0"), "start_ns: '0' is not a whole number of nanoseconds"),  # type: ignore[arg-type]
        (lambda: Motion("a", "map", np.array([]), np.array([])), "'a': times_ns must be one or more whole nanoseconds"),
        (
            lambda: Motion("a", "map", np.array([[0]]), np.array([IDENTITY])),
            r"whole nanoseconds, found int64 of shape \(1, 1\)",
        ),
    ],
)
def test_arrays_of_the_wrong_shape_or_kind_are_refused_where_they_are_given(
    make: Callable[..., Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        make()


def moving(**changes: Any) -> World:
    parts = {"frame": "a", "parent": "map", "times_ns": [0, 1], "poses": [IDENTITY, IDENTITY]} | changes
    return World("w", motions=(Motion(**parts),))


@pytest.mark.parametrize(
    ("world", "line"),
    [
        (
            World("w", frames=(StaticFrame("a", "map", at(math.nan)),)),
            "a: pose: [nan, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0] is not finite",
        ),
        (
            World("w", sensors=(Sensor("a", "map", np.array([0, 0, 0, 0, 0, 0, 0.5])),)),
            "a: pose: the quaternion's norm is 0.5, a rotation needs 1",
        ),
        (
            World("w", frames=(StaticFrame("a", "map", at(1e13)),)),
            "a: pose: position [10000000000000.0, 0.0, 0.0] is out of range; allowed: -1e+12 to 1e+12 m",
        ),
        (
            World("w", frames=(StaticFrame("a", "map", np.array(IDENTITY), scale=np.array([1, 0, 1])),)),
            "a: scale: [1.0, 0.0, 1.0] must be above zero and finite",
        ),
        (moving(times_ns=[5, 5]), "a: times_ns[1]: 5 after 5; times must increase"),
        (moving(times_ns=[5, 2]), "a: times_ns[1]: 2 after 5; times must increase"),
        (
            moving(times_ns=[0, 2**62]),
            "a: times_ns: out of range; allowed: -2147483647000000000 to 2147483647000000000",
        ),
        (moving(poses=[IDENTITY, at(math.inf)]), "a: poses[1]: [inf, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0] is not finite"),
        (moving(interpolation="cubic"), "a: interpolation: found 'cubic'; allowed: slerp, step, smooth, catmull_rom"),
        (moving(before="stop"), "a: before: found 'stop'; allowed: hold, loop, pingpong"),
        (moving(after=""), "a: after: found ''; allowed: hold, loop, pingpong"),
        (
            World("w", time=TimeGrid(0, 0)),
            "time.step_ns: 0 is out of range; allowed: 1000 to 2147483647000000000",
        ),
        (
            World("w", time=TimeGrid(-1, 1000)),
            "time.start_ns: -1 is out of range; allowed: 0 to 2147483647000000000",
        ),
        (World("w", origin=Origin(91, 0, 0)), "origin.latitude: 91 is out of range; allowed: -90 to 90"),
        (World("w", origin=Origin(0, 0, math.nan)), "origin.altitude: nan is out of range; allowed: -12000 to 1e+08"),
        (
            World("w", frames=(StaticFrame("a", "mp", np.array(IDENTITY)),)),
            "a: 'mp' is not a frame of this world; did you mean map?",
        ),
        (World("w", frames=(StaticFrame("a", "", np.array(IDENTITY)),)), "a: '' is not a frame of this world"),
        (
            World("w", frames=(StaticFrame("a b", "map", np.array(IDENTITY)),)),
            "'a b': the name 'a b' may have no white space",
        ),
        (
            World("w", frames=(StaticFrame("map", "map", np.array(IDENTITY)),)),
            "map: 'map' is the fixed frame, which has no parent and no pose",
        ),
        (World("w", frames=(StaticFrame("a", "map", np.array(IDENTITY)),) * 2), "a: a second frame 'a'"),
        (World("w", frames=(StaticFrame("a", "a", np.array(IDENTITY)),)), "a: 'a' is its own ancestor: a below a"),
        (World("w", fixed_frame="/map"), "fixed_frame: the name '/map' begins with a slash"),
    ],
)
def test_what_cannot_be_simulated_is_refused_with_its_name(world: World, line: str) -> None:
    (found,) = lines(world)
    assert found.startswith(line)
    with pytest.raises(WorldError):
        Simulation(world)


def test_all_faults_are_reported_at_once() -> None:
    world = World(
        "w",
        time=TimeGrid(0, 0),
        frames=(
            StaticFrame("a", "b", np.array(IDENTITY)),
            StaticFrame("b", "a", np.array(IDENTITY)),
            StaticFrame("c", "x", at(math.nan)),
        ),
    )
    assert len(lines(world)) == 4


def test_one_fault_per_cycle_and_none_for_what_hangs_below_it() -> None:
    pairs = [("tail", "a"), ("a", "b"), ("b", "c"), ("c", "a"), ("x", "y"), ("y", "x"), ("fine", "map")]
    assert lines(World("w", frames=tuple(StaticFrame(name, parent, np.array(IDENTITY)) for name, parent in pairs))) == [
        "a: 'a' is its own ancestor: a below b below c below a",
        "x: 'x' is its own ancestor: x below y below x",
    ]


def test_the_message_of_a_long_cycle_is_short() -> None:
    frames = tuple(StaticFrame(f"f{i}", f"f{(i + 1) % 1000}", np.array(IDENTITY)) for i in range(1000))
    expected = (
        "f0: 'f0' is its own ancestor: f0 below f1 below f2 below f3 below f4 below f5 below ... 994 more ... below f0"
    )
    assert lines(World("w", frames=frames)) == [expected]


def test_single_precision_quaternions_are_near_enough() -> None:
    q = Rotation.from_euler("xyz", [0.3, 0.2, 0.1]).as_quat().astype(np.float32)
    lay_out(World("w", frames=(StaticFrame("a", "map", np.array([0, 0, 0, *q])),)))


def test_errors_and_frames_can_be_copied_and_sent() -> None:
    """Between processes, as runs in parallel do."""
    with pytest.raises(WorldError) as error:
        lay_out(World("w", frames=(StaticFrame("a", "x", np.array(IDENTITY)),)))
    received = pickle.loads(pickle.dumps(error.value))
    assert received.problems == error.value.problems
    assert str(received) == str(error.value)
    world = World("w", frames=(StaticFrame("a", "map", np.array(IDENTITY)),))
    assert pickle.loads(pickle.dumps(world)) == world == copy.deepcopy(world)


def test_each_frame_knows_its_path_and_its_parents(read: Callable[..., World]) -> None:
    table = lay_out(
        read("""\
        fixed_frame: world
        motions: [{frame: drone/base_link, keyframes: [{t: 0}, {t: 1, position: [1, 0, 0]}]}]
        sensors: [{name: drone/CAM_FRONT}]
        frames: [{name: drone/base_link/body_visual}, {name: lens, parent: drone/CAM_FRONT}]
        """)
    ).frames
    assert {name: (table.path(name), table.parent_path(name)) for name in table.names} == {
        "world": ("world", ""),
        "drone/base_link": ("world/drone/base_link", "world"),
        "drone/CAM_FRONT": ("world/drone/base_link/CAM_FRONT", "world/drone/base_link"),
        "drone/base_link/body_visual": ("world/drone/base_link/body_visual", "world/drone/base_link"),
        "lens": ("world/drone/base_link/CAM_FRONT/lens", "world/drone/base_link/CAM_FRONT"),
    }
