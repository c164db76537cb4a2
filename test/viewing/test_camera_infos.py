"""Frustums as CameraInfo messages describe them, with and without images."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from page import opened
from robot_topics import a, header, jpeg, transforms, written

from sim_node.session.bag_view import BagView
from sim_node.viewing.browser.viewer import Viewer
from sim_node.viewing.messages.readers import READERS, Lenses, ReaderContext

FX, FY, SIZE = 500.0, 400.0, (640, 480)
# A pinhole camera: half the picture is the tangent of half the angle, times the focal length.
FOV = 2.0 * math.atan(320.0 / 500.0), 2.0 * math.atan(240.0 / 400.0)


def info(frame: str, fx: float = FX, fy: float = FY, **fields: Any) -> Any:
    k = np.array([fx, 0.0, 320.0, 0.0, fy, 240.0, 0.0, 0.0, 1.0])
    return a("sensor_msgs/CameraInfo", header=header(frame), width=SIZE[0], height=SIZE[1], k=k, **fields)


def read(lenses: Lenses, topic: str, message: Any) -> Any:
    return READERS[message.__msgtype__].open(ReaderContext(topic, lenses=lenses))(message)


@pytest.mark.parametrize(
    ("about", "image"),
    [
        ("/cam/camera_info", "/cam/image_raw"),
        ("/cam/camera_info", "/cam/image_raw/compressed"),
        ("/elsewhere/camera_info", "/cam/image"),  # of the same frame
    ],
)
def test_an_image_has_the_field_of_view_of_its_camera(about: str, image: str) -> None:
    lenses = Lenses()
    read(lenses, "/other/camera_info", info("other", fx=100.0))
    read(lenses, about, info("optical"))
    [picture] = read(lenses, image, jpeg("optical")).items
    assert picture.fov == pytest.approx(FOV)


def test_a_region_of_interest_is_narrower() -> None:
    [picture] = read(Lenses(), "/c", info("o", roi=a("sensor_msgs/RegionOfInterest", width=64, height=48))).items
    assert picture.fov == pytest.approx((2.0 * math.atan(32.0 / 500.0), 2.0 * math.atan(24.0 / 400.0)))


def test_an_image_of_an_unknown_camera_has_square_pixels() -> None:
    [picture] = read(Lenses(), "/cam/image", jpeg("optical")).items
    assert math.tan(0.5 * picture.fov[0]) / math.tan(0.5 * picture.fov[1]) == pytest.approx(32 / 16)


@pytest.mark.parametrize("focal", [0.0, -1.0, math.nan, math.inf])
def test_a_camera_that_is_not_calibrated_says_so(focal: float) -> None:
    with pytest.raises(ValueError, match=r"not calibrated: fx, fy of K are .*, its size 640 x 480 pixels"):
        read(Lenses(), "/cam/camera_info", info("optical", fx=focal))


def test_the_frustums_of_a_bag_are_those_of_its_cameras(tmp_path: Path) -> None:
    """One for the camera with images, and one for that without; none twice."""
    messages = [("/tf", 0.1 * k, transforms("map", "front", (0.1 * k, 0.0, 0.0), 0.1 * k)) for k in range(10)]
    messages += [("/tf", 0.0, transforms("map", "rear", (-1.0, 0.0, 0.0), 0.0))]
    messages += [("/front/camera_info", 0.1 * k, info("front")) for k in range(10)]
    messages += [("/front/image/compressed", 0.1 * k, jpeg("front")) for k in range(10)]
    messages += [("/rear/camera_info", 0.0, info("rear", fx=400.0))]
    reports: list[str] = []
    viewer = Viewer(0, "test")
    view = BagView(written(tmp_path / "cameras", messages), viewer, reports.append)
    view.start(paused=True)
    view.seek(9 * 10**8)
    with opened(viewer.url) as page:
        page.until(lambda page: page.has("SceneNodeUpdateMessage", name="/world/topics/1/image/0/frustum"))
        page.until(lambda page: page.has("CameraFrustumMessage", name="/world/topics/2/image/0/frustum"))
        page.come_to_rest()  # what is not shown any more is removed
        frustums = {m["name"]: m["props"] for m in page.all("CameraFrustumMessage")}
    view.close()
    removed = {m["name"] for m in page.all("RemoveSceneNodeMessage")}
    shown = {name: props for name, props in frustums.items() if not any(name.startswith(gone) for gone in removed)}
    assert sorted(shown) == ["/world/topics/1/image/0/frustum", "/world/topics/2/image/0/frustum"]
    aspects = [shown[name]["aspect"] for name in sorted(shown)]
    assert [props["fov"] for props in shown.values()] == pytest.approx([FOV[1], FOV[1]])
    # Not 640 / 480: the pixels are not square. Tangents: 0.64 / 0.6, and 0.8 / 0.6.
    assert aspects == pytest.approx([0.64 / 0.6, 0.8 / 0.6])
    assert reports == []
