"""Odometry: exact without noise, and how it drifts with it."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nightly import only
from scipy.spatial.transform import Rotation
from scipy.special import chdtri

from sim_node.randomness import stream
from sim_node.simulation import Simulation
from sim_node.simulation.sensors import FrameState, Noise, NoiseBank, Odometry
from sim_node.simulation.sensors.context import SensorContext
from sim_node.spatial.geometry import poses
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.world import Body, Geometry, Physics, Sensor, TimeGrid, World

MS = 1_000_000
PERFECT = {"linear": "none", "angular": "none"}
NUMBER = st.floats(-3, 3)


def tumbling(*sensors: Sensor) -> World:
    stone = Body(
        "stone",
        "map",
        "free",
        geometry=(Geometry("box", np.array([0.2, 0.3, 0.5]), 2.0),),
        q=np.array([5, -3, 8, *Rotation.from_rotvec([0.4, 0.2, 1.0]).as_quat()]),
        qd=np.array([3.0, 2, 1, 4, -2, 1]),
    )
    return World("air", time=TimeGrid(0, MS), bodies=(stone,), sensors=sensors, physics=Physics(contact=False))


@pytest.mark.parametrize("rate", [1000.0, 30.0, 7.0])
def test_without_noise_it_is_where_the_frame_is_from_where_it_was(rate: float) -> None:
    """At rates that do not divide the grid, too."""
    mounting = np.array([0.1, 0.2, 0.0, *Rotation.from_rotvec([0, 0.5, 0]).as_quat()])
    described = Sensor("ODOM", "stone", mounting, type="odometry", parameters={"rate": rate, **PERFECT})
    simulation = Simulation(tumbling(described))
    frame = simulation.frames.index("ODOM")
    start = simulation.frames.in_root(simulation.snapshot().poses)[frame]
    simulation.run(1.0)
    stamps_ns, reported = simulation.snapshot().measurements["ODOM"]
    assert len(stamps_ns) == rate
    simulation.seek(int(stamps_ns[-1]))
    here = simulation.frames.in_root(simulation.snapshot().poses)[frame]
    moved = poses.relative(start, here)
    np.testing.assert_allclose(reported[-1, :3], moved[:3], atol=1e-10)
    assert (Rotation.from_quat(reported[-1, 3:7]).inv() * Rotation.from_quat(moved[3:])).magnitude() < 1e-10


def test_its_twist_is_the_frames_own() -> None:
    """On a short span the mean is the present one, half a span ago."""
    described = Sensor("ODOM", "stone", poses.IDENTITY, type="odometry", parameters={"rate": 1000.0, **PERFECT})
    truth = Sensor("TRUTH", "stone", poses.IDENTITY, type="ground_truth", parameters={"rate": 1000.0})
    simulation = Simulation(tumbling(described, truth))
    first = simulation.snapshot().measurements
    np.testing.assert_allclose(first["ODOM"].values[0, 7:13], first["TRUTH"].values[0, 7:], atol=1e-12)
    simulation.run(0.5)
    reported = simulation.snapshot().measurements
    middle = 0.5 * (reported["TRUTH"].values[-2, 7:] + reported["TRUTH"].values[-1, 7:])
    np.testing.assert_allclose(reported["ODOM"].values[-1, 7:13], middle, atol=2e-4)


RATE, RUNS = 5.0, 1000
STRAIGHT = (1.0, 0, 0, 0, 0, 0)
# A helix of 5 m radius, which comes round once in 10 s.
HELIX = (math.pi, 0, 0.3, 0, 0, 0.2 * math.pi)


def drifted(sensor: Odometry, seconds: float, twist: tuple[float, ...], seed: int = 3) -> tuple[FloatArray, FloatArray]:
    """What so many sensors tell of a way at a twist in their own axes, and where it truly led."""
    sensors = (sensor,) * RUNS
    report = Odometry.report(sensors, SensorContext(World("earth")))
    bank = NoiseBank(
        [each.quantities() for each in sensors],
        [stream(seed, f"{k}", "odometry") for k in range(RUNS)],
        sensor.rate,
    )
    truth = np.tile([*twist, 1.0 / sensor.rate], (RUNS, 1))
    for _ in range(round(seconds * sensor.rate)):
        reported = report(bank(truth))
    return reported, poses.exp(np.array(twist) * seconds)


def normalised(reported: FloatArray, true: FloatArray) -> FloatArray:
    """Errors of position and of rotation about the fixed axes (RUNS, 6), each over its stated deviation."""
    turned = (Rotation.from_quat(reported[:, 3:7]) * Rotation.from_quat(true[3:]).inv()).as_rotvec()
    return np.hstack([reported[:, :3] - true[:3], turned]) / np.sqrt(reported[:, 13:])


# The mean square of so many normals lies within this band, but for one seed in a thousand.
BAND = chdtri(RUNS, [1 - 5e-4, 5e-4]) / RUNS


# A helix turns all axes into each other; the straight way runs the same code.
@pytest.mark.parametrize("twist", [pytest.param(STRAIGHT, marks=pytest.mark.nightly), HELIX])
@pytest.mark.parametrize(
    "noise",
    only(
        [
            {"linear": Noise(density=0.01), "angular": Noise(density=1e-3)},
            {"linear": Noise(deviation=0.05), "angular": Noise(deviation=5e-3)},
            {"linear": Noise(turn_on_bias=0.02), "angular": Noise(turn_on_bias=1e-3)},
            {
                "linear": Noise(bias_instability=0.03, correlation_time=2.0),
                "angular": Noise(bias_instability=2e-3, correlation_time=5.0),
            },
            {"linear": Noise(random_walk=0.01), "angular": Noise(random_walk=3e-4)},
            {"linear": Noise(density=0.01, scale_error=0.01), "angular": Noise(density=1e-4, scale_error=0.01)},
            {"linear": Noise(density=0.01, misalignment=0.01), "angular": Noise(density=1e-4, misalignment=0.01)},
            {},
        ],
        3,
        6,
        7,
    ),
    ids=["density", "deviation", "turn_on_bias", "bias_instability", "random_walk", "scale", "misalignment", "default"],
)
def test_it_drifts_as_its_covariance_says(noise: dict[str, Any], twist: tuple[float, ...]) -> None:
    """Along the way, across it, upwards and about each axis, over many runs of 17 s."""
    errors = normalised(*drifted(Odometry(rate=RATE, **noise), 17.0, twist))
    spread = np.mean(errors**2, axis=0)
    assert ((BAND[0] < spread) & (spread < BAND[1])).all(), (spread, BAND)


@pytest.mark.parametrize(
    ("noise", "variance"),
    [
        # The integral of a random walk, and of a ramp: what a heading that wanders off does to a straight way.
        (Noise(density=1e-3), lambda v, t: (1e-3 * v) ** 2 * t**3 / 3),
        (Noise(turn_on_bias=1e-3), lambda v, t: (1e-3 * v * t**2 / 2) ** 2),
        (Noise(random_walk=1e-3), lambda v, t: (1e-3 * v) ** 2 * t**5 / 20),
    ],
)
def test_across_a_straight_way_it_is_what_a_wrong_heading_makes_of_it(
    noise: Noise, variance: Callable[[float, float], float]
) -> None:
    sensor = Odometry(rate=100.0, linear=Noise(), angular=noise)
    report = Odometry.report((sensor,), SensorContext(World("earth")))
    for _ in range(1000):
        reported = report(np.array([[2.0, 0, 0, 0, 0, 0, 0.01]]))
    assert reported[0, 14] == pytest.approx(variance(2.0, 10.0), rel=0.01)
    assert reported[0, 13] == pytest.approx(0.0, abs=1e-12)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(*[NUMBER] * 6), min_size=1, max_size=8))
def test_any_way_there_adds_up(ways: list[tuple[float, ...]]) -> None:
    """Twists, each held for half a second, are the product of their exponentials, and what was read of poses."""
    sensors = (Odometry(),)
    context = SensorContext(World("earth"))
    measure, report = Odometry.measure(sensors, context), Odometry.report(sensors, context)
    state = FrameState.at_rest(1)
    reported = report(measure(state))
    for way in ways:
        # Below a half turn, so that the shorter way is the one that was taken.
        state.pose[:] = poses.compose(state.pose, poses.exp(np.array(way) * 0.5))
        state.time_ns += 500 * MS
        reported = report(measure(state))
    np.testing.assert_allclose(reported[0, 7:13], ways[-1], atol=1e-9)
    np.testing.assert_allclose(reported[0, :3], state.pose[0, :3], atol=1e-9)
    turn = Rotation.from_quat(reported[0, 3:7]).inv() * Rotation.from_quat(state.pose[0, 3:])
    assert turn.magnitude() < 1e-9
