"""Each failure of a sensor does what it names: numbers to 1e-12, repeated values to the bit, losses counted."""

import numpy as np
import pytest
from nightly import only

from sim_node import Simulation
from sim_node.extensions.scenario.timetable import happened
from sim_node.spatial.frames import Frame, Position
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.world import loads

# Stamps (s) and values by sensor.
Measured = dict[str, tuple[FloatArray, FloatArray]]

# Two magnetometers of one kind, which measure together until one fails, and a receiver.
WORLD = """
world: rig
origin: {latitude: 47.397742, longitude: 8.545594, altitude: 488.0}
time: {step: 0.01}
bodies:
  - {name: box/base_link, joint: {type: free}, geometry: [{box: [1, 1, 1], mass: 1}]}
sensors:
  - {name: box/MAG_1, type: magnetometer, rate: 50}
  - {name: box/MAG_2, type: magnetometer, rate: 50}
  - {name: box/IMU, type: imu, rate: 100}
  - {name: box/GPS, type: gps, rate: 10}
"""


def measured(scenario: str, seconds: float = 4.0, seed: int = 3) -> tuple[Measured, Simulation]:
    """Return stamps (s) and values of each sensor, of ticks of 0.05 s, and the run."""
    text = f"{WORLD}scenario:\n{scenario}" if scenario else WORLD
    run = Simulation(loads(text), seed)
    found: dict[str, tuple[list[float], list[FloatArray]]] = {
        name: ([], []) for name in ("box/MAG_1", "box/MAG_2", "box/IMU", "box/GPS")
    }
    for _ in range(round(seconds / 0.05)):
        run.step(5)
        for name, (stamps, values) in found.items():
            of = run.snapshot().measurements[name]
            stamps += (of.stamps_ns / 1e9).tolist()
            values += list(of.values)
    assert not [each for each in happened(run) if each.error]
    return {name: (np.round(stamps, 9), np.array(values)) for name, (stamps, values) in found.items()}, run


@pytest.fixture(scope="module")
def sound() -> Measured:
    return measured("")[0]


def same_but(found: Measured, sound: Measured, sensor: str) -> None:
    """Assert that all other sensors measure the same bytes."""
    for name in sound.keys() - {sensor}:
        np.testing.assert_array_equal(found[name][0], sound[name][0])
        np.testing.assert_array_equal(found[name][1], sound[name][1])


@pytest.mark.parametrize("sensor", ["box/MAG_1", "box/MAG_2", "box/IMU"])
def test_a_bias_is_added_to_1e_12_and_ends(sound: Measured, sensor: str) -> None:
    found, _ = measured(f"  - {{at: 1, do: {{disturb: {{unit: {sensor}, bias: 0.25, seconds: 2}}}}}}")
    same_but(found, sound, sensor)
    stamps, values = found[sensor]
    np.testing.assert_array_equal(stamps, sound[sensor][0])
    failing = (stamps > 1.0) & (stamps <= 3.0)  # the sensors of the step at which it begins have measured
    np.testing.assert_allclose(values[failing] - sound[sensor][1][failing], 0.25, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(values[~failing], sound[sensor][1][~failing])
    assert failing.sum() > 90


FALLING = """
world: falling
origin: {latitude: 47.397742, longitude: 8.545594, altitude: 488.0}
time: {step: 0.004}
vehicles: [{name: drone, model: iris, pose: {position: [0, 0, 50]}}]
"""


def inertial(scenario: str) -> FloatArray:
    """Return what the imu of a vehicle measures at each of 80 steps."""
    run = Simulation(loads(f"{FALLING}scenario:\n  - {{at: 0.12, do: {{{scenario}}}}}" if scenario else FALLING), 3)
    found = []
    for _ in range(80):
        run.step()
        values = run.sensors["drone/IMU"].newest_by(run.steps)
        assert values is not None
        found.append(np.array(values))
    assert not [each for each in happened(run) if each.error]
    return np.array(found)


@pytest.mark.parametrize(
    ("unit", "own", "other"), only([("gyro", slice(3), slice(3, 6)), ("accel", slice(3, 6), slice(3))], 1)
)
def test_a_part_of_an_imu_fails_alone(unit: str, own: slice, other: slice) -> None:
    """Steps after the 30th: the sensors of the one at which it begins have measured."""
    sound = inertial("")
    expected = {
        f"fail: {{unit: {unit}, type: off}}": np.zeros((50, 3)),
        f"fail: {{unit: {unit}, type: stuck}}": np.tile(sound[29, own], (50, 1)),
        f"fail: {{unit: {unit}, type: wrong, gain: 3}}": 3.0 * sound[30:, own],
        f"disturb: {{unit: {unit}, bias: [1, 0, -2]}}": sound[30:, own] + [1.0, 0.0, -2.0],
    }
    for scenario, values in expected.items():
        found = inertial(scenario)
        np.testing.assert_allclose(found[30:, own], values, rtol=0, atol=1e-12, err_msg=scenario)
        np.testing.assert_array_equal(found[30:, other], sound[30:, other], scenario)
        np.testing.assert_array_equal(found[:30], sound[:30], scenario)
    garbage = inertial(f"fail: {{unit: {unit}, type: garbage}}")
    assert (garbage[30:, own] != sound[30:, own]).all()
    np.testing.assert_array_equal(garbage[30:, other], sound[30:, other])


def test_each_channel_has_its_own_number(sound: Measured) -> None:
    found, _ = measured("  - {at: 1, do: {disturb: {unit: box/IMU, bias: [0, 0, 0, 1, 2, 3]}}}")
    stamps, values = found["box/IMU"]
    error = values[stamps > 1.0] - sound["box/IMU"][1][stamps > 1.0]
    np.testing.assert_allclose(error, np.tile([0, 0, 0, 1, 2, 3], (len(error), 1)), rtol=0, atol=1e-12)


def test_a_drift_grows_with_time(sound: Measured) -> None:
    found, _ = measured("  - {at: 1, do: {disturb: {unit: box/MAG_1, drift: [1, 0, 2]}}}")
    stamps, values = found["box/MAG_1"]
    late = stamps > 1.0
    error = (values - sound["box/MAG_1"][1])[late]
    np.testing.assert_allclose(error, (stamps[late] - 1.0)[:, None] * [1.0, 0.0, 2.0], rtol=0, atol=1e-12)


# Takes seconds: make test has failures of each kind by their numbers.
@pytest.mark.nightly
def test_noise_has_its_deviation_and_is_white(sound: Measured) -> None:
    found, _ = measured("  - {at: 0, do: {disturb: {unit: box/IMU, noise: 0.5}}}", seconds=20.0)
    reference, _ = measured("", seconds=20.0)
    error = (found["box/IMU"][1] - reference["box/IMU"][1])[1:]
    assert error.std() == pytest.approx(0.5, rel=0.03)  # of 12,000 numbers: 5 standard errors
    assert abs(np.mean(error[1:] * error[:-1])) < 0.25 * 5 / np.sqrt(error.size)


def test_a_jump_of_a_receiver_is_in_metres(sound: Measured) -> None:
    found, _ = measured("  - {at: 1, do: {disturb: {unit: box/GPS, bias: [30, -40, 5]}}}")
    stamps, values = found["box/GPS"]
    late, origin = stamps > 1.0, (47.397742, 8.545594, 488.0)

    def east_north_up(fixes: FloatArray) -> FloatArray:
        return Position(fixes[:, :3], Frame.LLA).to(Frame.ENU, origin).in_frame(Frame.ENU)

    error = east_north_up(values[late]) - east_north_up(sound["box/GPS"][1][late])
    np.testing.assert_allclose(error, np.tile([30.0, -40.0, 5.0], (len(error), 1)), atol=1e-7)
    np.testing.assert_array_equal(values[late][:, 3:], sound["box/GPS"][1][late][:, 3:])


def test_what_is_stuck_repeats_its_last_measurement_to_the_bit(sound: Measured) -> None:
    found, _ = measured("  - {at: 1, do: {fail: {unit: box/MAG_2, type: stuck}}}")
    same_but(found, sound, "box/MAG_2")
    stamps, values = found["box/MAG_2"]
    np.testing.assert_array_equal(stamps, sound["box/MAG_2"][0])
    last = np.flatnonzero(stamps <= 1.0)[-1]
    assert (values[last:] == values[last]).all()
    np.testing.assert_array_equal(values[: last + 1], sound["box/MAG_2"][1][: last + 1])


def test_what_is_off_is_silent_and_goes_on_when_it_is_sound_again(sound: Measured) -> None:
    found, _ = measured("  - {at: 1, do: {fail: box/GPS}}\n  - {at: 2, do: {fail: {unit: box/GPS, type: ok}}}")
    same_but(found, sound, "box/GPS")
    stamps, values = found["box/GPS"]
    kept = (sound["box/GPS"][0] <= 1.0) | (sound["box/GPS"][0] > 2.0)
    np.testing.assert_array_equal(stamps, sound["box/GPS"][0][kept])
    np.testing.assert_array_equal(values, sound["box/GPS"][1][kept])


def test_intermittent_ones_lose_a_share_and_the_rest_is_right(sound: Measured) -> None:
    scenario = "  - {at: 0, do: {fail: {unit: box/IMU, type: intermittent, share: 0.3}}}"
    found, _ = measured(scenario)
    stamps, values = found["box/IMU"]
    kept = np.isin(sound["box/IMU"][0], stamps)
    np.testing.assert_array_equal(values, sound["box/IMU"][1][kept])
    lost = 1.0 - kept.mean()
    assert lost == pytest.approx(0.3, abs=4 * np.sqrt(0.21 / len(kept)))
    again, _ = measured(scenario)
    np.testing.assert_array_equal(again["box/IMU"][0], stamps)
    other, _ = measured(scenario, seed=4)
    assert not np.array_equal(other["box/IMU"][0], stamps)


def test_slow_ones_measure_at_their_period(sound: Measured) -> None:
    found, _ = measured("  - {at: 1, do: {fail: {unit: box/IMU, type: slow, period: 0.25}}}")
    stamps = found["box/IMU"][0]
    np.testing.assert_allclose(np.diff(stamps[stamps > 1.0]), 0.25, atol=1e-9)
    assert set(stamps) <= set(sound["box/IMU"][0])


def test_delayed_ones_are_published_later_with_their_stamps_and_do_not_overtake() -> None:
    world = loads(
        f"{WORLD}scenario:\n  - {{at: 1, do: {{fail: {{unit: box/MAG_1, type: delayed, delay: 0.3, seconds: 1}}}}}}"
    )
    run = Simulation(world, 3)
    came: dict[int, int] = {}
    for _ in range(400):
        run.step(1)
        for stamp in run.snapshot().measurements["box/MAG_1"].stamps_ns.tolist():
            came[stamp] = run.time_ns - stamp
    assert list(came) == sorted(came)
    delays = {stamp / 1e9: late / 1e9 for stamp, late in came.items()}
    assert {late for stamp, late in delays.items() if stamp <= 1.0} == {0.0}
    assert {late for stamp, late in delays.items() if 1.0 < stamp <= 2.0} == {0.3}
    # The first ones after it wait for those before them.
    assert max(late for stamp, late in delays.items() if stamp > 2.0) == pytest.approx(0.28)
    assert delays[3.0] == 0.0


def test_wrong_ones_are_multiplied_and_garbage_repeats_with_the_seed(sound: Measured) -> None:
    found, _ = measured("  - {at: 1, do: {fail: {unit: box/MAG_1, type: wrong, gain: -3}}}")
    stamps, values = found["box/MAG_1"]
    np.testing.assert_array_equal(values[stamps > 1.0], -3.0 * sound["box/MAG_1"][1][stamps > 1.0])
    garbage, _ = measured("  - {at: 1, do: {fail: {unit: box/MAG_1, type: garbage}}}")
    assert (
        garbage["box/MAG_1"][1].tobytes()
        == measured("  - {at: 1, do: {fail: {unit: box/MAG_1, type: garbage}}}")[0]["box/MAG_1"][1].tobytes()
    )
    assert abs(np.corrcoef(garbage["box/MAG_1"][1][60:, 0], garbage["box/MAG_1"][1][60:, 1])[0, 1]) < 0.4


def test_failures_survive_a_restore_and_add_up(sound: Measured) -> None:
    scenario = (
        "  - {at: 1, do: [{disturb: {unit: box/MAG_2, bias: 1}}, {fail: {unit: box/MAG_2, type: wrong, gain: 2}}]}"
    )
    found, run = measured(scenario, seconds=2.0)
    stamps, values = found["box/MAG_2"]
    late = stamps > 1.0
    np.testing.assert_allclose(values[late], 2.0 * (sound["box/MAG_2"][1][: len(stamps)][late] + 1.0), atol=1e-12)
    state = run.state
    run.run(1.0)
    after = np.array(run.sensors["box/MAG_2"].values)
    other = Simulation(loads(f"{WORLD}scenario:\n{scenario}"), 0)
    other.restore(state)
    other.run(1.0)
    np.testing.assert_array_equal(other.sensors["box/MAG_2"].values, after)
