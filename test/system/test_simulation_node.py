"""The main job on real input: a world file, a real rclpy node in its own process, its frames received here."""

from __future__ import annotations

import math
import time
from functools import partial
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import rclpy.qos as ros_qos
from forked_programs import program
from listening import listener
from processes import sim_node
from rcl_interfaces.srv import DescribeParameters, SetParameters
from rclpy.parameter import Parameter
from rosgraph_msgs.msg import Clock
from scipy.spatial.transform import Rotation, Slerp
from std_srvs.srv import Trigger
from tf2_msgs.msg import TFMessage

# As tf2_ros' listeners subscribe.
TF = ros_qos.QoSProfile(depth=100)
TF_STATIC = ros_qos.QoSProfile(depth=100, durability=ros_qos.DurabilityPolicy.TRANSIENT_LOCAL)
CLOCK = ros_qos.QoSProfile(depth=100, reliability=ros_qos.ReliabilityPolicy.BEST_EFFORT)

TURN = math.sqrt(0.5)
TO_AND_FRO = """
world: orbit
fixed_frame: map
time: {start: 0.0, step: 0.01}
frames:
  - {name: drone/CAM_FRONT, parent: drone/base_link, pose: {position: [0.1, 0, 0.02], rpy_deg: [0, 10, 0]}}
motions:
  - frame: drone/base_link
    parent: map
    after: loop
    keyframes:
      - {t: 0.0, position: [0, 0, 1], quaternion: [0, 0, 0, 1]}
      - {t: 1.0, position: [2, 0, 1.5], quaternion: [0, 0, 0.7071067811865476, 0.7071067811865476]}
  - frame: beacon
    after: pingpong
    keyframes:
      - {t: 0.5, position: [1, 2, 3], rpy_deg: [0, 0, 0]}
      - {t: 1.25, position: [-1, 4, 0], rpy_deg: [90, 0, 0]}
"""


@pytest.fixture
def world_file(tmp_path: Path) -> Path:
    path = tmp_path / "orbit.yaml"
    path.write_text(TO_AND_FRO)
    return path


def stamp_ns(transform: object) -> int:
    stamp = transform.header.stamp  # type: ignore[attr-defined]
    return int(stamp.sec) * 10**9 + int(stamp.nanosec)


def pose_of(transform: object) -> np.ndarray:
    t, r = transform.transform.translation, transform.transform.rotation  # type: ignore[attr-defined]
    return np.array([t.x, t.y, t.z, r.x, r.y, r.z, r.w])


def expected(frame: str, time_ns: int) -> np.ndarray:
    """The two motions above by scipy's Slerp and a straight line; loops and reflections by hand."""
    if frame == "drone/base_link":
        u = (time_ns % 10**9) / 1e9
        ends = np.array([[0, 0, 1], [2, 0, 1.5]]), Rotation.from_rotvec([[0, 0, 0], [0, 0, math.pi / 2]])
    else:
        since = time_ns - 500_000_000
        lap, phase = divmod(since, 750_000_000)
        u = phase / 750e6 if lap % 2 == 0 else 1.0 - phase / 750e6
        u = 0.0 if since < 0 else u
        ends = np.array([[1, 2, 3], [-1, 4, 0]]), Rotation.from_rotvec([[0, 0, 0], [math.pi / 2, 0, 0]])
    position = ends[0][0] + u * (ends[0][1] - ends[0][0])
    return np.concatenate([position, Slerp([0.0, 1.0], ends[1])(u).as_quat()])


@pytest.mark.usefixtures("ros_domain")
@pytest.mark.parametrize("messages", ["serialised", pytest.param("typed", marks=pytest.mark.upstream)])
def test_every_transform_is_the_analytic_one_at_its_stamp(world_file: Path, messages: str) -> None:
    command = sim_node("run", world_file, "--ros-args", "-p", f"tf_messages:={messages}")
    with program(command) as node, listener() as ears:
        moving = ears.subscribe(TFMessage, "/tf", TF)
        latched = ears.subscribe(TFMessage, "/tf_static", TF_STATIC)
        clock = ears.subscribe(Clock, "/clock", CLOCK)

        def on_the_clock() -> int:
            """How many transforms have been stamped with a time that was on /clock, which may lose some."""
            ticks = {message.clock.sec * 10**9 + message.clock.nanosec for _, message in clock}
            return len(ticks & {stamp_ns(message.transforms[0]) for _, message in moving})

        ears.spin_until(lambda: len(moving) > 400 and latched and on_the_clock() > 200, what=node.output)
        assert node.stop() == 0

    last: dict[str, tuple[int, np.ndarray]] = {}
    for _, message in moving:
        assert [t.child_frame_id for t in message.transforms] == ["drone/base_link", "beacon"]
        for transform in message.transforms:
            assert transform.header.frame_id == "map"
            time_ns, pose = stamp_ns(transform), pose_of(transform)
            want = expected(transform.child_frame_id, time_ns)
            want[3:] *= math.copysign(1.0, want[3:] @ pose[3:])
            np.testing.assert_allclose(pose, want, rtol=0, atol=1e-12)
            if transform.child_frame_id in last:
                before_ns, before = last[transform.child_frame_id]
                assert time_ns > before_ns
                assert before[3:] @ pose[3:] > 0.0, "a quaternion changed its sign"
            last[transform.child_frame_id] = time_ns, pose

    # 60 a simulated second, each at the first step of 10 ms from its time on.
    periods = np.diff([stamp_ns(message.transforms[0]) for _, message in moving])
    assert set(periods.tolist()) == {10_000_000, 20_000_000}
    [still] = latched[0][1].transforms
    assert (still.header.frame_id, still.child_frame_id) == ("drone/base_link", "drone/CAM_FRONT")
    tilt = Rotation.from_euler("y", 10, degrees=True).as_quat()
    np.testing.assert_allclose(pose_of(still), [0.1, 0, 0.02, *tilt], rtol=0, atol=1e-12)


# Takes seconds: make test has the frames of a late joiner in test_replay.py.
@pytest.mark.nightly
@pytest.mark.usefixtures("ros_domain")
def test_every_late_joiner_has_every_static_frame(world_file: Path) -> None:
    many = "".join(f"  - {{name: drone/base_link/part_{n}, pose: {{position: [{n}, 0, 0]}}}}\n" for n in range(200))
    world_file.write_text(TO_AND_FRO.replace("frames:\n", "frames:\n" + many, 1))
    with program(sim_node("run", world_file)) as node:
        node.wait_for("/tf_static")
        for number in range(20):
            with listener(f"late_{number}") as ears:
                latched = ears.subscribe(TFMessage, "/tf_static", TF_STATIC)
                ears.spin_until(partial(bool, latched), what=f"joiner {number}")
                names = {transform.child_frame_id for transform in latched[0][1].transforms}
                assert names == {"drone/CAM_FRONT", *(f"drone/base_link/part_{n}" for n in range(200))}


@pytest.mark.usefixtures("ros_domain")
def test_pause_step_resume_and_reset(world_file: Path) -> None:
    with program(sim_node("run", world_file)), listener() as ears:
        moving = ears.subscribe(TFMessage, "/tf", TF)
        ears.spin_until(lambda: len(moving) > 60)

        def trigger(name: str) -> Trigger.Response:
            return ears.call(Trigger, f"/simulation/{name}", Trigger.Request())

        refused = trigger("step")
        assert not refused.success
        assert refused.message == "the simulation is running; pause it to step"

        paused = trigger("pause")
        assert paused.success

        def last() -> str:
            return f"paused at {stamp_ns(moving[-1][1].transforms[0]) / 1e9:.9g} s"

        ears.spin_until(lambda: last() == paused.message, what=f"what was on its way, {paused.message}")
        count, paused_ns = len(moving), stamp_ns(moving[-1][1].transforms[0])
        stepped = trigger("step")
        assert stepped.success
        ears.spin_until(lambda: len(moving) > count)
        step_ns = stamp_ns(moving[-1][1].transforms[0]) - paused_ns
        assert step_ns == 10_000_000
        assert stepped.message == f"paused at {(paused_ns + step_ns) / 1e9:.9g} s"

        assert trigger("resume").success
        ears.spin_until(lambda: len(moving) > count + 30)
        before = len(moving)
        assert trigger("reset").success
        ears.spin_until(lambda: len(moving) > before + 60)
        stamps = [stamp_ns(message.transforms[0]) for _, message in moving[before - 5 :]]
        [restart] = [n for n, (a, b) in enumerate(pairwise(stamps), start=1) if b < a]
        assert stamps[restart] == 0, "time starts again at the world's start"
        assert all(b > a for a, b in pairwise(stamps[restart:]))


@pytest.mark.usefixtures("ros_domain")
def test_parameters_describe_themselves_and_refuse_with_a_reason(world_file: Path) -> None:
    with program(sim_node("run", world_file)), listener() as ears:

        def change(name: str, value: object) -> tuple[bool, str]:
            request = SetParameters.Request(parameters=[Parameter(name, value=value).to_parameter_msg()])
            [result] = ears.call(SetParameters, "/simulation/set_parameters", request).results
            return result.successful, result.reason

        described = ears.call(
            DescribeParameters,
            "/simulation/describe_parameters",
            DescribeParameters.Request(names=["publish_rate", "world", "seed"]),
        ).descriptors
        publish_rate, world, seed = described
        [allowed] = publish_rate.floating_point_range
        assert (allowed.from_value, allowed.to_value) == (0.1, 10_000.0)
        assert world.read_only
        assert not publish_rate.read_only
        assert "reset" in seed.description

        ok, reason = change("publish_rate", 20_000.0)
        assert not ok
        assert "publish_rate" in reason
        ok, reason = change("world", "other.yaml")
        assert not ok
        assert "read-only" in reason
        assert change("publish_rate", 20.0) == (True, "")
        moving = ears.subscribe(TFMessage, "/tf", TF)
        ears.spin_until(lambda: len(moving) > 20)
        periods = np.diff([stamp_ns(message.transforms[0]) for _, message in moving[-10:]])
        assert set(periods) == {50_000_000}
        assert change("real_time_factor", 4.0) == (True, "")
        (asked, now) = moving[-1]

        def ahead() -> float:
            """Simulated seconds beyond those on the wall, since it is four times as fast."""
            arrival, newest = moving[-1]
            return (stamp_ns(newest.transforms[0]) - stamp_ns(now.transforms[0])) / 1e9 - (arrival - asked)

        ears.spin_until(lambda: ahead() > 3.0, what="time that runs faster than on the wall")


@pytest.mark.usefixtures("ros_domain")
def test_frame_prefix_leaves_the_fixed_frame_and_wall_stamps_are_wall_time(world_file: Path) -> None:
    arguments = ["--ros-args", "-p", "frame_prefix:=alpha/", "-p", "stamp:=wall"]
    began_ns = time.time_ns()
    with program(sim_node("run", world_file, *arguments)) as node, listener() as ears:
        moving = ears.subscribe(TFMessage, "/tf", TF)
        clock = ears.subscribe(Clock, "/clock", CLOCK)
        ears.spin_until(lambda: len(moving) > 30)
        ends = {(t.header.frame_id, t.child_frame_id) for t in moving[0][1].transforms}
        assert ends == {("map", "alpha/drone/base_link"), ("map", "alpha/beacon")}
        stamps = [stamp_ns(message.transforms[0]) for _, message in moving]
        assert all(b > a for a, b in pairwise(stamps))
        assert began_ns <= stamps[0]
        assert stamps[-1] <= time.time_ns()
        assert not clock
        assert "/clock" not in node.output
