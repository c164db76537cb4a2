"""A publisher in a process of its own, for the tests of the listener; reads commands on stdin, line by line.

dynamic STAMP X [N]   N transforms map -> car0.. at STAMP seconds and X metres, on /tf
static X              car0 -> roof at X metres, on /tf_static
invalid STAMP         one transform with a zero quaternion between two good ones, on /tf
loop STAMP X          car0 -> map, which map -> car0 makes a loop of, and map -> car1 at X metres, on /tf
clock STAMP           on /clock
"""

from __future__ import annotations

import sys

import rclpy
from geometry_msgs.msg import TransformStamped
from rclpy.qos import DurabilityPolicy, QoSProfile
from rclpy.time import Time
from rosgraph_msgs.msg import Clock
from tf2_msgs.msg import TFMessage


def transform(parent: str, child: str, seconds: float, x: float, w: float = 1.0) -> TransformStamped:
    message = TransformStamped(child_frame_id=child)
    message.header.frame_id = parent
    message.header.stamp = Time(nanoseconds=round(seconds * 1e9)).to_msg()
    message.transform.translation.x, message.transform.rotation.w = x, w
    return message


def main() -> None:
    rclpy.init()
    node = rclpy.create_node("publisher")
    # As tf2_ros' broadcasters have it.
    dynamic = node.create_publisher(TFMessage, "/tf", QoSProfile(depth=100))
    static = node.create_publisher(
        TFMessage, "/tf_static", QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
    )
    clock = node.create_publisher(Clock, "/clock", QoSProfile(depth=1))
    print("ready", flush=True)
    for line in sys.stdin:
        command, *values = line.split()
        numbers = [float(value) for value in values]
        if command == "dynamic":
            count = int(numbers[2]) if len(numbers) > 2 else 1
            dynamic.publish(
                TFMessage(transforms=[transform("map", f"car{i}", numbers[0], numbers[1] + i) for i in range(count)])
            )
        elif command == "static":
            static.publish(TFMessage(transforms=[transform("car0", "roof", 0.0, numbers[0])]))
        elif command == "invalid":
            rows = [("car0", 1.0), ("broken", 0.0), ("car1", 1.0)]
            dynamic.publish(TFMessage(transforms=[transform("map", name, numbers[0], 9.0, w) for name, w in rows]))
        elif command == "loop":
            rows = [transform("car0", "map", numbers[0], 0.0), transform("map", "car1", *numbers)]
            dynamic.publish(TFMessage(transforms=rows))
        elif command == "clock":
            clock.publish(Clock(clock=Time(nanoseconds=round(numbers[0] * 1e9)).to_msg()))
    node.destroy_node()
    rclpy.shutdown()


if __name__ == "__main__":
    main()
