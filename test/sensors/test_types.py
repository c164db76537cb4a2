"""What holds for every type of sensor, and for those that read one number."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from sim_node.simulation import Simulation
from sim_node.simulation.sensors import SENSORS, Airspeed, Barometer, FrameState, GroundTruth, Magnetometer, sensor
from sim_node.simulation.sensors.camera import CameraType
from sim_node.simulation.sensors.context import SensorContext
from sim_node.simulation.sensors.magnetometer import field
from sim_node.world import Origin, World, WorldError
from sim_node.world.declared import faults, plan_of

ZURICH = World("zurich", origin=Origin(47.397742, 8.545594, 488.0))
RAYS = ("rangefinder", "lidar_2d", "lidar_3d", "optical_flow", "dvl")
HALF = math.sqrt(0.5)


def state(
    position: tuple[float, float, float] = (0, 0, 0),
    quaternion: tuple[int, int, float, float] = (0, 0, 0, 1),
    velocity: tuple[float, float, int] = (0, 0, 0),
    rate: tuple[int, float, float] = (0, 0, 0),
) -> FrameState:
    return FrameState(
        np.array([[*position, *quaternion]], float), np.array([[*velocity, *rate]], float), np.zeros((1, 6))
    )


@pytest.mark.parametrize("name", sorted(name for name, kind in SENSORS.items() if not issubclass(kind, CameraType)))
def test_its_channels_are_those_of_its_noise_and_of_its_readings(name: str) -> None:
    kind = SENSORS[name]
    sensors = (kind(), kind())
    measured = kind.measure(sensors, SensorContext(ZURICH))(
        FrameState(np.tile([0, 0, 5.0, 0, 0, 0, 1], (2, 1)), np.zeros((2, 6)), np.zeros((2, 6)))
    )
    reported = kind.report(sensors, SensorContext(ZURICH))(measured)
    assert reported.shape == (2, *sensors[0].shape())
    quantities = sensors[0].quantities()
    assert not quantities or sum(axes for _, axes in quantities) == measured.shape[1]
    # There is nothing that rays could hit.
    assert np.isfinite(reported).all() != (name in RAYS)


@pytest.mark.parametrize("name", sorted(SENSORS))
def test_its_parameters_say_unit_meaning_and_range_and_its_defaults_keep_it(name: str) -> None:
    assert all(said.about for _, _, said in plan_of(SENSORS[name]).fields)
    found = list(faults(SENSORS[name]()))
    # NaN: the sensor finds it out. No names: those of all.
    assert [key for key, message in found if "." not in key and not message.startswith(("nan", "found 0"))] == []


BETWEEN = [
    (name, *keys)
    for name, kind in sorted(SENSORS.items())
    for keys in (("near", "far"), ("range_min", "range_max"))
    if {*keys} <= {key for key, _, _ in plan_of(kind).fields}
]


def test_what_measures_between_two_distances_has_them_in_order(tmp_path: Path) -> None:
    assert {name for name, *_ in BETWEEN} >= {"camera", "depth_camera", "logical_camera", *RAYS}
    lines = [
        f"  - {{name: S{row}, type: {name}, {least}: 7, {most}: 7}}" for row, (name, least, most) in enumerate(BETWEEN)
    ]
    (path := tmp_path / "world.yaml").write_text(
        "\n".join(["world: ranges", "frames: [{name: base_link}]", "sensors:", *lines]), encoding="utf-8"
    )
    with pytest.raises(WorldError) as refused:
        Simulation(path)
    assert [(problem.where.line, problem.message) for problem in refused.value.problems] == [
        (row + 4, f"{most}, 7 m, is not beyond {least}, 7 m: nothing would be measured")
        for row, (_, least, most) in enumerate(BETWEEN)
    ]


def test_a_name_given_twice_is_refused_with_both_files() -> None:
    class Other:
        pass

    with pytest.raises(ValueError, match=r"sensor 'imu': both sim_node\.simulation\.sensors\.imu and .*test_types"):
        sensor("imu")(Other)


def test_a_barometer_reads_the_height_above_the_sea() -> None:
    """9.4322e4 Pa at 600 m in table I of the U.S. Standard Atmosphere, 1976."""
    sensors = (Barometer(geoid_undulation=47.3),)
    reading = Barometer.measure(sensors, SensorContext(ZURICH))(state((7.0, -3.0, 600.0 - 488.0 + 47.3)))
    assert reading[0, 0] == pytest.approx(9.4322e4, abs=1.0)
    by_itself = Barometer.measure((Barometer(),), SensorContext(ZURICH))(state((7.0, -3.0, 600.0 - 488.0 + 47.3)))
    assert by_itself[0, 0] == pytest.approx(9.4322e4, abs=5.0), "EGM96 is 47.2 m at Zurich; 12 Pa a metre"


def test_a_pitot_tube_reads_what_comes_along_its_axis() -> None:
    """Half density times speed squared where slow; nothing from the side or behind."""
    read = Airspeed.measure((Airspeed(),), SensorContext(World("sea")))
    yawed = (0, 0, HALF, HALF)
    assert read(state(quaternion=yawed, velocity=(0, 12.0, 0)))[0, 0] == pytest.approx(0.5 * 1.2250 * 144.0, rel=1e-3)
    assert read(state(quaternion=yawed, velocity=(12.0, 0, 0)))[0, 0] == pytest.approx(0.0, abs=1e-9)
    assert read(state(quaternion=yawed, velocity=(0, -12.0, 0)))[0, 0] == 0.0


def test_a_magnetometer_turns_against_its_frame() -> None:
    """Facing west after a quarter turn, north is on its right: -y."""
    sensors = (Magnetometer(year=2025.5),)
    east, north, up = field(47.397742, 8.545594, 488.0, 2025.5)
    reading = Magnetometer.measure(sensors, SensorContext(ZURICH))(state(quaternion=(0, 0, 1, 0)))
    np.testing.assert_allclose(reading[0], [-east, -north, up], rtol=1e-12)
    reading = Magnetometer.measure(sensors, SensorContext(ZURICH))(state(quaternion=(0, 0, HALF, HALF)))
    np.testing.assert_allclose(reading[0], [north, -east, up], rtol=1e-12)


def test_each_magnetometer_has_the_field_of_its_own_year() -> None:
    sensors = (Magnetometer(year=2029.0), Magnetometer(year=2025.0), Magnetometer(year=2029.0))
    still = FrameState(np.tile([0.0, 0, 0, 0, 0, 0, 1], (3, 1)), np.zeros((3, 6)), np.zeros((3, 6)))
    measurements = Magnetometer.measure(sensors, SensorContext(ZURICH))(still)
    for reading, year in zip(measurements, (2029.0, 2025.0, 2029.0), strict=True):
        np.testing.assert_allclose(reading, field(47.397742, 8.545594, 488.0, year), rtol=1e-12)


def test_ground_truth_is_a_pose_in_the_world_and_a_twist_in_the_frame() -> None:
    """As nav_msgs/Odometry has it: going east, facing north, is to the right."""
    reading = GroundTruth.measure((GroundTruth(),), SensorContext(ZURICH))(
        state((1, 2, 3), (0, 0, HALF, HALF), velocity=(5, 0, 1), rate=(0, 0.5, 0.25))
    )
    np.testing.assert_allclose(reading, [[1, 2, 3, 0, 0, HALF, HALF, 0, -5, 1, 0.5, 0, 0.25]], atol=1e-15)
