"""States of frames, against closed forms of rigid motion."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.interpolate import PchipInterpolator
from scipy.spatial.transform import Rotation

from sim_node.simulation import Simulation
from sim_node.simulation.sensors.truth import CENTRAL, FORWARD, Differences, FrameState, state_of
from sim_node.spatial.geometry import poses
from sim_node.spatial.geometry.arrays import FloatArray, IntArray
from sim_node.world import Motion, Sensor, StaticFrame, TimeGrid, World, lay_out

SPAN = 1e-3
NUMBERS = st.floats(-3, 3)
VECTORS = st.tuples(NUMBERS, NUMBERS, NUMBERS).map(np.array)


def screw(velocity: FloatArray, acceleration: FloatArray, rate: FloatArray, time: float) -> FloatArray:
    """The pose of a frame that falls freely in one place and turns evenly, by scipy's rotations."""
    position = velocity * time + 0.5 * acceleration * time**2
    return np.concatenate([position, Rotation.from_rotvec(rate * time).as_quat()])[None]


@given(VECTORS, VECTORS, VECTORS)
def test_differences_of_even_motion_are_exact(velocity: FloatArray, acceleration: FloatArray, rate: FloatArray) -> None:
    """Of constant acceleration and rate they leave nothing out."""
    for stencil in (CENTRAL, FORWARD):
        ends = [screw(velocity, acceleration, rate, 1.0 + instant * SPAN) for instant in stencil.instants]
        state = state_of(np.array(ends), SPAN, stencil)
        np.testing.assert_allclose(state.pose, screw(velocity, acceleration, rate, 1.0), atol=1e-15)
        np.testing.assert_allclose(state.twist[0], [*(velocity + acceleration), *rate], atol=1e-8)
        np.testing.assert_allclose(state.acceleration[0], [*acceleration, 0, 0, 0], atol=1e-7)


def test_differences_of_a_circle_are_off_by_the_square_of_their_span() -> None:
    """2 m about the origin at 3 rad/s: w² r inwards, 18 m/s²; w⁴ r span² / 12 is left out, eleven times that ahead."""
    for stencil, off in ((CENTRAL, 1), (FORWARD, 11)):
        angles = 0.7 + 3.0 * SPAN * np.array(stencil.instants)
        zeros = np.zeros_like(angles)
        circle = np.stack([2 * np.cos(angles), 2 * np.sin(angles), zeros, zeros, zeros, zeros, zeros + 1], axis=1)
        state = state_of(circle[:, None], SPAN, stencil)
        inwards = -18.0 * np.array([np.cos(0.7), np.sin(0.7)])
        along = 6.0 * np.array([-np.sin(0.7), np.cos(0.7)])
        np.testing.assert_allclose(state.twist[0, :2], along, atol=6 * 9 * SPAN**2)
        error = np.linalg.norm(state.acceleration[0, :2] - inwards)
        assert error == pytest.approx(off * 3.0**4 * 2 * SPAN**2 / 12, rel=0.05)


@given(VECTORS, VECTORS, VECTORS, VECTORS)
def test_a_lever_arm_is_the_motion_of_its_tip(
    velocity: FloatArray, acceleration: FloatArray, rate: FloatArray, arm: FloatArray
) -> None:
    """Against differences of the tip's own positions."""
    mounting = np.concatenate([arm, Rotation.from_rotvec([0.3, -0.2, 0.9]).as_quat()])
    ends = [screw(velocity, acceleration, rate, 0.5 + dt) for dt in (-SPAN, 0.0, SPAN)]
    carried = state_of(np.array(ends), SPAN).at(mounting)
    tip = state_of(poses.compose(ends, mounting), SPAN)
    np.testing.assert_allclose(carried.pose, tip.pose, atol=1e-15)
    np.testing.assert_allclose(carried.twist, tip.twist, atol=2e-4)
    np.testing.assert_allclose(carried.acceleration, tip.acceleration, atol=2e-3)


def test_a_lever_arm_that_speeds_up() -> None:
    """On a disc at 2 rad/s, 3 rad/s² faster each second, 0.5 m from its axis: w² r inwards, dw/dt r along."""
    disc = FrameState(poses.IDENTITY[None], np.array([[0, 0, 0, 0, 0, 2.0]]), np.array([[0, 0, 0, 0, 0, 3.0]]))
    rim = disc.at(np.array([0.5, 0, 0, 0, 0, 0, 1.0]))
    np.testing.assert_allclose(rim.twist, [[0, 1.0, 0, 0, 0, 2.0]], atol=1e-15)
    np.testing.assert_allclose(rim.acceleration, [[-2.0, 1.5, 0, 0, 0, 3.0]], atol=1e-15)


def test_a_sensor_deep_in_a_tree_has_the_state_of_the_product() -> None:
    """A mast on a cart that moves evenly, a sensor on an arm that turns evenly on the mast: by hand."""
    still = np.array([0.0, 0, 0, 0, 0, 0, 1])
    quarter = Rotation.from_euler("z", 90, degrees=True).as_quat()
    second = 1_000_000_000
    world = World(
        "crane",
        frames=(
            StaticFrame("mast", "cart", np.array([0.0, 0, 2, 0, 0, 0, 1])),
            StaticFrame("tip", "arm", np.array([1.5, 0, 0, 0, 0, 0, 1])),
            StaticFrame("elsewhere", "map", still),
        ),
        motions=(
            Motion("cart", "map", np.array([0, second]), np.array([still, [3.0, 0, 0, 0, 0, 0, 1]])),
            Motion("arm", "mast", np.array([0, second]), np.array([still, [0, 0, 0, *quarter]])),
        ),
    )
    layout = lay_out(world)

    def write(table: FloatArray, ahead_ns: IntArray) -> None:
        times = 0.5 + ahead_ns * 1e-9
        table[:, layout.frames.index("cart"), :3] = times[:, None] * [3.0, 0, 0]
        table[:, layout.frames.index("arm"), 3:] = Rotation.from_euler("z", 90 * times[:, None], degrees=True).as_quat()

    chains = [layout.frames.chain(layout.frames.index(name)) for name in ("tip", "elsewhere")]
    state = Differences(layout.frames, chains).state(write, layout.poses)
    turn, reach = np.pi / 2, 1.5 * np.sqrt(0.5)
    np.testing.assert_allclose(state.pose[0, :3], [1.5 + reach, reach, 2.0], atol=1e-12)
    np.testing.assert_allclose(state.twist[0], [3.0 - turn * reach, turn * reach, 0, 0, 0, turn], atol=1e-6)
    np.testing.assert_allclose(state.acceleration[0, :3], [-(turn**2) * reach, -(turn**2) * reach, 0], atol=2e-6)
    np.testing.assert_allclose([state.twist[1], state.acceleration[1]], 0.0, atol=1e-12)


def test_gravity_is_the_standard_one_unless_said_otherwise() -> None:
    state = FrameState(poses.IDENTITY[None], np.zeros((1, 6)), np.zeros((1, 6)))
    assert state.gravity == pytest.approx(np.array([[0, 0, -9.80665]]))


def test_a_run_that_begins_in_the_middle_of_a_motion_begins_without_a_blow() -> None:
    """Held before its first keyframe, at speed from there on."""
    start, end = np.array([[0.0, 0, 0, 0, 0, 0, 1], [3.0, 0, 0, 0, 0, 0, 1]])
    motion = Motion("cart", "map", np.array([0, 1_000_000_000]), np.array([start, end]))
    imu = Sensor("IMU", "cart", start, type="imu", parameters={"accelerometer": "none"})
    truth = Sensor("TRUTH", "cart", start, type="ground_truth")
    measurements = Simulation(World("track", motions=(motion,), sensors=(imu, truth))).snapshot().measurements
    np.testing.assert_allclose(measurements["IMU"].values[0, 3:], [0, 0, 9.80665], atol=1e-6)
    np.testing.assert_allclose(measurements["TRUTH"].values[0, 7:10], [3.0, 0, 0], atol=1e-9)


def test_an_imu_on_smooth_keyframes_reads_the_derivatives_of_the_curve() -> None:
    """Rate and specific force from scipy's PCHIP of positions and of the angle about z, turned into body axes.

    Differences over 1 ms leave out span²/6 of the third derivative, here 5e-5 rad/s. Accelerations of C1 curves jump
    at keyframes: there a reading is the mean of both sides.
    """
    knots_s = np.array([0.0, 0.8, 1.5, 3.0, 3.4])
    values = np.array([[0, 0, 0, 0], [2, 1, 1, 0.6], [3, 1, 2, 1.9], [3, -2, 2, 2.5], [3, -3, 1, 1.0]])
    poses_at = np.hstack([values[:, :3], Rotation.from_euler("z", values[:, 3:]).as_quat()])
    drone = Motion("drone", "map", np.round(knots_s * 1e9).astype(np.int64), poses_at, "smooth", "pingpong", "pingpong")
    quiet = {"gyroscope": "none", "accelerometer": "none", "rate": 100.0}
    imu = Sensor("IMU", "drone", poses.IDENTITY, type="imu", parameters=quiet)
    simulation = Simulation(World("course", time=TimeGrid(0, 10_000_000), motions=(drone,), sensors=(imu,)))
    simulation.step(330)
    stamps_ns, measurements = simulation.snapshot().measurements["IMU"]
    seconds = stamps_ns * 1e-9
    # Turned back at both ends, which makes the ends level.
    there = np.concatenate([-knots_s[:0:-1], knots_s, 6.8 - knots_s[-2::-1]])
    curve = PchipInterpolator(there, np.concatenate([values[:0:-1], values, values[-2::-1]]))
    acceleration = 0.5 * (curve(seconds - 1e-9, 2) + curve(seconds + 1e-9, 2))
    force = Rotation.from_euler("z", curve(seconds)[:, 3:]).inv().apply(acceleration[:, :3] + [0, 0, 9.80665])
    rate = np.outer(curve(seconds, 1)[:, 3], [0.0, 0.0, 1.0])
    at_a_keyframe = np.isin(stamps_ns, drone.times_ns)
    assert at_a_keyframe.sum() == 3
    np.testing.assert_allclose(measurements[~at_a_keyframe], np.hstack([rate, force])[~at_a_keyframe], atol=1e-4)
    np.testing.assert_allclose(measurements[at_a_keyframe], np.hstack([rate, force])[at_a_keyframe], atol=5e-2)
