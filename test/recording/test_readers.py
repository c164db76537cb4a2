"""Bags read back by three libraries that know nothing of each other: every field, beside the simulation's arrays."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import numpy as np
import pytest
from mcap.reader import make_reader
from mcap_ros2.decoder import DecoderFactory
from nightly import rows
from recorded_runs import files, messages, record
from rosbags.highlevel import AnyReader

from sim_node.messages.sensor_topics import sensor_messages
from sim_node.simulation import Snapshot
from sim_node.simulation.sensors import groups_of
from sim_node.world import FrameTable, World

WORLDS = rows(("sensor_rig", "quadrotor", "lidar_room", "arm_on_cart", "two_vehicles"), ("sensor_rig", "quadrotor"))


class Truth:
    """A sink that keeps the arrays of a run."""

    def open(self, world: World, frames: FrameTable) -> None:
        self.world, self.frames = world, frames
        self.times: list[int] = []
        self.poses: list[np.ndarray] = []
        self.measurements: dict[str, list[tuple[int, np.ndarray]]] = defaultdict(list)

    def write(self, snapshot: Snapshot) -> None:
        self.times.append(snapshot.time_ns)
        self.poses.append(snapshot.poses.copy())
        for batch in snapshot.measurements.batches:
            for stamp_ns, reported in zip(batch.stamps_ns.tolist(), batch.values, strict=True):
                for name, values in zip(batch.names, reported, strict=True):
                    self.measurements[name].append((stamp_ns, values.copy()))

    def close(self) -> None:
        pass


@cache
def recorded(world: str) -> tuple[Truth, Path]:
    truth, folder = Truth(), Path(mkdtemp()) / world
    assert record(world, folder, seconds=1.0, seed=3, sinks=(truth,)) == []
    return truth, folder


@cache
def by_rosbags(world: str) -> dict[str, list[Any]]:
    found = defaultdict(list)
    with AnyReader([recorded(world)[1]]) as reader:
        for connection, _, data in reader.messages():
            found[connection.topic].append(reader.deserialize(data, connection.msgtype))
    return found


@cache
def by_mcap_ros2(world: str) -> dict[str, list[Any]]:
    found = defaultdict(list)
    with files(recorded(world)[1])[0].open("rb") as stream:
        for _, channel, _, message in make_reader(stream, decoder_factories=[DecoderFactory()]).iter_decoded_messages():
            found[channel.topic].append(message)
    return found


def plain(value: Any) -> Any:
    """A message of either library as tuples and arrays."""
    if is_dataclass(value):
        names = (field.name for field in fields(value) if field.name != "__msgtype__" and not field.name.isupper())
        return {name: plain(getattr(value, name)) for name in names}
    if hasattr(value, "__slots__"):
        return {name.lstrip("_"): plain(getattr(value, name)) for name in value.__slots__}
    if isinstance(value, (list, tuple)) and value and not isinstance(value[0], (int, float)):
        return [plain(each) for each in value]
    if isinstance(value, (bytes, bytearray, memoryview)):
        return np.frombuffer(value, np.uint8)
    if isinstance(value, (list, tuple, np.ndarray)):
        return np.asarray(value)
    return value


def same(first: Any, second: Any) -> None:
    if isinstance(first, dict):
        assert first.keys() == second.keys()
        for name in first:
            same(first[name], second[name])
    elif isinstance(first, list):
        assert len(first) == len(second)
        for a, b in zip(first, second, strict=True):
            same(a, b)
    else:
        np.testing.assert_array_equal(first, second)


def stamp_of(message: Any) -> int:
    return int(message.header.stamp.sec * 1_000_000_000 + message.header.stamp.nanosec)


@pytest.mark.parametrize("world", WORLDS)
def test_two_decoders_find_the_same_in_every_field(world: str) -> None:
    first, second = by_rosbags(world), by_mcap_ros2(world)
    assert first.keys() == second.keys()
    assert sum(map(len, first.values())) == len(messages(files(recorded(world)[1])[0]))
    for topic in first:
        for a, b in zip(first[topic], second[topic], strict=True):
            same(plain(a), plain(b))


@pytest.mark.parametrize("world", WORLDS)
def test_transforms_are_those_of_the_run(world: str) -> None:
    """Every frame, at every tick, to the last bit."""
    truth, found = recorded(world)[0], by_rosbags(world)
    assert [m.clock.sec * 1_000_000_000 + m.clock.nanosec for m in found["/clock"]] == truth.times
    rows = {name: row for row, name in enumerate(truth.frames.names)}
    seen = set()
    for topic in ("/tf", "/tf_static"):
        for tick, message in enumerate(found[topic]):
            for transform in message.transforms:
                row = rows[transform.child_frame_id]
                assert truth.frames.names[truth.frames.parents[row]] == transform.header.frame_id
                assert stamp_of(transform) == truth.times[tick]
                at, turn = transform.transform.translation, transform.transform.rotation
                pose = [at.x, at.y, at.z, turn.x, turn.y, turn.z, turn.w]
                np.testing.assert_array_equal(pose, truth.poses[tick][row])
                seen.add(row)
    assert seen == set(range(1, len(rows)))


def xyz(*vectors: Any) -> list[float]:
    return [part for vector in vectors for part in (vector.x, vector.y, vector.z)]


def pose_and_twist(message: Any) -> list[float]:
    pose, twist = message.pose.pose, message.twist.twist
    return [*xyz(pose.position), *xyz(pose.orientation), pose.orientation.w, *xyz(twist.linear, twist.angular)]


# What of a message are the numbers of its sensor.
VALUES: dict[str, Callable[[Any], Any]] = {
    "data_raw": lambda m: xyz(m.angular_velocity, m.linear_acceleration),
    "mag": lambda m: xyz(m.magnetic_field),
    "pressure": lambda m: [m.fluid_pressure],
    "differential_pressure": lambda m: [m.fluid_pressure],
    "fix": lambda m: [m.latitude, m.longitude, m.altitude],
    "fix_velocity": lambda m: xyz(m.twist.twist.linear),
    "joint_states": lambda m: np.concatenate([m.position, m.velocity, m.effort]),
    "odom": pose_and_twist,
    "range": lambda m: [m.range],
    "scan": lambda m: m.ranges,
    "points": lambda m: m.data.reshape(-1, m.point_step)[:, :16].copy().view("<f4"),
    "image_raw": lambda m: m.data,
    "camera_info": lambda m: [],
    "wrench": lambda m: xyz(m.wrench.force, m.wrench.torque),
}
SINGLE = {"range", "scan", "points"}
# Of a gps: the velocity stands behind the position.
FIRST = {"fix_velocity": 3}


@pytest.mark.parametrize("world", WORLDS)
def test_readings_are_those_of_the_run(world: str) -> None:
    """Every sensor's numbers, float32 where its message has those; each stamp; none missing."""
    truth, found = recorded(world)[0], by_rosbags(world)
    topics = {"/clock", "/tf", "/tf_static"}
    for name, topic, _ in sensor_messages(truth.world):
        received, kind = found[f"/{topic.name}"], topic.name.rpartition("/")[2]
        topics.add(f"/{topic.name}")
        assert [stamp_of(m) for m in received] == [stamp for stamp, _ in truth.measurements[name]]
        for message, (_, values) in zip(received, truth.measurements[name], strict=True):
            got = np.asarray(VALUES[kind](message))
            expected = np.asarray(values[FIRST.get(kind, 0) :] if kind != "camera_info" else [])
            if kind == "image_raw":
                expected = np.ascontiguousarray(expected).view(np.uint8)
            if kind in SINGLE:
                expected = expected.astype(np.float32)
            np.testing.assert_array_equal(got.ravel(), expected.ravel()[: got.size])
            assert message.header.frame_id in (name, f"{name}_optical", f"{name}/odom", truth.world.fixed_frame)
    for_viewers = {"/simulation/markers"}
    for vehicle in truth.world.vehicles:
        for_viewers |= {f"/{vehicle.name}/path", f"/{vehicle.name}/robot_description"}
    mechanisms = {topic for topic in found if topic.endswith("/robot_description")}
    assert set(found) - mechanisms == topics | (for_viewers - mechanisms)
    assert for_viewers <= set(found)


@pytest.mark.parametrize("world", WORLDS)
def test_log_times_are_when_it_was_reported(world: str) -> None:
    """The third reader: stamps and latencies of the world give the times of messages."""
    truth, folder = recorded(world)
    reported = defaultdict(list)
    for message in messages(files(folder)[0]):
        reported[message.topic].append(message.time_ns)
    assert reported["/clock"] == reported["/tf"] == truth.times
    latency = {name: group.sensors[0].latency for group in groups_of(truth.world) for name in group.names}
    for name, topic, _ in sensor_messages(truth.world):
        expected = [stamp + round(latency[name] * 1e9) for stamp, _ in truth.measurements[name]]
        assert reported[f"/{topic.name}"] == expected
