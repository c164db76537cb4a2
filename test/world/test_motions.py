"""Motions: keyframes inline and from CSV, and what goes on between and outside them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from sim_node.world import Motion, World, load


def one_motion(world: World) -> Motion:
    motion: Motion
    (motion,) = world.motions
    return motion


@pytest.mark.parametrize("kind", ["slerp", "step", "smooth", "catmull_rom"])
def test_kinds_of_interpolation(read: Callable[..., World], kind: str) -> None:
    assert (
        one_motion(read(f"motions: [{{frame: a, interpolation: {kind}, keyframes: [{{t: 0}}]}}]")).interpolation == kind
    )


@pytest.mark.parametrize("before", ["hold", "loop", "pingpong"])
@pytest.mark.parametrize("after", ["hold", "loop", "pingpong"])
def test_what_goes_on_outside_the_keyframes(read: Callable[..., World], before: str, after: str) -> None:
    motion = one_motion(read(f"motions: [{{frame: a, before: {before}, after: {after}, keyframes: [{{t: 0}}]}}]"))
    assert (motion.before, motion.after) == (before, after)


def test_the_defaults_are_slerp_and_hold(read: Callable[..., World]) -> None:
    motion = one_motion(read("motions: [{frame: a, keyframes: [{t: 0}]}]"))
    assert (motion.interpolation, motion.before, motion.after) == ("slerp", "hold", "hold")


def test_keyframes_take_every_form_of_a_pose(read: Callable[..., World]) -> None:
    """Five ways to say half a turn to the left, at a position that may be left out."""
    motion = one_motion(
        read("""\
        motions:
          - frame: a
            keyframes:
              - {t: -1.5, quaternion: [0, 0, 1, 0]}
              - {t: 0, position: [1, 2, 3], rpy: [0, 0, 3.141592653589793]}
              - {t: 1, rpy_deg: [0, 0, 180]}
              - {t: 2, matrix: [[-1, 0, 0], [0, -1, 0], [0, 0, 1]]}
              - {t: 3, axis_angle: {axis: [0, 0, 2], angle_deg: 180}}
        """)
    )
    assert motion.times_ns.tolist() == [-1_500_000_000, 0, 1_000_000_000, 2_000_000_000, 3_000_000_000]
    expected = np.tile([0, 0, 0, 0, 0, 1, 0], (5, 1))
    expected[1, :3] = [1, 2, 3]
    np.testing.assert_allclose(motion.poses, expected, atol=1e-15)


def test_successive_quaternions_lie_in_one_hemisphere(read: Callable[..., World]) -> None:
    """A turn of 720 degrees in steps of 90: q and -q are one rotation, and w goes from 1 to -1 and back."""
    keyframes = ", ".join(f"{{t: {i}, rpy_deg: [0, 0, {90 * i}]}}" for i in range(9))
    poses = one_motion(read(f"motions: [{{frame: a, keyframes: [{keyframes}]}}]")).poses
    dots = np.sum(poses[1:, 3:] * poses[:-1, 3:], axis=1)
    np.testing.assert_allclose(dots, np.cos(np.pi / 4), atol=1e-12)
    np.testing.assert_allclose(poses[[0, 4, 8], 6], [1, -1, 1], atol=1e-12)


def test_the_convention_of_a_motion_holds_for_its_keyframes(read: Callable[..., World]) -> None:
    """(north, east, down) is (east, north, up); a keyframe may say another convention for itself."""
    motion = one_motion(
        read("""\
        motions:
          - frame: a
            convention: NED
            keyframes:
              - {t: 0, position: [1, 2, -3], rpy_deg: [0, 0, 90]}
              - {t: 1, position: [1, 2, 3], convention: ENU}
        """)
    )
    np.testing.assert_allclose(np.abs(motion.poses), [[2, 1, 3, 0, 0, 0, 1], [1, 2, 3, 0, 0, 0, 1]], atol=1e-15)


# CSV


def test_csv_columns_may_stand_in_any_order(write: Callable[..., Path]) -> None:
    write("qw,t,z,y,x,qz,qx,qy\n0,-0.25,3,2,1,1,0,0\n1,0.1,6,5,4,0,0,0\n", "path.csv")
    motion = one_motion(load(write("motions: [{frame: a, after: loop, keyframes: {csv: path.csv}}]")))
    assert motion.times_ns.tolist() == [-250_000_000, 100_000_000]
    np.testing.assert_array_equal(np.abs(motion.poses), [[1, 2, 3, 0, 0, 1, 0], [4, 5, 6, 0, 0, 0, 1]])


@pytest.mark.parametrize(
    ("header", "factor"), [("t,roll,pitch,yaw", 1.0), ("t,roll_deg,pitch_deg,yaw_deg", 180 / np.pi)]
)
def test_csv_angles(write: Callable[..., Path], header: str, factor: float) -> None:
    angles = np.random.default_rng(3).uniform(-3, 3, (20, 3))
    rows = "".join(f"{i},{','.join(repr(float(part)) for part in row)}\n" for i, row in enumerate(angles * factor))
    write(f"{header}\n{rows}", "path.csv")
    motion = one_motion(load(write("motions: [{frame: a, keyframes: {csv: path.csv}}]")))
    assert not motion.poses[:, :3].any(), "a missing position is the origin"
    for pose, row in zip(motion.poses, angles, strict=True):
        q = Rotation.from_euler("xyz", row).as_quat()
        np.testing.assert_allclose(pose[3:] * np.sign(pose[3:] @ q), q, atol=1e-14)


def test_csv_positions_alone(write: Callable[..., Path]) -> None:
    write("t,x,y,z\n0,1,2,3\n", "path.csv")
    motion = one_motion(load(write("motions: [{frame: a, keyframes: {csv: path.csv}}]")))
    assert motion.poses.tolist() == [[1, 2, 3, 0, 0, 0, 1]]


def test_csv_keyframes_follow_the_convention_of_the_motion(write: Callable[..., Path]) -> None:
    write("t,x,y,z\n0,1,2,3\n", "path.csv")
    motion = one_motion(load(write("motions: [{frame: a, convention: NED, keyframes: {csv: path.csv}}]")))
    np.testing.assert_allclose(motion.poses[0, :3], [2, 1, -3])


def test_csv_as_spreadsheets_write_it(write: Callable[..., Path]) -> None:
    """Byte order mark, CRLF, quotes, padding, empty lines and rows of empty cells."""
    write(b'\xef\xbb\xbf"t", "x" ,"y",z\r\n\r\n"0", 1 ,\t2,"3"\r\n,,,\r\n1,4,5,6\r\n', "path.csv")
    motion = one_motion(load(write("motions: [{frame: a, keyframes: {csv: path.csv}}]")))
    assert motion.times_ns.tolist() == [0, 1_000_000_000]
    np.testing.assert_array_equal(motion.poses[:, :3], [[1, 2, 3], [4, 5, 6]])


def test_csv_lies_beside_the_file_that_names_it(write: Callable[..., Path]) -> None:
    write("t,x,y,z\n0,1,2,3\n", "parts/path.csv")
    write("motions: [{frame: a, keyframes: {csv: path.csv}}]", "parts/part.yaml")
    assert one_motion(load(write("include: [parts/part.yaml]"))).poses[0, 0] == 1


def test_a_thousand_keyframes_a_second_keep_their_nanoseconds(write: Callable[..., Path]) -> None:
    rows = "".join(f"1700000000.{i:03d}000001,0,0,{i}\n" for i in range(1000))
    write("t,x,y,z\n" + rows, "path.csv")
    motion = one_motion(load(write("motions: [{frame: a, keyframes: {csv: path.csv}}]")))
    expected = 1_700_000_000_000_000_001 + np.arange(1000, dtype=np.int64) * 1_000_000
    np.testing.assert_array_equal(motion.times_ns, expected)
