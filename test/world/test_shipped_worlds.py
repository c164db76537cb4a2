"""The example worlds, against the formulas that they were drawn from."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from nightly import only
from scipy.spatial.transform import Rotation

from sim_node.assembly import assemble
from sim_node.simulation import Simulation
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.world import Motion, lay_out, load
from sim_node.world.locate import shipped_worlds


def heading(motion: Motion) -> FloatArray:
    """Yaw in degrees at each keyframe, by scipy."""
    return np.asarray(Rotation.from_quat(motion.poses[:, 3:]).as_euler("ZYX", degrees=True)[:, 0])


def same_angles(found: FloatArray, expected: FloatArray, tolerance: float) -> bool:
    off = (np.asarray(found) - expected + 180) % 360 - 180
    return bool(np.abs(off).max() < tolerance)


@pytest.mark.parametrize("name", shipped_worlds())
def test_each_loads_without_a_warning(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        world = load(name)
    assert world.name == name
    layout = lay_out(assemble(world))
    assert not layout.frames.static.all(), "an example moves"
    assert np.isfinite(layout.poses).all()


def test_the_drone_of_orbit_flies_a_circle_with_its_nose_along_it() -> None:
    world = load("orbit")
    orbit = next(motion for motion in world.motions if motion.frame == "drone/base_link")
    angle = np.radians(30) * orbit.times_ns / 1e9
    circle = np.stack([4 * np.cos(angle), 4 * np.sin(angle), 3 + 0.5 * np.sin(2 * angle)], axis=1)
    np.testing.assert_allclose(orbit.poses[:, :3], circle, atol=1e-4)
    assert same_angles(heading(orbit), np.degrees(angle) + 90, 1e-9)


def test_the_imu_of_orbit_is_mounted_upside_down_in_both_axes() -> None:
    """Given in FRD as half a turn about x, which FLU says the same way; z = 1 cm down in FRD is below."""
    layout = lay_out(assemble(load("orbit")))
    imu = layout.poses[layout.frames.index("drone/IMU_MAIN")]
    np.testing.assert_allclose(np.abs(imu), [0, 0, 0.01, 1, 0, 0, 0], atol=1e-15)
    assert imu[2] == -0.01


def test_cameras_of_orbit_look_ahead_and_down() -> None:
    """The optical z axis (REP 103): ten degrees below the nose, and straight down."""
    layout = lay_out(assemble(load("orbit")))
    looks = {}
    for camera in ("drone/CAM_FRONT_optical", "drone/CAM_DOWN_optical"):
        pose = layout.frames.lookup(layout.poses, "drone/base_link", camera)
        looks[camera] = Rotation.from_quat(pose[3:]).apply([0, 0, 1])
    ten = np.radians(10)
    np.testing.assert_allclose(looks["drone/CAM_FRONT_optical"], [np.cos(ten), 0, -np.sin(ten)], atol=1e-12)
    np.testing.assert_allclose(looks["drone/CAM_DOWN_optical"], [0, 0, -1], atol=1e-12)


def test_the_scout_flies_a_figure_of_eight_from_csv() -> None:
    world = load("two_vehicles")
    scout = next(motion for motion in world.motions if motion.frame == "scout/base_link")
    phase = 2 * np.pi * scout.times_ns / 16e9
    eight = np.stack([5 * np.sin(phase), 2.5 * np.sin(2 * phase), 3 + 0.8 * np.cos(phase)], axis=1)
    np.testing.assert_allclose(scout.poses[:, :3], eight, atol=1e-4)
    # Along the path: the derivative of the eight.
    assert same_angles(heading(scout), np.degrees(np.arctan2(np.cos(2 * phase), np.cos(phase))), 0.01)


def test_the_two_vehicles_have_their_own_prefixes_and_places() -> None:
    world = load("two_vehicles")
    layout = lay_out(assemble(world))
    table = layout.frames
    assert table.path("rover/GNSS_REAR") == "map/rover/base_link/GNSS_REAR"
    assert table.path("scout/CAM_FRONT") == "map/scout/map/base_link/CAM_FRONT"
    assert layout.poses[table.index("scout/map")].tolist() == [5, 5, 0, 0, 0, 0, 1]
    assert {table.names[row] for row, _ in layout.moving} == {"rover/base_link", "scout/base_link"}


def test_the_arm_hangs_link_below_link() -> None:
    table = lay_out(assemble(load("arm_on_cart"))).frames
    assert [table.names[row] for row in reversed(table.chain(table.index("tool0")))] == [
        "world",
        "world/track",
        "world/track/cart",
        "world/track/cart/arm_base",
        "shoulder",
        "elbow",
        "wrist",
        "tool0",
    ]


@pytest.mark.parametrize(("name", "seconds"), only([("quadrotor", 45.0), ("formation", 30.0)], 0))
def test_each_vehicle_flies_by_all_its_waypoints_and_touches_nothing(name: str, seconds: float) -> None:
    """Without its sensors; within the radius that each waypoint gives, and in the air until the end."""
    world = load(name)
    simulation = Simulation(world, sensors=False)
    rows = [simulation.frames.index(vehicle.body) for vehicle in world.vehicles]
    places = []
    for _ in range(round(seconds / 0.05)):
        simulation.run(0.05)
        places.append(simulation.snapshot().poses[rows, :3])
    flown = np.array(places)
    for place, vehicle in enumerate(world.vehicles):
        assert vehicle.pilot is not None
        for waypoint in vehicle.pilot.waypoints:
            away = np.linalg.norm(flown[:, place] - waypoint.position, axis=1)
            assert away.min() < waypoint.radius, (vehicle.name, waypoint)
        assert flown[200:, place, 2].min() > 1.0
    apart = np.linalg.norm(flown[:, :, None] - flown[:, None], axis=-1)[:, ~np.eye(len(rows), dtype=bool)]
    assert apart.min(initial=np.inf) > 1.0
