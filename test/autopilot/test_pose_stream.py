"""Poses between telemetry: scipy's SLERP is the oracle."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation, Slerp

from sim_node.mavlink.pose_stream import HISTORY_NS, MAX_GAP_NS, PoseStream
from sim_node.spatial.frames import AttitudeEnu, Enu

MS = 1_000_000


def flown() -> tuple[PoseStream, np.ndarray, Rotation, np.ndarray, np.ndarray]:
    """Positions each 33 ms, attitudes each 10 ms with signs that flip, as filters send them."""
    stream, chance = PoseStream(), np.random.default_rng(3)
    position_times, attitude_times = np.arange(0, 2000, 33), np.arange(5, 2000, 10)
    positions = chance.normal(size=(len(position_times), 3)).cumsum(axis=0)
    turns = Rotation.from_rotvec(chance.normal(scale=0.3, size=(len(attitude_times), 3)).cumsum(axis=0))
    for time, position in zip(position_times, positions, strict=True):
        stream.add_position(int(time) * MS, Enu(position))
    for time, q in zip(attitude_times, turns.as_quat(), strict=True):
        stream.add_attitude(int(time) * MS, AttitudeEnu(q * chance.choice([-1.0, 1.0])))
    return stream, positions, turns, position_times, attitude_times


FLOWN = flown()


@given(st.integers(5 * MS, 1979 * MS))
def test_between_messages_it_is_the_chord_and_scipys_slerp(time_ns: int) -> None:
    stream, positions, turns, position_times, attitude_times = FLOWN
    pose = stream.at(time_ns)
    assert pose is not None
    expected = [np.interp(time_ns / MS, position_times, column) for column in positions.T]
    np.testing.assert_allclose(pose[:3], expected, rtol=0, atol=1e-9)
    turn = Slerp(attitude_times, turns)(time_ns / MS)
    assert (Rotation.from_quat(pose[3:]) * turn.inv()).magnitude() < 1e-7
    assert np.linalg.norm(pose[3:]) == pytest.approx(1.0)


def turning() -> PoseStream:
    """1 m/s east, 1 rad/s to the left."""
    stream = PoseStream()
    for step in range(11):
        time = step * 100 * MS
        stream.add_position(time, Enu((step * 0.1, 0.0, 0.0)))
        stream.add_attitude(time, AttitudeEnu(Rotation.from_euler("z", step * 0.1).as_quat()))
    return stream


def test_nothing_is_told_beyond_what_is_known() -> None:
    stream = turning()
    assert stream.newest_ns() == 1000 * MS
    assert stream.at(1000 * MS) is not None
    assert stream.at(1000 * MS + 1) is None
    assert stream.at(-1) is None
    assert PoseStream().at(0) is None


def test_looking_ahead_goes_on_as_before() -> None:
    pose = turning().at(1150 * MS, ahead_ns=200 * MS)
    assert pose is not None
    assert pose[0] == pytest.approx(1.15)
    assert Rotation.from_quat(pose[3:]).as_euler("ZYX")[0] == pytest.approx(1.15)
    assert turning().at(1201 * MS, ahead_ns=200 * MS) is None


def test_across_a_gap_nothing_is_made_up() -> None:
    stream = turning()
    later = 1000 * MS + MAX_GAP_NS + MS
    stream.add_position(later, Enu((9.0, 0.0, 0.0)))
    stream.add_attitude(later, AttitudeEnu((0.0, 0.0, 0.0, 1.0)))
    assert stream.at(1500 * MS) is None
    assert stream.at(later) is not None


def test_time_that_goes_back_takes_what_came_later_with_it() -> None:
    stream = turning()
    stream.add_position(500 * MS, Enu((7.0, 0.0, 0.0)))
    assert stream.positions.stamps == [0, 100 * MS, 200 * MS, 300 * MS, 400 * MS, 500 * MS]
    assert stream.positions.values[-1] == (7.0, 0.0, 0.0)
    stream.add_position(500 * MS - HISTORY_NS - 1, Enu((1.0, 0.0, 0.0)))
    assert len(stream.positions.stamps) == 1


def test_history_stays_short() -> None:
    stream = PoseStream()
    for step in range(100_000):
        stream.add_position(step * MS, Enu((0.0, 0.0, 0.0)))
    assert len(stream.positions.stamps) < 2.5 * HISTORY_NS / MS
