"""Manual control on the graph: keys become twists, velocity setpoints or joint targets."""

from __future__ import annotations

import time
from typing import Any

from geometry_msgs.msg import Twist, TwistStamped
from rclpy.qos import qos_profile_sensor_data
from sensor_msgs.msg import JointState

from sim_node.ros.tool_graph import ToolGraph
from sim_node.simulation.control.keys import KEYS, AxisInputs, HeldKeys

ALL_KEYS = (*KEYS, "+", "-", " ", *"123456789")
RATE_HZ = 20.0


def driver_of(graph: ToolGraph, name: str, timeout_s: float) -> TwistDriver | JointDriver:
    """Wait for the command topics of a name and return a driver for them.

    Args:
        graph: The graph.
        name: A base, a vehicle of a bridge, or a group of joints.
        timeout_s: How long to wait.

    Returns:
        Its driver.

    Raises:
        NotThere: No node subscribes to commands of this name.
        BadValue: It is not a valid topic name.
    """
    kinds: dict[str, tuple[Any, type[Any]]] = {
        "cmd_vel": (None, TwistDriver),
        "setpoint_velocity/cmd_vel": (TwistStamped, TwistDriver),
        "joint_commands": (JointState, JointDriver),
    }
    topics = {graph.topic_name(f"{name}/{topic}"): kind for topic, kind in kinds.items()}
    found: list[str] = []

    def there() -> bool:
        found[:] = [topic for topic in topics if graph.node.get_subscriptions_info_by_topic(topic)]
        return bool(found)

    if not graph.spin(there, timeout_s):
        offered = [topic.rpartition("/")[0].strip("/") for topic in graph.topics() if topic.endswith("/cmd_vel")]
        raise graph.absent("subscription to commands of", name, offered, timeout_s)
    topic = found[0]
    message, driver = topics[topic]
    if message is None:
        types = {info.topic_type for info in graph.node.get_subscriptions_info_by_topic(topic)}
        message = TwistStamped if "geometry_msgs/msg/TwistStamped" in types else Twist
    made: TwistDriver | JointDriver = driver(graph, name, topic, message)
    return made


class TwistDriver:
    """Publishes twists along a vehicle's own axes: cmd_vel of a base, or velocity setpoints of a multirotor."""

    def __init__(self, graph: ToolGraph, name: str, topic: str, kind: Any) -> None:
        self._keys, self._kind = HeldKeys(time.monotonic), kind
        self._frame = f"{name.strip('/')}/base_link"
        self._publisher = graph.node.create_publisher(kind, topic, 1)
        self.what = f"drives {name} by {kind.__name__} on {topic}"
        self.press = self._keys.press

    def run(self, graph: ToolGraph, speed: float, turn: float, joint_speed: float) -> None:
        """Publish until interrupted, then publish a stop."""
        try:
            while True:
                self._send(self._keys.axes(), speed, turn)
                graph.spin(lambda: False, 1.0 / RATE_HZ)
        finally:
            self._send(AxisInputs(), speed, turn)

    def _send(self, axes: AxisInputs, speed: float, turn: float) -> None:
        message = self._kind()
        twist = message
        if self._kind is TwistStamped:
            message.header.frame_id, twist = self._frame, message.twist  # no stamp, so the newest counts
        twist.linear.x, twist.linear.y, twist.linear.z = axes.ahead * speed, axes.left * speed, axes.up * speed
        twist.angular.z = axes.turn * turn
        self._publisher.publish(message)


class JointDriver:
    """Publishes position targets for one joint at a time, starting at the measured position."""

    def __init__(self, graph: ToolGraph, name: str, topic: str, kind: Any) -> None:
        self._keys = HeldKeys(time.monotonic)
        self._publisher = graph.node.create_publisher(kind, topic, 1)
        self._chosen, self._prefix = 0, f"{name.strip('/')}/"
        self._target: float | None = None
        self._positions: dict[str, float] = {}
        states = [
            other
            for other, types in graph.topics().items()
            if "sensor_msgs/msg/JointState" in types and other != topic and other.startswith(f"/{name.strip('/')}/")
        ]
        for other in states:
            graph.node.create_subscription(JointState, other, self._sense, qos_profile_sensor_data)
        self.what = f"moves joints of {name} on {topic}, from their states on {', '.join(states) or 'no topic'}"

    def press(self, key: str) -> None:
        """Select a joint by its number, or move the selected joint."""
        if key.isdigit():
            self._chosen, self._target = int(key) - 1, None
        self._keys.press(key)

    def run(self, graph: ToolGraph, speed: float, turn: float, joint_speed: float) -> None:
        """Publish while a key is held, until interrupted."""
        shown = ""
        while True:
            own = [joint for joint in self._positions if joint.startswith(self._prefix)]
            names = sorted(own or self._positions)
            way = self._keys.axes().ahead
            if names and (joint := names[min(self._chosen, len(names) - 1)]):
                if shown != joint:
                    shown = joint
                    print(f"joint {names.index(joint) + 1} of {len(names)}: {joint}", flush=True)
                if way:
                    present = self._positions[joint] if self._target is None else self._target
                    self._target = present + way * joint_speed / RATE_HZ
                    self._publisher.publish(JointState(name=[joint], position=[self._target]))
                else:
                    self._target = None
            graph.spin(lambda: False, 1.0 / RATE_HZ)

    def _sense(self, message: Any) -> None:
        self._positions.update(zip(message.name, message.position, strict=False))
