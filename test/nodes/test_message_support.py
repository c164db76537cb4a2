"""Support of message types: a node imports it without the generator of their code."""

from __future__ import annotations

import subprocess
import sys

# A message goes through rclpy's support of its type and comes back; the generator can be imported afterwards.
PROGRAM = """
import sys
from sim_node.ros.environment import prepare
prepare()
from geometry_msgs.msg import Point
from rclpy.serialization import deserialize_message, serialize_message
assert deserialize_message(serialize_message(Point(x=1.0, y=2.0, z=3.0)), Point) == Point(x=1.0, y=2.0, z=3.0)
print("geometry_msgs.geometry_msgs_s__rosidl_typesupport_c" in sys.modules, "lark" in sys.modules)
from rosidl_generator_py.generate_py_impl import generate_py
print(callable(generate_py))
"""


def test_messages_need_no_parser_of_idl() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", "False", "True"]
