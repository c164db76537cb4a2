"""Viewports of schematics in pictures, beside the pinhole, and as views of rviz2."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
import trimesh
import yaml
from nightly import only
from PIL import Image, ImageDraw
from scipy.ndimage import binary_dilation, binary_erosion
from scipy.spatial import ConvexHull
from scipy.spatial.transform import Rotation

from sim_node.cli.main import main
from sim_node.viewing import RenderRequest, draw
from sim_node.viewing.framing import RenderError
from sim_node.viewing.rviz import rviz_config
from sim_node.world import World, WorldWarning, load

SIZE = (320, 240)
FOCAL = 120.0 / math.tan(math.radians(22.5))
# A drone that looks north from (2, 1, 3), and a red ball 0.2 m wide at (2 - 0.5, 1 + 4, 3 + 0.4).
WORLD = """
world: shown
frames:
  - {name: drone, pose: {position: [2, 1, 3], rpy_deg: [0, 0, 90]}}
  - {name: ball, pose: {position: [1.5, 5, 3.4]}}
schematic: |
  viewport name=Front pos="drone.world_pos"
  viewport name=Chase pos="drone.world_pos.translate(-3, 0, 1)" look_at="drone.world_pos"
  viewport name=Beside pos="drone.world_pos.translate_world(-4, 0, 3)" look_at="drone.world_pos"
  viewport name=Mast pos="(0, 0, 10)" look_at="(3, 4, 10)"
  viewport name=Free
  object_3d ball.world_pos { sphere radius=0.2 { color 230 13 13; }
  }
"""


@pytest.fixture
def world(tmp_path: Path) -> World:
    path = tmp_path / "shown.yaml"
    path.write_text(WORLD, encoding="utf-8")
    return load(path)


@pytest.mark.usefixtures("opengl")
def test_a_viewport_sees_what_the_schematic_draws_where_a_pinhole_camera_does(world: World) -> None:
    image = next(draw(world, RenderRequest(viewport="Front", size=SIZE), [0])).astype(int)
    rows, columns = np.nonzero((image[..., 0] - image[..., 1] > 60) & (image[..., 0] - image[..., 2] > 60))
    # 4 m ahead, 0.5 m to the left, 0.4 m up.
    assert columns.mean() == pytest.approx(159.5 - FOCAL * 0.5 / 4.0, abs=1.5)
    assert rows.mean() == pytest.approx(119.5 - FOCAL * 0.4 / 4.0, abs=1.5)
    assert np.ptp(columns) == pytest.approx(2.0 * FOCAL * 0.2 / 4.0, abs=3.0)
    assert next(draw(world, RenderRequest(viewport="Free", size=SIZE), [0])).shape == (240, 320, 3)


# A tetrahedron without symmetry, in glTF axes: y is up.
CORNERS = np.array([[0.0, 0.0, 0.0], [0.9, 0.1, 0.0], [0.2, 0.6, 0.1], [0.1, 0.2, 0.7]])


def tetrahedron(path: Path) -> None:
    """Write it as a red GLB file, by trimesh."""
    material = trimesh.visual.material.PBRMaterial(baseColorFactor=[230, 13, 13, 255])
    visual = trimesh.visual.TextureVisuals(material=material)
    mesh = trimesh.Trimesh(CORNERS, [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]], visual=visual, process=False)
    path.write_bytes(trimesh.Scene(mesh).export(file_type="glb"))


# The examples of Elodin's manual, with sizes that fit the picture.
# The last row has all of the others in one.
@pytest.mark.parametrize(
    ("properties", "scale", "rotate", "translate"),
    only(
        [
            ("", 1.0, (0, 0, 0), (0, 0, 0)),
            ("scale=1.6", 1.6, (0, 0, 0), (0, 0, 0)),
            ('translate="(0, 0, -0.3)"', 1.0, (0, 0, 0), (0, 0, -0.3)),
            ('rotate="(0, 0, 180)"', 1.0, (0, 0, 180), (0, 0, 0)),
            ('scale=1.3 translate="(0, 0, 0.2)" rotate="(20, 90, -35)"', 1.3, (20, 90, -35), (0, 0, 0.2)),
        ],
        4,
    ),
)
@pytest.mark.usefixtures("opengl")
def test_models_of_files_are_drawn_where_a_pinhole_camera_sees_their_corners(
    tmp_path: Path, properties: str, scale: float, rotate: tuple[float, ...], translate: tuple[float, ...]
) -> None:
    tetrahedron(tmp_path / "model.glb")
    (tmp_path / "shown.yaml").write_text(
        "world: shown\nframes:\n"
        "  - {name: drone, pose: {position: [2000, 1, 3], rpy_deg: [0, 0, 90]}}\n"
        "  - {name: model, pose: {position: [1999.8, 5, 3.2], rpy_deg: [10, -20, 40]}}\n"
        'schematic: |\n  viewport name=Front pos="drone.world_pos"\n'
        f'  object_3d model.world_pos {{ glb path="model.glb" {properties}; }}\n',
        encoding="utf-8",
    )
    image = next(draw(load(tmp_path / "shown.yaml"), RenderRequest(viewport="Front", size=SIZE), [0])).astype(int)
    drawn = (image[..., 0] - image[..., 1] > 50) & (image[..., 0] - image[..., 2] > 50)
    upright = np.stack([CORNERS[:, 0], -CORNERS[:, 2], CORNERS[:, 1]], axis=1)
    placed = Rotation.from_euler("XYZ", rotate, degrees=True).apply(scale * upright) + translate
    world = Rotation.from_euler("ZYX", (40, -20, 10), degrees=True).apply(placed) + (1999.8, 5, 3.2)
    ahead, left, above = world[:, 1] - 1.0, -(world[:, 0] - 2000.0), world[:, 2] - 3.0
    pixels = np.stack([159.5 - FOCAL * left / ahead, 119.5 - FOCAL * above / ahead], axis=1)
    expected = Image.new("1", SIZE)
    ImageDraw.Draw(expected).polygon([tuple(pixels[k]) for k in ConvexHull(pixels).vertices], fill=1)
    inside = np.asarray(expected)
    assert inside.sum() > 1000
    assert not (drawn & ~binary_dilation(inside, np.ones((3, 3)))).any(), "drawn outside of the corners"
    assert not (binary_erosion(inside, iterations=2) & ~drawn).any(), "not drawn between the corners"


@pytest.mark.usefixtures("opengl")
def test_a_damaged_model_is_told_and_the_rest_is_drawn(tmp_path: Path) -> None:
    (tmp_path / "broken.glb").write_bytes(b"glTF\x02\x00\x00\x00")
    text = WORLD + '  object_3d drone.world_pos { glb path="broken.glb"; }\n'
    (tmp_path / "shown.yaml").write_text(text, encoding="utf-8")
    with pytest.warns(WorldWarning, match=r"not in pictures: broken.glb: \S"):
        image = next(draw(load(tmp_path / "shown.yaml"), RenderRequest(viewport="Front", size=SIZE), [0])).astype(int)
    assert ((image[..., 0] - image[..., 1] > 60) & (image[..., 0] - image[..., 2] > 60)).any()


@pytest.mark.usefixtures("opengl")
def test_what_is_far_from_the_camera_is_not_lost_in_the_haze(tmp_path: Path) -> None:
    text = (
        "world: shown\nframes: [{name: ball}]\nschematic: |\n"
        '  viewport name=Far pos="(-40, 0, 3)" look_at="ball.world_pos"\n'
        "  object_3d ball.world_pos { sphere radius=3 { color 230 13 13; }\n  }\n"
    )
    (tmp_path / "shown.yaml").write_text(text, encoding="utf-8")
    image = next(draw(load(tmp_path / "shown.yaml"), RenderRequest(viewport="Far", size=SIZE), [0])).astype(int)
    rows, _ = np.nonzero((image[..., 0] - image[..., 1] > 60) & (image[..., 0] - image[..., 2] > 60))
    # The lower part is in the ground.
    assert FOCAL * 3.0 / 40.0 < np.ptp(rows) < 2.0 * FOCAL * 3.0 / 40.0


@pytest.mark.usefixtures("opengl")
def test_mistakes_name_what_is_there(world: World, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(RenderError, match="no 'Frnt'; did you mean Front"):
        next(draw(world, RenderRequest(viewport="Frnt", size=SIZE), [0]))
    arguments = ["render", world.source, "--viewport", "Front", "--camera", "drone", "-o", str(tmp_path / "a.png")]
    assert main(arguments) == 2
    assert "--viewport cannot be combined with --camera" in capsys.readouterr().err


@pytest.mark.usefixtures("opengl")
def test_what_pictures_do_not_have_is_told(tmp_path: Path) -> None:
    path = tmp_path / "shown.yaml"
    inside = 'object_3d drone.world_pos { ellipsoid scale="drone.size"; }'
    path.write_text(f"world: w\nframes: [{{name: drone}}]\nschematic: |\n  {inside}\n", encoding="utf-8")
    with pytest.warns(WorldWarning, match=r"shown.yaml:4:47: object_3d.ellipsoid.scale: there is no 'drone.size'"):
        next(draw(load(path), RenderRequest(size=SIZE), [0]))


def test_viewports_are_views_of_rviz(world: World) -> None:
    views = {
        each["Name"]: each for each in yaml.safe_load(rviz_config(world))["Visualization Manager"]["Views"]["Saved"]
    }
    assert "Free" not in views
    chase, beside, mast, front = (views[name] for name in ("Chase", "Beside", "Mast", "Front"))
    # rviz: the camera is at distance (cos yaw cos pitch, sin yaw cos pitch, sin pitch) from the focal point.
    expected = {"Chase": [-3, 0, 1], "Beside": [-4, 0, 3], "Mast": [-3, -4, 0]}
    for view in (chase, beside, mast):
        pitch, yaw = view["Pitch"], view["Yaw"]
        ray = np.array([math.cos(yaw) * math.cos(pitch), math.sin(yaw) * math.cos(pitch), math.sin(pitch)])
        assert view["Distance"] * ray == pytest.approx(np.array(expected[view["Name"]]), abs=2e-3)
    assert (chase["Class"], chase["Target Frame"]) == ("rviz_default_plugins/ThirdPersonFollower", "drone")
    assert (beside["Class"], beside["Target Frame"]) == ("rviz_default_plugins/Orbit", "drone")
    assert (mast["Class"], mast["Target Frame"]) == ("rviz_default_plugins/Orbit", "<Fixed Frame>")
    assert mast["Focal Point"] == {"X": 3.0, "Y": 4.0, "Z": 10.0}
    # Straight ahead, in the axes of the heading.
    assert front["Focal Point"] == {"X": 5.0, "Y": 0.0, "Z": 0.0}
