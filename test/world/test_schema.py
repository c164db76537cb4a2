"""What a world file may say, key by key."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from sim_node.names import SENSOR_PATTERNS
from sim_node.world import Origin, Sensor, StaticFrame, TimeGrid, World, lay_out, load

IDENTITY = [0, 0, 0, 0, 0, 0, 1]

# The smallest useful world of the specification, letter by letter.
SMALLEST = """\
world: orbit
fixed_frame: map
time: {start: 0.0, step: 0.01}
frames:
  - {name: drone/CAM_FRONT, parent: drone/base_link, pose: {position: [0.1, 0, 0.02], rpy_deg: [0, 10, 0]}}
motions:
  - frame: drone/base_link
    parent: map
    after: loop                  # before/after: hold | loop | pingpong
    keyframes:
      - {t: 0.0, position: [0, 0, 1], quaternion: [0, 0, 0, 1]}
      - {t: 1.0, position: [2, 0, 1.5], quaternion: [0, 0, 0.7071067811865476, 0.7071067811865476]}
"""


def test_the_smallest_useful_world(read: Callable[..., World]) -> None:
    world = read(SMALLEST)
    assert (world.name, world.fixed_frame, world.origin) == ("orbit", "map", None)
    assert world.time == TimeGrid(start_ns=0, step_ns=10_000_000)
    (camera,) = world.frames
    assert (camera.name, camera.parent) == ("drone/CAM_FRONT", "drone/base_link")
    half = np.radians(10) / 2
    np.testing.assert_allclose(camera.pose, [0.1, 0, 0.02, 0, np.sin(half), 0, np.cos(half)], atol=1e-15)
    (motion,) = world.motions
    assert (motion.frame, motion.parent, motion.before, motion.after) == ("drone/base_link", "map", "hold", "loop")
    assert motion.interpolation == "slerp"
    assert motion.times_ns.tolist() == [0, 1_000_000_000]
    half_turn = 0.7071067811865476
    np.testing.assert_allclose(motion.poses, np.array([[0, 0, 1, 0, 0, 0, 1], [2, 0, 1.5, 0, 0, half_turn, half_turn]]))
    assert lay_out(world).frames.names == ("map", "drone/base_link", "drone/CAM_FRONT")


def test_a_world_needs_no_more_than_a_mapping(write: Callable[..., Path]) -> None:
    world = load(write("{}", "yard.yaml"))
    assert (world.name, world.fixed_frame) == ("yard", "map"), "the name is the file's, the fixed frame map"
    assert world.time == TimeGrid(0, 10_000_000)
    assert world.static_patterns == SENSOR_PATTERNS
    assert lay_out(world).frames.names == ("map",)


def test_the_fixed_frame_has_the_name_that_the_file_gives_it(read: Callable[..., World]) -> None:
    world = read("fixed_frame: world\nframes: [{name: a}]\n")
    table = lay_out(world).frames
    assert (table.names, table.parents.tolist()) == (("world", "a"), [-1, 0])


def test_origin_is_latitude_longitude_altitude(read: Callable[..., World]) -> None:
    world = read("origin: {latitude: 47.397742, longitude: 8.545594, altitude: 488.0}")
    assert world.origin == Origin(47.397742, 8.545594, 488.0)


@pytest.mark.parametrize(
    ("text", "nanoseconds"),
    [
        ("0", 0),
        ("1.1", 1_100_000_000),
        ("1e-6", 1_000),
        (".5", 500_000_000),
        # No double lies near enough: read as decimals.
        ("123456789.123456789", 123_456_789_123_456_789),
        ("0.0000000005", 0),
        ("0.0000000015", 2),
        ("1e-400", 0),
        ("2147483647", 2_147_483_647_000_000_000),
    ],
)
def test_times_are_exact_to_the_nanosecond(read: Callable[..., World], text: str, nanoseconds: int) -> None:
    assert read(f"time: {{start: {text}}}").time.start_ns == nanoseconds


def test_time_has_defaults_for_each_part(read: Callable[..., World]) -> None:
    assert read("time: {step: 0.5}").time == TimeGrid(0, 500_000_000)
    assert read("time: {start: 3}").time == TimeGrid(3_000_000_000, 10_000_000)


def test_static_frames_have_a_name_a_parent_and_a_pose(read: Callable[..., World]) -> None:
    world = read("""\
        frames:
          - {name: mast, parent: map, pose: {position: [1, 2, 3], quaternion: [0, 0, 1, 0]}}
          - {name: lamp, parent: mast}
        """)
    assert world.frames == (
        StaticFrame("mast", "map", np.array([1.0, 2, 3, 0, 0, 1, 0])),
        StaticFrame("lamp", "mast", np.array([0.0, 0, 0, 0, 0, 0, 1])),
    )


def test_the_order_of_the_file_is_free(read: Callable[..., World]) -> None:
    world = read("""\
        motions: [{frame: b, parent: a, keyframes: [{t: 0}]}]
        frames: [{name: c, parent: b}, {name: a, parent: root}]
        fixed_frame: root
        """)
    assert lay_out(world).frames.names == ("root", "a", "b", "c")


@pytest.mark.parametrize(
    ("frames", "name", "parent"),
    [
        ("{name: a}", "a", "map"),
        ("{name: drone}, {name: drone/mast}", "drone/mast", "drone"),
        ("{name: a}, {name: a/b/c}", "a/b/c", "a"),
        ("{name: a}, {name: a/b}, {name: a/b/c}", "a/b/c", "a/b"),
        ("{name: drone/mast}", "drone/mast", "map"),
        ("{name: dron}, {name: drone/mast}", "drone/mast", "map"),
    ],
)
def test_a_frame_without_a_parent_hangs_below_what_its_name_lies_below(
    read: Callable[..., World], frames: str, name: str, parent: str
) -> None:
    table = lay_out(read(f"frames: [{frames}]")).frames
    assert table.names[table.parents[table.index(name)]] == parent


def test_moving_frames_have_default_parents_too(read: Callable[..., World]) -> None:
    world = read("""\
        frames: [{name: cart}]
        motions: [{frame: cart/arm, keyframes: [{t: 0}, {t: 1}]}, {frame: bird, keyframes: [{t: 0}]}]
        """)
    assert [motion.parent for motion in world.motions] == ["cart", "map"]


@pytest.mark.parametrize(
    ("frames", "sensor", "parent"),
    [
        ("{name: drone/base_link}", "drone/CAM_FRONT", "drone/base_link"),
        ("{name: base_link}", "CAM_FRONT", "base_link"),
        ("{name: base_link}, {name: drone/base_link}", "drone/CAM_FRONT", "drone/base_link"),
        ("{name: drone/base_link}", "drone/base_link/CAM_FRONT", "drone/base_link"),
        ("{name: drone/base_link}", "drone/gimbal/CAM_FRONT", "drone/base_link"),
        ("{name: drone/base_link}, {name: drone/gimbal/base_link}", "drone/gimbal/CAM", "drone/gimbal/base_link"),
        ("{name: drone/base_link}, {name: mast}", "drone/CAM_FRONT, parent: mast", "mast"),
    ],
)
def test_sensors_are_mounted_on_the_base_link_of_their_namespace(
    read: Callable[..., World], frames: str, sensor: str, parent: str
) -> None:
    world = read(f"frames: [{frames}]\nsensors: [{{name: {sensor}, pose: {{position: [0.1, 0, 0.2]}}}}]")
    (mounting,) = world.sensors
    assert mounting == Sensor(sensor.partition(",")[0], parent, np.array([0.1, 0, 0.2, 0, 0, 0, 1]))
    assert lay_out(world).frames.static.all()


def test_the_base_link_of_a_sensor_may_move(read: Callable[..., World]) -> None:
    world = read("""\
        motions: [{frame: drone/base_link, keyframes: [{t: 0}, {t: 1, position: [1, 0, 0]}]}]
        sensors: [{name: drone/IMU_MAIN}]
        """)
    table = lay_out(world).frames
    assert table.names == ("map", "drone/base_link", "drone/IMU_MAIN")
    assert table.static.tolist() == [True, False, True]


def test_words_are_kept_as_they_are_written(read: Callable[..., World]) -> None:
    """YAML 1.1 would read these as a boolean, a date and a sexagesimal number."""
    world = read("world: on\nframes: [{name: yes}, {name: 2024-05-01}, {name: 1:30}, {name: '7'}]")
    assert world.name == "on"
    assert [frame.name for frame in world.frames] == ["yes", "2024-05-01", "1:30", "7"]


def test_arrays_of_a_world_cannot_be_written(read: Callable[..., World]) -> None:
    world = read(SMALLEST)
    layout = lay_out(world)
    for array in (
        world.frames[0].pose,
        world.motions[0].poses,
        world.motions[0].times_ns,
        layout.poses,
        layout.frames.parents,
        layout.frames.static,
    ):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0


def test_worlds_are_equal_by_what_they_say_not_by_where(write: Callable[..., Path]) -> None:
    one, other = load(write(SMALLEST)), load(write("# moved down by a line\n" + SMALLEST, "other.yaml"))
    assert one.frames == other.frames
    assert one.motions == other.motions
    assert one.frames[0].place != other.frames[0].place
    third = load(write(SMALLEST.replace("0.02", "0.03"), "third.yaml"))
    assert one.frames != third.frames
