"""Sensors of whole worlds: when they read, what they say of mistakes, and that runs repeat."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sim_node.simulation import Simulation
from sim_node.simulation.sensors import Imu, groups_of
from sim_node.world import Origin, Sensor, World, WorldError, load

WORLD = """\
world: circle
origin: {latitude: 47.397742, longitude: 8.545594, altitude: 488.0}
time: {start: 2.0, step: 0.01}
motions:
  - frame: drone/base_link
    after: loop
    interpolation: slerp
    keyframes:
      - {t: 0, rpy_deg: [0, 0, 0]}
      - {t: 1, rpy_deg: [0, 0, 90]}
      - {t: 2, rpy_deg: [0, 0, 180]}
      - {t: 3, rpy_deg: [0, 0, 270]}
      - {t: 4, rpy_deg: [0, 0, 360]}
sensors:
"""
QUIET_IMU = "{name: drone/IMU_MAIN, type: imu, gyroscope: none, accelerometer: none, pose: {position: [0.5, 0, 0]}}"


@pytest.fixture
def simulate(tmp_path: Path) -> Callable[..., Simulation]:
    def simulate(*sensors: str, seed: int = 0) -> Simulation:
        path = tmp_path / "world.yaml"
        path.write_text(WORLD + "".join(f"  - {sensor}\n" for sensor in sensors))
        return Simulation(load(path), seed)

    return simulate


def faults(simulate: Callable[..., Simulation], *sensors: str) -> list[str]:
    with pytest.raises(WorldError) as caught:
        simulate(*sensors)
    return [str(problem).partition("world.yaml:")[2] for problem in caught.value.problems]


def test_an_imu_on_an_arm_that_turns_evenly(simulate: Callable[..., Simulation]) -> None:
    """A quarter turn per second, half a metre out: w about z, and w² r towards the axis. Corners of none: slerp
    about one axis is even."""
    simulation = simulate(QUIET_IMU)
    simulation.step(50)
    stamps_ns, values = simulation.snapshot().measurements["drone/IMU_MAIN"]
    assert stamps_ns.tolist() == [2_000_000_000 + k * 10_000_000 for k in range(1, 51)]
    turn = np.pi / 2
    np.testing.assert_allclose(values, np.tile([0, 0, turn, -(turn**2) * 0.5, 0, 9.80665], (50, 1)), atol=2e-6)


def test_the_first_reading_is_that_of_the_start(simulate: Callable[..., Simulation]) -> None:
    measurements = simulate(QUIET_IMU).snapshot().measurements
    assert measurements["drone/IMU_MAIN"].stamps_ns.tolist() == [2_000_000_000]


def test_readings_keep_their_rate_and_stamps_their_time(simulate: Callable[..., Simulation]) -> None:
    simulation = simulate("{name: drone/GPS, type: gps, rate: 8, latency: 0.1}")
    simulation.run(1.0)
    stamps_ns = simulation.snapshot().measurements["drone/GPS"].stamps_ns - 2_000_000_000
    # Multiples of 1/8 s at the next hundredth; what is not yet a tenth old is not out.
    assert (stamps_ns / 1e7).tolist() == [0, 13, 25, 38, 50, 63, 75, 88]


def all_measurements(simulation: Simulation, steps: Sequence[int]) -> dict[str, tuple[list[Any], bytes]]:
    reported = []
    for count in steps:
        simulation.step(count)
        reported.append(simulation.snapshot().measurements)
    return {
        name: (
            np.concatenate([each[name].stamps_ns for each in reported]).tolist(),
            np.concatenate([each[name].values for each in reported]).tobytes(),
        )
        for name in reported[0]
    }


ALL = (
    "{name: drone/IMU_MAIN, type: imu}",
    "{name: drone/IMU_SPARE, type: imu, latency: 0.005, accelerometer: {density: 0.1}}",
    "{name: drone/MAG, type: magnetometer}",
    "{name: drone/BARO, type: barometer}",
    "{name: drone/GPS, type: gps, rate: 8, latency: 0.1}",
    "{name: drone/PITOT, type: airspeed}",
    "{name: drone/TRUTH, type: ground_truth}",
)


def test_many_small_steps_read_what_one_call_reads(simulate: Callable[..., Simulation]) -> None:
    """Bit for bit."""
    assert all_measurements(simulate(*ALL), [300]) == all_measurements(simulate(*ALL), [1] * 7 + [0, 93, 1, 199])


def test_the_same_seed_reads_the_same_and_another_does_not(simulate: Callable[..., Simulation]) -> None:
    simulation = simulate(*ALL, seed=5)
    first = all_measurements(simulation, [100])
    simulation.reset()
    assert all_measurements(simulation, [100]) == first
    assert all_measurements(simulate(*ALL, seed=5), [100]) == first
    simulation.reset(seed=6)
    other = all_measurements(simulation, [100])
    assert [name for name in first if first[name] == other[name]] == ["drone/TRUTH"]


def test_another_sensor_changes_nothing_for_those_that_are_there(simulate: Callable[..., Simulation]) -> None:
    alone = all_measurements(simulate(ALL[0]), [100])
    together = all_measurements(simulate(*reversed(ALL)), [100])
    assert together["drone/IMU_MAIN"] == alone["drone/IMU_MAIN"]


def test_sensors_that_are_named_measure_alone_and_the_same(simulate: Callable[..., Simulation]) -> None:
    of_all = simulate("{name: drone/IMU, type: imu}", "{name: drone/GPS, type: gps}", seed=3)
    alone = Simulation(of_all.world, 3, sensors=["drone/IMU"])
    for run in (of_all, alone):
        run.step(100)
    assert list(alone.sensors) == ["drone/IMU"]
    assert alone.sensors["drone/IMU"].values.tobytes() == of_all.sensors["drone/IMU"].values.tobytes()  # type: ignore[union-attr]
    with pytest.raises(ValueError, match="there is no sensor 'drone/IMV'; did you mean drone/IMU"):
        Simulation(of_all.world, sensors=["drone/IMV"])


# Takes seconds: make test has many small steps.
@pytest.mark.nightly
def test_seeking_to_and_fro_leaves_the_run_as_it_was(simulate: Callable[..., Simulation]) -> None:
    """A seek back starts anew: the readings from there on are those of a fresh run."""
    simulation = simulate(*ALL)
    simulation.run(3.0)
    simulation.seek(2_500_000_000)
    fresh = simulate(*ALL)
    fresh.step(50)
    assert all_measurements(simulation, [50]) == all_measurements(fresh, [50])


def test_a_parameter_in_part_keeps_the_rest_of_its_defaults(simulate: Callable[..., Simulation]) -> None:
    (group,) = groups_of(simulate("{name: drone/IMU, type: imu, gyroscope: {density: 0.5}}").world)
    (imu,) = group.sensors
    assert isinstance(imu, Imu)
    assert imu.gyroscope.density == 0.5
    assert imu.gyroscope.saturation == Imu().gyroscope.saturation
    assert imu.accelerometer == Imu().accelerometer


def test_a_sensor_without_a_type_is_a_frame(simulate: Callable[..., Simulation]) -> None:
    simulation = simulate("{name: drone/CAM_FRONT}")
    assert "drone/CAM_FRONT" in simulation.frames.names
    assert list(simulation.snapshot().measurements) == []


def test_an_unknown_sensor_is_reported_with_the_nearest(simulate: Callable[..., Simulation]) -> None:
    measurements = simulate(QUIET_IMU).snapshot().measurements
    with pytest.raises(KeyError, match=r"no sensor 'drone/IMU'; did you mean drone/IMU_MAIN\?"):
        measurements["drone/IMU"]


NOISE = (
    "density, deviation, random_walk, bias_instability, correlation_time, turn_on_bias, scale_error, misalignment, "
    "saturation, resolution"
)


@pytest.mark.parametrize(
    ("entry", "at", "expected"),
    [
        (
            "type: imo",
            "imo",
            "type: 'imo' is no sensor; did you mean imu? "
            "(known: airspeed, altimeter, barometer, battery, camera, contact, depth_camera, dvl, force_torque, gps, "
            "ground_truth, imu, joint_states, lidar_2d, lidar_3d, logical_camera, magnetometer, odometry, "
            "optical_flow, rangefinder, touch)",
        ),
        (
            "type: imu, rat: 5",
            "rat",
            "rat: unknown key; did you mean rate? (known: rate, latency, topics, gyroscope, accelerometer)",
        ),
        ("type: imu, rate: 0", "0", "rate: 0 is out of range; allowed: above 0 Hz"),
        (
            "type: camera, horizontal_fov: 70",
            "70",
            "horizontal_fov: 70 is out of range; allowed: 0.01 to 3 rad; angles are in radians; did you mean 1.222 "
            "(70 degrees)?",
        ),
        (
            "type: camera, horizontal_fov: 700",
            "700",
            "horizontal_fov: 700 is out of range; allowed: 0.01 to 3 rad",
        ),
        ("type: imu, rate: fast", "fast", "rate: a number is needed, found 'fast'"),
        ("type: imu, rate: '5'", "'5'", "rate: a number is needed, found '5'"),
        ("type: imu, rate: true", "true", "rate: a number is needed, found True"),
        ("type: imu, rate: ~", "~", "rate: a number is needed, found nothing"),
        ("type: imu, rate: [5, 6]", "[", "rate: a number is needed, found a list of 2"),
        ("type: imu, rate: .inf", ".inf", "rate: inf is not a finite number"),
        (
            "type: imu, rate: 250",
            "250",
            "rate: 250 Hz is more than the world's 100 steps per second; "
            "a rate up to 100, or time.step up to 0.004, is needed",
        ),
        (
            "type: imu, gyroscope: {densty: 1}",
            "densty",
            f"gyroscope.densty: unknown key; did you mean density? (known: {NOISE})",
        ),
        (
            "type: imu, gyroscope: {density: -1}",
            "-1",
            "gyroscope.density: -1 is out of range; allowed: 0 or more",
        ),
        (
            "type: gps, velocity: some",
            "some",
            f"velocity: a mapping ({NOISE}) or none is needed, found 'some'",
        ),
        ("rate: 5", "rate", "rate: unknown key; did you mean mate? (known: name, parent, pose, mate, type)"),
    ],
)
def test_a_mistake_is_reported_where_it_is(
    simulate: Callable[..., Simulation], entry: str, at: str, expected: str
) -> None:
    (fault,) = faults(simulate, f"{{name: drone/a, {entry}}}")
    line, column = WORLD.count("\n") + 1, f"  - {{name: drone/a, {entry}}}".rindex(at) + 1
    assert fault == f"{line}:{column}: sensors[0].{expected}"


def test_all_mistakes_are_reported_at_once(simulate: Callable[..., Simulation]) -> None:
    assert (
        len(faults(simulate, "{name: drone/a, type: imu, rate: -1, latency: x}", "{name: drone/b, type: sonar}")) == 3
    )


def test_what_needs_a_place_on_earth_says_so(tmp_path: Path) -> None:
    path = tmp_path / "nowhere.yaml"
    path.write_text("sensors:\n  - {name: base_link/GPS, parent: map, type: gps}\n")
    with pytest.raises(
        WorldError, match=r"nowhere.yaml:2:46: sensors\[0\].type: gps needs .* the world needs an origin"
    ):
        Simulation(load(path))


def test_a_package_that_is_missing_is_named(
    simulate: Callable[..., Simulation], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As import has it where nothing is installed."""
    monkeypatch.setitem(sys.modules, "pygeomag", None)
    (fault,) = faults(simulate, "{name: drone/MAG, type: magnetometer}")
    assert "magnetometer needs the package pygeomag, which is not installed: pip install pygeomag" in fault


def test_sensors_can_be_described_in_python() -> None:
    still = np.array([0.0, 0, 0, 0, 0, 0, 1])
    described = Sensor("IMU", "map", still, type="imu", parameters={"rate": 50.0, "gyroscope": {"density": 1e-3}})
    simulation = Simulation(World("table", origin=Origin(0, 0, 0), sensors=(described,)))
    simulation.run(1.0)
    assert len(simulation.snapshot().measurements["IMU"].stamps_ns) == 50
    wrong = Sensor("IMU", "map", still, type="imu", parameters={"gyroscope": {"density": "much"}})
    with pytest.raises(WorldError, match=r"IMU: gyroscope.density: a number is needed, found 'much'"):
        Simulation(World("table", sensors=(wrong,)))
