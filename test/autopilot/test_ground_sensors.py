"""Rangefinders and optical flow as PX4 receives them, read as its simulator_mavlink and its estimator read them."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from sim_node.autopilots.lockstep import px4_hil
from sim_node.autopilots.lockstep.samples import OnboardSensors, Sample
from sim_node.mavlink.codec import frame_bytes
from sim_node.mavlink.parser import Parser
from sim_node.simulation import Simulation
from sim_node.world import load

WORLD = """
origin: {{latitude: 47.4, longitude: 8.5, altitude: 488}}
time: {{step: 0.004}}
physics: {{gravity: [0, 0, 0], integrator: euler, timestep: 0.001}}
bodies: [{{name: ground, geometry: [{{plane: true}}]}}]
vehicles: [{{name: drone, model: iris, pose: {{position: [0, 0, {height}], rpy_deg: [0, 0, 90]}}}}]
sensors:
  - {{name: drone/GROUND, type: rangefinder, rate: 50, noise: {{deviation: 0.05}}, range_min: {nearest},
     pose: {{rpy_deg: {rpy_deg}}}}}
  - {{name: drone/BACK, type: optical_flow, noise: none, pose: {{rpy_deg: [0, 0, 180]}}}}
  - {{name: drone/FLOW, type: optical_flow, rate: 25, noise: none, pose: {{rpy_deg: [0, 90, {turn}]}}}}
"""
DOWN = "[0, 90, 0]"


def samples(
    folder: Path,
    height: float = 5.0,
    rpy_deg: str = DOWN,
    turn: float = 0.0,
    twist: npt.ArrayLike = (0,) * 6,
    nearest: float = 0.1,
) -> list[Sample]:
    """All samples of 0.4 s of a drone held level and looking north, with the velocity and turn of `twist` (6,)."""
    path = folder / "world.yaml"
    path.write_text(WORLD.format(height=height, rpy_deg=rpy_deg, turn=turn, nearest=nearest))
    simulation = Simulation(load(path))
    drone = simulation.bodies["drone/base_link"]
    pose = np.array(drone.pose)
    source = OnboardSensors(simulation, simulation.world.vehicles[0])
    found = []
    for step in range(1, 101):
        simulation.step(1)
        sample = source.sample(step, step * 4_000_000)
        assert sample is not None
        found.append(sample)
        drone.pose, drone.twist = pose, twist
    return found


def sent(name: str, fields: Any) -> Any:
    """The fields as they arrive."""
    (message,) = Parser(datagrams=False).feed(frame_bytes(name, fields, 1, 51, 0))
    assert message.name == name
    return message.fields


def distances(found: list[Sample]) -> list[Any]:
    return [sent("DISTANCE_SENSOR", px4_hil.distance(each, 7_000_000)) for s in found for each in s.distances]


def test_a_rangefinder_is_sent_in_centimetres_as_often_as_it_measures(tmp_path: Path) -> None:
    found = distances(samples(tmp_path))
    assert len(found) == 20, "50 Hz for 0.4 s"
    first = found[0]
    assert (first.min_distance, first.max_distance, first.time_boot_ms, first.id) == (10, 1200, 7000, 0)
    assert first.covariance == 25
    assert first.horizontal_fov == first.vertical_fov == pytest.approx(0.035)
    assert np.mean([each.current_distance for each in found]) == pytest.approx(500.0, abs=5.0)
    assert {each.signal_quality for each in found} == {100}


# MAV_SENSOR_ORIENTATION: mavlink common.xml.
@pytest.mark.parametrize(
    ("rpy_deg", "orientation"),
    [
        (DOWN, 25),
        ("[0, 88, 0]", 25),
        ("[0, -90, 0]", 24),
        ("[0, 0, 0]", 0),
        ("[0, 0, 90]", 6),
        ("[0, 0, -90]", 2),
        ("[0, 0, 180]", 4),
        ("[0, 45, 0]", 100),
    ],
)
def test_where_a_rangefinder_looks(tmp_path: Path, rpy_deg: str, orientation: int) -> None:
    """The x axis of the sensor, in MAVLink's words; down is PITCH_270."""
    first = distances(samples(tmp_path, rpy_deg=rpy_deg))[0]
    assert first.orientation == orientation
    if orientation == 100:
        # 45 degrees down about the axis to the right: w first, FRD.
        np.testing.assert_allclose(first.quaternion, [math.cos(math.pi / 8), 0, -math.sin(math.pi / 8), 0], atol=1e-6)


@pytest.mark.parametrize(("height", "nearest", "centimetres"), [(5.0, 6.0, 0), (20.0, 0.1, 1201)])
def test_a_distance_out_of_range_is_invalid_and_beyond_its_limit(
    tmp_path: Path, height: float, nearest: float, centimetres: int
) -> None:
    for each in distances(samples(tmp_path, height, nearest=nearest)):
        assert (each.current_distance, each.signal_quality) == (centimetres, 1)


@pytest.mark.parametrize("turn", [0.0, 90.0, -37.0])
def test_the_velocity_that_px4_reads_out_of_the_flow_is_the_true_one(tmp_path: Path, turn: float) -> None:
    """By PX4's VehicleOpticalFlow.cpp, whatever way round the sensor is mounted, and while it turns."""
    # East and north; turns about east, which is its right, and about up.
    found = samples(tmp_path, turn=turn, twist=[1.0, 2.0, 0.0, 0.4, 0.0, 0.3])
    flows = [sent("HIL_OPTICAL_FLOW", px4_hil.optical_flow(s.flow, 7_000_000)) for s in found if s.flow is not None]
    assert len(flows) == 10, "25 Hz for 0.4 s"
    flow = flows[-1]
    assert (flow.quality, flow.distance, flow.integration_time_us) == (255, -1.0, 40_000)
    seconds = 1e-6 * flow.integration_time_us
    forward = 5.0 * (flow.integrated_y - flow.integrated_ygyro) / seconds
    right = -5.0 * (flow.integrated_x - flow.integrated_xgyro) / seconds
    assert [forward, right] == pytest.approx([2.0, 1.0], abs=0.15), "less what a calibrated gyroscope is off by"
    assert flow.integrated_ygyro / seconds == pytest.approx(0.4, abs=0.02)


def test_no_ground_in_range_is_no_quality(tmp_path: Path) -> None:
    flow = next(s.flow for s in samples(tmp_path, height=100.0) if s.flow is not None)
    fields = sent("HIL_OPTICAL_FLOW", px4_hil.optical_flow(flow, 7_000_000))
    assert (fields.quality, fields.integrated_x, fields.integrated_y) == (0, 0.0, 0.0)


def test_the_fix_is_sent_above_mean_sea_level(tmp_path: Path) -> None:
    """MAVLink's HIL_GPS.alt. EGM96 near Zurich is 47.2 m above the ellipsoid; the receiver errs by a few metres."""
    found = [sent("HIL_GPS", px4_hil.gps(s.fix, 7_000_000)) for s in samples(tmp_path) if s.fix is not None]
    assert found
    for fix in found:
        assert fix.alt * 1e-3 == pytest.approx(488.0 + 5.0 - 47.2, abs=10.0)
