"""Purposes, materials, lights, sky and heightmaps in pictures, in cameras and as shapes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from nightly import only
from PIL import Image
from urdf_parser_py.urdf import URDF

from sim_node.simulation import Simulation
from sim_node.viewing import RenderRequest, draw
from sim_node.viewing.browser.batches import Batches
from sim_node.viewing.markers import markers_of
from sim_node.viewing.meshes import linear
from sim_node.viewing.shapes import shapes_of
from sim_node.viewing.urdf import UrdfWriter
from sim_node.world import Body, Geometry, Sensor, World, lay_out
from sim_node.world.scene import Ground, Heightmap, Light, Sky
from sim_node.world.surfaces import Material

pytestmark = pytest.mark.usefixtures("opengl")
SIZE = (320, 240)
LEVEL = (0.0, 0.0, 0.0, 1.0)
RED, GREEN = np.array([0.9, 0.05, 0.05, 1.0]), np.array([0.05, 0.8, 0.05, 1.0])
# From 10 m above the origin, nearly straight down, with north up in the picture and east to the right.
ABOVE = "0,-0.01,10@0,0,0,60"
SIDE = "-6,0,2@0,0,2,60"


def picture(world: World, camera: str = SIDE, **asked: Any) -> np.ndarray:
    request = RenderRequest(**{"camera": camera, "size": SIZE, "has_time": False, **asked})
    return next(draw(world, request, [0])).astype(int)


def count(image: np.ndarray, channel: int) -> int:
    """How many pixels are much stronger in a channel than in the other two."""
    others = [image[..., k] for k in range(3) if k != channel]
    return int(np.sum((image[..., channel] - others[0] > 50) & (image[..., channel] - others[1] > 50)))


def two_balls() -> World:
    """A red one that is only drawn, and one that only makes contact."""
    drawn = Geometry("sphere", np.array([0.5]), colour=RED, only="visual", pose=np.array([0, 1.0, 2, *LEVEL]))
    hidden = Geometry("sphere", np.array([0.5]), only="collision", pose=np.array([0, -1.0, 2, *LEVEL]))
    return World("w", bodies=(Body("balls", "map", geometry=(drawn, hidden)),))


def test_pictures_show_visual_shapes_and_no_collision_shapes() -> None:
    world = two_balls()
    image = picture(world)
    empty = picture(World("w", bodies=()), frames=())
    left, right = np.abs(image - empty)[:, :160].max(axis=2) > 30, np.abs(image - empty)[:120, 160:].max(axis=2) > 30
    assert count(image, 0) > 500
    assert left.sum() > 500
    assert not right.any()


def test_cameras_show_visual_shapes_and_no_collision_shapes() -> None:
    def seen(*shapes: Geometry) -> np.ndarray:
        eye = Sensor("CAM", "map", np.array([-6.0, 0, 2, *LEVEL]), type="camera")
        weight = Body("weight", "map", "ry", geometry=(Geometry("sphere", np.array([0.01]), 1.0),))
        body = Body("balls", "map", geometry=shapes)
        snapshot = Simulation(World("w", bodies=(body, weight), sensors=(eye,))).snapshot()
        return np.asarray(snapshot.measurements["CAM"].values[0]).astype(int)

    drawn, hidden = two_balls().bodies[0].geometry
    both, one = seen(drawn, hidden), seen(drawn)
    assert count(both, 0) > 500
    np.testing.assert_array_equal(both, one)


def test_markers_and_urdf_have_the_shapes_for_what_they_are() -> None:
    world = two_balls()
    frames = lay_out(world).frames
    assert len(shapes_of(world, frames)) == 1
    (marker,) = markers_of(world, frames)
    assert marker.colour == pytest.approx(tuple(RED))
    link = next(each for each in URDF.from_xml_string(UrdfWriter(world, frames).whole()).links if each.name == "balls")
    (visual,), (collision,) = link.visuals, link.collisions
    assert (visual.origin.xyz, collision.origin.xyz) == ([0.0, 1.0, 2.0], [0.0, -1.0, 2.0])


@pytest.fixture
def quarters(tmp_path: Path) -> Path:
    """An image with a red upper left, a green upper right, a blue lower left and a white lower right quarter."""
    pixels = np.zeros((64, 64, 3), dtype=np.uint8)
    pixels[:32, :32, 0] = pixels[:32, 32:, 1] = pixels[32:, :32, 2] = 255
    pixels[32:, 32:] = 255
    Image.fromarray(pixels).save(tmp_path / "quarters.png")
    return tmp_path / "quarters.png"


def quarter_colours(image: np.ndarray, reach: int) -> list[int]:
    """The strongest channel upper left, upper right and lower left of the middle of a picture."""
    centre = (SIZE[1] // 2, SIZE[0] // 2)
    places = [(-reach, -reach), (-reach, reach), (reach, -reach)]
    return [int(np.argmax(image[centre[0] + row, centre[1] + column])) for row, column in places]


def test_a_texture_lies_on_the_ground_with_its_top_to_the_north(quarters: Path) -> None:
    """Images of 4 m, one of which has its middle at the origin."""
    ground = Ground(material=Material(quarters, texture_size=4.0))
    down = picture(World("w", ground=ground), camera="0,-0.01,4@0,0,0,60", frames=())
    # A picture of 60 degrees is 4.6 m wide at 4 m.
    assert quarter_colours(down, 60) == [0, 1, 2]
    beyond = picture(World("w", ground=ground), camera="3,-0.01,2@3,0,0,60", frames=())
    assert quarter_colours(beyond, 40) == [0, 0, 2], "the next image begins at 2 m with its left half"


def test_the_default_ground_has_checks_of_two_metres() -> None:
    """Seen from 10 m with 60 degrees, a picture is 20 tan(30 degrees) m wide."""
    rows = picture(World("w", ground=Ground()), camera="0,-0.01,10@0,0,0,60", frames=()).mean(axis=2)
    edges = np.flatnonzero(np.abs(np.diff(rows[SIZE[1] // 4])) > 3.0)
    edges = edges[np.diff(edges, prepend=-9) > 2]
    expected = 2.0 / (20.0 * np.tan(np.pi / 6)) * SIZE[0]
    np.testing.assert_allclose(np.diff(edges), expected, atol=2.0)
    assert len(edges) >= 4


def test_a_texture_lies_on_a_heightmap_with_its_top_to_the_north(quarters: Path) -> None:
    hills = Heightmap(np.array([4.0, 4.0]), np.zeros((5, 5)))
    ground = Ground(heightmap=hills, material=Material(quarters, texture_size=4.0))
    down = picture(World("w", ground=ground), camera="0,-0.01,4@0,0,0,60", frames=())
    assert quarter_colours(down, 40) == [0, 1, 2]


def test_a_texture_is_on_the_sides_of_a_box_and_its_mean_colour_elsewhere(tmp_path: Path) -> None:
    Image.new("RGB", (8, 8), (250, 10, 10)).save(tmp_path / "red.jpg", quality=95)
    box = Geometry("box", np.ones(3), pose=np.array([0, 0, 2, *LEVEL]), material=Material(tmp_path / "red.jpg"))
    world = World("w", bodies=(Body("box", "map", geometry=(box,)),))
    assert count(picture(world), 0) > 1000
    (shape,) = shapes_of(world, lay_out(world).frames)
    assert shape.colour == pytest.approx((250 / 255, 10 / 255, 10 / 255, 1.0), abs=0.02)


# From where each side of a box is seen, nearly along its axis.
SIDES = ["4,0,2@0,0,2,60", "-4,0,2@0,0,2,60", "0,4,2@0,0,2,60", "0,-4,2@0,0,2,60", "0,-0.01,6@0,0,2,60"]


@pytest.mark.parametrize("camera", only(SIDES, 0, 4))
def test_an_image_is_upright_on_each_side_of_a_box(quarters: Path, camera: str) -> None:
    box = Geometry("box", np.ones(3), pose=np.array([0, 0, 2, *LEVEL]), material=Material(quarters))
    world = World("w", bodies=(Body("box", "map", geometry=(box,)),))
    assert quarter_colours(picture(world, camera), 20) == [0, 1, 2]


@pytest.mark.nightly
def test_roughness_takes_highlights_away() -> None:
    """The brightest pixel of a black ball is its highlight."""

    def brightest(roughness: float) -> int:
        ball = Geometry(
            "sphere",
            np.array([1.0]),
            pose=np.array([0, 0, 2, *LEVEL]),
            colour=np.array([0.0, 0, 0, 1]),
            material=Material(roughness=roughness),
        )
        light = Light(direction=np.array([1.0, 0, -0.5]), colour=np.ones(3))
        world = World("w", bodies=(Body("ball", "map", geometry=(ball,)),), lights=(light,))
        return int(picture(world)[100:140, 140:180].max())

    assert brightest(0.0) > brightest(1.0) + 20


def test_a_material_without_a_colour_leaves_the_default_one() -> None:
    ball = Geometry("sphere", np.array([1.0]))
    rough = Geometry("sphere", np.array([1.0]), material=Material(roughness=1.0))
    colours = []
    for shape in (ball, rough):
        world = World("w", bodies=(Body("ball", "map", geometry=(shape,)),))
        colours.append(shapes_of(world, lay_out(world).frames)[0].colour)
    assert colours[0] == colours[1]


def test_a_light_ground_keeps_its_shade_in_a_bright_sun() -> None:
    """By Lambert: 0.8 of the sun's 1.0 from above and of the least light from everywhere, 0.15, of 255."""
    ground = Geometry("box", np.array([20.0, 20.0, 0.1]), colour=np.array([0.8, 0.8, 0.8, 1.0]), only="visual")
    sun = Light("directional", direction=np.array([0.0, 0.0, -1.0]), colour=np.ones(3))
    world = World("w", bodies=(Body("ground", "map", geometry=(ground,)),), lights=(sun,))
    assert picture(world, "-6,0,2@0,0,0,60", frames=())[110:130, 140:180].mean() == pytest.approx(
        255 * 0.8 * 1.15, abs=4.0
    )


def test_lights_shine_where_they_point() -> None:
    """A white wall, lit from its front or from behind it; then by a spot on its left side."""
    wall = Geometry("box", np.array([0.1, 8, 8]), pose=np.array([2, 0, 2, *LEVEL]), colour=np.ones(4))
    body = Body("wall", "map", geometry=(wall,))

    def brightness(light: Light) -> np.ndarray:
        world = World("w", bodies=(body,), lights=(light,), sky=Sky(ambient=0.1))
        return np.asarray(picture(world)[100:140, 60:260].mean(axis=(0, 2)))

    front = brightness(Light(direction=np.array([1.0, 0, 0]), colour=np.full(3, 0.6)))
    behind = brightness(Light(direction=np.array([-1.0, 0, 0]), colour=np.full(3, 0.6)))
    assert front.mean() == pytest.approx(255 * 0.7, abs=25)
    assert behind.mean() == pytest.approx(255 * 0.1, abs=10)
    spot = brightness(
        Light("spot", np.array([-2.0, 1.5, 2]), np.array([1.0, 0, 0]), np.full(3, 0.8), angle=0.2, shadows=False)
    )
    assert spot[:100].max() > spot[140:].max() + 50
    point = brightness(Light("point", np.array([1.0, -1.5, 2]), colour=np.full(3, 0.8), shadows=False))
    assert point[100:].max() > point[:40].max() + 50


def test_the_sky_has_the_colours_of_the_world() -> None:
    sky = Sky(zenith=np.array([0.6, 0.0, 0.0]), horizon=np.array([0.0, 0.6, 0.0]))
    up = picture(World("w", sky=sky), camera="0,0,1@0.01,0,10,60", frames=())
    level = picture(World("w", sky=sky), camera="0,0,1@10,0,1.5,60", frames=())
    np.testing.assert_allclose(up[115:125, 155:165].mean(axis=(0, 1)), [153, 0, 0], atol=8)
    np.testing.assert_allclose(level[100:105, 155:165].mean(axis=(0, 1)), [0, 153, 0], atol=20)


def test_a_heightmap_is_drawn_where_it_is() -> None:
    """A green tower in the north-east corner of a flat map."""
    heights = np.zeros((9, 9))
    heights[7, 7] = 2.0
    ground = Ground(heightmap=Heightmap(np.array([4.0, 4.0]), heights), colour=GREEN)
    body = Body(
        "b", "map", geometry=(Geometry("sphere", np.array([0.2]), pose=np.array([1.5, 1.5, 2, *LEVEL]), colour=RED),)
    )
    world = World("w", ground=ground, bodies=(body,))
    image = picture(world, camera="0,-0.01,6@0,0,0,60")
    rows, columns = np.nonzero((image[..., 0] - image[..., 1] > 50) & (image[..., 0] - image[..., 2] > 50))
    assert rows.mean() < 100
    assert columns.mean() > 180
    terrain = next(shape for shape in shapes_of(world, lay_out(world).frames) if shape.kind == "terrain")
    assert terrain.mesh is not None
    top = terrain.mesh.vertices[np.argmax(terrain.mesh.vertices[:, 2])]
    np.testing.assert_allclose(top, [1.5, 1.5, 2.0], atol=1e-6)


def test_the_viewer_is_sent_the_heightmap_as_triangles() -> None:
    class Recorder:
        """What the page would be sent."""

        def __init__(self) -> None:
            self.meshes: list[tuple[np.ndarray, np.ndarray, dict[str, Any]]] = []

        def add_batched_meshes_simple(self, name: str, vertices: np.ndarray, faces: np.ndarray, **look: Any) -> None:
            self.meshes.append((vertices, faces, look))

    ground = Ground(height=3.0, heightmap=Heightmap(np.array([4.0, 2.0]), np.eye(2)), colour=GREEN)
    layout = lay_out(World("w", ground=ground))
    rooted = layout.frames.in_root(layout.poses)
    page = Recorder()
    Batches(page, "/shapes", shapes_of(World("w", ground=ground), layout.frames), layout.frames.still, rooted)
    ((vertices, faces, look),) = page.meshes
    corners = {(x, y): z + look["batched_positions"][0, 2] for x, y, z in vertices.tolist()}
    assert corners == {(-2.0, -1.0): 4.0, (2.0, -1.0): 3.0, (-2.0, 1.0): 3.0, (2.0, 1.0): 4.0}
    assert len(faces) == 2
    np.testing.assert_array_equal(look["batched_colors"][0], linear(GREEN[:3]))
