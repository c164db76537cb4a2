"""The newest measurements of a run by sensor: arrays and messages, against physics and against the run's bag."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from nightly import only
from rosbags.highlevel import AnyReader
from rosbags.typesys import Stores, get_typestore

from sim_node import SensorMessages, Session, Simulation
from sim_node.world.load import loads

RESTING = """
world: shelf
physics: {gravity: [0, 0, -9.80665]}
bodies:
  - {name: box, joint: frozen, geometry: [{box: [0.2, 0.2, 0.2], mass: 1}]}
sensors:
  - {name: box/imu, parent: box, pose: {}, type: imu, rate: 10, latency: 0.05, gyroscope: none, accelerometer: none}
"""


def test_the_newest_measurement_is_that_of_a_body_at_rest_once_its_latency_is_over() -> None:
    run = Simulation(loads(RESTING))
    imu = run.sensors["box/imu"]
    assert (imu.type, imu.stamp_ns, imu.values) == ("imu", None, None)
    assert SensorMessages(run)["box/imu"] == {}
    run.run(0.04)
    assert imu.stamp_ns is None
    run.run(0.2)
    assert imu.stamp_ns == 100_000_000
    assert imu.values is not None
    np.testing.assert_allclose(imu.values, np.array([0, 0, 0, 0, 0, 9.80665]), atol=1e-9)
    assert imu.channels[5] == "force_z"
    (message,) = SensorMessages(run)["box/imu"].values()
    assert (message.header.frame_id, message.header.stamp.nanosec) == ("box/imu", 100_000_000)
    assert message.linear_acceleration.z == pytest.approx(9.80665, abs=1e-9)


def test_values_cannot_be_written_and_a_misspelt_name_is_an_error() -> None:
    run = Simulation(loads(RESTING))
    run.run(0.3)
    values = run.sensors["box/imu"].values
    assert values is not None
    with pytest.raises(ValueError, match="read-only"):
        values[0] = 1.0
    with pytest.raises(KeyError, match="no sensor 'box/imo'; did you mean box/imu"):
        run.sensors["box/imo"]
    with pytest.raises(KeyError, match="no sensor 'box/imo'; did you mean box/imu"):
        SensorMessages(run)["box/imo"]


@pytest.mark.parametrize("world", only(["lidar_room", "quadrotor"], 1))
def test_messages_are_those_of_the_bag(world: str, tmp_path: Path) -> None:
    with Session(world, real_time_factor=0.0, record=tmp_path / "bag") as session:
        session.run(1.0)
        found = {
            "/" + topic: message
            for each in SensorMessages(session.simulation).values()
            for topic, message in each.items()
        }
    assert found
    with AnyReader([tmp_path / "bag"], default_typestore=get_typestore(Stores.ROS2_JAZZY)) as bag:
        recorded = {c.topic: bag.deserialize(data, c.msgtype) for c, _, data in bag.messages() if c.topic in found}
    for topic, message in found.items():
        assert repr(message) == repr(recorded[topic]), topic


def test_a_reset_begins_anew_and_a_restore_brings_back() -> None:
    run = Simulation("quadrotor", seed=4)
    run.run(0.303)
    handles = [handle for handle in run.sensors.values() if handle.stamp_ns is not None]
    assert len({handle.stamp_ns for handle in handles}) > 1
    state = run.state
    before = [(handle.stamp_ns, np.array(handle.values)) for handle in handles]
    run.reset()
    assert {handle.stamp_ns for handle in handles} == {0}  # the first, which has no latency
    run.run(0.1)
    run.restore(state)
    for handle, (stamp_ns, values) in zip(handles, before, strict=True):
        assert handle.stamp_ns == stamp_ns
        np.testing.assert_array_equal(handle.values, values)
