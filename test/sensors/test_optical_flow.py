"""Optical flow against the motion of a point on the ground, as it is seen a moment later."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim_node.simulation import Simulation
from sim_node.simulation.sensors import Environment, FrameState, OpticalFlow, SensorContext
from sim_node.simulation.sensors.context import Echoes
from sim_node.spatial.geometry import quaternions
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.world import World, load

MOMENT = 1e-6
VECTORS = st.tuples(*[st.floats(-5.0, 5.0)] * 3).map(np.array)


class Ground(Environment):
    """The plane z = 0."""

    def cast(self, frames: Sequence[str], origins: FloatArray, directions: FloatArray, reach: float) -> Echoes:
        with np.errstate(divide="ignore"):
            far = -origins[:, None, 2] / directions[..., 2]
        return Echoes(np.where((far > 0) & (far <= reach), far, np.inf), np.zeros(far.shape))


def seen_from(position: FloatArray, attitude: FloatArray, point: FloatArray) -> FloatArray:
    """The unit direction (3,) of a point in the axes of a frame."""
    towards = quaternions.rotate(quaternions.conjugate(attitude), point - position)
    return np.asarray(towards / np.linalg.norm(towards))


@given(VECTORS, VECTORS, VECTORS, st.floats(0.3, 20.0), st.floats(-3.0, 3.0), st.floats(-0.9, 0.9))
def test_flow_is_the_turn_that_would_move_the_picture_alike(
    place: FloatArray, velocity: FloatArray, rate: FloatArray, height: float, heading: float, lean: float
) -> None:
    """The point in the middle of the picture moves in it by -flow x axis."""
    down = quaternions.exp(np.array([0.0, math.pi / 2, 0.0]))
    about_z, about_x = quaternions.exp(np.array([0.0, 0.0, heading])), quaternions.exp(np.array([lean, 0.0, 0.0]))
    attitude = quaternions.multiply(quaternions.multiply(about_z, about_x), down)
    position = np.array([*place[:2], height])
    state = FrameState(np.array([[*position, *attitude]]), np.array([[*velocity, *rate]]), np.zeros((1, 6)))
    sensors = (OpticalFlow(range_max=1e3),)
    flow = OpticalFlow.measure(sensors, SensorContext(World("w"), ("S",), Ground()))(state)[0]

    axis = quaternions.rotate(attitude, np.array([1.0, 0.0, 0.0]))
    point = position - axis * height / axis[2]
    later = quaternions.multiply(quaternions.exp(rate * MOMENT), attitude)
    moved = (seen_from(position + velocity * MOMENT, later, point) - [1.0, 0.0, 0.0]) / MOMENT
    np.testing.assert_allclose(np.cross([0.0, *flow], [-1.0, 0.0, 0.0]), moved, atol=2e-4 * (1 + np.abs(flow).max()))


def test_over_the_ground_of_a_world(tmp_path: Path) -> None:
    """3 m/s ahead, 2 m above the ground, looking down: as if it pitched up by 1.5 rad/s, against its y to the left."""
    path = tmp_path / "world.yaml"
    path.write_text("""
time: {step: 0.01}
bodies: [{name: ground, geometry: [{plane: true}]}]
motions:
  - {frame: drone/base_link, keyframes: [{t: 0, position: [0, 0, 2]}, {t: 10, position: [30, 0, 2]}]}
sensors:
  - {name: drone/FLOW, type: optical_flow, rate: 20, noise: none, pose: {rpy_deg: [0, 90, 0]}}
  - {name: drone/BLIND, type: optical_flow, rate: 20, noise: none, range_max: 1.9, pose: {rpy_deg: [0, 90, 0]}}
""")
    simulation = Simulation(load(path))
    simulation.run(1.0)
    measurements = simulation.snapshot().measurements
    np.testing.assert_allclose(measurements["drone/FLOW"].values, np.tile([-1.5, 0.0], (20, 1)), atol=1e-6)
    assert np.isnan(measurements["drone/BLIND"].values).all()


@pytest.mark.parametrize(("distance", "seen"), [(0.07, False), (0.09, True), (29.0, True), (31.0, False)])
def test_what_is_out_of_range_is_nan(distance: float, seen: bool) -> None:
    half = math.sqrt(0.5)
    state = FrameState(np.array([[0, 0, distance, 0, half, 0, half]]), np.zeros((1, 6)), np.zeros((1, 6)))
    flow = OpticalFlow.measure((OpticalFlow(),), SensorContext(World("w"), ("S",), Ground()))(state)
    assert np.isfinite(flow).all() == seen
