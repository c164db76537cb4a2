"""The real tf2_ros and ours on one graph: its listener hears our node, our listener hears its broadcasters."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import rclpy
from forked_programs import program
from geometry_msgs.msg import TransformStamped
from listening import Listener, listener
from processes import sim_node
from rcl_interfaces.srv import SetParameters
from rclpy.parameter import Parameter
from rclpy.time import Time
from scipy.spatial.transform import Rotation
from std_srvs.srv import Trigger

from sim_node.ros.tf2 import Buffer, TransformListener

pytestmark = pytest.mark.upstream("tf2_py", "tf2_ros")


def latest(buffer: Any, ears: Listener, target: str, source: str) -> Any:
    ears.spin_until(lambda: buffer.can_transform(target, source, Time()), what=f"{source} in {target}")
    return buffer.lookup_transform(target, source, Time())


def seconds(transform: Any) -> float:
    return float(transform.header.stamp.sec + transform.header.stamp.nanosec * 1e-9)


@pytest.mark.usefixtures("ros_domain")
def test_a_tf2_ros_listener_follows_a_reset() -> None:
    """docs/simulation-node.md, Resets: a Buffer that knows its node forgets the future; static frames stay."""
    import tf2_ros

    # 100 messages a wall second, so that a listener in Python keeps up.
    command = sim_node("run", "orbit", "--speed", "20", "--ros-args", "-p", "publish_rate:=5.0")
    with program(command), listener() as ears:
        ears.node.set_parameters([Parameter("use_sim_time", value=True)])
        buffer = tf2_ros.Buffer(node=ears.node)
        tf2_ros.TransformListener(buffer, ears.node)
        mount = latest(buffer, ears, "drone/base_link", "drone/CAM_FRONT").transform
        ears.spin_until(
            lambda: seconds(latest(buffer, ears, "map", "drone/base_link")) > 15.0, what="more than tf2's cache of 10 s"
        )

        # At 20 times real time, the first 10 s could pass before a busy machine has heard of them.
        slow = SetParameters.Request(parameters=[Parameter("real_time_factor", value=1.0).to_parameter_msg()])
        assert ears.call(SetParameters, "/simulation/set_parameters", slow).results[0].successful
        assert ears.call(Trigger, "/simulation/reset", Trigger.Request()).success
        ears.spin_until(
            lambda: seconds(latest(buffer, ears, "map", "drone/base_link")) < 10.0, what="frames of the new run"
        )
        restarted = seconds(latest(buffer, ears, "map", "drone/base_link"))
        ears.spin_until(
            lambda: seconds(latest(buffer, ears, "map", "drone/base_link")) > restarted + 1.0,
            what="the new run to go on",
        )
        assert latest(buffer, ears, "drone/base_link", "drone/CAM_FRONT").transform == mount
        with pytest.raises(tf2_ros.ExtrapolationException):
            buffer.lookup_transform("map", "drone/base_link", rclpy.time.Time(seconds=1000))


@pytest.mark.usefixtures("ros_domain")
@pytest.mark.parametrize("messages", ["serialised", "typed"])
def test_both_listeners_hear_the_same_of_the_node(messages: str) -> None:
    """With `typed` a tf2_ros.TransformBroadcaster sends."""
    import tf2_ros

    pairs = [
        ("map", "drone/CAM_FRONT"),
        ("drone/base_link/rotor_front_left", "map"),
        ("drone/LIDAR_TOP", "drone/IMU_MAIN"),
    ]
    command = sim_node("run", "orbit", "--ros-args", "-p", f"tf_messages:={messages}")
    with program(command) as node, listener() as ears:
        theirs, ours = tf2_ros.Buffer(node=ears.node), Buffer(node=ears.node)
        tf2_ros.TransformListener(theirs, ears.node)
        listening = TransformListener(ours, ears.node, spin_thread=False)
        begin, end = 0.0, 0.0

        def received_for(duration: float) -> bool:
            nonlocal begin, end
            stamps = [seconds(buffer.lookup_transform("map", "drone/base_link", Time())) for buffer in (theirs, ours)]
            begin, end = begin or max(stamps), min(stamps)
            return end - begin > duration

        for buffer in (theirs, ours):
            for pair in pairs:
                latest(buffer, ears, *pair)
        ears.spin_until(lambda: received_for(2.0), what=f"two seconds of /tf\n{node.output}")
        # Between the stamps of the messages, too.
        for stamp in np.linspace(begin + 0.1, end, 50):
            at = Time(nanoseconds=int(stamp * 1e9))
            for pair in pairs:
                found, wanted = (buffer.lookup_transform(*pair, at) for buffer in (ours, theirs))
                assert found.header == wanted.header
                np.testing.assert_allclose(numbers(found), numbers(wanted), rtol=0, atol=1e-9)
        listening.unregister()


def numbers(transform: TransformStamped) -> list[float]:
    """Position and rotation matrix: two quaternions stand for one rotation."""
    t, r = transform.transform.translation, transform.transform.rotation
    return [t.x, t.y, t.z, *Rotation.from_quat([r.x, r.y, r.z, r.w]).as_matrix().ravel()]


@pytest.mark.usefixtures("ros_domain")
def test_our_listener_hears_the_broadcasters_of_tf2_ros() -> None:
    """What was latched before it was there, too."""
    import tf2_ros

    with listener("sender") as sender, listener() as ears:
        static = tf2_ros.StaticTransformBroadcaster(sender.node)
        static.sendTransform(moved("car", "lidar", z=1.5))
        static.sendTransform([moved("car", "camera", x=2.0), moved("map", "odom", y=3.0)])
        moving = tf2_ros.TransformBroadcaster(sender.node)
        buffer = Buffer(node=ears.node)
        listening = TransformListener(buffer, ears.node, spin_thread=False)

        def received() -> bool:
            moving.sendTransform(moved("odom", "car", x=10.0, stamp=1.0))
            moving.sendTransform([moved("odom", "car", x=20.0, stamp=2.0)])
            return all(buffer.can_transform("map", frame, Time(seconds=1.5)) for frame in ("lidar", "camera"))

        ears.spin_until(received, what="all three broadcasts")
        for frame, place in ("lidar", [15.0, 3.0, 1.5]), ("camera", [17.0, 3.0, 0.0]):
            found = buffer.lookup_transform("map", frame, Time(seconds=1.5))
            np.testing.assert_allclose(numbers(found)[:3], place, rtol=0, atol=1e-12)
        assert {buffer.tree.as_dict()[frame]["kind"] for frame in ("lidar", "camera", "odom")} == {"static"}
        listening.unregister()


def moved(parent: str, child: str, x: float = 0.0, y: float = 0.0, z: float = 0.0, stamp: float = 0.0) -> object:
    message = TransformStamped(child_frame_id=child)
    message.header.frame_id, message.header.stamp = parent, Time(nanoseconds=int(stamp * 1e9)).to_msg()
    t = message.transform.translation
    t.x, t.y, t.z = x, y, z
    return message
