"""How a replay stands, on /diagnostics once a second."""

from __future__ import annotations

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from rclpy.time import Time

from sim_node.nodes import qos
from sim_node.nodes.playback_target import PlaybackTarget
from sim_node.recording.player import Player


class ReplayDiagnostics:
    """Publishes a DiagnosticStatus of a player: state, position, pace, and who else publishes on its topics."""

    def __init__(self, node: Node, player: Player, stage: PlaybackTarget) -> None:
        self._node = node
        self._player = player
        self._stage = stage
        self._behind = 0.0
        self._publisher = node.create_publisher(DiagnosticArray, "/diagnostics", qos.DIAGNOSTICS)
        # Wall time: a paused replay still tells that it is paused.
        self._timer = node.create_timer(1.0, self._publish, clock=Clock(clock_type=ClockType.STEADY_TIME))

    def _publish(self) -> None:
        player = self._player
        pace = player.pace()
        level, message = DiagnosticStatus.OK, player.said()
        missing = [] if player.began else self._stage.missing()
        if missing:
            level, message = DiagnosticStatus.WARN, f"waits for subscribers of {', '.join(missing)}"
            self._node.get_logger().info(message, throttle_duration_sec=10.0)
        elif pace.behind > self._behind:
            level, message = DiagnosticStatus.WARN, f"fell behind by {pace.behind - self._behind:.1f} s"
        self._behind = pace.behind
        others = self._stage.others()
        if others:
            level, message = DiagnosticStatus.WARN, f"somebody else publishes too: {', '.join(others)}"
            self._node.get_logger().warning(
                f"{message}; stop one, play other --topics, or --remap them", throttle_duration_sec=30.0
            )
        values = {
            "position (s)": f"{player.position_ns / 1e9:.9g}",
            "messages": str(player.sent),
            "loops": str(player.loops),
            "lateness p99 (ms)": f"{pace.lateness_p99 * 1e3:.3f}",
            "wall time given up (s)": f"{pace.behind:.3f}",
        }
        status = DiagnosticStatus(
            level=level,
            name=f"{self._node.get_fully_qualified_name()}: replay",
            message=message,
            hardware_id="sim_node",
            values=[KeyValue(key=key, value=value) for key, value in values.items()],
        )
        array = DiagnosticArray(status=[status])
        # As the replayed topics are, for those who take their time from our /clock.
        clock_ns = self._stage.clock_ns
        now = self._node.get_clock().now() if clock_ns is None else Time(nanoseconds=clock_ns)
        array.header.stamp = now.to_msg()
        self._publisher.publish(array)
