"""The state of links and vehicles, on /diagnostics once a second."""

from __future__ import annotations

import time
from collections.abc import Iterable

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from rclpy.clock import Clock, ClockType
from rclpy.node import Node

from sim_node.mavlink.bridge import Bridge
from sim_node.mavlink.connection import Connection
from sim_node.mavlink.modes import mode_name
from sim_node.mavlink.translation.health import reports
from sim_node.mavlink.vehicle import Vehicle
from sim_node.ros import publishers

# Fraction of the messages of the last second whose loss is a warning.
MAX_LOSS = 0.02


class BridgeDiagnostics:
    """Publishes a DiagnosticStatus for each link, each vehicle, and each report of its health."""

    def __init__(self, node: Node, bridge: Bridge) -> None:
        self._node, self._bridge = node, bridge
        self._publisher = node.create_publisher(DiagnosticArray, "/diagnostics", publishers.DIAGNOSTICS)
        self._counts: dict[object, tuple[int, int]] = {}
        self._time = time.monotonic()
        # Wall time: the state of links does not depend on simulated time.
        node.create_timer(1.0, self._publish, clock=Clock(clock_type=ClockType.STEADY_TIME))

    def _publish(self) -> None:
        now = time.monotonic()
        elapsed, self._time = max(now - self._time, 1e-3), now
        statuses = [self._link(connection, elapsed) for connection in self._bridge.connections]
        playback = self._bridge.playback
        if playback is not None:
            message = "ended" if playback.ended else "playing"
            statuses.append(self._status(playback.name, DiagnosticStatus.OK, message, [("messages", playback.played)]))
        clock = self._node.get_clock().now()
        for vehicle in list(self._bridge.vehicles.values()):
            statuses.append(self._vehicle(vehicle, elapsed))
            for what, (level, message, values) in reports(vehicle.telemetry, clock.nanoseconds):
                name = f"vehicle {vehicle.system} {what}"
                statuses.append(self._status(name, bytes([level]), message, values.items()))
        array = DiagnosticArray(status=statuses)
        array.header.stamp = clock.to_msg()
        self._publisher.publish(array)

    def _link(self, connection: Connection, elapsed: float) -> DiagnosticStatus:
        reception, losses = connection.reception, connection.losses
        received, lost = self._since(connection, reception.messages, losses.lost)
        level, message = DiagnosticStatus.OK, "up"
        if connection.state != "up":
            level = DiagnosticStatus.ERROR
            message = f"{connection.state}: {connection.why}" if connection.why else connection.state
        elif not received:
            level, message = DiagnosticStatus.WARN, "up, nothing comes in"
        elif lost > MAX_LOSS * max(1, received + lost):
            level, message = DiagnosticStatus.WARN, f"{100.0 * lost / (received + lost):.0f} % lost"
        values: list[tuple[str, object]] = [
            ("rate (messages/s)", f"{received / elapsed:.1f}"),
            ("messages", reception.messages),
            ("lost", losses.lost),
            ("late", losses.late),
            ("repeated", losses.repeated),
            ("junk (bytes)", reception.junk),
            ("unknown messages", reception.unknown),
            ("times opened", connection.openings),
            ("peers", len(connection.peers)),
        ]
        if connection.signing is not None:
            refused = connection.signing.refused
            values += [
                ("unsigned", refused.unsigned),
                ("wrongly signed", refused.wrong),
                ("replayed", refused.replayed),
            ]
        return self._status(connection.name, level, message, values)

    def _vehicle(self, vehicle: Vehicle, elapsed: float) -> DiagnosticStatus:
        telemetry = vehicle.telemetry
        clock, heartbeat = telemetry.clock, telemetry.heartbeat
        received, lost = self._since(vehicle, vehicle.received, vehicle.lost)
        mode = mode_name(heartbeat) if heartbeat else "unknown"
        level = DiagnosticStatus.OK if vehicle.connected else DiagnosticStatus.ERROR
        message = mode if vehicle.connected else "silent"
        if vehicle.connected and lost > MAX_LOSS * (received + lost):
            level, message = DiagnosticStatus.WARN, f"{mode}, {100.0 * lost / (received + lost):.0f} % lost"
        values: list[tuple[str, object]] = [
            ("rate (messages/s)", f"{received / elapsed:.1f}"),
            ("messages", vehicle.received),
            ("lost", vehicle.lost),
            ("link", vehicle.route.name),
            ("mode", mode),
            ("streaming", vehicle.stream.owner or "nothing"),
            ("clock", "by TIMESYNC" if clock.synchronised else "by arrival"),
            ("clock offset (s)", "unknown" if clock.offset_ns is None else f"{clock.offset_ns / 1e9:.6f}"),
            ("round trip (ms)", "unknown" if clock.round_trip_ns is None else f"{clock.round_trip_ns / 1e6:.3f}"),
            ("slow round trips", clock.events.slow_round_trips),
            ("clock jumps", clock.events.jumps),
            ("reboots", clock.events.reboots),
            *(("also", what) for what in vehicle.others.listed.copy().values()),
            *((f"{frame} (% signal)", quality) for frame, quality in telemetry.signal_qualities.copy().items()),
            *((f"not published: {reason}", count) for reason, count in telemetry.dropped.items()),
        ]
        return self._status(f"vehicle {vehicle.system}", level, message, values)

    def _since(self, key: object, received: int, lost: int) -> tuple[int, int]:
        """Return the counts since the last call."""
        before = self._counts.get(key, (0, 0))
        self._counts[key] = received, lost
        return received - before[0], lost - before[1]

    def _status(self, name: str, level: bytes, message: str, values: Iterable[tuple[str, object]]) -> DiagnosticStatus:
        return DiagnosticStatus(
            level=level,
            name=f"{self._node.get_fully_qualified_name()}: {name}",
            message=message,
            hardware_id="sim_node",
            values=[KeyValue(key=key, value=str(value)) for key, value in values],
        )
