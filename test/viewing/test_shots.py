"""Pictures of worlds beside the pinhole: where balls, frames, trails and meshes are seen."""

from __future__ import annotations

import itertools
import json
import struct
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import trimesh
from nightly import only

from sim_node.viewing import RenderRequest, draw
from sim_node.viewing.framing import RenderError
from sim_node.world import Body, FrameNotFound, Geometry, Motion, Sensor, StaticFrame, World, WorldWarning, load

pytestmark = pytest.mark.usefixtures("opengl")
SIZE = (640, 480)
# From 6 m west of the origin and 2 m up, due east, 60 degrees across: x is ahead, y to the left, z up.
EYE = "-6,0,2@0,0,2,60"
FOCAL = 320.0 / np.tan(np.radians(30.0))
RED = np.array([0.9, 0.05, 0.05, 1.0])
LEVEL = (0.0, 0.0, 0.0, 1.0)


def pinhole(x: float, y: float, z: float) -> np.ndarray:
    """The pixel of a point as EYE sees it."""
    return np.array([319.5 - FOCAL * y / (x + 6.0), 239.5 - FOCAL * (z - 2.0) / (x + 6.0)])


def ball(x: float, y: float, z: float, name: str = "ball", parent: str = "map") -> Body:
    return Body(
        name, parent, pose=np.array([x, y, z, *LEVEL]), geometry=(Geometry("sphere", np.array([0.1]), colour=RED),)
    )


def picture(world: World, at: float = 0.0, **asked: Any) -> np.ndarray:
    return next(draw(world, RenderRequest(**{"camera": EYE, "size": SIZE, **asked}), [round(at * 1e9)]))


def red(image: np.ndarray) -> np.ndarray:
    """Where the picture is much redder than green and blue."""
    image = image.astype(int)
    return np.asarray((image[..., 0] - image[..., 1] > 60) & (image[..., 0] - image[..., 2] > 60))


def middle(mask: np.ndarray) -> np.ndarray:
    rows, columns = np.nonzero(mask)
    assert len(rows) > 0
    return np.array([columns.mean(), rows.mean()])


PLACES = ((2.0, -2.0, 1.0), (0.0, 0.0, 2.0), (0.0, 1.5, 2.5), (-2.0, 0.5, 2.8))


@pytest.mark.parametrize("place", only([(each,) for each in PLACES], 0))
def test_a_ball_is_where_the_pinhole_has_it(place: tuple[float, float, float]) -> None:
    """A ball a metre off the axis looks a little farther out than its centre, by less than a pixel here."""
    np.testing.assert_allclose(middle(red(picture(World("w", bodies=(ball(*place),))))), pinhole(*place), atol=1.0)


@pytest.mark.nightly
def test_a_scaled_box_is_as_large_as_its_scale_makes_it() -> None:
    """Its front face, 1 m wide and 0.5 m high, is 5.9 m from the camera."""
    cube = Geometry("box", np.full(3, 0.2), colour=RED)
    box = Body("box", "map", pose=np.array([0, 0, 2, *LEVEL]), scale=np.array([1.0, 5.0, 2.5]), geometry=(cube,))
    rows, columns = np.nonzero(red(picture(World("w", bodies=(box,)))))
    assert abs(np.ptp(columns) + 1 - FOCAL * 1.0 / 5.9) < 2.0
    assert abs(np.ptp(rows) + 1 - FOCAL * 0.5 / 5.9) < 2.0


@pytest.mark.nightly
def test_a_ball_is_as_large_as_the_pinhole_has_it() -> None:
    """On the axis, a radius r at distance d spans the angle asin(r / d) to each side."""
    mask = red(picture(World("w", bodies=(ball(0.0, 0.0, 2.0),))))
    width = np.ptp(np.nonzero(mask)[1]) + 1
    assert abs(width - 2 * FOCAL * np.tan(np.arcsin(0.1 / 6.0))) < 2.0


def test_far_from_the_origin_a_picture_is_the_same() -> None:
    """At 5000 km, where a float tells half a metre; whole metres, as the ground's checks repeat after two."""
    near = picture(World("w", bodies=(ball(0.0, 1.0, 2.0),)))
    far = picture(World("w", bodies=(ball(5e6, 1.0, 2.0),)), camera="4999994,0,2@5000000,0,2,60")
    np.testing.assert_allclose(middle(red(far)), middle(red(near)), atol=0.05)


# Takes seconds: make test has balls where a pinhole camera has them.
@pytest.mark.nightly
def test_a_body_without_joint_follows_its_keyframes() -> None:
    moving = Motion("base", "map", np.array([0, 4_000_000_000]), np.array([[0, -2, 2, *LEVEL], [0, 2, 2, *LEVEL]]))
    world = World("w", motions=(moving,), bodies=(ball(0.0, 0.0, 0.0, parent="base"),))
    for at in (0.0, 1.0, 3.0):
        np.testing.assert_allclose(middle(red(picture(world, at))), pinhole(0.0, at - 2.0, 2.0), atol=1.0)


def test_a_falling_ball_falls_by_half_g_t_squared() -> None:
    falling = replace(
        ball(0.0, 0.0, 3.0), joint="free", geometry=(Geometry("sphere", np.array([0.1]), 1.0, colour=RED),)
    )
    seen = middle(red(picture(World("w", bodies=(falling,)), at=0.4)))
    np.testing.assert_allclose(seen, pinhole(0.0, 0.0, 3.0 - 0.5 * 9.81 * 0.4**2), atol=1.0)


def test_through_a_camera_of_the_world() -> None:
    """Its own size and angle: a ball 4 m ahead of it, 1 m to the right."""
    camera = Sensor(
        "CAM",
        "map",
        np.array([0, 0, 2, *LEVEL]),
        type="camera",
        parameters={"width": 320, "height": 200, "horizontal_fov": 1.0},
    )
    image = picture(World("w", bodies=(ball(4.0, -1.0, 2.0),), sensors=(camera,)), camera="CAM", size=None)
    assert image.shape == (200, 320, 3)
    np.testing.assert_allclose(middle(red(image)), [159.5 + 160 / np.tan(0.5) / 4, 99.5], atol=1.0)


# Takes seconds: make test has balls where a pinhole camera has them.
@pytest.mark.nightly
def test_following_keeps_a_moving_frame_where_it_is() -> None:
    moving = Motion("base", "map", np.array([0, 4_000_000_000]), np.array([[0, -9, 2, *LEVEL], [30, 2, 2, 0, 0, 1, 0]]))
    world = World("w", motions=(moving,), bodies=(ball(0.0, 0.0, 0.0, parent="base"),))
    request = RenderRequest(camera="-6,0,0,60", follow="base", size=SIZE)
    for image in draw(world, request, [0, 1_000_000_000, 4_000_000_000]):
        np.testing.assert_allclose(middle(red(image)), [319.5, 239.5], atol=1.0)


def test_a_view_of_everything_has_every_ball() -> None:
    corners = itertools.product((-5.0, 5.0), (-3.0, 3.0), (0.5, 4.0))
    world = World("w", bodies=tuple(ball(*corner, name=f"ball{k}") for k, corner in enumerate(corners)))
    mask = red(picture(world, camera=""))
    seen = trimesh.graph.connected_components(  # neighbours across and downwards
        np.concatenate([pairs(mask, 0), pairs(mask, 1)]), nodes=np.flatnonzero(mask)
    )
    assert len(seen) == 8
    assert not mask[[0, -1]].any()
    assert not mask[:, [0, -1]].any()


def pairs(mask: np.ndarray, axis: int) -> np.ndarray:
    numbers = np.arange(mask.size).reshape(mask.shape)
    a, b = (np.take(numbers, range(k, mask.shape[axis] - 1 + k), axis) for k in (0, 1))
    both = mask.ravel()[a] & mask.ravel()[b]
    return np.stack([a[both], b[both]], axis=1)


def test_frames_are_axes_in_the_colours_of_rviz() -> None:
    """A world without shapes shows all its frames: x red away from the eye, y green to the left, z blue upwards."""
    turned = StaticFrame(
        "turned", "map", np.array([0, 0, 2, 0, 0, -np.sqrt(0.5), np.sqrt(0.5)])
    )  # its x axis to the right
    image = picture(World("w", frames=(turned,)), frames=("turned",)).astype(int)
    origin = pinhole(0.0, 0.0, 2.0)
    red_at, blue_at = middle(red(image)), middle((image[..., 2] - image[..., 0] > 90) & (image[..., 1] < 150))
    assert red_at[0] > origin[0] + 5
    assert abs(red_at[1] - origin[1]) < 2
    assert blue_at[1] < origin[1] - 5
    assert abs(blue_at[0] - origin[0]) < 2


@pytest.mark.nightly
def test_names_stand_beside_their_frames() -> None:
    """Ink to the right of and below the origin, and none where no name is asked for."""
    world = World("w", frames=(StaticFrame("here", "map", np.array([0, 0.5, 2, *LEVEL])),), bodies=(ball(0, 3, 1),))
    column, row = pinhole(0.0, 0.5, 2.0).round().astype(int)
    for names, least in (((), 0), (("here",), 20)):
        image = picture(world, frames=names)[row + 2 : row + 24, column + 4 : column + 60]
        assert ((image.max(axis=-1) < 60).sum() > 0) == (least > 0)
        assert (image.max(axis=-1) < 60).sum() >= least


@pytest.mark.nightly
def test_a_trail_is_where_the_frame_has_been() -> None:
    """A frame went from y = -2 to y = 1 at z = 2; the trail is level there, and ends where it is."""
    moving = Motion("base", "map", np.array([0, 4_000_000_000]), np.array([[0, -2, 2, *LEVEL], [0, 2, 2, *LEVEL]]))
    image = picture(World("w", motions=(moving,)), at=3.0, frames=(), trails=("base",)).astype(int)
    orange = (image[..., 0] - image[..., 2] > 100) & (image[..., 1] > 90)
    rows, columns = np.nonzero(orange)
    assert abs(rows.mean() - 239.5) < 1.5
    begin, end = pinhole(0.0, -2.0, 2.0)[0], pinhole(0.0, 1.0, 2.0)[0]
    np.testing.assert_allclose([columns.max(), columns.min()], [begin, end], atol=3.0)


def test_a_mesh_that_is_only_shown_is_drawn(tmp_path: Path) -> None:
    """A GLB of a red box, 0.4 m, on a frame that keyframes move."""
    box = trimesh.creation.box((0.4, 0.4, 0.4))
    box.visual = trimesh.visual.TextureVisuals(
        material=trimesh.visual.material.PBRMaterial(baseColorFactor=[230, 20, 20, 255])
    )
    file = tmp_path / "box.glb"
    file.write_bytes(trimesh.Scene([box]).export(file_type="glb"))
    moving = Motion("base", "map", np.array([0, 4_000_000_000]), np.array([[0, -2, 2, *LEVEL], [0, 2, 2, *LEVEL]]))
    shown = Body("hull", "base", geometry=(Geometry("mesh", np.array([1.0, 1.0, 1.0]), file=file),))
    mask = red(picture(World("w", motions=(moving,), bodies=(shown,)), at=3.0))
    np.testing.assert_allclose(middle(mask), pinhole(0.0, 1.0, 2.0), atol=3.0)
    height = np.ptp(np.nonzero(mask)[0]) + 1
    assert abs(height - FOCAL * 0.4 / 5.8) < 3.0  # its near side is 5.8 m away


def test_a_mesh_that_cannot_be_read_is_reported_and_left_out(tmp_path: Path) -> None:
    file = tmp_path / "hull.glb"
    file.write_bytes(b"glTF\2\0\0\0")
    hull = Body("hull", "map", geometry=(Geometry("mesh", np.array([1.0, 1.0, 1.0]), file=file),))
    with pytest.warns(WorldWarning, match=r"hull\.glb cannot be shown"):
        picture(World("w", bodies=(hull, ball(0, 0, 2))))


def _glb(file: Path, nodes: list[dict[str, object]], corners: list[list[float]], faces: list[int]) -> Path:
    """Write a GLB file of one mesh."""
    vertices, indices = np.array(corners, "<f4").tobytes(), np.array(faces, "<u4").tobytes()
    low, high = np.min(corners, axis=0).tolist(), np.max(corners, axis=0).tolist()
    views = [{"byteLength": len(vertices)}, {"byteOffset": len(vertices), "byteLength": len(indices)}]
    document = {
        **{"asset": {"version": "2.0"}, "scene": 0, "scenes": [{"nodes": [0]}], "nodes": nodes},
        "meshes": [{"primitives": [{"attributes": {"POSITION": 0}, "indices": 1}]}],
        "buffers": [{"byteLength": len(vertices) + len(indices)}],
        "bufferViews": [{"buffer": 0, **each} for each in views],
        "accessors": [
            *(
                {
                    "bufferView": 0,
                    "componentType": 5126,
                    "count": len(corners),
                    "type": "VEC3",
                    "min": low,
                    "max": high,
                },
            ),
            {"bufferView": 1, "componentType": 5125, "count": len(faces), "type": "SCALAR"},
        ],
    }
    text = json.dumps(document).encode()
    text += b" " * (-len(text) % 4)
    blob = vertices + indices
    chunks = struct.pack("<II", len(text), 0x4E4F534A) + text + struct.pack("<II", len(blob), 0x004E4942) + blob
    file.write_bytes(struct.pack("<III", 0x46546C67, 2, 12 + len(chunks)) + chunks)
    return file


def test_a_single_triangle_is_drawn_and_a_cycle_of_nodes_is_reported_at_its_place(tmp_path: Path) -> None:
    corners = [[0.0, -1.0, -1.0], [0.0, 1.0, -1.0], [0.0, 0.0, 1.0]]
    _glb(tmp_path / "one.glb", [{"mesh": 0}], corners, [0, 1, 2, 0, 2, 1])
    loop: list[dict[str, object]] = [{"children": [1]}, {"mesh": 0, "children": [0]}]
    _glb(tmp_path / "loop.glb", loop, [*corners, [1.0, 0.0, 0.0]], [0, 1, 2, 0, 1, 3, 0, 2, 3, 1, 2, 3])
    for name in ("one", "loop"):
        (tmp_path / f"{name}.yaml").write_text(
            f"bodies:\n- name: a\n  geometry:\n  - {{mesh: {name}.glb, only: visual}}\n"
        )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        picture(load(tmp_path / "one.yaml"))
    with pytest.warns(WorldWarning, match=r"loop.yaml:4:\d+: bodies\[0\]\.geometry\[0\]: loop\.glb cannot be shown"):
        picture(load(tmp_path / "loop.yaml"))


@pytest.mark.parametrize(
    ("asked", "error", "message"),
    [
        ({"camera": "CAM_FRNT"}, RenderError, r"no frame 'CAM_FRNT'; did you mean CAM_FRONT\?"),
        ({"camera": "1,2"}, RenderError, "'1,2' is not a viewpoint; x,y,z"),
        ({"camera": "1,2,3@1,2,x"}, RenderError, "is not a viewpoint"),
        ({"camera": "1,2,3@1,2,3"}, RenderError, "the same point"),
        ({"camera": "1,2,3@0,0,0,200"}, RenderError, "200 degrees; allowed: 1 to 170"),
        ({"camera": "CAM_FRONT", "follow": "ball"}, RenderError, "give a viewpoint"),
        ({"follow": "bal"}, FrameNotFound, r"no frame 'bal'; did you mean ball\?"),
        ({"trails": ("bal",)}, FrameNotFound, r"did you mean ball\?"),
        ({"frames": ("mat",)}, FrameNotFound, r"did you mean map\?"),
        ({"at": -1.0}, RenderError, "-1 s is before the world's start at 0 s"),
        ({"at": 1e10}, RenderError, "after the last time that fits into a stamp"),
    ],
)
def test_what_cannot_be_taken_is_reported(asked: dict[str, Any], error: type[Exception], message: str) -> None:
    camera = Sensor("CAM_FRONT", "map", np.array([0, 0, 2, *LEVEL]))
    with pytest.raises(error, match=message):
        picture(World("w", bodies=(ball(0, 0, 2),), sensors=(camera,)), **asked)
