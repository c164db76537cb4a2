"""What rays hit and what bodies feel, beside geometry and statics worked out by hand."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from sim_node.simulation import Simulation
from sim_node.simulation.physics import RigidBodyEngine
from sim_node.spatial.geometry import quaternions
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.world import Body, Geometry, Physics, TimeGrid, World

FAR = 1e3
COORDINATES = st.floats(-5.0, 5.0)
POINTS = st.tuples(COORDINATES, COORDINATES, COORDINATES).map(np.array)
UNITS = st.tuples(*[st.floats(-1.0, 1.0)] * 4).map(np.array).filter(lambda q: np.linalg.norm(q) > 0.1)
ROTATIONS = UNITS.map(lambda q: q / np.linalg.norm(q))
DIRECTIONS = st.tuples(*[st.floats(-1.0, 1.0)] * 3).map(np.array).filter(lambda v: np.linalg.norm(v) > 0.1)
SIZES = st.floats(0.2, 3.0)


def engine_of(*bodies: Body, **physics: Any) -> RigidBodyEngine:
    """The engine of bodies."""
    world = World("w", time=TimeGrid(step_ns=1_000_000), bodies=bodies, physics=Physics(**physics))
    engine = Simulation(world).engines["rigid_bodies"]
    assert isinstance(engine, RigidBodyEngine)
    return engine


def hit(
    shape: tuple[str, Sequence[float]],
    position: FloatArray,
    quaternion: FloatArray,
    origin: FloatArray,
    direction: FloatArray,
    **colour: Any,
) -> float:
    """What a ray from the fixed frame hits of a shape at a pose."""
    body = Body(
        "target",
        "map",
        geometry=(Geometry(shape[0], np.array(shape[1]), pose=np.array([*position, *quaternion]), **colour),),
    )
    echoes = engine_of(body).environment().cast(["map"], origin[None], direction[None, None], FAR)
    return float(echoes.distances[0, 0])


@given(SIZES, POINTS, ROTATIONS, POINTS, DIRECTIONS)
def test_a_sphere_is_as_far_as_the_quadratic_equation_says(
    radius: float, centre: FloatArray, quaternion: FloatArray, origin: FloatArray, direction: FloatArray
) -> None:
    direction = direction / np.linalg.norm(direction)
    offset = origin - centre
    along, gap = offset @ direction, offset @ offset - radius**2
    assume(gap > 1e-3)
    root = along**2 - gap
    assume(abs(root) > 1e-6)
    expected = -along - math.sqrt(root) if root > 0.0 and along < 0.0 else math.inf
    assert hit(("sphere", [radius]), centre, quaternion, origin, direction) == pytest.approx(expected, abs=1e-9)


@given(POINTS, ROTATIONS, POINTS, DIRECTIONS)
def test_a_plane_is_as_far_as_its_height_over_the_sine(
    centre: FloatArray, quaternion: FloatArray, origin: FloatArray, direction: FloatArray
) -> None:
    """Its front is seen, its back is not."""
    direction = direction / np.linalg.norm(direction)
    normal = quaternions.rotate(quaternion, [0.0, 0.0, 1.0])
    height, sinking = (origin - centre) @ normal, -direction @ normal
    assume(abs(sinking) > 1e-3)
    assume(abs(height) > 1e-3)
    expected = height / sinking if height > 0.0 and sinking > 0.0 else math.inf
    expected = expected if expected < FAR else math.inf
    assert hit(("plane", []), centre, quaternion, origin, direction) == pytest.approx(expected, rel=1e-9)


@given(st.tuples(SIZES, SIZES, SIZES), POINTS, ROTATIONS, POINTS, DIRECTIONS)
def test_a_box_is_as_far_as_its_slabs_say(
    lengths: tuple[float, float, float],
    centre: FloatArray,
    quaternion: FloatArray,
    origin: FloatArray,
    direction: FloatArray,
) -> None:
    """Kay & Kajiya, Ray tracing complex scenes, SIGGRAPH 1986: in through the last slab, out of the first."""
    direction = direction / np.linalg.norm(direction)
    half = 0.5 * np.array(lengths)
    back = quaternions.conjugate(quaternion)
    local, along = quaternions.rotate(back, origin - centre), quaternions.rotate(back, direction)
    assume((np.abs(along) > 1e-3).all())
    assume((np.abs(local) > half + 1e-3).any())
    crossings = np.sort([(-half - local) / along, (half - local) / along], axis=0)
    entered, left = crossings[0].max(), crossings[1].min()
    assume(abs(entered - left) > 1e-6)
    expected = entered if 0.0 < entered < left else math.inf
    assert hit(("box", lengths), centre, quaternion, origin, direction) == pytest.approx(expected, abs=1e-9)


def test_what_is_beyond_reach_is_not_hit() -> None:
    wall = Body("wall", "map", geometry=(Geometry("box", np.array([1, 9, 9]), pose=np.array([5.5, 0, 0, 0, 0, 0, 1])),))
    environment = engine_of(wall).environment()
    ahead = np.array([[[1.0, 0.0, 0.0]]])
    assert environment.cast(["map"], np.zeros((1, 3)), ahead, 5.1).distances[0, 0] == pytest.approx(5.0, abs=1e-12)
    assert environment.cast(["map"], np.zeros((1, 3)), ahead, 4.9).distances[0, 0] == math.inf


def test_brightness_is_the_luma_of_the_colour() -> None:
    """ITU-R BT.709; nothing is black."""
    wall = Geometry(
        "box", np.array([1, 9, 9]), pose=np.array([5.5, 0, 0, 0, 0, 0, 1]), colour=np.array([0.2, 0.6, 1.0, 1.0])
    )
    environment = engine_of(Body("wall", "map", geometry=(wall,))).environment()
    echoes = environment.cast(["map"], np.zeros((1, 3)), np.array([[[1.0, 0, 0], [-1.0, 0, 0]]]), FAR)
    assert echoes.brightness[0] == pytest.approx([0.2126 * 0.2 + 0.7152 * 0.6 + 0.0722 * 1.0, 0.0], abs=1e-6)


def test_a_body_and_what_is_fixed_to_it_are_not_in_its_own_way() -> None:
    """But in that of the others, and the others in its: two balls, one with a hat."""
    ball = Geometry("sphere", np.array([0.5]), 1.0)
    bodies = (
        Body("left", "map", "free", np.array([0, 0, 0, 0, 0, 0, 1]), geometry=(ball,)),
        Body("hat", "left", "frozen", np.array([0, 0, 1.5, 0, 0, 0, 1]), geometry=(ball,)),
        Body("arm", "left", "rx", np.array([0, 0, -1.5, 0, 0, 0, 1]), geometry=(ball,)),
        Body("right", "map", "free", np.array([4, 0, 0, 0, 0, 0, 1]), geometry=(ball,)),
    )
    environment = engine_of(*bodies).environment()
    fan = np.array([[[1.0, 0, 0], [0, 0, 1.0], [0, 0, -1.0], [-1.0, 0, 0]]])
    from_left = environment.cast(["left"], np.zeros((1, 3)), fan, 100.0).distances[0]
    np.testing.assert_allclose(from_left, [3.5, math.inf, 1.0, math.inf])
    from_right = environment.cast(["right"], np.array([[4.0, 0, 0]]), fan, 100.0).distances[0]
    np.testing.assert_allclose(from_right, [math.inf, math.inf, math.inf, 3.5])
    at_once = environment.cast(["right", "left"], np.array([[4.0, 0, 0], [0, 0, 0]]), np.tile(fan, (2, 1, 1)), 100.0)
    assert at_once.distances.tolist() == [from_right.tolist(), from_left.tolist()]


def test_a_frozen_body_is_not_in_its_own_way_but_its_neighbours_are() -> None:
    """Both are part of the fixed frame's body to MuJoCo."""
    ball = Geometry("sphere", np.array([0.5]))
    bodies = (
        Body("post", "map", "frozen", geometry=(ball,)),
        Body("wall", "map", "frozen", np.array([4, 0, 0, 0, 0, 0, 1]), geometry=(ball,)),
    )
    environment = engine_of(*bodies).environment()
    fan = np.array([[[1.0, 0, 0]]])
    assert environment.cast(["post"], np.zeros((1, 3)), fan, 100.0).distances[0, 0] == pytest.approx(3.5)
    assert environment.cast(["map"], np.array([[-2.0, 0, 0]]), fan, 100.0).distances[0, 0] == pytest.approx(1.5)


def test_a_falling_body_is_seen_where_it_is() -> None:
    """Half a metre of radius, from below: h - g t²/2 - r, at every step and not one later."""
    ball = Body(
        "ball", "map", "free", np.array([0, 0, 10, 0, 0, 0, 1]), geometry=(Geometry("sphere", np.array([0.5]), 1.0),)
    )
    engine = engine_of(ball)
    environment = engine.environment()
    up = np.array([[[0.0, 0.0, 1.0]]])
    for step in range(0, 1000, 100):
        expected = 10.0 - 0.5 * 9.81 * (step * 1e-3) ** 2 - 0.5
        distance = environment.cast(["map"], np.zeros((1, 3)), up, FAR).distances[0, 0]
        assert distance == pytest.approx(expected, abs=1e-9)
        engine.step(100)


def test_asking_changes_nothing_of_what_follows() -> None:
    """To the bit, in the midst of bouncing contacts."""

    def fall(ask: bool) -> bytes:
        box = Geometry("box", np.array([0.4, 0.3, 0.2]), 1.0)
        ground = Body("ground", "map", geometry=(Geometry("plane", np.array([])),))
        tilted = [0, 0, 0.6, *quaternions.exp(np.array([0.3, 0.5, 0.1]))]
        engine = engine_of(ground, Body("box", "map", "free", np.array(tilted), geometry=(box,)))
        environment = engine.environment()
        for _ in range(60):
            engine.step(10)
            if ask:
                environment.cast(["box"], np.zeros((1, 3)), np.array([[[0.0, 0.0, -1.0]]]), FAR)
                environment.contact(["box"], np.zeros((1, 3)))
                environment.joint(["box"], np.zeros((1, 3)))
        data = engine.data
        return b"".join(np.array(part).tobytes() for part in (data.qpos, data.qvel, data.qacc_warmstart))

    assert fall(ask=True) == fall(ask=False)


def resting(tilt: float) -> RigidBodyEngine:
    """A box of 2 kg that has come to rest on a plane tilted about y."""
    turn = quaternions.exp(np.array([0.0, tilt, 0.0]))
    up = quaternions.rotate(turn, [0.0, 0.0, 1.0])
    ground = Body("ground", "map", geometry=(Geometry("plane", np.array([]), pose=np.array([0, 0, 0, *turn])),))
    box = Body(
        "box",
        "map",
        "free",
        np.array([*(0.1 * up), *turn]),
        geometry=(Geometry("box", np.array([0.4, 0.3, 0.2]), 2.0),),
    )
    engine = engine_of(ground, box)
    engine.step(2000)
    assert isinstance(engine, RigidBodyEngine)
    return engine


@pytest.mark.parametrize("tilt", [0.0, 0.3])
def test_the_ground_carries_the_weight_of_a_box(tilt: float) -> None:
    """m g upwards, on a slope too, through the centre: MuJoCo's default friction of 1 holds up to 45 degrees."""
    engine = resting(tilt)
    box = engine.data.body("box").xpos.copy()
    wrench = engine.environment().contact(["box"], box[None])[0]
    np.testing.assert_allclose(wrench[:3], [0, 0, 2.0 * 9.81], atol=2e-3)
    np.testing.assert_allclose(wrench[3:], 0.0, atol=2e-3)
    # About a point one metre beside it, the weight has a lever.
    aside = engine.environment().contact(["box"], box[None] + [[1.0, 0, 0]])[0]
    np.testing.assert_allclose(aside[3:], [0.0, 2.0 * 9.81, 0.0], atol=4e-3)


def test_the_ground_feels_the_opposite() -> None:
    engine = resting(0.0)
    wrench = engine.environment().contact(["ground"], np.zeros((1, 3)))[0]
    np.testing.assert_allclose(wrench[:3], [0, 0, -2.0 * 9.81], atol=2e-3)


def test_nothing_touches_in_free_fall() -> None:
    engine = engine_of(Body("box", "map", "free", geometry=(Geometry("box", np.array([0.4, 0.3, 0.2]), 2.0),)))
    engine.step(100)
    environment = engine.environment()
    assert environment.contact(["box"], np.zeros((1, 3))).tolist() == [[0.0] * 6]
    np.testing.assert_allclose(environment.joint(["box"], np.zeros((1, 3))), 0.0, atol=1e-12)


def test_a_joint_carries_what_hangs_on_it() -> None:
    """A bar held by its end at a wall, a frozen joint: m g upwards, and m g l/2 about the end."""
    bar = Geometry("box", np.array([1.0, 0.1, 0.1]), 3.0, np.array([0.5, 0, 0, 0, 0, 0, 1]))
    carried = (
        Body(
            "slide",
            "map",
            "pz",
            np.array([0, 0, 1, 0, 0, 0, 1]),
            geometry=(Geometry("sphere", np.array([0.1]), 1.0),),
            spring_stiff=np.array([1e4]),
        ),
        Body("bar", "slide", "frozen", np.array([0.2, 0, 0, 0, 0, 0, 1]), geometry=(bar,)),
    )
    engine = engine_of(*carried, contact=False)
    # Where the spring carries four kilograms.
    engine.data.joint("slide#0").qpos[:] = -4.0 * 9.81 / 1e4
    about = np.array([[0.2, 0.0, 1.0 - 4.0 * 9.81 / 1e4]])
    wrench = engine.environment().joint(["bar"], about)[0]
    np.testing.assert_allclose(wrench, [0, 0, 3.0 * 9.81, 0, -3.0 * 9.81 * 0.5, 0], atol=1e-9)


# Takes seconds: make test has weights of bodies that stand.
@pytest.mark.nightly
def test_a_swinging_ball_pulls_with_its_weight_and_what_its_turn_needs() -> None:
    """m g + m v²/l at the lowest point, v² = 2 g l (1 - cos a): Landau & Lifshitz, Mechanics, section 5."""
    length, start = 2.0, 1.0
    ball = Geometry("sphere", np.array([1e-3]), 1.5, np.array([0, 0, -length, 0, 0, 0, 1]))
    engine = engine_of(Body("swing", "map", "ry", geometry=(ball,), q=np.array([start])), contact=False)
    tension, lowest = 0.0, math.inf
    for _ in range(1600):
        engine.step(1)
        angle = abs(float(engine.data.joint("swing#0").qpos[0]))
        if angle < lowest:
            lowest = angle
            tension = engine.environment().joint(["swing"], np.zeros((1, 3)))[0, 2]
    assert tension == pytest.approx(1.5 * 9.81 * (1.0 + 2.0 * (1.0 - math.cos(start))), rel=1e-4)
