"""Rangefinders and lidars in rooms whose walls are known."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sim_node.simulation import Simulation
from sim_node.simulation.sensors import SENSORS, Lidar2d, Lidar3d, RangeNoise
from sim_node.simulation.sensors.rays import RangeNoiseBank, directions
from sim_node.spatial.geometry import poses, quaternions
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.world import Body, Geometry, Sensor, TimeGrid, World, WorldError

# Half the inside of a room, m.
ROOM = np.array([4.0, 3.0, 1.5])
HANGING = Body(
    "hanging", "map", "ry", np.array([0, 0, 500, 0, 0, 0, 1]), geometry=(Geometry("sphere", np.array([0.1]), 1.0),)
)
UNITS = st.tuples(*[st.floats(-1.0, 1.0)] * 4).map(np.array).filter(lambda q: np.linalg.norm(q) > 0.1)
INSIDE = st.tuples(*[st.floats(-0.8, 0.8)] * 3).map(lambda part: np.array(part) * ROOM)


def wall(axis: int, side: int, colour: Sequence[float]) -> Geometry:
    size = np.array([20.0, 20.0, 20.0])
    size[axis] = 1.0
    position = np.zeros(3)
    position[axis] = side * (ROOM[axis] + 0.5)
    return Geometry("box", size, pose=np.array([*position, 0, 0, 0, 1]), colour=np.array(colour))


def room(*sensors: Sensor, step_ns: int = 10_000_000) -> Simulation:
    """A closed room around the origin with sensors in it, as a run."""
    walls = tuple(wall(axis, side, [0.5, 0.5, 0.5, 1.0]) for axis in range(3) for side in (-1, 1))
    bodies = (Body("room", "map", geometry=walls), HANGING)
    return Simulation(World("room", time=TimeGrid(step_ns=step_ns), bodies=bodies, sensors=sensors))


def lone(kind: str, pose: npt.ArrayLike = (0, 0, 0, 0, 0, 0, 1), **parameters: Any) -> Sensor:
    return Sensor("S", "map", np.array(pose), type=kind, parameters={"noise": "none", **parameters})


def first(simulation: Simulation) -> FloatArray:
    """The values of the first reading of its only sensor."""
    return np.asarray(simulation.snapshot().measurements["S"].values[0])


def to_walls(pose: FloatArray, fan: FloatArray) -> FloatArray:
    """How far it is from a pose in the room along directions in its axes: out through the nearest slab."""
    along = quaternions.rotate(pose[3:], fan)
    with np.errstate(divide="ignore", over="ignore"):
        return np.asarray(((np.copysign(ROOM, along) - pose[:3]) / along).min(axis=-1))


@settings(max_examples=25)
@given(INSIDE, UNITS)
def test_a_scan_of_a_room_is_as_far_as_its_walls(position: FloatArray, turn: FloatArray) -> None:
    pose = np.concatenate([position, turn / np.linalg.norm(turn)])
    scan = first(
        room(lone("lidar_2d", pose, angle_min=-3.0, angle_max=2.0, samples=101, range_min=0.0, range_max=50.0))
    )
    angles = -3.0 + 0.05 * np.arange(101)
    fan = np.stack([np.cos(angles), np.sin(angles), np.zeros(101)], axis=-1)
    np.testing.assert_allclose(scan, to_walls(pose, fan), rtol=1e-9)


@settings(max_examples=25)
@given(INSIDE, UNITS)
def test_the_points_of_a_cloud_lie_on_the_walls(position: FloatArray, turn: FloatArray) -> None:
    """As a set of points: each on a wall, at the angle of its ring and column, grey."""
    pose = np.concatenate([position, turn / np.linalg.norm(turn)])
    lidar = lone("lidar_3d", pose, rings=5, samples=40, vertical_min=-0.4, vertical_max=0.4, range_min=0.0)
    points = first(room(lidar))
    assert points.shape == (5, 40, 4)
    in_room = poses.apply(pose, points[..., :3])
    np.testing.assert_allclose(np.max(np.abs(in_room) - ROOM, axis=-1), 0.0, atol=1e-9)
    elevations = np.arctan2(points[..., 2], np.hypot(points[..., 0], points[..., 1]))
    np.testing.assert_allclose(elevations, np.broadcast_to([[-0.4], [-0.2], [0.0], [0.2], [0.4]], (5, 40)), atol=1e-9)
    azimuths = np.arctan2(points[..., 1], points[..., 0])
    np.testing.assert_allclose(np.diff(azimuths), 2 * math.pi / 40, rtol=1e-6)
    np.testing.assert_allclose(points[..., 3], 127.5, rtol=1e-6)


def test_an_empty_sky_has_no_points() -> None:
    nothing = Simulation(World("sky", sensors=(lone("lidar_3d", rings=2, samples=3),)))
    points = first(nothing)
    assert np.isnan(points[..., :3]).all()
    assert (points[..., 3] == 0.0).all()


def test_too_near_and_too_far_are_infinities() -> None:
    """REP 117: -inf for an object that is too near, +inf for none in range."""
    at_the_wall = np.array([3.95, 0, 0, 0, 0, 0, 1])
    scan = first(room(lone("lidar_2d", at_the_wall, angle_min=-3.14, angle_max=3.14, samples=315, range_max=7.0)))
    angles = np.linspace(-3.14, 3.14, 315)
    far = to_walls(at_the_wall, directions(angles, 0.0))
    assert (scan[far < 0.06] == -math.inf).all()
    assert (scan[far > 7.0] == math.inf).all()
    between = (far > 0.06) & (far < 7.0)
    np.testing.assert_allclose(scan[between], far[between], rtol=1e-9)
    assert min((far < 0.06).sum(), (far > 7.0).sum(), between.sum()) > 10


@pytest.mark.parametrize(("distance", "reads"), [(0.05, -math.inf), (2.0, 2.0), (7.0, math.inf)])
def test_a_rangefinder_reads_its_range(distance: float, reads: float) -> None:
    finder = lone("rangefinder", [4.0 - distance, 0, 0, 0, 0, 0, 1], field_of_view=0.0, range_max=6.0)
    assert first(room(finder))[0] == pytest.approx(reads, abs=1e-12)


def test_a_rangefinder_reads_the_nearest_in_its_cone() -> None:
    """Looking along a slanted wall 2 m ahead, the edge of the cone meets it first: law of sines."""
    view, slant = 0.4, 0.5
    turn = quaternions.exp(np.array([0.0, 0.0, slant]))
    finder = lone("rangefinder", [2.0, 0, 0, *turn], field_of_view=view)
    # Of the rays in the plane across the wall, the one turned back towards its normal by half the view.
    assert first(room(finder))[0] == pytest.approx(2.0 / math.cos(slant - 0.5 * view), rel=1e-9)


def test_ranges_are_off_by_their_noise() -> None:
    """Deviation and bias from many rays; a part of them reads nan."""
    noises = [RangeNoise(deviation=0.02, turn_on_bias=0.1, dropout=0.25), RangeNoise(), RangeNoise(resolution=0.5)]
    streams = [np.random.default_rng(k) for k in range(3)]
    bank = RangeNoiseBank(noises, streams, 100_000)
    noisy, perfect, rough = bank(np.full((3, 100_000), 10.3))
    assert np.isnan(noisy).mean() == pytest.approx(0.25, abs=0.005)
    assert np.nanstd(noisy) == pytest.approx(0.02, rel=0.02)
    first_bias, again = np.nanmean(noisy), np.nanmean(bank(np.full((3, 100_000), 10.3))[0])
    assert abs(first_bias - 10.3) > 1e-3
    assert again == pytest.approx(first_bias, abs=5e-4)
    assert (perfect == 10.3).all()
    assert (rough == 10.5).all()


def test_a_bias_is_drawn_anew_by_each_run() -> None:
    biases = [
        np.mean(RangeNoiseBank([RangeNoise(turn_on_bias=0.1)], [np.random.default_rng(k)], 3)(np.zeros((1, 3))))
        for k in range(4000)
    ]
    assert np.std(biases) == pytest.approx(0.1, rel=0.05)


def test_lidars_of_other_sizes_read_beside_each_other() -> None:
    sensors = [
        Sensor(
            f"S{rays}",
            "map",
            np.array([0, 0, 0, 0, 0, 0, 1]),
            type="lidar_2d",
            parameters={"samples": rays, "rate": 10.0},
        )
        for rays in (7, 9, 7)[:2]
    ]
    measurements = room(*sensors).snapshot().measurements
    assert measurements["S7"].values.shape == (1, 7)
    assert measurements["S9"].values.shape == (1, 9)


def test_a_wrong_count_is_reported() -> None:
    with pytest.raises(WorldError, match=r"S: samples: a whole number is needed, found 7.5"):
        room(lone("lidar_2d", samples=7.5))
    with pytest.raises(WorldError, match=r"S: samples: 0 is out of range; allowed: 1 to 32768"):
        room(lone("lidar_2d", samples=0))


@pytest.mark.parametrize("kind", [Lidar2d, Lidar3d])
def test_directions_are_unit_vectors(kind: type[Any]) -> None:
    np.testing.assert_allclose(np.linalg.norm(kind().fan(), axis=-1), 1.0, atol=1e-12)
    assert SENSORS[kind.__name__.lower().replace("2d", "_2d").replace("3d", "_3d")] is kind
