"""Lenses with distortion: points as OpenCV projects them, pictures where the points are, rectified as without."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rosbags.typesys import Stores, get_typestore

from sim_node.messages.sensor_topics import SensorSink
from sim_node.simulation import Simulation
from sim_node.simulation.sensors import Camera
from sim_node.simulation.sensors.distortion import Distortion, Sampling
from sim_node.world import Body, Geometry, Sensor, TimeGrid, World, WorldError

BARREL = (-0.28, 0.07, 0.001, -0.002, -0.01)
FISHEYE = (-0.01, 0.02, -0.005, 0.001)
# Of OpenCV 5.0.0: cv2.projectPoints and cv2.fisheye.distortPoints, with a camera matrix of 1.
PROJECTED = {
    ("plumb_bob", BARREL): {
        (0.3, -0.2): (0.288688309, -0.192502206),
        (0.5, 0.4): (0.446718895, 0.358441116),
        (-0.6, 0.1): (-0.545585882, 0.091177647),
    },
    ("equidistant", FISHEYE): {
        (0.3, -0.2): (0.287663824018, -0.191775882678),
        (0.5, 0.4): (0.444154273587, 0.35532341887),
        (-0.6, 0.1): (-0.53833148076, 0.08972191346),
    },
}
STORE = get_typestore(Stores.ROS2_JAZZY)
HANGING = Body(
    "hanging", "map", "ry", np.array([0, 0, 500, 0, 0, 0, 1]), geometry=(Geometry("sphere", np.array([0.1]), 1.0),)
)
ORIGIN = np.array([0.0, 0, 0, 0, 0, 0, 1])


@pytest.mark.parametrize("lens", PROJECTED)
def test_points_are_where_opencv_projects_them(lens: tuple[str, tuple[float, ...]]) -> None:
    distortion = Distortion(*lens)
    for ideal, expected in PROJECTED[lens].items():
        found = distortion.distorted(np.array([ideal]))
        assert found[0] == pytest.approx(expected, abs=1e-9)
        assert distortion.undistorted(found)[0] == pytest.approx(ideal, abs=1e-9)


@given(
    st.sampled_from(list(PROJECTED)),
    st.lists(st.tuples(st.floats(-0.7, 0.7), st.floats(-0.7, 0.7)), min_size=1, max_size=20),
)
def test_undistorted_is_the_inverse(lens: tuple[str, tuple[float, ...]], points: list[tuple[float, float]]) -> None:
    distortion, ideal = Distortion(*lens), np.array(points)
    np.testing.assert_allclose(distortion.undistorted(distortion.distorted(ideal)), ideal, atol=1e-9)


def test_a_fisheye_without_coefficients_has_angles_as_distances() -> None:
    """r = f theta: a ray at 60 degrees is pi / 3 focal lengths from the axis."""
    found = Distortion("equidistant").distorted(np.array([[math.tan(math.pi / 3), 0.0], [0.0, 0.0]]))
    np.testing.assert_allclose(found, [[math.pi / 3, 0.0], [0.0, 0.0]], atol=1e-12)


def described(*shapes: Geometry, kind: str = "camera", **parameters: Any) -> World:
    bodies = (Body("scene", "map", geometry=shapes), HANGING)
    camera = Sensor("CAM", "map", ORIGIN, type=kind, parameters={"rate": 10.0, **parameters})
    return World("scene", time=TimeGrid(step_ns=10_000_000), bodies=bodies, sensors=(camera,))


@pytest.fixture(scope="module")
def gl() -> None:
    """What draws without a display, or the reason to skip."""
    with warnings.catch_warnings(record=True) as reported:
        warnings.simplefilter("always")
        pictures = Simulation(described(Geometry("sphere", np.array([0.1])))).snapshot().measurements["CAM"].values
    if not len(pictures):
        pytest.skip(f"no OpenGL here: {reported[0].message}")


def red_ball(x: float, y: float, z: float) -> Geometry:
    pose, colour = np.array([x, y, z, 0, 0, 0, 1]), np.array([1.0, 0.0, 0.0, 1.0])
    return Geometry("sphere", np.array([0.02]), colour=colour, pose=pose)


def centre_of_red(image: Any) -> tuple[float, float]:
    rows, columns = np.nonzero(image[..., 0].astype(int) - image[..., 1] > 60)
    assert len(rows) > 0
    return columns.mean(), rows.mean()


SIZE: dict[str, Any] = {"width": 320, "height": 240, "horizontal_fov": 1.2}


@pytest.mark.usefixtures("gl")
@pytest.mark.parametrize("lens", PROJECTED)
@pytest.mark.parametrize("ideal", [(0.3, -0.2), (-0.6, 0.1), (0.62, 0.45)])
def test_a_ball_is_pictured_where_the_distorted_point_is(
    lens: tuple[str, tuple[float, ...]], ideal: tuple[float, float]
) -> None:
    """The last of these places is outside the picture of a camera without distortion."""
    model, coefficients = lens
    across, below = ideal
    world = described(
        red_ball(1.5, -1.5 * across, -1.5 * below),
        distortion={"model": model, "coefficients": list(coefficients)},
        **SIZE,
    )
    image = np.asarray(Simulation(world).snapshot().measurements["CAM"].values[0])
    assert image.shape == (240, 320, 3)
    matrix = Camera(**SIZE).matrix()
    at = Distortion(model, coefficients).distorted(np.array([ideal]))[0]
    np.testing.assert_allclose(centre_of_red(image), matrix[:2, :2] @ at + matrix[:2, 2], atol=0.7)


@pytest.mark.usefixtures("gl")
def test_the_messages_of_a_stereo_camera_with_distortion() -> None:
    """The rectified picture shows the ball where K projects it, as image_proc's does."""
    lens = {"model": "plumb_bob", "coefficients": list(BARREL)}
    world = described(red_ball(1.5, -0.45, 0.3), distortion=lens, rectified=True, baseline=0.12, **SIZE)
    heard: dict[str, Any] = {}

    class Outlet:
        def advertise(self, topic: Any) -> Any:
            return lambda stamp_ns, data: heard.update({topic.name: STORE.deserialize_cdr(data, topic.type)})

    simulation = Simulation(world)
    sink = SensorSink(Outlet())
    sink.open(simulation.world, simulation.frames)
    sink.write(simulation.present())
    matrix, info = Camera(**SIZE).matrix(), heard["cam/camera_info"]
    assert (info.distortion_model, info.d.tolist()) == ("plumb_bob", list(BARREL))
    np.testing.assert_allclose(info.k.reshape(3, 3), matrix)
    assert info.p.reshape(3, 4)[:, 3].tolist() == pytest.approx([-matrix[0, 0] * 0.12, 0.0, 0.0])
    raw, rectified = heard["cam/image_raw"], heard["cam/image_rect"]
    assert (rectified.width, rectified.height, rectified.step, rectified.encoding) == (320, 240, 960, "rgb8")
    image = np.asarray(rectified.data).reshape(240, 320, 3)
    np.testing.assert_allclose(centre_of_red(image), matrix[:2, :2] @ [0.3, -0.2] + matrix[:2, 2], atol=0.7)
    found = centre_of_red(np.asarray(raw.data).reshape(240, 320, 3))
    np.testing.assert_allclose(found, matrix[:2, :2] @ [0.288688309, -0.192502206] + matrix[:2, 2], atol=0.7)


@pytest.mark.usefixtures("gl")
def test_depth_through_a_lens_is_that_of_the_surfaces_alone() -> None:
    """A wall across half of the view: each pixel has its depth or none, and nothing between."""
    wall = Geometry("box", np.array([1.0, 20.0, 20.0]), pose=np.array([3.5, 10.0, 0, 0, 0, 0, 1]))
    lens = {"model": "equidistant", "coefficients": []}
    world = described(wall, kind="depth_camera", distortion=lens, width=160, height=120, horizontal_fov=1.2)
    depth = np.asarray(Simulation(world).snapshot().measurements["CAM"].values[0])
    assert depth.shape == (120, 160)
    np.testing.assert_allclose(depth[:, :79], 3.0, rtol=1e-3)
    assert np.isinf(depth[:, 81:]).all()


@pytest.mark.usefixtures("gl")
def test_cameras_of_one_size_may_have_different_lenses() -> None:
    ball = Body("ball", "map", geometry=(red_ball(1.5, -0.45, 0.3),))
    lenses: dict[str, dict[str, Any]] = {
        "PLAIN": {},
        "BENT": {"distortion": {"model": "plumb_bob", "coefficients": list(BARREL)}},
        "FISH": {"distortion": {"model": "equidistant", "coefficients": list(FISHEYE)}},
    }
    sensors = tuple(
        Sensor(name, "map", ORIGIN, type="camera", parameters={**SIZE, **lens}) for name, lens in lenses.items()
    )
    measured = Simulation(World("ball", bodies=(ball, HANGING), sensors=sensors)).snapshot().measurements
    matrix = Camera(**SIZE).matrix()
    points = {"PLAIN": (0.3, -0.2), "BENT": (0.288688309, -0.192502206), "FISH": (0.287663824, -0.191775883)}
    for name, point in points.items():
        expected = matrix[:2, :2] @ point + matrix[:2, 2]
        np.testing.assert_allclose(centre_of_red(measured[name].values[0]), expected, atol=0.7)


@given(st.integers(2, 12), st.integers(2, 12), st.integers(0, 2**32 - 1))
def test_a_sampling_at_the_pixels_themselves_changes_nothing(width: int, height: int, seed: int) -> None:
    image = np.random.default_rng(seed).integers(0, 256, (height, width, 3)).astype(np.uint8)
    places = np.stack(np.meshgrid(np.arange(width), np.arange(height)), axis=-1).astype(float)
    np.testing.assert_array_equal(Sampling.at(places, width, height).take(image), image)
    between = Sampling.at(places[:, :-1] + [0.5, 0.0], width, height).take(image).astype(float)
    expected = 0.5 * (image[:, :-1].astype(float) + image[:, 1:])
    np.testing.assert_allclose(between, expected, atol=0.5)
    beyond = Sampling.at(places + [width, 0.0], width, height).take(image)
    assert not beyond.any(), "black outside"


@pytest.mark.parametrize(
    ("lens", "match"),
    [
        ({"coefficients": [0.1] * 6}, "plumb_bob has 5 coefficients, found 6"),
        ({"coefficients": [-3.0]}, "folds the image"),
        ({"model": "equidistant", "coefficients": [-0.9]}, "folds the image"),
        ({"model": "fisheye"}, "equidistant"),
    ],
)
def test_lenses_that_cannot_be_are_refused(lens: dict[str, Any], match: str) -> None:
    with pytest.raises(WorldError, match=match):
        Simulation(described(Geometry("sphere", np.array([0.1])), distortion=lens, **SIZE))


def test_a_fisheye_that_sees_behind_itself_is_refused() -> None:
    wide: dict[str, Any] = {"width": 640, "height": 480, "horizontal_fov": 2.6}
    with pytest.raises(WorldError, match="degrees off its axis; at most 86 are drawn"):
        Simulation(described(Geometry("sphere", np.array([0.1])), distortion={"model": "equidistant"}, **wide))
