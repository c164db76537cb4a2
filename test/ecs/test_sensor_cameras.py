"""Cameras of entities: what they see, in which format, when it can be read, and what is recorded."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from nightly import only
from rosbags.highlevel import AnyReader
from rosbags.typesys import Stores, get_typestore

import sim_node.extensions.elodin as el
from sim_node.extensions.elodin.sensor_cameras import SensorCamera
from sim_node.spatial.geometry import quaternions

KDL = """
object_3d target.world_pos { sphere radius=0.1 { color 255 0 0; }; }
"""
TURN = quaternions.exp([0.2, -0.3, 2.0])


def world(**camera: Any) -> el.World:
    """A body with a camera that looks along its x axis, and a red ball."""
    made = el.World()
    eye = el.Body(world_pos=el.SpatialTransform(angular=el.Quaternion(TURN), linear=np.array([1.0, 2.0, 8.0])))
    body = made.spawn(eye, "eye")
    along = np.array([1.0, 2.0, 8.0]) + quaternions.rotate(TURN, np.array([4.5, 0.3, -0.5]))
    made.spawn(el.Body(world_pos=el.SpatialTransform(linear=along)), "target")
    given: dict[str, Any] = {"width": 160, "height": 120, "fov": 60.0, "look_at_offset": [5.0, 0.0, 0.0], **camera}
    made.sensor_camera(body, "cam", **given)
    made.schematic(KDL)
    return made


def run(made: el.World, do: Callable[[int, Any], object], ticks: int = 1, **more: Any) -> None:
    made.run(None, 1 / 100, max_ticks=ticks, interactive=False, post_step=do, start_timestamp=0, **more)


def frame(made: el.World) -> Any:
    """The frame of tick 0."""
    found: list[Any] = []
    run(made, lambda tick, ctx: found.append(ctx.render_camera("eye.cam")))
    return found[0]


@pytest.mark.usefixtures("opengl")
def test_a_ball_is_where_a_pinhole_camera_sees_it() -> None:
    """The camera is upright: its x axis is that of the body, which is rolled, and its y axis is level."""
    pixels = frame(world()).reshape(120, 160, 4)
    forward = quaternions.rotate(TURN, np.array([1.0, 0.0, 0.0]))
    left = np.cross([0.0, 0.0, 1.0], forward) / np.linalg.norm(np.cross([0.0, 0.0, 1.0], forward))
    to = quaternions.rotate(TURN, np.array([4.5, 0.3, -0.5]))
    focal = 60.0 / np.tan(np.radians(30.0))  # the field of view is vertical
    expected = np.array([79.5, 59.5]) - focal * np.array([to @ left, to @ np.cross(forward, left)]) / (to @ forward)
    red = pixels[..., 0].astype(float)
    rows, columns = np.nonzero(red > 2.0 * pixels[..., 1:3].max(axis=2))
    assert len(rows) > 10
    np.testing.assert_allclose([columns.mean(), rows.mean()], expected, atol=0.6)
    assert (pixels[..., 3] == 255).all()


@pytest.mark.usefixtures("opengl")
def test_grey_frames_are_the_brightness_of_coloured_ones() -> None:
    """ITU-R BT.601."""
    coloured, grey = frame(world()).reshape(-1, 4), frame(world(format="gray"))
    assert grey.shape == (120 * 160,)
    np.testing.assert_allclose(grey, coloured[:, :3] @ [0.299, 0.587, 0.114], atol=0.51)


@pytest.mark.parametrize(
    ("effect", "light", "expected"),
    [
        ("thermal", 127.5, [0.5, 0.25, 0.12]),
        ("thermal", 255.0, [1.0, 1.0, 0.45]),
        ("night_vision", 63.75, [0.05, 0.5, 0.025]),
        ("depth", 51.0, [0.2, 0.2, 0.2]),
    ],
)
def test_effects_are_those_of_elodins_shader(effect: str, light: float, expected: list[float]) -> None:
    camera = SensorCamera("a", "a.c", (1, 1), 1.0, 0.1, 1.0, (0, 0, 0), (1, 0, 0), "rgba", effect, {"noise_sigma": 0.0})
    found = camera.frame(np.full((1, 1, 3), light), 0)
    np.testing.assert_allclose(found[:3], 255 * np.array(expected), atol=0.51)


def test_the_same_instant_has_the_same_noise() -> None:
    camera = SensorCamera("a", "a.c", (8, 8), 1.0, 0.1, 1.0, (0, 0, 0), (1, 0, 0), "rgba", "thermal")
    grey = np.full((8, 8, 3), 100, np.uint8)
    first, again, later = (camera.frame(grey, stamp) for stamp in (7, 7, 8))
    assert (first == again).all()
    assert (first != later).any()


@pytest.mark.usefixtures("opengl")
def test_frames_stay_readable_at_their_times_until_truncate() -> None:
    made, found = world(), []

    def look(tick: int, ctx: Any) -> None:
        if tick == 0:
            found.append(ctx.read_msg("eye.cam"))
        if tick in (1, 3):
            ctx.render_cameras(["eye.cam"])
            position = ctx.read_component("target.world_pos")
            ctx.write_component("target.world_pos", position + [0, 0, 0, 0, 0, 0, 1.0])
        if tick == 4:
            newest, past = ctx.read_msg("eye.cam"), ctx.read_msg("eye.cam", 29_999)
            found.extend([newest, past, ctx.read_msg("eye.cam", 9_999)])
            ctx.truncate()
            found.append(ctx.read_msg("eye.cam"))

    run(made, look, ticks=5, is_canceled=lambda: len(found) > 1)
    before, newest, past, too_early, after = found
    assert before is None
    assert too_early is None
    assert after is None
    assert (newest != past).any()


@pytest.mark.usefixtures("opengl")
@pytest.mark.nightly
def test_the_last_256_frames_are_kept() -> None:
    found: list[Any] = []

    def look(tick: int, ctx: Any) -> None:
        ctx.render_camera("eye.cam")
        if tick == 257:
            found.extend(ctx.read_msg("eye.cam", 10_000 * at) for at in (1, 2, 257))

    run(world(width=16, height=12), look, ticks=258)
    assert found[0] is None
    assert len(found[1]) == len(found[2])


@pytest.mark.usefixtures("opengl")
@pytest.mark.parametrize("start", [0, 1_700_000_000_000_000])
def test_a_camera_with_a_rate_takes_frames_by_itself(tmp_path: Path, start: int) -> None:
    """At 40 Hz in ticks of 10 ms: at each tick that reaches the next 25 ms."""
    made = world(fps=40.0, rot_offset=[0.0, 0.0, 0.0])
    made.run(None, 1 / 100, max_ticks=10, interactive=False, start_timestamp=start, db_path=tmp_path / "bag")
    with AnyReader([tmp_path / "bag"], default_typestore=get_typestore(Stores.LATEST)) as reader:
        stamps = [stamp // 1_000_000 for each, stamp, _ in reader.messages() if each.topic == "/eye/cam"]
    assert [stamp - start // 1000 for stamp in stamps] == [0, 30, 50, 80]


@pytest.mark.usefixtures("opengl")
@pytest.mark.parametrize(
    ("turn", "axis"), only([([0, 0, 90], [0, 1, 0]), ([0, 90, 0], [0, 0, -1]), ([90, 0, 0], [1, 0, 0])], 1)
)
def test_a_turned_camera_looks_along_its_own_axis(turn: list[float], axis: list[float]) -> None:
    made = el.World()
    body = made.spawn(
        el.Body(world_pos=el.SpatialTransform(angular=el.Quaternion(TURN), linear=np.array([0, 0, 9.0]))), "eye"
    )
    seen = np.array([0, 0, 9.0]) + 3.0 * quaternions.rotate(TURN, np.array(axis, float))
    made.spawn(el.Body(world_pos=el.SpatialTransform(linear=seen)), "target")
    made.sensor_camera(body, "cam", 41, 41, rot_offset=turn)
    made.schematic(KDL)
    red, green = frame(made).reshape(41, 41, 4)[20, 20, :2].astype(int)
    assert red > 2 * green


@pytest.mark.usefixtures("opengl")
def test_frames_are_recorded_as_images(tmp_path: Path) -> None:
    frames: list[Any] = []

    def look(tick: int, ctx: Any) -> None:
        if tick % 2 == 0:
            frames.append(ctx.render_camera("eye.cam"))

    run(world(), look, ticks=5, db_path=tmp_path / "bag")
    with AnyReader([tmp_path / "bag"], default_typestore=get_typestore(Stores.LATEST)) as reader:
        images = [
            (stamp, reader.deserialize(data, each.msgtype))
            for each, stamp, data in reader.messages()
            if each.topic == "/eye/cam"
        ]
    assert [stamp for stamp, _ in images] == [0, 20_000_000, 40_000_000]
    for (stamp, image), expected in zip(images, frames, strict=True):
        assert (image.height, image.width, image.encoding, image.step) == (120, 160, "rgba8", 640)
        assert image.header.frame_id == "eye"
        assert image.header.stamp.nanosec == stamp
        assert (image.data == expected).all()


@pytest.mark.parametrize(
    ("camera", "message"),
    [
        ({"format": "rgb"}, r"'rgb' is unknown.*\(known: rgba, gray\)"),
        ({"effect": "termal"}, "'termal' is unknown; did you mean thermal"),
        ({"width": 0}, r"width and height are \(0, 120\)"),
        ({"fov": 180.0}, "fov is 180 degrees; allowed: between 0 and 180"),
        ({"near": 2.0, "far": 1.0}, "near is 2 m, far 1 m"),
        ({"fps": 0.0}, "fps is 0; a number above zero"),
        ({"rot_offset": [1.0]}, "rot_offset: three numbers are needed"),
        ({"frustum_color": 1}, "unknown argument 'frustum_color'; did you mean frustums_color"),
        ({"pos_offset": [1.0, 2.0]}, "pos_offset: three numbers are needed"),
    ],
)
def test_a_wrong_camera_is_one_error(camera: dict[str, Any], message: str) -> None:
    with pytest.raises(el.EcsError, match=message) as error:
        world(**camera)
    assert "test_sensor_cameras.py" in str(error.value)


def test_unknown_names_are_said() -> None:
    made = world()
    with pytest.raises(el.EcsError, match=r"there is a camera 'eye\.cam' already"):
        made.sensor_camera(made.entity("eye"), "cam", 10, 10)
    with pytest.raises(el.EcsError, match="there is no entity 77"):
        made.sensor_camera(77, "cam", 10, 10)
    with pytest.raises(RuntimeError, match=r"there is no sensor camera 'eye\.cm'; did you mean eye\.cam"):
        run(made, lambda tick, ctx: ctx.render_camera("eye.cm"))
