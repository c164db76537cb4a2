"""Numbers of a world by their key paths."""

from __future__ import annotations

import math
from dataclasses import replace
from decimal import Decimal
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from key_paths import numbers_of
from nightly import only, rows

from sim_node.assembly import assemble
from sim_node.world import Body, Drag, Inertial, StaticFrame, TimeGrid, Wind, World, WorldError, lay_out, load
from sim_node.world.bodies import Marker
from sim_node.world.locate import shipped_worlds
from sim_node.world.loops import ContactExclusion
from sim_node.world.values import Number
from sim_node.world.values import numbers_of as listed_numbers

WORLDS = sorted(shipped_worlds())


@cache
def world_of(name: str) -> World:
    return load(name)


@cache
def numbers_in(name: str) -> dict[str, Number]:
    return numbers_of(world_of(name))


@pytest.mark.parametrize(
    ("name", "path", "expected"),
    [
        ("buoys", "bodies[buoy].inertial.mass", 25),
        ("buoys", "bodies[0].inertial.center[2]", -0.15),
        ("buoys", "wind.velocity[0]", 5),
        ("buoys", "wind.gusts.scale_length[2]", 12),
        ("buoys", "forces[0].volume", 0.04),
        ("buoys", "motions[ferry].keyframes[2].position[1]", 20),
        ("buoys", "motions[0].keyframes[1].t", 15),
        ("quadrotor", "physics.timestep", 0.001),
        ("quadrotor", "time.step", 0.004),
        ("quadrotor", "origin.latitude", 47.397742),
        ("quadrotor", "vehicles[drone].pilot.waypoints[1].hold", 2),
        ("quadrotor", "bodies[drone/base_link].joint.q[2]", 0.13),
        ("arm", "models[arm].q.elbow", 1.4),
        ("arm", "actuators[arm/elbow].stiffness", 1200),
        ("survey", "sensors[drone/BARO].geoid_undulation", 47.3),
        ("four_bar", "systems[linkage].mates[drive].speed", 12),
        ("sensor_rig", "sensors[car/CAM_RIGHT].mate.angle", -0.2),
    ],
)
def test_numbers_are_those_of_the_file(name: str, path: str, expected: float) -> None:
    assert world_of(name).at(path) == expected


@pytest.mark.parametrize("name", rows(WORLDS, ("all_joints", "formation", "lidar_room")))
def test_every_number_put_back_is_the_same_world(name: str) -> None:
    world = world_of(name)
    assert numbers_in(name)
    assert world.with_values(numbers_in(name)) == world


def test_a_speed_of_the_wind_leaves_its_direction() -> None:
    """3, 4 and 5 make a right triangle. Without a direction, the wind blows along x; without a wind, there is one."""
    windy = World(name="windy", wind=Wind(np.array([3.0, 4.0, 0.0]), exponent=0.2))
    changed = windy.with_values({"wind.speed": 10})
    assert changed.wind is not None
    assert changed.wind.velocity == pytest.approx([6.0, 8.0, 0.0], abs=1e-15)
    assert changed.wind.exponent == 0.2
    calm = world_of("quadrotor")
    assert calm.wind is None
    assert calm.with_values({"wind.speed": 2}).wind == Wind(np.array([2.0, 0.0, 0.0]))
    with pytest.raises(WorldError, match=r"unknown key; did you mean speed\?"):
        calm.with_values({"wind.sped": 2})


def test_a_vehicle_s_body_may_have_the_vehicle_s_name() -> None:
    assert world_of("quadrotor").at("bodies[drone].inertial.mass") == 1.5


# Takes seconds: make test has numbers that are found by their paths.
@pytest.mark.nightly
def test_the_same_path_gives_the_same_number() -> None:
    assert {path: world_of("buoys").at(path) for path in numbers_in("buoys")} == numbers_in("buoys")


# Takes seconds: make test has numbers that are found, set and put back.
@pytest.mark.nightly
@settings(deadline=None)
@given(st.data())
def test_exactly_one_number_changes(data: st.DataObject) -> None:
    """All others are what they were: to the last bit, wherever they are."""
    name = data.draw(st.sampled_from(WORLDS), "world")
    path = data.draw(st.sampled_from(sorted(numbers_in(name))), "path")
    # These make up a direction, and are made unit together.
    assume(not any(word in path for word in ("quaternion", "axis", "joint.q[")))
    before = numbers_in(name)[path]
    after: Any = round(before / 2, 6) if before else data.draw(st.sampled_from([0.25, 1]))
    try:
        changed = world_of(name).with_values({path: after})
    except WorldError as error:
        message = str(error)
        assert path.partition(".")[0].partition("[")[0] in message
        assume(False)
    assert math.isclose(changed.at(path), after, rel_tol=1e-12)
    assert {**numbers_of(changed), path: before} == numbers_in(name)


def test_what_is_left_alone_is_the_same_object() -> None:
    world = load("quadrotor")
    other = world.with_values({"bodies[drone/base_link].inertial.mass": 2.0, "physics.gravity[2]": -1.62})
    inertial = world.bodies[1].inertial
    assert inertial is not None
    assert other.bodies[0] is world.bodies[0]
    assert other.vehicles[0] is world.vehicles[0]
    assert other.bodies[1] is not world.bodies[1]
    assert other.bodies[1].place == world.bodies[1].place, "faults are told where the file has the body"
    assert other.bodies[1] == replace(world.bodies[1], inertial=replace(inertial, mass=2.0))
    assert other.physics.gravity.tolist() == [0, 0, -1.62]
    assert world.at("bodies[drone/base_link].inertial.mass") != 2.0, "the first is as it was"
    assert (world.files, other.files) != ((), world.files), "no file says the other"
    lay_out(other)


def test_what_files_have_no_words_for_stays() -> None:
    body = Body(
        "b", "map", "free", inertial=Inertial(1.0, np.eye(3)), marker=Marker("m", 1), anchor=np.array([0.0, 0.0, 1.0])
    )
    world = World("w", bodies=(body,), contact_exclusions=(ContactExclusion("b", "c"),))
    other = world.with_values({"bodies[b].inertial.mass": 3})
    assert other == World(
        "w",
        bodies=(replace(body, inertial=Inertial(3.0, np.eye(3))),),
        contact_exclusions=(ContactExclusion("b", "c"),),
    )
    assembled = assemble(load("four_bar"))
    assert assembled.with_values({"physics.timestep": 0.0005}).loop_closures == assembled.loop_closures


def test_numbers_beside_it_keep_what_reading_would_mend() -> None:
    pose = np.array([0.1, 0.2, 0.3, 0.1, 0.2, 0.3, 0.9273618], dtype=np.float32).astype(float)
    world = World("w", frames=(StaticFrame("a", "map", pose), StaticFrame("b", "map", pose)))
    other = world.with_values({"frames[a].pose.position[0]": 7})
    assert other.frames[0].pose.tolist() == [7, *pose[1:].tolist()]
    assert other.frames[1] is world.frames[1]


def test_a_key_that_is_left_to_its_default_may_be_given() -> None:
    world = World("w", wind=Wind(np.array([1.0, 0.0, 0.0])), bodies=(Body("b", "map", "px"),))
    assert world.with_values({"physics.timestep": 0.002}).physics.timestep_ns == 2_000_000
    assert world.with_values({"bodies[b].joint.damping": 0.5}).bodies[0].damping == np.array([0.5])
    assert world.with_values({"wind.exponent": 0.1}).wind.exponent == 0.1
    arm = load("arm").with_values({"models[arm].q.wrist_3": 0.25})
    assert arm.models[0].start.q["wrist_3"] == 0.25
    assert arm.models[0].source is not None


def test_times_are_exact() -> None:
    world = World("w", time=TimeGrid(1_700_000_000_123_456_789))
    assert world.at("time.start") == Decimal("1700000000.123456789")
    assert world.with_values({"time.start": world.at("time.start")}) == world
    assert world.at("time.step") == 0.01


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("bodis[ball].inertial.mass", "no 'bodis' here; did you mean bodies? (known: world, fixed_frame, "),
        ("bodies[bal].inertial.mass", "no [bal] here; did you mean ball? (known: [0] to [1], ball, cube)"),
        ("bodies[2].inertial.mass", "no [2] here (known: [0] to [1], ball, cube)"),
        ("bodies[ball].inertal.mass", "no 'inertal' here; did you mean inertial? (known: name, parent, pose, joint, "),
        ("bodies[ball].inertial", "is not a number but a mapping (mass, inertia, center)"),
        ("bodies[ball].inertial.center", "is not a number but a list of 3"),
        ("bodies[ball].name", "is not a number but 'ball'"),
        ("bodies[ball].inertial.mass.kg", "nothing is below '1.0'"),
        ("forces[ball].linear[0]", "2 entries have the name 'ball': [0], [1]"),
        ("wind.velocity[0]", "the world has no wind"),
        ("bodies[ball", "is not a key path; an example is bodies[ball].inertial.mass"),
        ("", "is not a key path; an example is bodies[ball].inertial.mass"),
    ],
)
def test_paths_that_lead_nowhere(path: str, expected: str) -> None:
    inertial = Inertial(1.0, np.eye(3))
    bodies = tuple(Body(name, "map", "free", inertial=inertial) for name in ("ball", "cube"))
    world = World("w", bodies=bodies, forces=(Drag("ball", np.ones(3)), Drag("ball")))
    with pytest.raises(WorldError) as error:
        world.at(path)
    assert str(error.value).startswith(f"{path}: {expected}" if path else expected)


@pytest.mark.parametrize(
    ("path", "value", "expected"),
    [
        ("bodies[buoy].inertial.mass", -1, "bodies[0].inertial.mass: -1 is out of range; allowed: 0 to 1e+09"),
        ("bodies[buoy].inertial.mas", 1, "bodies[0].inertial.mas: unknown key; did you mean mass? (known: mass, "),
        ("bodies[buoy].inertal.mass", 1, "bodies[0].inertal: unknown key; did you mean inertial? (known: name, "),
        ("time.step", math.nan, "time.step: nan is not a finite number"),
        ("forces[wind].velocity[3]", 1, "forces[wind].velocity[3]: no [3] here (known: [0] to [2])"),
        ("motions[ferry].keyframes[2].t", 3, "motions[0].keyframes[2].t: earlier than the keyframe before it (15 s)"),
        ("origin", 3, "origin: is not a number but a mapping (latitude, longitude, altitude)"),
    ],
)
def test_values_that_cannot_be(path: str, value: float, expected: str) -> None:
    with pytest.raises(WorldError) as error:
        world_of("buoys").with_values({path: value})
    assert str(error.value).startswith(expected)


def test_what_is_no_number_is_refused() -> None:
    with pytest.raises(TypeError, match=r"time\.step: a number is needed, found '0\.1'"):
        World("w").with_values({"time.step": "0.1"})  # type: ignore[dict-item]  # refused when it runs, too
    with pytest.raises(TypeError, match="found True"):
        World("w").with_values({"time.step": True})


@pytest.mark.parametrize("name", only(["quadrotor", "lidar_room", "arm"], 0))
def test_all_numbers_are_found_by_the_paths_under_which_they_are_listed(name: str) -> None:
    world = world_of(name)
    found = listed_numbers(world)
    assert len(found) > 50
    assert {path: world.at(path) for path in found} == found
