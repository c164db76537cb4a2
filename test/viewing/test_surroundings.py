"""The sky of a page as a reader of glTF sees it, and the ground in the colours of its world."""

from __future__ import annotations

import io
import json
import struct
from typing import Any

import numpy as np
import pytest
import trimesh

from sim_node.viewing.browser.surroundings import PageSurroundings, dome
from sim_node.viewing.extent import Extent
from sim_node.viewing.shapes import shapes_of
from sim_node.world import World, lay_out
from sim_node.world.scene import Ground, Sky

ZENITH, HORIZON, GROUND = np.array([0.2, 0.4, 1.0]), np.array([1.0, 0.6, 0.2]), np.array([0.1, 0.2, 0.3])


def test_the_sky_is_seen_from_within_and_goes_from_the_horizon_to_the_zenith() -> None:
    data = dome(ZENITH, HORIZON, GROUND)
    (mesh,) = trimesh.load_scene(io.BytesIO(data), file_type="glb").geometry.values()
    assert (np.einsum("ij,ij->i", mesh.triangles_center, mesh.face_normals) < 0.0).all()
    assert np.linalg.norm(mesh.vertices, axis=1) == pytest.approx(1.0, abs=1e-6)
    colours = mesh.visual.to_color().vertex_colors[:, :3] / 255.0
    height = mesh.vertices[:, 2]
    assert colours[height > 0.999] == pytest.approx(np.tile(ZENITH, ((height > 0.999).sum(), 1)), abs=0.02)
    level = np.abs(height) < 1e-6
    assert colours[level] == pytest.approx(np.tile(HORIZON, (level.sum(), 1)), abs=0.03)
    assert colours[height < -0.2] == pytest.approx(np.tile(GROUND, ((height < -0.2).sum(), 1)), abs=0.02)
    # The glTF extension by which no light changes the colours.
    (length,) = struct.unpack("<I", data[12:16])
    (material,) = json.loads(data[20 : 20 + length])["materials"]
    assert "KHR_materials_unlit" in material["extensions"]


def test_the_ground_has_the_colour_of_the_world_by_day_alone() -> None:
    class Recorder:
        """What the page would be sent."""

        def __init__(self) -> None:
            self.grids: list[dict[str, Any]] = []

        def add_grid(self, name: str, **look: Any) -> None:
            self.grids.append(look)

        def add_glb(self, name: str, data: bytes, **look: Any) -> None:
            pass

    def planes(world: World) -> Recorder:
        layout, page = lay_out(world), Recorder()
        rooted = layout.frames.in_root(layout.poses)
        surroundings = PageSurroundings(page, "/ground")
        surroundings.change(shapes_of(world, layout.frames), rooted, Extent(np.zeros(3), 5.0), Sky())
        surroundings.set_dark(True)
        return page

    day, night = planes(World("w", ground=Ground(height=2.0, colour=np.array([0.0, 0.4, 1.0, 1.0])))).grids
    assert day["plane_color"] == (0, 102, 255)
    assert day["plane_opacity"] == 1.0
    assert day["position"][2] == 2.0
    assert sum(night["plane_color"]) < 255
    assert [grid["plane_opacity"] for grid in planes(World("w")).grids] == [0.0, 0.0]
