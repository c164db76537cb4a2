"""Statuses on /diagnostics once per second."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from rclpy.time import Time

from sim_node.ros import publishers

OK, WARN, ERROR = (level[0] for level in (DiagnosticStatus.OK, DiagnosticStatus.WARN, DiagnosticStatus.ERROR))


class Status(NamedTuple):
    """Status of a part of a node: level, name, message, values by name, and the hardware id it belongs to."""

    level: int
    name: str
    message: str
    values: Iterable[tuple[str, object]]
    hardware_id: str = "sim_node"


def publish_statuses(node: Node, statuses: Callable[[], Iterable[Status]], now: Callable[[], Time]) -> None:
    """Publish statuses once per second of wall time, so that a node whose time stands still reports that, too.

    Args:
        node: The node. Its name is the prefix of the statuses' names.
        statuses: Returns the present statuses.
        now: Returns the message's stamp. Called after `statuses`.
    """
    publisher = node.create_publisher(DiagnosticArray, "/diagnostics", publishers.DIAGNOSTICS)

    def publish() -> None:
        array = DiagnosticArray()
        for level, name, message, values, hardware_id in statuses():
            status = DiagnosticStatus(level=bytes([level]), message=message, hardware_id=hardware_id)
            status.name = f"{node.get_fully_qualified_name()}: {name}"
            status.values = [KeyValue(key=key, value=str(value)) for key, value in values]
            array.status.append(status)
        array.header.stamp = now().to_msg()
        publisher.publish(array)

    node.create_timer(1.0, publish, clock=Clock(clock_type=ClockType.STEADY_TIME))
