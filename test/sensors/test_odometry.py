"""Odometry: exact without noise, and how it drifts with it."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from sim_node.geometry import poses
from sim_node.geometry.arrays import FloatArray
from sim_node.randomness import stream
from sim_node.sensors import FrameState, Noise, NoiseBank, Odometry
from sim_node.sensors.setting import Setting
from sim_node.simulation import Simulation
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
        qd=np.array([3, 2, 1, 4, -2, 1]),
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
    stamps_ns, told = simulation.snapshot().readings["ODOM"]
    assert len(stamps_ns) == rate
    simulation.seek(int(stamps_ns[-1]))
    here = simulation.frames.in_root(simulation.snapshot().poses)[frame]
    moved = poses.relative(start, here)
    np.testing.assert_allclose(told[-1, :3], moved[:3], atol=1e-10)
    assert (Rotation.from_quat(told[-1, 3:7]).inv() * Rotation.from_quat(moved[3:])).magnitude() < 1e-10


def test_its_twist_is_the_frames_own() -> None:
    """On a short span the mean is the present one, half a span ago."""
    described = Sensor("ODOM", "stone", poses.IDENTITY, type="odometry", parameters={"rate": 1000.0, **PERFECT})
    truth = Sensor("TRUTH", "stone", poses.IDENTITY, type="ground_truth", parameters={"rate": 1000.0})
    simulation = Simulation(tumbling(described, truth))
    first = simulation.snapshot().readings
    np.testing.assert_allclose(first["ODOM"].values[0, 7:13], first["TRUTH"].values[0, 7:], atol=1e-12)
    simulation.run(0.5)
    told = simulation.snapshot().readings
    middle = 0.5 * (told["TRUTH"].values[-2, 7:] + told["TRUTH"].values[-1, 7:])
    np.testing.assert_allclose(told["ODOM"].values[-1, 7:13], middle, atol=2e-4)


def drifted(
    sensor: Odometry, seconds: float, velocity: tuple[float, float, float] = (0.0, 0.0, 0.0), sensors: int = 2000
) -> FloatArray:
    """What so many sensors tell after a straight way at a velocity along their axes."""
    odometers = (sensor,) * sensors
    report = Odometry.report(odometers, Setting(World("earth")))
    bank = NoiseBank(
        [each.quantities() for each in odometers],
        [stream(3, f"{k}", "odometry") for k in range(sensors)],
        sensor.rate,
    )
    truth = np.tile([*velocity, 0, 0, 0, 1.0 / sensor.rate], (sensors, 1))
    for _ in range(round(seconds * sensor.rate)):
        told = report(bank(truth))
    return told


@pytest.mark.parametrize(
    "noise",
    [
        Noise(density=0.05),
        Noise(deviation=0.2),
        Noise(turn_on_bias=0.02),
        Noise(bias_instability=0.03, correlation_time=2.0),
    ],
)
def test_it_drifts_as_its_covariance_says(noise: Noise) -> None:
    """Over an ensemble, at rest: positions and, while they are small, angles."""
    told = drifted(Odometry(rate=10.0, linear=noise, angular=noise), 6.0)
    angles = Rotation.from_quat(told[:, 3:7]).as_rotvec()
    np.testing.assert_allclose(np.var(angles, axis=0), told[0, 16:], rtol=0.15)
    straight = drifted(Odometry(rate=10.0, linear=noise, angular=Noise()), 6.0)
    np.testing.assert_allclose(np.var(straight[:, :3], axis=0), straight[0, 13:16], rtol=0.15)


def test_a_wrong_heading_carries_it_off_sideways() -> None:
    """1 m/s for 10 s while a bias b turns it: b v t² / 2 across; the variance told is an upper bound."""
    told = drifted(Odometry(rate=10.0, linear=Noise(), angular=Noise(turn_on_bias=1e-3)), 10.0, (1.0, 0, 0))
    across = np.std(told[:, 1])
    assert across == pytest.approx(1e-3 * 10.0**2 / 2, rel=0.05)
    assert across < math.sqrt(told[0, 14]) < 3 * across


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(*[NUMBER] * 6), min_size=1, max_size=8))
def test_any_way_there_adds_up(ways: Sequence[tuple[float, ...]]) -> None:
    """Twists, each held for half a second, are the product of their exponentials, and what was read of poses."""
    sensors = (Odometry(),)
    setting = Setting(World("earth"))
    measure, report = Odometry.measure(sensors, setting), Odometry.report(sensors, setting)
    state = FrameState.at_rest(1)
    told = report(measure(state))
    for way in ways:
        # Below a half turn, so that the shorter way is the one that was taken.
        state.pose[:] = poses.compose(state.pose, poses.exp(np.array(way) * 0.5))
        state.time_ns += 500 * MS
        told = report(measure(state))
    np.testing.assert_allclose(told[0, 7:13], ways[-1], atol=1e-9)
    np.testing.assert_allclose(told[0, :3], state.pose[0, :3], atol=1e-9)
    turn = Rotation.from_quat(told[0, 3:7]).inv() * Rotation.from_quat(state.pose[0, 3:])
    assert turn.magnitude() < 1e-9
