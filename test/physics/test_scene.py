"""The ground in the simulation: planes and heightmaps, against an independent interpolation."""

from __future__ import annotations

from pathlib import Path

import mujoco
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image
from scipy.interpolate import RegularGridInterpolator

from sim_node.simulation import Simulation
from sim_node.simulation.physics import RigidBodyEngine
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.world import Body, Geometry, Physics, Sensor, TimeGrid, World, load
from sim_node.world.scene import Ground, Heightmap
from sim_node.world.surfaces import Surface

LEVEL = (0.0, 0.0, 0.0, 1.0)


def model_of(world: World) -> mujoco.MjModel:
    (engine,) = Simulation(world).engines.values()
    assert isinstance(engine, RigidBodyEngine)
    return engine.model


def bilinear(
    heights: FloatArray, size: tuple[float, float], centre: tuple[float, float] = (0.0, 0.0)
) -> RegularGridInterpolator:
    """Heights at (north, east): rows from south to north, columns from west to east."""
    rows, columns = heights.shape
    north = centre[1] + np.linspace(-0.5 * size[1], 0.5 * size[1], rows)
    east = centre[0] + np.linspace(-0.5 * size[0], 0.5 * size[0], columns)
    return RegularGridInterpolator((north, east), heights, method="linear")


def surface_height(model: mujoco.MjModel, east: float, north: float) -> float:
    """Where a vertical ray of MuJoCo hits the ground."""
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    geom = np.zeros(1, dtype=np.int32)
    normal = np.zeros(3)
    start, down = np.array([east, north, 1000.0]), np.array([0.0, 0.0, -1.0])
    try:
        distance = mujoco.mj_ray(model, data, start, down, None, 1, -1, geom, normal)
    except TypeError:  # MuJoCo 3 gives no normal
        distance = mujoco.mj_ray(model, data, start, down, None, 1, -1, geom)
    return float(1000.0 - distance)


# A cone-shaped valley off the middle, on a slope that is steeper to the north than to the east: no symmetry is left.
NORTH, EAST = np.meshgrid(np.linspace(-6, 6, 121), np.linspace(-4, 4, 81), indexing="ij")
VALLEY = 3.0 + 0.02 * EAST + 0.05 * NORTH + 0.05 * ((EAST - 1.3) ** 2 + (NORTH - 2.6) ** 2)


def test_a_ball_comes_to_rest_at_the_height_of_the_heightmap() -> None:
    """At the bottom of the valley: where the gradient vanishes, a radius above the bilinear surface."""
    radius = 0.2
    ground = Ground(heightmap=Heightmap(np.array([8.0, 12.0]), VALLEY), surface=Surface(sliding=1.0, rolling=0.002))
    ball = Body(
        "ball",
        "map",
        "free",
        q=np.array([0.5, 1.5, 4.5, *LEVEL]),
        geometry=(Geometry("sphere", np.array([radius]), 1.0),),
        damping=np.array([0.3, 0.3, 0.3, 0.0, 0.0, 0.0]),
    )
    simulation = Simulation(World("w", bodies=(ball,), ground=ground, physics=Physics(integrator="implicitfast")))
    simulation.run(20.0)
    east, north, up = simulation.snapshot().poses[simulation.frames.index("ball"), :3]
    assert up - radius == pytest.approx(float(bilinear(VALLEY, (8.0, 12.0))((north, east))), abs=5e-3)
    # d/dx: 0.02 + 0.1 (x - 1.3) = 0; d/dy: 0.05 + 0.1 (y - 2.6) = 0.
    assert (east, north) == pytest.approx((1.1, 2.1), abs=0.25)
    speed = np.linalg.norm(simulation.motion()[0][simulation.frames.index("ball"), :3])
    assert speed < 1e-2


@settings(max_examples=20)
@given(
    st.floats(-0.95, 0.95), st.floats(-0.95, 0.95), st.floats(-5, 5), st.tuples(st.floats(-50, 50), st.floats(-50, 50))
)
def test_rays_hit_the_interpolated_surface(
    along_x: float, along_y: float, height: float, centre: tuple[float, float]
) -> None:
    """On a fine grid MuJoCo's triangles and the bilinear surface differ by the curvature of a cell."""
    ground = Ground(height=height, heightmap=Heightmap(np.array([8.0, 12.0]), VALLEY, centre=np.array(centre)))
    model = model_of(World("w", ground=ground))
    east, north = centre[0] + 4.0 * along_x, centre[1] + 6.0 * along_y
    expected = height + float(bilinear(VALLEY, (8.0, 12.0), centre)((north, east)))
    assert surface_height(model, east, north) == pytest.approx(expected, abs=1e-3)


def test_the_corners_of_an_array_are_where_enu_has_them() -> None:
    """Rows from south to north, columns from west to east."""
    heights = np.array([[1.0, 2.0], [3.0, 4.0]])
    model = model_of(World("w", ground=Ground(heightmap=Heightmap(np.array([2.0, 2.0]), heights))))
    corners = {(-1, -1): 1.0, (1, -1): 2.0, (-1, 1): 3.0, (1, 1): 4.0}
    for (east, north), height in corners.items():
        assert surface_height(model, 0.999 * east, 0.999 * north) == pytest.approx(height, abs=5e-3)


@pytest.mark.parametrize("bits", [8, 16])
def test_an_image_has_north_at_its_top_and_east_at_its_right(tmp_path: Path, bits: int) -> None:
    largest = 2**bits - 1
    pixels = np.array([[0, largest], [largest // 4, largest // 2]], dtype=np.uint8 if bits == 8 else np.uint16)
    Image.fromarray(pixels).save(tmp_path / "hills.png")
    (tmp_path / "w.yaml").write_text("ground: {heightmap: {file: hills.png, size: [2, 2], range: [10, 14]}}\n")
    model = model_of(load(tmp_path / "w.yaml"))
    for (east, north), height in {(-1, 1): 10.0, (1, 1): 14.0, (-1, -1): 11.0, (1, -1): 12.0}.items():
        assert surface_height(model, 0.999 * east, 0.999 * north) == pytest.approx(height, abs=0.02)


def test_a_numpy_file_is_as_the_array(tmp_path: Path) -> None:
    np.save(tmp_path / "valley.npy", VALLEY)
    (tmp_path / "w.yaml").write_text("ground: {heightmap: {file: valley.npy, size: [8, 12]}}\n")
    world = load(tmp_path / "w.yaml")
    assert world.ground.heightmap is not None
    np.testing.assert_array_equal(world.ground.heightmap.grid(), VALLEY)
    assert surface_height(model_of(world), 1.5, -2.5) == pytest.approx(
        float(bilinear(VALLEY, (8.0, 12.0))((-2.5, 1.5))), abs=1e-3
    )


def test_a_flat_heightmap_is_flat() -> None:
    ground = Ground(height=1.5, heightmap=Heightmap(np.array([4.0, 4.0]), np.full((3, 5), 2.0)))
    model = model_of(World("w", ground=ground))
    assert surface_height(model, 0.3, -0.7) == pytest.approx(3.5, abs=1e-9)


def test_a_box_rests_on_the_plane() -> None:
    box = Body("box", "map", "free", q=np.array([0, 0, 3.0, *LEVEL]), geometry=(Geometry("box", np.full(3, 0.2), 1.0),))
    simulation = Simulation(World("w", bodies=(box,), ground=Ground(height=2.0)))
    simulation.run(1.5)
    assert simulation.snapshot().poses[simulation.frames.index("box"), 2] == pytest.approx(2.1, abs=2e-3)


def test_a_lidar_on_keyframes_sees_the_ground() -> None:
    """A world without bodies has a ground all the same."""
    down = np.array([0.0, np.sqrt(0.5), 0.0, np.sqrt(0.5)])
    ranger = Sensor(
        "RANGE",
        "map",
        np.array([1.5, -2.5, 10.0, *down]),
        type="rangefinder",
        parameters={"rate": 10.0, "range_max": 50.0, "field_of_view": 0.0, "noise": "none"},
    )
    ground = Ground(heightmap=Heightmap(np.array([8.0, 12.0]), VALLEY))
    snapshot = Simulation(World("w", time=TimeGrid(0, 100_000_000), sensors=(ranger,), ground=ground)).snapshot()
    expected = 10.0 - float(bilinear(VALLEY, (8.0, 12.0))((-2.5, 1.5)))
    assert float(snapshot.measurements["RANGE"].values[0].ravel()[0]) == pytest.approx(expected, abs=2e-2)
