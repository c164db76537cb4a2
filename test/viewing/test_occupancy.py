"""Maps of worlds: cells where solids are, by their analytic outlines, and files as map_server reads them."""

from __future__ import annotations

import io
import math
from pathlib import Path

import numpy as np
import pytest
import yaml
from PIL import Image

from sim_node.assembly import assemble
from sim_node.cli.main import main
from sim_node.viewing.occupancy import FREE, OCCUPIED, UNKNOWN, GridFault, OccupancyGrid, occupancy_of, pgm_of, yaml_of
from sim_node.world import World, loads

ROOM = """
world: room
physics: {timestep: 0.002}
bodies:
  - name: walls
    geometry:
      - {box: [4.2, 0.1, 1], pose: {position: [0, 2.05, 0.5]}}
      - {box: [4.2, 0.1, 1], pose: {position: [0, -2.05, 0.5]}}
      - {box: [0.1, 4, 1], pose: {position: [2.05, 0, 0.5]}}
      - {box: [0.1, 4, 1], pose: {position: [-2.05, 0, 0.5]}}
  - {name: column, pose: {position: [1, 0.5, 0]}, geometry: [{cylinder: [0.3, 3]}]}
  - {name: lamp, pose: {position: [0, 0, 3]}, geometry: [{box: [1, 1, 1]}]}
  - {name: crate, joint: {type: free, q: [-1, -1, 0.25, 0, 0, 0, 1]}, geometry: [{box: [0.5, 0.5, 0.5], mass: 1}]}
"""


def world(text: str = ROOM) -> World:
    return assemble(loads(text))


def at(grid: OccupancyGrid, x: float, y: float) -> int:
    column, row = (math.floor((value - low) / grid.resolution) for value, low in zip((x, y), grid.origin, strict=True))
    return int(grid.cells[row, column])


def test_a_room_from_inside() -> None:
    grid = occupancy_of(world(), 0.05, starts=[(0.0, 0.0)])
    assert at(grid, 0.0, 0.0) == FREE, "the lamp hangs above the slice"
    assert at(grid, 0.0, 2.02) == at(grid, 2.02, 0.0) == OCCUPIED
    assert at(grid, 2.3, 0.0) == UNKNOWN, "nobody gets outside"
    assert at(grid, 1.0, 0.5) == UNKNOWN, "nor into the column"
    assert at(grid, -1.0, -1.0) == FREE, "what can be pushed is not on the map"
    moving = occupancy_of(world(), 0.05, starts=[(0.0, 0.0)], moving=True)
    assert at(moving, -0.8, -1.0) == OCCUPIED
    # Walls between cells are exactly as thick as they are: 2 cells, from -2.1 to 2.1.
    middle = grid.cells[math.floor((0.0 - grid.origin[1]) / 0.05)]
    columns = np.flatnonzero(middle == OCCUPIED) * 0.05 + grid.origin[0]
    assert columns == pytest.approx([-2.1, -2.05, 2.0, 2.05])


def test_the_edge_is_where_free_cells_begin_without_robots() -> None:
    grid = occupancy_of(world(), 0.1)
    assert at(grid, 2.4, 0.0) == FREE
    assert at(grid, 0.0, 0.0) == UNKNOWN


@pytest.mark.parametrize(
    ("x", "y", "size", "yaw"), [(0.0, 0.0, 0.5, 0.0), (0.013, -0.2, 0.43, 0.7), (-0.31, 0.22, 0.37, 2.1)]
)
def test_a_turned_box_by_its_outline(x: float, y: float, size: float, yaw: float) -> None:
    """A cell that the outline crosses well inside is occupied; one further than its diagonal is not."""
    text = f"""
world: box
physics: {{timestep: 0.002}}
bodies:
  - name: box
    pose: {{position: [{x}, {y}, 0.6], rpy_deg: [0, 0, {math.degrees(yaw)}]}}
    geometry: [{{box: [{size}, {size}, 2]}}]
"""
    grid = occupancy_of(world(text), 0.05)
    rows, columns = np.indices(grid.cells.shape)
    centres = np.stack([columns + 0.5, rows + 0.5], axis=-1) * grid.resolution + grid.origin - [x, y]
    cosine, sine = math.cos(yaw), math.sin(yaw)
    local = np.abs(centres @ np.array([[cosine, -sine], [sine, cosine]]))
    # Distance to the outline of a square, negative inside.
    outside = np.hypot(*np.maximum(local - size / 2, 0.0).transpose(2, 0, 1))
    distance = np.where(outside > 0.0, outside, (local - size / 2).max(axis=-1))
    half, reach = grid.resolution / 2, grid.resolution / math.sqrt(2)
    occupied = grid.cells == OCCUPIED
    assert occupied[np.abs(distance) < half - 1e-6].all()
    assert not occupied[np.abs(distance) > reach + 1e-6].any()


def test_files_as_map_server_reads_them() -> None:
    cells = np.array([[FREE, OCCUPIED, UNKNOWN], [OCCUPIED, FREE, FREE]], dtype=np.int8)
    grid = OccupancyGrid(cells, (-1.5, 2.25), 0.05)
    found = yaml.safe_load(yaml_of(grid, "a hall.pgm"))
    assert found["image"] == "a hall.pgm"
    assert (found["resolution"], found["origin"], found["negate"], found["mode"]) == (
        0.05,
        [-1.5, 2.25, 0],
        0,
        "trinary",
    )
    pixels = np.asarray(Image.open(io.BytesIO(pgm_of(grid))))
    # map_server: p = (255 - shade) / 255; occupied above occupied_thresh, free below free_thresh; the image's last row
    # is the map's first.
    share = (255 - pixels[::-1].astype(float)) / 255
    again = np.where(share > found["occupied_thresh"], OCCUPIED, np.where(share < found["free_thresh"], FREE, UNKNOWN))
    assert again.tolist() == cells.tolist()


def test_faults(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(GridFault, match="nothing stands"):
        occupancy_of(world(), 0.05, (5.0, 6.0))
    with pytest.raises(GridFault, match="start is occupied"):
        occupancy_of(world(), 0.05, starts=[(0.0, 2.05)])
    with pytest.raises(GridFault, match="outside"):
        occupancy_of(world(), 0.05, starts=[(50.0, 0.0)])
    with pytest.raises(GridFault, match="cells"):
        occupancy_of(world(), 1e-4)
    assert main(["map", "warehouse", "-o", str(tmp_path / "hall.png")]) == 2
    assert "needs the suffix .yaml" in capsys.readouterr().err


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["map", "warehouse", "--resolution", "0.2", "--moving", "-o", str(tmp_path / "hall.yaml")]) == 0
    assert "frame map" in capsys.readouterr().out
    found = yaml.safe_load((tmp_path / "hall.yaml").read_text())
    assert Image.open(tmp_path / found["image"]).size[0] > 80
