"""Signals are found by name and index, and thinned out without losing an extreme."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image
from robot_bag import RATE, robot, write

from sim_node.messages.tf_message_reader import Unreadable
from sim_node.recording.bag import BagError
from sim_node.recording.opening import open_bag
from sim_node.recording.series import Series, Signal, draw, read_series, signals, thinned, unit


@pytest.fixture(scope="module")
def bag_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("series") / "bag", robot(2))


def series(bag_path: Path, *given: str) -> list[Series]:
    with open_bag(bag_path) as bag:
        return read_series(bag, signals(bag, given), bag.messages, Unreadable(pytest.fail))


def test_a_signal_has_the_values_that_were_written(bag_path: Path) -> None:
    t = np.arange(2 * RATE + 1) / RATE
    rate, x, covariance, stamp = series(
        bag_path,
        "/imu/data.angular_velocity.z",
        "/tf.transforms[0].transform.translation.x",
        "/imu/data.angular_velocity_covariance[8]",
        "/imu/data.header.stamp.nanosec",
    )
    np.testing.assert_allclose(rate.times_s, t, atol=1e-12)
    np.testing.assert_array_equal(rate.values, [math.sin(each) for each in t.tolist()])
    np.testing.assert_array_equal(x.values, [2 * math.cos(each) for each in t.tolist()])
    assert set(covariance.values) == {0.25}
    assert stamp.values[1] == 20_000_000


def test_a_pattern_stands_for_all_topics_that_fit(bag_path: Path) -> None:
    with open_bag(bag_path) as bag:
        found = signals(bag, ["/tf*.transforms[0].transform.translation.x"])
    assert [str(each) for each in found] == [
        "/tf.transforms[0].transform.translation.x",
        "/tf_static.transforms[0].transform.translation.x",
    ]


@pytest.mark.parametrize(
    ("text", "output"),
    [
        ("/imu/dato.x", r"no topic /imu/dato; did you mean /imu/data\?"),
        ("/imu/data", "the field is missing; signals look like /imu/data.pose"),
        ("/imu/data.angular_velcity.z", r"no field angular_velcity; did you mean angular_velocity\?"),
        ("/imu/data.angular_velocity", "is not a number, but contains some: angular_velocity.x, angular_velocity.y"),
        ("/imu/data.angular_velocity.z.w", "angular_velocity.z has no field w"),
        ("/imu/data.angular_velocity_covariance", r"is an array of 9; give an index, as in .*\[0\]"),
        ("/imu/data.angular_velocity_covariance[9]", "no message in that time contains it"),
        ("/imu/data.angular_velocity[0]", "is not an array"),
        ("/tf.transforms.transform", r"is an array of 1; give an index, as in transforms\[0\]\.transform"),
        ("/imu/data.header.frame_id", "header.frame_id is not a number: 'base_link'"),
        ("/imu/data.a..b[", "is not a field"),
    ],
)
def test_what_is_no_signal_is_reported_with_what_there_is(bag_path: Path, text: str, output: str) -> None:
    with pytest.raises(BagError, match=output):
        series(bag_path, text)


@given(st.lists(st.floats(-1e6, 1e6) | st.just(math.nan), min_size=1, max_size=400), st.integers(4, 60))
def test_thinning_keeps_the_extremes_of_every_stretch(values: list[float], most: int) -> None:
    """Of any stretch between two kept samples, no sample lies outside what is kept around it; ends are kept."""
    times, given_values = np.arange(len(values), dtype=np.float64) / 2, np.array(values)
    kept_times, kept = thinned(times, given_values, most)
    assert len(kept) <= max(len(values) if len(values) <= most else 0, most + np.isnan(given_values).sum() + 4)
    assert np.all(np.diff(kept_times) > 0)
    assert kept_times[0] == times[0]
    assert kept_times[-1] == times[-1]
    np.testing.assert_array_equal(kept, given_values[(kept_times / 0.5).astype(int)])
    if not np.isnan(given_values).all():
        assert np.nanmin(kept) == np.nanmin(given_values)
        assert np.nanmax(kept) == np.nanmax(given_values)


def test_a_single_spike_in_a_million_samples_survives() -> None:
    values = np.sin(np.arange(1_000_000) / 1e5)
    values[765_432] = 50.0
    times, kept = thinned(np.arange(1_000_000) / 1e3, values, 8000)
    assert len(kept) <= 8004
    assert times[np.argmax(kept)] == 765.432


@pytest.mark.parametrize(
    ("field", "expected"),
    [
        ("angular_velocity.z", "rad/s"),
        ("linear_acceleration.x", "m/s²"),
        ("pose.pose.position.z", "m"),
        ("twist.twist.linear.x", "m/s"),
        ("twist.twist.angular.x", "rad/s"),
        ("transforms[3].transform.rotation.w", "quaternion"),
        ("fluid_pressure", "Pa"),
        ("angular_velocity_covariance[8]", ""),
        ("data", ""),
    ],
)
def test_units_are_those_of_rep_103(field: str, expected: str) -> None:
    assert unit(Signal("/any", field)) == expected


# Takes seconds: make test has the numbers of series and their units.
@pytest.mark.nightly
def test_the_picture_has_a_panel_of_each_unit(bag_path: Path, tmp_path: Path) -> None:
    """Each panel adds its height; the second line of a panel has the second colour."""
    one = series(bag_path, "/imu/data.angular_velocity.z")
    two = series(
        bag_path, "/imu/data.angular_velocity.z", "/imu/data.linear_acceleration.x", "/imu/data.linear_acceleration.z"
    )
    draw(one, 0.0, tmp_path / "one.png")
    draw(two, 0.0, tmp_path / "two.png")
    small, large = Image.open(tmp_path / "one.png").convert("RGB"), Image.open(tmp_path / "two.png").convert("RGB")
    assert small.width == large.width
    assert large.height > 1.6 * small.height
    assert has_orange(large)
    assert not has_orange(small)


def has_orange(picture: Image.Image) -> bool:
    """Matplotlib's second colour (255, 127, 14), on white."""
    pixels = np.asarray(picture).astype(int)
    return bool(np.any((pixels[..., 0] > 240) & (pixels[..., 1] < 180) & (pixels[..., 2] < 110)))


def test_a_picture_that_cannot_be_written_is_reported(bag_path: Path, tmp_path: Path) -> None:
    one = series(bag_path, "/imu/data.angular_velocity.z")
    with pytest.raises(BagError, match="cannot be written"):
        draw(one, 0.0, tmp_path / "none" / "a.png")
    with pytest.raises(BagError, match="xyz"):
        draw(one, 0.0, tmp_path / "a.xyz")
