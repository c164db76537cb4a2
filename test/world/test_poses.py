"""Poses as files write them, against transforms3d, scipy and matrices derived by hand."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence

import numpy as np
import pytest
import scipy.linalg
import transforms3d
from scipy.spatial.transform import Rotation

from sim_node.spatial.frames import Frame, convert_transform
from sim_node.spatial.geometry import poses
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.world import World, WorldWarning

# Columns are the axes of NED in ENU (north is ENU's y, east its x, down its -z), and of FRD in FLU.
ENU_FROM_NED = np.array([[0.0, 1, 0], [1, 0, 0], [0, 0, -1]])
FLU_FROM_FRD = np.diag([1.0, -1, -1])

RANDOM = np.random.default_rng(2)
ANGLES = RANDOM.uniform(-np.pi, np.pi, (40, 3))
POSITIONS = RANDOM.uniform(-10, 10, (40, 3))


def numbers(values: FloatArray) -> str:
    return "[" + ", ".join(repr(float(value)) for value in values) + "]"


def matrix_rows(matrix: FloatArray) -> str:
    return "[" + ", ".join(numbers(row) for row in matrix) + "]"


def matrix_of(pose: FloatArray) -> FloatArray:
    """(4, 4) by scipy."""
    matrix = np.eye(4)
    matrix[:3, :3] = Rotation.from_quat(pose[3:]).as_matrix()
    matrix[:3, 3] = pose[:3]
    return matrix


@pytest.fixture
def poses_of(read: Callable[..., World]) -> Callable[..., list[FloatArray]]:
    """The poses of frames that are given as flow mappings, in order."""

    def poses_of(written: Iterable[str]) -> list[FloatArray]:
        lines = [f"  - {{name: f{row}, pose: {text}}}" for row, text in enumerate(written)]
        return [frame.pose for frame in read("frames:\n" + "\n".join(lines)).frames]

    return poses_of


def test_rpy_is_fixed_axes_roll_pitch_yaw(poses_of: Callable[..., list[FloatArray]]) -> None:
    """scipy's xyz: roll about x, then pitch about y, then yaw about z of the parent (REP 103)."""
    found = poses_of(f"{{position: {numbers(p)}, rpy: {numbers(a)}}}" for p, a in zip(POSITIONS, ANGLES, strict=True))
    for pose, position, angles in zip(found, POSITIONS, ANGLES, strict=True):
        assert pose[:3].tolist() == position.tolist()
        expected = Rotation.from_euler("xyz", angles).as_matrix()
        np.testing.assert_allclose(matrix_of(pose)[:3, :3], expected, atol=1e-14)


def test_rpy_deg_is_rpy_in_degrees(poses_of: Callable[..., list[FloatArray]]) -> None:
    found = poses_of(f"{{rpy_deg: {numbers(np.degrees(a))}}}" for a in ANGLES)
    for pose, angles in zip(found, ANGLES, strict=True):
        expected = Rotation.from_euler("xyz", angles).as_matrix()
        np.testing.assert_allclose(matrix_of(pose)[:3, :3], expected, atol=1e-12)


def test_quaternion_is_x_y_z_w(poses_of: Callable[..., list[FloatArray]]) -> None:
    wxyz = [transforms3d.euler.euler2quat(*angles, axes="sxyz") for angles in ANGLES]
    found = poses_of(f"{{quaternion: {numbers(np.array([q[1], q[2], q[3], q[0]]))}}}" for q in wxyz)
    for pose, q in zip(found, wxyz, strict=True):
        np.testing.assert_allclose(matrix_of(pose)[:3, :3], transforms3d.quaternions.quat2mat(q), atol=1e-12)
        np.testing.assert_allclose(np.linalg.norm(pose[3:]), 1.0, atol=1e-15)


def test_matrix_is_rows(poses_of: Callable[..., list[FloatArray]]) -> None:
    matrices = [transforms3d.euler.euler2mat(*angles, axes="sxyz") for angles in ANGLES]
    for pose, matrix in zip(poses_of(f"{{matrix: {matrix_rows(m)}}}" for m in matrices), matrices, strict=True):
        np.testing.assert_allclose(matrix_of(pose)[:3, :3], matrix, atol=1e-12)


@pytest.mark.parametrize(("key", "factor"), [("angle", 1.0), ("angle_deg", 180 / np.pi)])
def test_axis_angle_is_right_handed_about_an_axis_of_any_length(
    poses_of: Callable[..., list[FloatArray]], key: str, factor: float
) -> None:
    axes, turns = ANGLES * 3, ANGLES[:, 0]
    found = poses_of(
        f"{{axis_angle: {{axis: {numbers(axis)}, {key}: {float(turn * factor)!r}}}}}"
        for axis, turn in zip(axes, turns, strict=True)
    )
    for pose, axis, turn in zip(found, axes, turns, strict=True):
        expected = Rotation.from_rotvec(turn * axis / np.linalg.norm(axis)).as_matrix()
        np.testing.assert_allclose(matrix_of(pose)[:3, :3], expected, atol=1e-12)


@pytest.mark.parametrize("axis", ["[1e300, 0, 0]", "[1e-300, 0, 0]", "[5e-324, 0, 0]"])
def test_axes_of_extreme_lengths_have_directions(poses_of: Callable[..., list[FloatArray]], axis: str) -> None:
    (pose,) = poses_of([f"{{axis_angle: {{axis: {axis}, angle_deg: 180}}}}"])
    np.testing.assert_allclose(pose, [0, 0, 0, 1, 0, 0, 0], atol=1e-15)


def test_no_position_is_the_origin_and_no_rotation_none(poses_of: Callable[..., list[FloatArray]]) -> None:
    found = poses_of(["{}", "{position: [1, 2, 3]}", "{quaternion: [1, 0, 0, 0]}"])
    expected = [[0, 0, 0, 0, 0, 0, 1], [1, 2, 3, 0, 0, 0, 1], [0, 0, 0, 1, 0, 0, 0]]
    np.testing.assert_array_equal(np.array(found), expected)


@pytest.mark.parametrize("convention", ["ENU", "FLU"])
def test_the_conventions_of_the_house_change_nothing(
    poses_of: Callable[..., list[FloatArray]], convention: str
) -> None:
    written = [f"{{position: {numbers(p)}, rpy: {numbers(a)}" for p, a in zip(POSITIONS, ANGLES, strict=True)]
    plain = poses_of(text + "}" for text in written)
    np.testing.assert_array_equal(poses_of(f"{text}, convention: {convention}}}" for text in written), plain)


def test_ned_is_an_frd_body_in_a_ned_world(poses_of: Callable[..., list[FloatArray]]) -> None:
    """C T B: C takes NED components to ENU, B takes FLU components to FRD."""
    found = poses_of(
        f"{{position: {numbers(p)}, rpy: {numbers(a)}, convention: NED}}"
        for p, a in zip(POSITIONS, ANGLES, strict=True)
    )
    for pose, position, angles in zip(found, POSITIONS, ANGLES, strict=True):
        rotation = transforms3d.euler.euler2mat(*angles, axes="sxyz")
        expected = np.eye(4)
        expected[:3, :3] = ENU_FROM_NED @ rotation @ FLU_FROM_FRD
        expected[:3, 3] = ENU_FROM_NED @ position
        np.testing.assert_allclose(matrix_of(pose), expected, atol=1e-12)
        written = np.array([*position, *Rotation.from_matrix(rotation).as_quat()])
        room = convert_transform(written, (Frame.NED, Frame.FRD), (Frame.ENU, Frame.FLU))
        np.testing.assert_allclose(matrix_of(pose), matrix_of(room), atol=1e-12)


def test_frd_is_an_frd_frame_on_an_frd_body(poses_of: Callable[..., list[FloatArray]]) -> None:
    found = poses_of(
        f"{{position: {numbers(p)}, rpy: {numbers(a)}, convention: FRD}}"
        for p, a in zip(POSITIONS, ANGLES, strict=True)
    )
    for pose, position, angles in zip(found, POSITIONS, ANGLES, strict=True):
        rotation = transforms3d.euler.euler2mat(*angles, axes="sxyz")
        expected = np.eye(4)
        expected[:3, :3] = FLU_FROM_FRD @ rotation @ FLU_FROM_FRD
        expected[:3, 3] = FLU_FROM_FRD @ position
        np.testing.assert_allclose(matrix_of(pose), expected, atol=1e-12)
        written = np.array([*position, *Rotation.from_matrix(rotation).as_quat()])
        room = convert_transform(written, (Frame.FRD, Frame.FRD), (Frame.FLU, Frame.FLU))
        np.testing.assert_allclose(matrix_of(pose), matrix_of(room), atol=1e-12)


@pytest.mark.parametrize(
    ("ned", "enu"),
    [
        # Looking north, level: yaw 0 in NED, a quarter turn left of east in ENU.
        ([0, 0, 0], [0, 0, 90]),
        ([0, 0, 90], [0, 0, 0]),
        # Nose up is positive in FRD and negative in FLU; rolling right is positive in both.
        ([0, 10, 0], [0, -10, 90]),
        ([20, 0, 0], [20, 0, 90]),
        ([20, 10, 30], [20, -10, 60]),
    ],
)
def test_attitudes_of_an_aircraft(
    poses_of: Callable[..., list[FloatArray]], ned: Sequence[int], enu: Sequence[int]
) -> None:
    """Roll, pitch and yaw of one attitude as a pilot would say them in both conventions."""
    given, expected = poses_of([f"{{rpy_deg: {ned}, convention: NED}}", f"{{rpy_deg: {enu}}}"])
    np.testing.assert_allclose(matrix_of(given), matrix_of(expected), atol=1e-12)


def test_a_position_in_ned_moves_to_its_axes_without_rounding(poses_of: Callable[..., list[FloatArray]]) -> None:
    (pose,) = poses_of(["{position: [0.1, 0.2, 0.3], convention: NED}"])
    assert pose[:3].tolist() == [0.2, 0.1, -0.3]


def test_scale_is_one_factor_or_three(read: Callable[..., World]) -> None:
    world = read("""\
        frames:
          - {name: a, pose: {scale: 2}}
          - {name: b, pose: {position: [1, 2, 3], rpy_deg: [0, 0, 90], scale: [1, 2, 3.5]}}
          - {name: c}
        """)
    a, b, c = world.frames
    assert np.asarray(a.scale).tolist() == [2, 2, 2]
    assert np.asarray(b.scale).tolist() == [1, 2, 3.5]
    assert c.scale is None
    # Scaled along its own axes, then turned, then moved.
    point = poses.to_homogeneous(b.pose, b.scale) @ [1, 1, 1, 1]
    np.testing.assert_allclose(point, [1 - 2, 2 + 1, 3 + 3.5, 1], atol=1e-12)


# Quaternions and matrices that are not quite rotations


def test_quaternions_within_a_thousandth_are_normalised_with_a_warning(
    poses_of: Callable[..., list[FloatArray]],
) -> None:
    with pytest.warns(WorldWarning) as caught:
        (pose,) = poses_of(["{quaternion: [0, 0, 0.7074, 0.7074]}"])
    (warning,) = caught
    norm = 0.7074 * np.sqrt(2)
    assert str(warning.message) == (f"w.yaml:2:35: frames[0].pose.quaternion: norm is {norm:.7g}; normalised to 1")
    np.testing.assert_allclose(pose[3:], [0, 0, np.sqrt(0.5), np.sqrt(0.5)], atol=1e-15)


def test_digits_of_single_precision_are_no_reason_to_warn(poses_of: Callable[..., list[FloatArray]]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        (pose,) = poses_of(["{quaternion: [0, 0, 0.7071068, 0.7071068]}"])
    np.testing.assert_allclose(np.linalg.norm(pose[3:]), 1.0, atol=1e-15)


def test_each_mended_value_is_warned_of(poses_of: Callable[..., list[FloatArray]]) -> None:
    with pytest.warns(WorldWarning) as caught:
        poses_of(["{quaternion: [0, 0, 0, 1.0005]}", "{}", "{quaternion: [0.9995, 0, 0, 0]}"])
    assert [str(warning.message) for warning in caught] == [
        "w.yaml:2:35: frames[0].pose.quaternion: norm is 1.0005; normalised to 1",
        "w.yaml:4:35: frames[2].pose.quaternion: norm is 0.9995; normalised to 1",
    ]


def test_rpy_beyond_a_full_turn_is_warned_of(poses_of: Callable[..., list[FloatArray]]) -> None:
    with pytest.warns(WorldWarning) as caught:
        (pose,) = poses_of(["{rpy: [0, 0, -90]}"])
    (warning,) = caught
    assert str(warning.message) == (
        "w.yaml:2:28: frames[0].pose.rpy: -90 rad is more than a full turn; rpy is in radians; did you mean rpy_deg?"
    )
    np.testing.assert_allclose(pose[3:], Rotation.from_euler("xyz", [0, 0, -90]).as_quat(), atol=1e-12)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        poses_of(["{rpy: [0, 0, 6.2831853]}", "{rpy_deg: [0, 0, 720]}"])


def test_the_warnings_of_a_large_file_are_cut_short(poses_of: Callable[..., list[FloatArray]]) -> None:
    with pytest.warns(WorldWarning) as caught:
        poses_of(["{quaternion: [0, 0, 0, 1.0005]}"] * 60)
    assert len(caught) == 51
    assert str(caught[-1].message) == "... and 10 more"


def test_a_matrix_of_four_digits_is_the_nearest_rotation_with_a_warning(
    poses_of: Callable[..., list[FloatArray]],
) -> None:
    """The nearest rotation is the orthogonal polar factor (Higham, 1986)."""
    rounded = np.round(transforms3d.euler.euler2mat(0.3, -0.4, 1.2, axes="sxyz"), 4)
    with pytest.warns(WorldWarning, match=r"w.yaml:2:31: frames\[0\].pose.matrix: off orthonormal by .*nearest"):
        (pose,) = poses_of([f"{{matrix: {matrix_rows(rounded)}}}"])
    nearest, _ = scipy.linalg.polar(rounded)
    np.testing.assert_allclose(matrix_of(pose)[:3, :3], nearest, atol=1e-12)
